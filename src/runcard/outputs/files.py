"""Output files: refused before the work if they cannot be written, and written whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError

from runcard.errors import InputError, RuncardError


def check_output_file(path: Path) -> Path:
    """The file that is meant, links followed, or an InputError: a long solve does not end with the news that it failed.

    Only a plain file is ever replaced. A device or a pipe would be destroyed by it.
    """
    target = path.resolve()
    folder = target.parent
    if target.is_dir():
        raise InputError(f"{path}: expected the name of a file to write, got a folder")
    if target.exists() and not target.is_file():
        raise InputError(f"{path}: expected the name of a file to write, got a device or a pipe")
    if not folder.is_dir():
        raise InputError(
            f"{path}: expected an existing folder to write to, got {'a file' if folder.exists() else 'none'}"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path}: its folder cannot be written to")
    return target


def write_whole(path: Path, content: bytes) -> Path:
    """The file that now holds the content; until all of it is there, the file stays as it was."""
    return fill_whole(path, lambda draft: draft.write_bytes(content))


def fill_whole(path: Path, write: Callable[[Path], object]) -> Path:
    """The same for a file that `write` fills, given the name of a draft beside it."""
    target = check_output_file(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        draft = Path(name)
        try:
            os.close(handle)
            write(draft)
            draft.chmod(0o644)
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except (OSError, SafetensorError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise RuncardError(f"{path}: could not be written: {reason}") from error
    return path


def size_in_words(path: Path) -> str:
    """The size of a file, such as "8.2 kB"."""
    size = float(path.stat().st_size)
    for unit in ("B", "kB", "MB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} GB"
