"""What reaches the terminal: everything that a person should see, and no control character of a file."""

import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text
from tests.policy_files import save_policy

from runcard.city import generate_grid, write_city
from runcard.cli.terminal import PlainConsole, print_json
from runcard.mdp.from_city import dispatch_problem
from runcard.policy.solve import solve_problem
from runcard.table import Table, visible, visible_lines

pytestmark = pytest.mark.slow

RUN = "import sys; from runcard.cli import main; sys.exit(main())"
TITLE = "\x1b]0;owned\x07"
HIDE = "\x1b[2J\x1b[1;1H"
CLEAR = "\x9b2K"
TURN = "\u202e"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that hold control characters: a policy file, a scenario, a log, and broken cities.

    Cities are refused if their names have any; so these come to the terminal with what is said of them.
    """
    folder = tmp_path_factory.mktemp("hostile")
    city = generate_grid(side=3, num_stations=3, load=0.2, seed=5)
    write_city(city, folder / "city")
    problem = dispatch_problem(replace(city, demand=(*city.demand, replace(city.demand[0], trucks=1, name="one"))))
    odd = replace(
        problem,
        station_ids=tuple(f"{name}{TITLE}{CLEAR}" for name in problem.station_ids),
        point_ids=tuple(f"{name}{HIDE}" for name in problem.point_ids),
        class_names=tuple(f"{name}{TURN}\r\n{TITLE}" for name in problem.class_names),
    )
    save_policy(solve_problem(odd, "optimal"), folder / f"{TITLE[:-1]}.policy")
    (folder / "odd.toml").write_text('title = "Quiet\\u001b]0;owned\\u0007"\n')
    (folder / f"odd{TITLE}.toml").write_text('title = "Quiet"\n')
    (folder / "wrong.toml").write_text('"\\u001b]0;owned\\u0007" = 1\n')
    (folder / "log.csv").write_text(f"time,node_id\n2024-01-01T00:00:00,{TITLE}\n")
    for name, file, text in (
        ("cells", "demand.csv", f"node_id,incidents_per_day\n{TITLE},{HIDE}\n"),
        ("columns", "node.csv", f"node_id{TITLE},x_coord,{HIDE}\n1,2,3\n"),
        ("keys", "city.toml", 'schema = 1\n"\\u001b]0;owned\\u0007" = 1\n'),
        ("toml", "city.toml", f"{TITLE} = 1\n"),
    ):
        write_city(city, folder / name)
        (folder / name / file).write_text(text)
    return folder


POLICY = f"{TITLE[:-1]}.policy"
COMMANDS = [
    ["decide", POLICY, "--at", f"n4{HIDE}", "--idle", "all"],
    ["decide", POLICY, "--at", f"n0{HIDE}", "--idle", "all", "--class", "1"],
    ["decide", POLICY, "--at", f"n4{HIDE}", "--idle", "all", "--json"],
    ["simulate", "city", "--scenario", "odd.toml", "--incidents", "400"],
    ["simulate", "city", "--scenario", f"odd{TITLE}.toml", "--incidents", "400"],
    ["simulate", "city", "--scenario", f"odd{TITLE}.toml", "--incidents", "400", "--json"],
    ["stress", "city", "--scenarios", "odd.toml", "--incidents", "400"],
    ["solve", "city", "-o", f"{TITLE}.out"],
    # And mistakes, which name what there is and what was given.
    ["decide", POLICY, "--at", f"n0{HIDE}", "--idle", "all"],
    ["decide", POLICY, "--at", HIDE, "--idle", "all"],
    ["decide", POLICY, "--at", f"n4{HIDE}", "--idle", TITLE],
    ["lateness", "city", "--at", HIDE],
    ["compare", "cells"],
    ["compare", "columns"],
    ["compare", "keys"],
    ["compare", "toml"],
    ["compare", f"nowhere{TITLE}"],
    ["compare", "city", f"--{TITLE}"],
    ["compare", "city", "--policies", TITLE],
    ["simulate", "city", "--scenario", "wrong.toml"],
    ["simulate", "city", "--scenario", TITLE],
    ["stress", "city", "--log", "log.csv"],
    ["study", TITLE],
    [TITLE],
    ["bound", "city", "--policies", TITLE],
]


def test_no_control_character_is_printed(run, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, sentences, errors and JSON of a city whose names are full of them have none, and show them."""
    monkeypatch.chdir(hostile)
    shown = 0
    for command in COMMANDS:
        ran = run(*command)
        assert ran.code in (0, 2), command
        for printed in (ran.out, ran.err):
            assert not CONTROL.search(printed), (command, printed)
            shown += "\\x1b" in printed.replace("\n", "") or "\\u001b" in printed
    assert shown >= len(COMMANDS) - 2  # not every mistake is quoted


def read_all(handle: int) -> Iterator[bytes]:
    """All that a terminal gets, until whoever writes to it ends."""
    while True:
        try:
            got = os.read(handle, 65536)
        except OSError:  # Linux says so at the end
            return
        if not got:
            return
        yield got


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("command", [COMMANDS[4], COMMANDS[16]], ids=["simulate", "error"])
def test_a_real_terminal_gets_only_our_own_control_sequences(hostile: Path, command: list[str]) -> None:
    """In a terminal there are colours and bars of ours; nothing else moves the cursor or sets the title."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *command], cwd=hostile, stdin=theirs, stdout=theirs, stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    seen = b"".join(read_all(ours)).decode()
    os.close(ours)
    process.wait(timeout=60)
    assert "\\x1b]0;owned" in seen.replace("\r\n", "")
    for payload in ("\x1b]", "\x1b[2J", "\x1b[1;1H", "\x07", "\x9b", TURN):
        assert payload not in seen, payload


def test_text_is_measured_as_it_is_shown() -> None:
    """A row with a control character in its name is as long as the others."""
    table = Table(["team", "number"], [(name, "1.0") for name in ("a\x1b[31m", "b", "c\nd")])
    console = PlainConsole(file=io.StringIO(), width=60, markup=False)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    rows = [line for line in console.file.getvalue().splitlines() if line.rstrip().endswith("1.0")]
    assert [row.split()[0] for row in rows] == ["a\\x1b[31m", "b", "c\\x0ad"]
    assert len({len(row) for row in rows}) == 1


def test_a_string_is_one_line_and_a_text_may_be_more() -> None:
    """Line ends are ours in a Text, and anybody's in a string; other controls are nobody's."""
    console: Console = PlainConsole(file=io.StringIO(), width=60, markup=False)
    console.print("one\ntwo")
    console.print(Text("one\ntwo\x1b[m"))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "one\\x0atwo\none\ntwo\\x1b[m\n"


def test_letters_of_every_script_stay() -> None:
    """Only control characters are replaced."""
    for words in ("Brandweer 1½", "消防 Ω é", "👩‍🚒 नमस्ते", "שלום"):
        assert visible(words) == words
    assert visible("a\tb\nc\x85") == "a\\x09b\\x0ac\\x85"
    assert visible_lines("a\nb\r") == "a\nb\\x0d"


def test_json_has_no_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    """Even the one that JSON allows is written as an escape, and read as it was."""
    print_json({"name": "a\x7f\x1b\u202e"})
    out = capsys.readouterr().out
    assert not CONTROL.search(out)
    assert '"a\\u007f\\u001b\\u202e"' in out
