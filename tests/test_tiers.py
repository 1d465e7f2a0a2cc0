"""The two tiers of tests: what runs at the desk, and how long a test may take."""

import os
import sys
from collections.abc import Generator
from types import ModuleType, SimpleNamespace

import pytest
from tests import conftest


class Item:
    """A test, as far as the hook looks at it."""

    def __init__(self, *marks: str, nodeid: str = "") -> None:
        self.marks, self.nodeid = marks, nodeid
        self.fixturenames: tuple[str, ...] = ()
        self.callspec = SimpleNamespace(params={})

    def get_closest_marker(self, name: str) -> str | None:
        """The mark of that name."""
        return name if name in self.marks else None


def called(
    item: Item, monkeypatch: pytest.MonkeyPatch, *, own: float, of_children: float = 0.0, new: str = ""
) -> object:
    """What comes of a test that takes so many seconds of processor, and imports something new."""
    running: Generator[None, object, object] = conftest.pytest_runtest_call(item)  # type: ignore[arg-type]
    monkeypatch.setattr(os, "times", lambda: os.times_result((0.0, 0.0, 0.0, 0.0, 0.0)))
    next(running)
    monkeypatch.setattr(os, "times", lambda: os.times_result((own / 2, own / 2, of_children, 0.0, 0.0)))
    if new:
        monkeypatch.setitem(sys.modules, new, ModuleType(new))
    try:
        running.send("passed")
    except StopIteration as end:
        return end.value
    return None


def test_a_long_test_fails_unless_it_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second of processor, its own or that of processes it waited for, is too long for a test that is not slow."""
    assert called(Item(), monkeypatch, own=0.9) == "passed"
    assert called(Item("slow"), monkeypatch, own=9.0, of_children=9.0) == "passed"
    for own, of_children in ((1.1, 0.0), (0.6, 0.6)):
        with pytest.raises(pytest.fail.Exception, match=r"took 1\.[12] s of processor"):
            called(Item(), monkeypatch, own=own, of_children=of_children)


def test_the_first_import_of_something_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which test is the first to import a library depends on the order, so its time says nothing about it."""
    assert called(Item(), monkeypatch, own=1.5, new="runcard_imported_now") == "passed"


def test_at_the_desk_each_quick_test_runs_once() -> None:
    """Of tests with parameters the first stays, of golden cities all; slow ones and those with a browser go."""
    names = ("a::one[1]", "a::one[2]", "b::one[1]", "a::two", "a::golden[x]", "a::golden[y]", "a::long", "a::page")
    items = {name: Item(*["slow"] * (name == "a::long"), nodeid=name) for name in names}
    items["a::page"].fixturenames = ("tmp_path", "browser")
    for city in "xy":
        items[f"a::golden[{city}]"].callspec = SimpleNamespace(params={"golden": city})
    chosen = conftest.at_desk([*items.values()])  # type: ignore[list-item]
    assert [item.nodeid for item in chosen] == ["a::one[1]", "b::one[1]", "a::two", "a::golden[x]", "a::golden[y]"]
