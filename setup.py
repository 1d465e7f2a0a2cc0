"""What pyproject.toml cannot say: the README for a package index, where relative links would lead nowhere."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
RELATIVE_LINK = re.compile(r"(\]\()(?![a-z]+:|#)")


def long_description() -> str:
    """The README with links that work anywhere."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    return RELATIVE_LINK.sub(rf"\1{project['urls']['Homepage']}/blob/main/", readme)


setup(long_description=long_description(), long_description_content_type="text/markdown")
