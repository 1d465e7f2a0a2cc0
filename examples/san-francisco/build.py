"""San Francisco's engines and ladder trucks as a city, from raw files: python build.py RAW_FOLDER OUT_FOLDER.

OUT_FOLDER/roads is the city as it is imported, OUT_FOLDER/city the fitted one, with the page fit.html.
"""

import sys
from pathlib import Path
from typing import Any

from runcard.cli import main

HERE = Path(__file__).parent
AREAS = 400
"""Of about a minute. With 135 of them, of three minutes, two engines between others were first due nowhere, and closing
their stations seemed to cost a third of what it does. Four types of incidents make 1,600 demand points."""


def build(raw: Path, out: Path, *more: str) -> int:
    """The exit code; `more` are further words for `runcard fit`."""
    mapping, roads = HERE / "mapping.toml", str(out / "roads")
    of_import = {
        "--roads": raw,
        "--stations": raw / "stations.csv",
        "--mapping": mapping,
        "--areas": AREAS,
        "--name": "San Francisco",
    }
    imported = main(["import", roads, *words(of_import), "--overwrite"])
    if imported != 0:
        return imported
    of_fit = {
        "--log": raw / "calls_2017_week1.csv",
        "--mapping": mapping,
        "--standards": HERE / "standards.csv",
        "-o": out / "city",
    }
    return main(["fit", roads, *words(of_fit), "--overwrite", *more])


def words(options: dict[str, Any]) -> list[str]:
    """Options as the words of a command line."""
    return [str(word) for pair in options.items() for word in pair]


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(build(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
