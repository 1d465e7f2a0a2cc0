"""`runcard keys`: the API keys of the service."""

from pathlib import Path
from typing import Annotated

import typer

from runcard.cli.parameters import option, path_option

ACTIONS = ("add", "list", "remove")


def keys(
    action: Annotated[str, typer.Argument(metavar="add|list|remove", help="What to do.")],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Who the key is for.")] = None,
    role: Annotated[
        str,
        option(
            "ROLE",
            "What the key allows: read (look), decide (also ask for decisions, and say what units do), administer "
            "(also load policies).",
        ),
    ] = "read",
    file: Annotated[Path, path_option("FILE", "The file of the keys, which holds only their hashes.", "--keys")] = Path(
        "runcard-keys.json"
    ),
) -> None:
    """Make, list and remove API keys of the service. A new key is shown once."""
    from runcard.service.keys import add_key, read_keys, remove_key
    from runcard.table import visible

    if action not in ACTIONS:
        raise typer.BadParameter(f"expected {', '.join(ACTIONS)}, got {action!r}", param_hint="'add|list|remove'")
    if (name is None) != (action == "list"):
        raise typer.BadParameter(f"expected {'a name' if name is None else 'no name'} to {action}", param_hint="NAME")
    if action == "list":
        for key in read_keys(file):
            print(visible(f"{key.name}  {key.role}  made {key.made}"))
    elif action == "add":
        print(add_key(file, str(name), role))
        typer.echo(f"This is the key of {visible(str(name))}. It is not shown again.", err=True)
    else:
        remove_key(file, str(name))
