"""The command line: arguments are parsed and results printed here, and everything else is imported when it is used."""

from runcard.cli.program import app, main

__all__ = ["app", "main"]
