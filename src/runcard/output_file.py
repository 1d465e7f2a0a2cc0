"""Output files: refused before the work if they cannot be written, and written whole or not at all.

A file is filled under another name beside it, a draft, and then renamed. A new file has the permissions that the umask
leaves, and a file that was there keeps its own. A draft that a kill left behind is removed by the next write of the
same file, once nobody has written to it for an hour: whoever still writes to a draft does so more often.
"""

import os
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Final

from runcard.city.files import FILE_NAMES, SETTINGS_FILE
from runcard.errors import InputError, RuncardError
from runcard.memory import in_words

DRAFT_ENDING: Final = ".runcard-draft"
OLD_SECONDS: Final = 3600.0


def check_output_file(path: Path) -> Path:
    """The file that is meant, links followed; an InputError now is better than one after a long solve.

    Only a plain file is ever replaced. A device or a pipe would be destroyed by it.
    """
    target = path.resolve()
    folder = target.parent
    for wrong, words in (
        (target.is_dir(), "expected the name of a file to write, got a folder"),
        (target.exists() and not target.is_file(), "expected the name of a file to write, got a device or a pipe"),
        (not folder.exists(), "expected an existing folder to write to, got none"),
        (not folder.is_dir(), "expected an existing folder to write to, got a file"),
        (not os.access(folder, os.W_OK | os.X_OK), "its folder cannot be written to"),
        (
            target.name in FILE_NAMES and target.exists() and (folder / SETTINGS_FILE).exists(),
            "expected another name: this is a file of a city",
        ),
    ):
        if wrong:
            raise InputError(f"{path}: {words}")
    return target


def write_whole(path: Path, content: bytes, *, new_mode: int = 0o666) -> Path:
    """The file that now holds the content; until all of it is there, the file stays as it was.

    A new file has those of the permissions that the umask leaves.
    """
    return fill_whole(path, lambda draft: draft.write_bytes(content), new_mode=new_mode)


def fill_whole(path: Path, write: Callable[[Path], object], *, new_mode: int = 0o666) -> Path:
    """The same for a file that `write` fills, given the name of a draft beside it."""
    target = check_output_file(path)
    clear_old_drafts(target)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}{DRAFT_ENDING}")
    try:
        mode = stat.S_IMODE(target.stat().st_mode) & 0o777 if target.exists() else None
        # A draft never has wider permissions than the file will have.
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, new_mode if mode is None else 0o600))
        mode = stat.S_IMODE(draft.stat().st_mode) if mode is None else mode
        try:
            write(draft)
            draft.chmod(mode)  # some writers make the file anew
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RuncardError(f"{path}: could not be written: {error.strerror or error}") from error
    return path


def clear_old_drafts(target: Path) -> None:
    """Remove the drafts of a file that nobody has written to for long."""
    for draft in target.parent.glob(f".{escape(target.name)}.????????{DRAFT_ENDING}"):
        with suppress(OSError):  # somebody else was quicker, or it is not ours to remove
            status = draft.lstat()
            if stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > OLD_SECONDS:
                draft.unlink()


def size_in_words(path: Path) -> str:
    """The size of a file, such as "8.2 kB"."""
    return in_words(path.stat().st_size, base=1000)
