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
    """Of tests with parameters the first stays, of golden cities all; slow ones and those with a browser go."""
    names = ("a::one[1]", "a::one[2]", "b::one[1]", "a::two", "a::golden[x]", "a::golden[y]", "a::long", "a::page")
    items = {name: Item(*["slow"] * (name == "a::long"), nodeid=name) for name in names}
    items["a::page"].fixturenames = ("tmp_path", "browser")
    for city in "xy":
        items[f"a::golden[{city}]"].callspec = SimpleNamespace(params={"golden": city})
    chosen = conftest.at_desk([*items.values()])  # type: ignore[list-item]
    assert [item.nodeid for item in chosen] == ["a::one[1]", "b::one[1]", "a::two", "a::golden[x]", "a::golden[y]"]


def test_at_the_desk_the_first_tests_of_each_module_say_the_most() -> None:
    """So many of each module, golden cities all; and without a number every one."""
    names = ("a::one", "a::golden[x]", "a::golden[y]", "a::two", "b::one", "b::long", "b::two", "b::three")
    items = [Item(*["slow"] * (name == "b::long"), nodeid=name) for name in names]
    for item, city in zip(items[1:3], "xy", strict=True):
        item.callspec = SimpleNamespace(params={"golden": city})
    some = conftest.at_desk([*items], 2)  # type: ignore[list-item]
    assert [item.nodeid for item in some] == ["a::one", "a::golden[x]", "a::golden[y]", "b::one", "b::two"]
    assert len(conftest.at_desk([*items])) == 7  # type: ignore[list-item]
