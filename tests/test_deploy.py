"""The files of deploy/: what systemd and a container builder would refuse, and words that `runcard` would."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from runcard.cli import app

ROOT = Path(__file__).parents[1]
UNIT, CONTAINERFILE = ROOT / "deploy" / "runcard.service", ROOT / "deploy" / "Containerfile"
MOST_EXPOSED = 1.5
"""systemd's own mark, from 0 (nothing can go wrong) to 10; a service without any protection has 9.6."""


def settings() -> list[tuple[str, str]]:
    """The settings of the unit, in their order."""
    lines = [line for line in UNIT.read_text(encoding="utf-8").splitlines() if line and line[0] not in "#["]
    return [(name, value) for name, _, value in (line.partition("=") for line in lines)]


def options_of(*words: str) -> set[str]:
    """The options that a command takes."""
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]  # type: ignore[attr-defined]
    return {option for one in command.params for option in one.opts}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """It has nothing to say, once the program exists where the unit says, and finds little that could be hardened."""

    def analyze(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False, timeout=30)

    text = UNIT.read_text(encoding="utf-8").replace("/opt/runcard/bin/runcard", str(shutil.which("true")))
    (tmp_path / UNIT.name).write_text(text)
    done = analyze("verify", "--man=no", "--recursive-errors=no", str(tmp_path / UNIT.name))
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if UNIT.name in line]
    done = analyze("security", "--offline=true", "--no-pager", str(UNIT))
    mark = re.search(r"exposure level for runcard.service: ([0-9.]+)", done.stdout)
    assert mark is not None, done.stdout + done.stderr
    assert float(mark[1]) <= MOST_EXPOSED


def test_the_unit_leaves_on_what_numba_needs() -> None:
    """Memory that is written and then run must be allowed, and compiled code needs a folder that can be written."""
    names = dict(settings())
    assert "MemoryDenyWriteExecute" not in names
    assert ("Environment", "NUMBA_CACHE_DIR=%C/runcard") in settings()
    assert names["CacheDirectory"] == names["StateDirectory"] == "runcard"


def test_the_unit_asks_for_options_that_there_are() -> None:
    """Every option of ExecStart, and of the commands in the comments, is one of `runcard`."""
    words = shlex.split(dict(settings())["ExecStart"])
    assert words[1] == "serve"
    assert {word for word in words if word.startswith("--")} <= options_of("serve")
    text = UNIT.read_text(encoding="utf-8")
    (keys,) = re.findall(r"runcard (keys add .*)", text)
    assert {word for word in keys.split() if word.startswith("--")} <= options_of("keys")
    (more,) = re.findall(r"# +RUNCARD_OPTIONS=(.*)", text)
    assert {word for word in more.split() if word.startswith("--")} <= options_of("serve")


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile: name and words, with lines that go on joined."""
    lines = [line for line in CONTAINERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    found = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    return [(name, words.strip()) for name, words in found]


def test_the_containerfile_is_one() -> None:
    """Every line is an instruction that a builder knows, it begins with FROM, and lists are JSON.

    Whatever is copied from the project is in it, and the second image takes from the first only. The last user is not
    root, and the container calls `runcard serve` with options that there are.
    """
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL"}
    found, stages = instructions(), 0
    assert found[0][0] == "FROM"
    assert {name for name, _ in found} <= known | {"ENTRYPOINT", "CMD"}
    for name, words in found:
        stages += name == "FROM"
        if name in ("ENTRYPOINT", "CMD", "VOLUME"):
            assert all(isinstance(word, str) for word in json.loads(words))
        elif name == "HEALTHCHECK":
            compile(json.loads(words.split("CMD", 1)[1])[2], "HEALTHCHECK", "exec")
        elif name == "RUN":
            done = subprocess.run(["bash", "-n", "-c", words], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        elif name == "COPY" and stages == 1:
            assert all((ROOT / source).exists() for source in words.split()[:-1]), words
        elif name == "COPY":
            assert words.startswith("--from=build ")
    assert [words for name, words in found if name == "USER"][-1] not in ("root", "0")
    start, more = (json.loads(words) for name, words in found if name in ("ENTRYPOINT", "CMD"))
    assert start == ["runcard", "serve"]
    assert {word for word in more if word.startswith("--")} <= options_of("serve")


def test_pins_of_the_lock_are_constraints() -> None:
    """What the Containerfile takes from the lock is one pinned version of each package for each Python, and no hash."""
    (build,) = [words for name, words in instructions() if name == "RUN" and "pins.txt" in words]
    script = build.split(" > ", 1)[0]
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    pins = done.stdout.splitlines()
    assert len(pins) > 50
    assert all(re.fullmatch(r"[a-z0-9.\[\],-]+==[^ ;]+( ; .+[^\\])?", pin) for pin in pins)
