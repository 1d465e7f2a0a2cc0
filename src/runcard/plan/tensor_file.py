"""Safetensors files, written in one go and read with care.

Whoever wrote a file, it is refused in a sentence, or it is what it says.

    8 bytes        the length of the header
    header         JSON: of each array its type, its shape and where it lies in the data; words under `__metadata__`
    data           the arrays, one after another

The file is opened once, so that what is read is one file, even while another takes its name. Its header is checked
against its size before any memory is asked for. Up to `MOST_COPIED` bytes are copied: then nobody can change what was
read. Larger files are mapped, so that many processes share one copy; such a file must never be written in place.
"""

import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from runcard.errors import PolicyFileError

MOST_COPIED: Final = 256 * 2**20
MOST_HEADER: Final = 64 * 2**20
OF_CARDS: Final = (".csv", ".xlsx", ".pdf")
"""Endings of run cards, which are no policy files."""

DTYPES: Final = {
    "F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
    "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip


def write_tensors(path: Path, words: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file, one array after another: the library copies them all, or leaves a file behind when it is killed."""
    names, end = {np.dtype(dtype): name for name, dtype in DTYPES.items()}, 0
    header: dict[str, Any] = {"__metadata__": dict(words)}
    ordered = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))  # so that all are aligned
    for name in ordered:
        first, end = end, end + arrays[name].nbytes
        header[name] = {"dtype": names[arrays[name].dtype], "shape": arrays[name].shape, "data_offsets": [first, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in ordered:
            arrays[name].tofile(file)


def read_tensors(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The words of a file under `__metadata__`, and its arrays, which cannot be written to."""
    content = _content(path)
    if content[8:9].tobytes() not in (b"{", b""):
        hint = "; of run cards, runcard decide reads the .csv file" * (path.suffix.lower() in OF_CARDS)
        raise PolicyFileError(f"expected a policy file, as runcard solve writes it, found a file of another kind{hint}")
    length = int.from_bytes(content[:8].tobytes(), "little")
    if len(content) < 8 or length > len(content) - 8:
        raise PolicyFileError("damaged or cut short: it ends before its header does")
    if length > MOST_HEADER:
        raise PolicyFileError(f"damaged: expected a header of at most {MOST_HEADER:,} bytes, found {length:,}")
    header = read_json(content[8 : 8 + length].tobytes())
    if not isinstance(header, dict):
        raise PolicyFileError("damaged: expected a header with names of arrays")
    words = header.pop("__metadata__", {})
    if not isinstance(words, dict):
        raise PolicyFileError("damaged: expected words of its own under __metadata__")
    return words, _arrays(header, content[8 + length :])


def read_json(text: str | bytes) -> Any:
    """The values of some JSON; NaN and nests without end are no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        found = "a nest that is too deep" if isinstance(error, RecursionError) else f"other words ({str(error)[:80]})"
        raise PolicyFileError(f"damaged: expected JSON in its header, found {found}") from error


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _content(path: Path) -> NDArray[np.uint8]:
    """The bytes of a plain file, copied or mapped."""
    try:
        # A pipe would wait for somebody who writes to it.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise PolicyFileError("expected a policy file, found a device or a pipe")
            if status.st_size > MOST_COPIED:
                return np.memmap(file, np.uint8, mode="r").view(np.ndarray)
            return np.frombuffer(file.read(MOST_COPIED), np.uint8)
    except OSError as error:
        found = {FileNotFoundError: "none", IsADirectoryError: "a folder"}.get(type(error))
        words = f"expected a policy file, found {found}" if found else f"could not be read: {error.strerror or error}"
        raise PolicyFileError(words) from error


def _arrays(header: dict[str, Any], data: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """The arrays that a header lists, if they fill the data without a gap."""
    found, ends = {}, []
    for name, entry in header.items():
        try:
            dtype = np.dtype(DTYPES[entry["dtype"]])
            shape, (first, last) = entry["shape"], entry["data_offsets"]
        except (KeyError, TypeError, ValueError) as error:
            raise PolicyFileError(f"damaged: expected the type, shape and place of the array {name[:80]!r}") from error
        numbers = [*shape, first, last] if isinstance(shape, list) else [-1]
        if any(type(number) is not int or number < 0 for number in numbers) or last > len(data):
            raise PolicyFileError(f"damaged or cut short: the array {name[:80]!r} does not lie within the file")
        if math.prod(shape) * dtype.itemsize != last - first:
            raise PolicyFileError(f"damaged: the array {name[:80]!r} does not have the size of its shape")
        array: NDArray[Any] = data[first:last]
        if array.ctypes.data % dtype.itemsize:  # kernels want numbers where a machine has them
            array = array.copy()
            array.flags.writeable = False
        found[name] = array.view(dtype).reshape(shape)
        ends.append((first, last))
    ends.sort()
    if [0, *(last for _, last in ends)] != [*(first for first, _ in ends), len(data)]:
        raise PolicyFileError("damaged: its arrays overlap, or leave a gap, or there is something behind them")
    return found
