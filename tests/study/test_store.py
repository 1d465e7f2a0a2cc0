"""The folder of a study."""

import subprocess
import sys
from pathlib import Path

import pytest

from runcard.errors import InputError
from runcard.output_file import DRAFT_ENDING
from runcard.study.experiment import experiment_named
from runcard.study.store import StudyFolder
from runcard.study.tasks import run_task, tasks_of

EXPERIMENT = experiment_named("table2")
TASKS = tasks_of(EXPERIMENT, num_graphs=2, seed=1)


def filled(path: Path) -> StudyFolder:
    """A folder with the rows of two graphs of Table 2."""
    folder = StudyFolder(path, 1)
    folder.prepare("1.0")
    for task in TASKS:
        folder.add(task, run_task(task))
    return folder


def test_rows_come_back(tmp_path: Path) -> None:
    """What was added is read back, number by number."""
    folder = filled(tmp_path / "study")
    assert not folder.has(EXPERIMENT)
    folder.finish(EXPERIMENT, TASKS)
    rows = folder.rows(EXPERIMENT)
    added = [row for task in TASKS for row in run_task(task)]
    found = sorted(zip(*(rows[name].tolist() for name in added[0]), strict=True))
    assert found == sorted(tuple(row.values()) for row in added)


def test_the_file_of_an_experiment_does_not_depend_on_the_order(tmp_path: Path) -> None:
    """Parts that were added in another order give the same bytes."""
    first = filled(tmp_path / "a").finish(EXPERIMENT, TASKS)
    second = filled(tmp_path / "b").finish(EXPERIMENT, TASKS[::-1])
    assert first.read_bytes() == second.read_bytes()


def test_a_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    """A folder with another seed, another version or other files is not mixed with this study."""
    filled(tmp_path / "study")
    with pytest.raises(InputError, match=r"expected a study of seed 2 .* got one of seed 1 .*--output"):
        StudyFolder(tmp_path / "study", 2).prepare("1.0")
    with pytest.raises(InputError, match=r"by runcard 2\.0, got one of seed 1 by runcard 1\.0"):
        StudyFolder(tmp_path / "study", 1).prepare("2.0")
    StudyFolder(tmp_path / "study", 1).prepare("1.0")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "holiday.txt").write_text("")
    with pytest.raises(InputError, match="expected an empty folder or one of a study"):
        StudyFolder(tmp_path / "other", 1).prepare("1.0")
    with pytest.raises(InputError, match="expected a folder for the study, got a file"):
        StudyFolder(tmp_path / "other" / "holiday.txt", 1).prepare("1.0")
    (tmp_path / "study" / "study.json").write_text("{")
    with pytest.raises(InputError, match="expected JSON"):
        StudyFolder(tmp_path / "study", 1).prepare("1.0")


def test_odd_names_of_folders(tmp_path: Path) -> None:
    """The name of a folder may have quotes and braces; where it would stand for several files, it is refused."""
    assert filled(tmp_path / "chief's {study}").finish(EXPERIMENT, TASKS).exists()
    with pytest.raises(InputError, match="expected the name of a folder without"):
        StudyFolder(tmp_path / "study[1]", 1).prepare("1.0")


def test_a_study_that_was_killed_at_once_goes_on(tmp_path: Path) -> None:
    """A folder with no more than drafts in it is as good as empty, and drafts are cleared away."""
    path = tmp_path / "study"
    path.mkdir()
    folder = StudyFolder(path, 1)
    first = path / f".study.json.0123abcd{DRAFT_ENDING}"
    first.write_text("{")
    folder.prepare("1.0")
    assert not first.exists()
    drafts = [
        where / f".{name}.0123abcd{DRAFT_ENDING}"
        for where, name in ((path, "report.html"), (path, "table2.parquet"), (folder.parts, "key.parquet"))
    ]
    for draft in drafts:
        draft.write_text("half")
    folder.prepare("1.0")
    assert not any(draft.exists() for draft in drafts)


def test_a_kill_while_a_file_is_written_leaves_a_draft_that_the_next_run_clears(tmp_path: Path) -> None:
    """The draft of a process that died in the middle has the name that is looked for."""
    folder = filled(tmp_path / "study")
    code = f"""
import os, pathlib
from runcard.output_file import fill_whole
fill_whole(pathlib.Path({str(folder.parts / "key.parquet")!r}), lambda draft: os._exit(1))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 1
    (draft,) = folder.parts.glob(".*")
    folder.prepare("1.0")
    assert not draft.exists()
