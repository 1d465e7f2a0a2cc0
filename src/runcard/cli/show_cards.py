"""Run cards for the terminal: what was written, what it is worth, and what a card answers."""

from collections.abc import Sequence
from pathlib import Path

from runcard.cli.terminal import make_console, print_care, print_json, print_written
from runcard.outputs.cards.about import depth_cells, depth_headings
from runcard.outputs.cards.answer import CardAnswer
from runcard.outputs.cards.book import CardBook
from runcard.outputs.cards.depth import DepthTable
from runcard.plan.words import counted
from runcard.table import Table


def print_cards(book: CardBook, tables: Sequence[DepthTable], path: Path) -> None:
    """Print how many cards there are, where they depart from closest-first, and what depth is worth."""
    console = make_console()
    areas, lines = len({card.area for card in book.cards}), sum(len(card.lines) for card in book.cards)
    of_cards = f"{counted(len(book.cards), 'card')} for {counted(areas, 'area')}, {counted(lines, 'line')}"
    console.print(f"{of_cards}, from the policy {book.policy}", style="bold")
    print_care(book.fit_faults)
    for kind in book.kinds:
        own = [card for card in book.cards if card.kind == kind]
        departing = [card for card in own if card.departs]
        yearly = sum(card.incidents_per_year for card in departing), sum(card.incidents_per_year for card in own)
        part = 100.0 * yearly[0] / yearly[1] if yearly[1] > 0.0 else 0.0
        console.print(
            f"{kind}: {len(departing):,} of {counted(len(own), 'card')} depart from closest-first with every unit "
            f"idle: {part:.0f} % of the incidents."
        )
    for table in tables:
        first, *others = depth_headings(table)
        headings = [first, *(heading.replace(" ", "\n", 1) for heading in others)]
        console.print(Table(headings, list(depth_cells(table))))
        console.print(table.words)
    if not tables:
        console.print("What cards keep of the gain was not measured: --measure does it, and may take minutes.")
    print_written(path)


def print_card_answer(answer: CardAnswer, *, as_json: bool) -> None:
    """Print who goes by the cards, and which line says so."""
    if as_json:
        print_json(answer.document())
        return
    console = make_console()
    if answer.key.period:
        console.print(f"Period: {answer.key.period}")
    console.print(answer.headline, style="bold")
    for one in answer.kinds:
        console.print(one.words)
