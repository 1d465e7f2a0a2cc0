"""The frozen documents: how they are written, and where a new one differs from them.

`python -m tests.snapshots.frozen [CITY ...]` freezes what users see now. Do it on purpose, in a commit of its own, when
a key or a word changes; a number that changes is a failure.
"""

import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from tests.snapshots.cities import CITIES
from tests.snapshots.documents import documents_of

from runcard.mdp.factored import FactoredValues
from runcard.mdp.mean_field import mean_field_values
from runcard.mdp.problem import DispatchProblem

FOLDER: Final = Path(__file__).parents[1] / "data" / "snapshots"
WIDTH: Final = 110
COLUMNS: Final = "120"
"""Of the terminal."""
RELATIVE: Final = 1e-9
RELATIVE_OF_FITS: Final = 1e-6
"""Of what a search for the likeliest numbers finds: the last digits depend on the processor."""
ABSOLUTE: Final = 1e-12
NUMBER: Final = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")


def text_of(document: Any, indent: str = "") -> str:
    """JSON that a person can compare: what fits into a line is on one."""
    line = json.dumps(document, ensure_ascii=False)
    if len(indent) + len(line) <= WIDTH or not isinstance(document, dict | list) or not document:
        return line
    inner = indent + " "
    if isinstance(document, dict):
        parts = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {text_of(document[key], inner)}" for key in document]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + text_of(item, inner) for item in document) + f"\n{indent}]"


def differences(before: Any, after: Any, place: str = "", relative: float = RELATIVE) -> Iterator[str]:
    """Where two documents differ: keys and words to the letter, numbers beyond rounding."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            if key not in after or key not in before:
                yield f"{place}.{key}: only {'before' if key in before else 'now'}"
            else:
                yield from differences(before[key], after[key], f"{place}.{key}", relative)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{place}: {len(before)} items before, {len(after)} now"
        for number, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from differences(old, new, f"{place}[{number}]", relative)
    elif isinstance(before, str) and isinstance(after, str):
        if not _same_words(before, after):
            yield f"{place}: {before!r} before, {after!r} now"
    elif _is_number(before) and _is_number(after):
        if not isclose(before, after, rel_tol=relative, abs_tol=ABSOLUTE):
            yield f"{place}: {before!r} before, {after!r} now"
    elif type(before) is not type(after) or before != after:
        yield f"{place}: {before!r:.80} before, {after!r:.80} now"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same_words(before: str, after: str) -> bool:
    """Whether texts are the same, but for numbers whose last digit rounding may change, and the width of columns."""
    if before == after:
        return True
    if " ".join(NUMBER.sub("\0", before).split()) != " ".join(NUMBER.sub("\0", after).split()):
        return False
    pairs = zip(NUMBER.findall(before), NUMBER.findall(after), strict=True)
    return all(_alike(old, new) for old, new in pairs)


def _alike(before: str, after: str) -> bool:
    """Whether two printed numbers are the same up to one unit of the last place."""
    if "e" in before or "e" in after or "." not in before:
        return before == after
    last = 10.0 ** -len(before.partition(".")[2])
    return abs(float(before.replace(",", "")) - float(after.replace(",", ""))) <= 1.01 * last


def frozen(city: str) -> dict[str, Any]:
    """The frozen documents of a city, by name."""
    folder = FOLDER / city
    texts = {path.name: path.read_text("utf-8") for path in sorted(folder.iterdir())}
    return {name: json.loads(text) if name.endswith(".json") else text.splitlines() for name, text in texts.items()}


def made(city: str, folder: Path) -> dict[str, Any]:
    """The documents of a city as they are now, as JSON has them."""
    known: dict[str, FactoredValues] = {}  # several commands need those of one city, and they take longest

    def values_once(problem: DispatchProblem, **options: Any) -> FactoredValues:
        if problem.fingerprint not in known:
            known[problem.fingerprint] = mean_field_values(problem, **options)
        return known[problem.fingerprint]

    with patch("runcard.policy.mean_field.mean_field_values", values_once):
        documents = documents_of(city, CITIES[city](), folder)
    return {name: json.loads(json.dumps(document)) for name, document in documents.items()}


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Every difference between the documents of a city, with the name of its document."""
    lines = [f"{name}: {'no more' if name in before else 'new'}" for name in before.keys() ^ after.keys()]
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        if name.endswith(".txt"):
            rows = enumerate(zip_longest(old, new, fillvalue=""), start=1)
            lines += [line for row, (b, a) in rows for line in differences(b, a, f"{name} line {row}")]
        else:
            relative = RELATIVE_OF_FITS if name.startswith("fit") else RELATIVE
            lines += [name + line for line in differences(old, new, relative=relative)]
    return sorted(lines)


def freeze(city: str) -> list[str]:
    """Write the documents of a city, only those that changed beyond rounding; what changed."""
    folder = FOLDER / city
    folder.mkdir(parents=True, exist_ok=True)
    before = frozen(city)
    with tempfile.TemporaryDirectory() as place:
        after = made(city, Path(place))
    for name in before.keys() - after.keys():
        (folder / name).unlink()
    for name, document in after.items():
        if name not in before or changed({name: before[name]}, {name: document}):
            text = text_of(document) if name.endswith(".json") else "\n".join(document)
            (folder / name).write_text(text + "\n", encoding="utf-8")
    return changed(before, after)


if __name__ == "__main__":
    os.environ["COLUMNS"] = COLUMNS
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or CITIES:
        print(f"{name}: {len(freeze(name))} changes")
