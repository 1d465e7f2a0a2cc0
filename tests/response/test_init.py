"""Tests of the folder's public names."""

import subprocess
import sys

import pytest

from runcard import response


def test_public_names() -> None:
    """Every public name can be had, the list is sorted, and any other name is refused."""
    assert response.__all__ == sorted(response.__all__)
    assert all(callable(getattr(response, name)) for name in response.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = response.nothing


def test_import_is_cheap() -> None:
    """Importing the folder loads no numba, hence compiles nothing."""
    code = "import sys, runcard.response; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
