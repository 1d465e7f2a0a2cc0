"""Policy files from before there was one format: of one kind, of a department, and of a week of departments.

They are put into the form of now when they are read, for one release.
"""

from collections.abc import Mapping
from typing import Any, Final

from numpy.typing import NDArray

from runcard.city.conditions import TRUCK
from runcard.city.periods import ALWAYS
from runcard.errors import PolicyFileError
from runcard.plan.stored_policy import names_of

POLICY: Final = "runcard-policy-3"
"""Of one kind: its arrays have no numbers before their names."""
DEPARTMENT: Final = "runcard-department-1"
"""Of several kinds, whose number stands before the name of an array (`0/cost`)."""
WEEK: Final = "runcard-week-1"
"""Of several periods, whose number stands before that (`p1/cost`, `p1/0/cost`); each is one of the other two."""
OLD_FORMATS: Final = (POLICY, DEPARTMENT, WEEK)

Arrays = dict[str, NDArray[Any]]
OF_KIND: Final = ("kind", "units", "standards", "types")


def in_new_form(about: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """What a file of whatever format says, and its arrays, in the form of now."""
    if about["format"] not in OLD_FORMATS:
        return about, arrays
    if about["format"] != WEEK:
        always = {"name": ALWAYS.name, "hours": list(ALWAYS.hours)}
        return _joined(about, [(always, about, [])], {f"p0/{name}": array for name, array in arrays.items()})
    periods = [(said, said["contents"], list(names_of(said["same"]))) for said in about["periods"]]
    if any(contents["format"] not in (POLICY, DEPARTMENT) for _, contents, _ in periods):
        raise PolicyFileError("damaged: expected the contents of a policy file for each period")
    return _joined(about, periods, arrays)


def _joined(
    about: Mapping[str, Any], periods: list[tuple[dict[str, Any], dict[str, Any], list[str]]], arrays: Arrays
) -> tuple[dict[str, Any], Arrays]:
    """The periods of a file as one plan; the roster and the standards are the same in all of them."""
    _, first, _ = periods[0]
    kinds: list[dict[str, Any]] = [
        {name: said[name] for name in OF_KIND if name in said} | {"policies": []} for said in _kinds_of(first)
    ]
    for _, contents, same in periods:
        here = _kinds_of(contents)
        if [{name: said.get(name) for name in OF_KIND} for said in here] != [
            {name: said.get(name) for name in OF_KIND} for said in kinds
        ] or contents.get("spare") != first.get("spare"):
            raise PolicyFileError("damaged: expected the same units and standards in every period")
        for number, said in enumerate(here):
            lead = "" if contents["format"] == POLICY else f"{number}/"
            shared = [name.removeprefix(lead) for name in same if name.startswith(lead)]
            kinds[number]["policies"].append(said["policy"] | {"same": shared})
    alone = first["format"] == POLICY
    named = {
        "format": about["format"],
        "periods": [{"name": said["name"], "hours": said["hours"]} for said, _, _ in periods],
        "kinds": kinds,
        "spare": first.get("spare", []),
    } | ({"city": about["city"]} if "city" in about else {})
    return named, {_new_name(name, alone): array for name, array in arrays.items()}


def _kinds_of(contents: dict[str, Any]) -> list[dict[str, Any]]:
    """What the contents of one period say of each kind."""
    if contents["format"] == POLICY:
        return [{"kind": TRUCK, "policy": contents}]
    kinds: list[dict[str, Any]] = contents["kinds"]
    return kinds


def _new_name(name: str, alone: bool) -> str:
    """The name of an array: first the kind, then the period."""
    period, _, rest = name.partition("/")
    if not period.startswith("p") or not period[1:].isdecimal():
        raise PolicyFileError(f"damaged: expected the number of a period before the array {name[:80]!r}")
    kind, own = ("0", rest) if alone else rest.split("/", 1)
    return f"{kind}/{period[1:]}/{own}"
