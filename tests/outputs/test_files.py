"""Output files."""

import os
from pathlib import Path

import pytest

from runcard.errors import InputError, RuncardError
from runcard.outputs.files import check_output_file, size_in_words, write_whole


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """The new content is there, readable by all, and no draft is left."""
    path = tmp_path / "map.png"
    path.write_bytes(b"old")
    assert write_whole(path, b"new") == path
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full there is one readable error, the old content, and no draft."""
    path = tmp_path / "map.png"
    path.write_bytes(b"old")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(RuncardError, match=r"map\.png: could not be written: No space left on device"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    """Writing below a folder that is not there fails in one line."""
    with pytest.raises(InputError, match="expected an existing folder to write to, got none"):
        write_whole(tmp_path / "missing" / "map.png", b"new")


def test_only_a_plain_file_is_replaced(tmp_path: Path) -> None:
    """A pipe or a device is refused and left alone: as root, a rename would destroy it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for special in (pipe, Path("/dev/null")):
        with pytest.raises(InputError, match="got a device or a pipe"):
            check_output_file(special)
    with pytest.raises(InputError, match="got a device or a pipe"):
        write_whole(pipe, b"new")
    assert pipe.is_fifo()


def test_a_link_is_followed(tmp_path: Path) -> None:
    """Writing to a link changes the file that it leads to, and the link stays one."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_place_that_cannot_be_written_is_known_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a missing folder and a folder without permission are refused; a new or old file is fine."""
    (tmp_path / "file").write_text("mine")
    check_output_file(tmp_path / "file")
    check_output_file(tmp_path / "new")
    with pytest.raises(InputError, match="got a folder"):
        check_output_file(tmp_path)
    with pytest.raises(InputError, match="got none"):
        check_output_file(tmp_path / "missing" / "new")
    with pytest.raises(InputError, match="got a file"):
        check_output_file(tmp_path / "file" / "new")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written to"):
        check_output_file(tmp_path / "new")


@pytest.mark.parametrize(("size", "words"), [(0, "0 B"), (999, "999 B"), (12_345, "12.3 kB"), (8_400_000, "8.4 MB")])
def test_sizes_are_short(tmp_path: Path, size: int, words: str) -> None:
    """Three digits and a unit."""
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(size)
    assert size_in_words(path) == words
