"""Run cards as a file, in the format of its name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from runcard.errors import InputError, MissingExtraError
from runcard.output_file import check_output_file
from runcard.outputs.cards.book import CardBook
from runcard.outputs.cards.csv_file import CARDS_ENDING, write_cards_csv
from runcard.outputs.cards.depth import DepthTable
from runcard.outputs.cards.xlsx_file import open_workbooks, write_cards_xlsx
from runcard.page.picture import check_picture_file
from runcard.plan.plan import Plan

ENDINGS: Final = (CARDS_ENDING, ".xlsx", ".pdf")
NO_MAP: Final = (
    "the policy file does not hold its city, as those of older versions, so there is no map to print: solve it again, "
    "or write .csv or .xlsx"
)


def check_cards_file(path: Path, plan: Plan | None = None) -> None:
    """Raise an error now if cards, of a policy file that was read, could not be written after long work."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{path}: expected cards to end in {', '.join(ENDINGS)}, got {path.suffix!r}")
    check_output_file(path)
    if ending == ".xlsx":
        open_workbooks()
    if ending == ".pdf":
        check_picture_file(path, "print of run cards")  # whose letters are those of maps
        try:
            import reportlab  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("the print of run cards", "reportlab", "report") from error
    if ending == ".pdf" and plan is not None and plan.ground is None:
        raise InputError(f"{path}: {NO_MAP}")


def write_cards(book: CardBook, tables: Sequence[DepthTable], path: Path) -> Path:
    """The file that now holds the cards, and what depth is worth where the format has room for it."""
    ending = path.suffix.lower()
    if ending == CARDS_ENDING:
        return write_cards_csv(book, path)
    if ending == ".xlsx":
        return write_cards_xlsx(book, tables, path)
    from runcard.outputs.cards.pdf_file import write_cards_pdf  # its library may be missing

    return write_cards_pdf(book, tables, path)
