"""Safetensors files read with care."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from runcard.errors import PolicyFileError
from runcard.plan import tensor_file
from runcard.plan.tensor_file import read_tensors

ARRAYS = {
    "numbers": np.linspace(0.0, 1.0, 6).reshape(2, 3),
    "counts": np.arange(5, dtype=np.int8),
    "ends": np.array([7, 8], np.int64),
    "one": np.array(2.5, np.float32),
    "none": np.zeros((0, 4)),
    "yes": np.array([True, False]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with arrays of several kinds."""
    save_file(ARRAYS, tmp_path / "file", metadata={"said": "something"})
    return tmp_path / "file"


def with_header(path: Path, header: object, data: bytes = b"") -> Path:
    """Write a file with that header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(dtype: Any = "F64", shape: Any = (1,), place: Any = (0, 8)) -> dict[str, Any]:
    """What a header says of an array."""
    return {"dtype": dtype, "shape": shape, "data_offsets": place}


@pytest.mark.parametrize("most_copied", [0, 2**20])
def test_arrays_come_back_as_they_were(path: Path, monkeypatch: pytest.MonkeyPatch, most_copied: int) -> None:
    """What safetensors wrote is read to the last bit, copied or mapped, and cannot be written to."""
    monkeypatch.setattr(tensor_file, "MOST_COPIED", most_copied)
    words, arrays = read_tensors(path)
    assert words == {"said": "something"}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert np.array_equal(arrays[name], array)
        assert not arrays[name].flags.writeable
        assert arrays[name].flags.aligned


def test_numbers_that_lie_askew_are_moved(tmp_path: Path) -> None:
    """Arrays that do not begin where a machine wants them are copied to where it does."""
    header = {"a": entry("U8", [1], [0, 1]), "b": entry("F64", [1], [1, 9])}
    _, arrays = read_tensors(with_header(tmp_path / "f", header, b"\x01" + np.array([2.5]).tobytes()))
    assert arrays["b"].flags.aligned
    assert arrays["b"].tolist() == [2.5]


HEADERS: list[tuple[object, int]] = [
    *((header, 0) for header in (b"[" * 200_000, b'{"a":' * 200_000, b'{"a": NaN}', b"\xff\xfe")),
    *((header, 0) for header in (b'{"a": 1' + b"0" * 5000 + b"}", [1, 2], {"__metadata__": [1]})),
    *(({"a": of}, 8) for of in (None, {"dtype": "F64"}, entry("F8"), entry(["F64"]))),
    *(({"a": entry(shape=shape)}, 8) for shape in (3, [True], [1.0], [-1, -1], [2**62, 2**62])),
    ({"a": entry(shape=[10**9], place=[0, 8 * 10**9])}, 8),
    *(({"a": entry(place=place)}, 8) for place in ([0], [8, 0], [-8, 0])),
    ({"a": entry(place=[8, 16])}, 16),
    ({"a": entry()}, 9),
    ({"a": entry(), "b": entry()}, 8),
    ({"a": entry(), "b": entry(place=[9, 17])}, 17),
]
"""Headers, and the bytes of data behind them."""


@pytest.mark.parametrize(("header", "length"), HEADERS)
def test_a_header_that_lies_is_refused(tmp_path: Path, header: object, length: int) -> None:
    """Nests without end, odd types, shapes that the file has no room for, gaps and overlaps: one short sentence."""
    with pytest.raises(PolicyFileError) as caught:
        read_tensors(with_header(tmp_path / "f", header, bytes(length)))
    assert len(str(caught.value)) < 200


def test_a_header_of_absurd_length_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first eight bytes promise is not believed, and a header has a limit even where there is room for it."""
    for length in (1, 100, 2**26 + 1, 2**40, 2**63, 2**64 - 1):
        (tmp_path / "f").write_bytes(length.to_bytes(8, "little"))
        with pytest.raises(PolicyFileError, match="cut short"):
            read_tensors(tmp_path / "f")
    monkeypatch.setattr(tensor_file, "MOST_HEADER", 10)
    with pytest.raises(PolicyFileError, match="a header of at most 10 bytes"):
        read_tensors(with_header(tmp_path / "f", {"__metadata__": {}}))


@pytest.mark.parametrize(
    ("make", "words"),
    [(Path.mkdir, "a folder"), (os.mkfifo, "a device or a pipe"), (lambda path: None, "none")],
    ids=["folder", "pipe", "nothing"],
)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], object], words: str) -> None:
    """Nobody waits for a pipe that nobody writes to."""
    make(tmp_path / "f")
    with pytest.raises(PolicyFileError, match=f"expected a policy file, found {words}"):
        read_tensors(tmp_path / "f")
