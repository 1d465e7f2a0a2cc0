"""Output files."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runcard.errors import InputError, RuncardError
from runcard.output_file import DRAFT_ENDING, check_output_file, fill_whole, size_in_words, write_whole


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """The new content is there, and no draft is left."""
    path = tmp_path / "map.png"
    path.write_bytes(b"old")
    assert write_whole(path, b"new") == path
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    """Set the umask for a test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def test_a_new_file_has_what_the_umask_leaves(tmp_path: Path, umask: Callable[[int], int]) -> None:
    """Whoever wants their files for themselves gets them so, whatever writes them."""

    def write_anew(draft: Path) -> None:
        """As some libraries do: as another file that takes its name."""
        draft.with_suffix(".other").write_bytes(b"new")
        draft.with_suffix(".other").replace(draft)

    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o027, 0o640), (0o000, 0o666)):
        umask(mask)
        files = (write_whole(tmp_path / f"map-{mask}", b"new"), fill_whole(tmp_path / f"anew-{mask}", write_anew))
        assert [file.stat().st_mode & 0o777 for file in files] == [mode, mode]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o400])
def test_a_file_that_was_there_keeps_its_permissions(tmp_path: Path, umask: Callable[[int], int], mode: int) -> None:
    """A private file stays private while it is written, too: its draft is nobody else's to read."""
    path, seen = tmp_path / "records.parquet", []
    path.write_bytes(b"old")
    path.chmod(mode)

    def write(draft: Path) -> None:
        draft.write_bytes(b"new")
        seen.append(draft.stat().st_mode & 0o777)

    fill_whole(path, write)
    assert (path.read_bytes(), path.stat().st_mode & 0o777, seen) == (b"new", mode, [0o600])


def draft_of(path: Path, token: str, *, age: float) -> Path:
    """A draft that was last written to so many seconds ago."""
    draft = path.with_name(f".{path.name}.{token}{DRAFT_ENDING}")
    draft.write_bytes(b"half")
    os.utime(draft, (time.time() - age, time.time() - age))
    return draft


def test_a_name_is_no_pattern(tmp_path: Path) -> None:
    """A file that is called `*.policy` has the drafts of no other file."""
    other = draft_of(tmp_path / "a.policy", "0123abcd", age=1e6)
    own = draft_of(tmp_path / "*.policy", "0123abcd", age=1e6)
    write_whole(tmp_path / "*.policy", b"new")
    assert (other.exists(), own.exists()) == (True, False)


def test_old_drafts_of_a_file_are_removed(tmp_path: Path) -> None:
    """A write removes what a kill left of the same file: only drafts, and only old ones."""
    path, other = tmp_path / "a.policy", tmp_path / "b.policy"
    old = [draft_of(path, "0123abcd", age=4000.0), draft_of(path, "ffffffff", age=1e6)]
    kept = [
        draft_of(path, "11111111", age=60.0),  # somebody may be writing it
        draft_of(other, "0123abcd", age=1e6),  # of another file
        draft_of(path, "mine", age=1e6),  # not a name of ours
        tmp_path / ".a.policy.0123abcd",
        tmp_path / ".a.policy.notes",
    ]
    for mine in kept[3:]:
        mine.write_bytes(b"mine")
        os.utime(mine, (0, 0))
    os.mkfifo(tmp_path / f".a.policy.22222222{DRAFT_ENDING}")
    write_whole(path, b"new")
    assert not any(draft.exists() for draft in old)
    assert all(one.exists() for one in kept)
    assert (tmp_path / f".a.policy.22222222{DRAFT_ENDING}").is_fifo()


def test_many_may_write_one_file_at_once(tmp_path: Path) -> None:
    """The last one wins, the file is whole at every moment, and no draft is left."""
    path, contents = tmp_path / "a.policy", [bytes([65 + n]) * 200_000 for n in range(8)]
    draft_of(path, "0123abcd", age=1e6)
    write_whole(path, contents[0])

    def write(content: bytes) -> bool:
        for _ in range(20):
            write_whole(path, content)
            if path.read_bytes() not in contents:
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(write, contents))
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
    with pytest.raises(InputError, match="expected an existing folder to write to, got none"):
        write_whole(tmp_path / "missing" / "new", b"new")
    with pytest.raises(InputError, match="got a file"):
        check_output_file(tmp_path / "file" / "new")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written to"):
        check_output_file(tmp_path / "new")


def test_sizes_are_short(tmp_path: Path) -> None:
    """Three digits and a unit."""
    for size, words in ((0, "0 B"), (999, "999 B"), (12_345, "12.3 kB"), (8_400_000, "8.4 MB")):
        (tmp_path / "file").touch()
        os.truncate(tmp_path / "file", size)
        assert size_in_words(tmp_path / "file") == words
