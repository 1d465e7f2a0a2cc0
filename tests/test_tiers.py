"""The two tiers of tests: what runs at the desk, and how long a test may take."""

import os
from collections.abc import Callable, Generator
from types import SimpleNamespace

import pytest
from tests import conftest


class Item:
    """A test, as far as the hooks look at it."""

    def __init__(self, *marks: str, nodeid: str = "") -> None:
        self.marks, self.nodeid, self.location = marks, nodeid, ("", 0, nodeid)
        self.fixturenames: tuple[str, ...] = ()
        self.callspec = SimpleNamespace(params={})
        self.config = SimpleNamespace(getoption=lambda name: "desk" in marks)
        self.stash, self.reports, self.tries = pytest.Stash(), list[SimpleNamespace](), 0
        nothing: Callable[..., None] = lambda **_: None  # noqa: E731
        self.ihook = SimpleNamespace(
            pytest_runtest_logstart=nothing, pytest_runtest_logfinish=nothing,
            pytest_runtest_logreport=lambda report: self.reports.append(report),
        )  # fmt: skip

    def get_closest_marker(self, name: str) -> str | None:
        """The mark of that name."""
        return name if name in self.marks else None

    def _initrequest(self) -> None:
        """What pytest does before a test is tried again."""


def outcome(item: Item, monkeypatch: pytest.MonkeyPatch, *seconds: float) -> str:
    """What is reported of a test that takes so many seconds of processor in its first try, its second, ..."""

    def run(item: Item, **_: object) -> list[SimpleNamespace]:
        item.stash[conftest.SECONDS] = seconds[item.tries]
        item.tries += 1
        return [SimpleNamespace(when="call", passed=True, outcome="passed", longrepr="")]

    monkeypatch.setattr(conftest, "runtestprotocol", run)
    assert conftest.pytest_runtest_protocol(item, None)  # type: ignore[arg-type]
    (report,) = item.reports
    return f"{report.outcome} {report.longrepr}".strip()


def test_a_long_test_fails_unless_it_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second of processor is too long at the desk for a test that is not slow, if it takes so long a second time."""
    for marks, most in ((("desk",), 1.0), ((), 2.0)):
        assert outcome(Item(*marks), monkeypatch, 0.9 * most) == "passed"
        assert outcome(Item(*marks), monkeypatch, 9.0, 0.9 * most) == "passed"
        assert outcome(Item(*marks), monkeypatch, 9.0, 1.1 * most).startswith("failed took")
    assert conftest.pytest_runtest_protocol(Item("slow"), None) is None  # type: ignore[arg-type]


def test_processors_of_children_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test takes what its process takes, and what those take that it waited for."""
    item = Item()
    running: Generator[None, object, object] = conftest.pytest_runtest_call(item)  # type: ignore[arg-type]
    monkeypatch.setattr(os, "times", lambda: os.times_result((1.0, 0.0, 0.0, 0.0, 0.0)))
    next(running)
    monkeypatch.setattr(os, "times", lambda: os.times_result((1.25, 0.5, 0.125, 0.0, 0.0)))
    with pytest.raises(StopIteration):
        running.send("passed")
    assert item.stash[conftest.SECONDS] == pytest.approx(0.875)


def test_at_the_desk_each_quick_test_runs_once() -> None:
    """Of tests with parameters the first stays, of golden cities all; slow ones and those with a browser go.

    With a number so many tests of each module stay, its first ones.
    """
    names = ("a::one[1]", "a::one[2]", "b::one[1]", "a::golden[x]", "a::golden[y]", "a::two", "a::long", "a::page")
    items = {name: Item(*["slow"] * (name == "a::long"), nodeid=name) for name in names}
    items["a::page"].fixturenames = ("tmp_path", "browser")
    for city in "xy":
        items[f"a::golden[{city}]"].callspec = SimpleNamespace(params={"golden": city})
    for most, expected in (
        (None, ["a::one[1]", "b::one[1]", "a::golden[x]", "a::golden[y]", "a::two"]),
        (2, ["a::one[1]", "b::one[1]", "a::golden[x]", "a::golden[y]"]),
    ):
        chosen = conftest.at_desk([*items.values()], most)  # type: ignore[list-item]
        assert [item.nodeid for item in chosen] == expected
