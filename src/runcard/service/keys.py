"""API keys: 256 random bits, shown once, kept as SHA-256 in a file that only its owner can read.

A key has a role. Each role may do what those before it may: `read` looks, `decide` asks for decisions and says what
units do, `administer` loads policies. The hash of a random key needs no salt: nobody can try 2^256 of them.

The file is read again when it changes, so that a key that was removed is refused within a second. A file that is gone
or damaged lets nobody in until it is mended. Under systemd it is a copy that is made when the service starts
(LoadCredential=): there a change needs a restart.
"""

import hmac
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from runcard.errors import InputError
from runcard.output_file import fill_whole
from runcard.plan.words import expected_one_of

ROLES: Final = ("read", "decide", "administer")
PREFIX: Final = "rck_"
READ_AGAIN_SECONDS: Final = 1.0

_IS_HASH: Final = re.compile("[0-9a-f]{64}")

_log = logging.getLogger("runcard.service")


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key as its file has it: all but the key itself."""

    name: str
    role: str
    sha256: str
    made: str

    def allows(self, role: str) -> bool:
        """Whether it may do what a role may."""
        return ROLES.index(self.role) >= ROLES.index(role)


def hash_of(token: str) -> str:
    """What is kept of a key."""
    return sha256(token.encode()).hexdigest()


def read_keys(path: Path, *, closed: bool = True) -> tuple[Key, ...]:
    """The keys of a file; an InputError if it is not sound, or others could read one that must be closed to them."""
    try:
        folder = os.environ.get("CREDENTIALS_DIRECTORY")
        # A credential of systemd shows mode 0440, and yet only the service can reach it.
        others = 0o037 if folder and path.resolve().is_relative_to(Path(folder).resolve()) else 0o077
        if closed and path.stat().st_mode & others and os.name != "nt":
            raise InputError(f"{path}: expected keys that only their owner can read: chmod 600 {path}")
        document = json.loads(path.read_text(encoding="utf-8"))
        keys = tuple(Key(**one) for one in document["keys"])
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: expected a file of API keys, made by runcard keys add") from error
    for key in keys:
        if not all(isinstance(one, str) for one in (key.name, key.role, key.sha256, key.made)):
            raise InputError(f"{path}: expected a text for every name, role, SHA-256 and time of a key")
        if key.role not in ROLES or not _IS_HASH.fullmatch(str(key.sha256)):
            raise InputError(f"{path}: expected a role ({', '.join(ROLES)}) and a SHA-256 of every key")
    if len({key.name for key in keys}) < len(keys):
        raise InputError(f"{path}: expected every name once")
    return keys


def write_keys(path: Path, keys: Iterable[Key]) -> None:
    """Write a file of keys, whole or not at all, that only its owner can read from the first moment on."""
    content = json.dumps({"keys": [asdict(one) for one in keys]}, indent=2) + "\n"

    def fill(draft: Path) -> None:
        with draft.open("w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    fill_whole(path, fill, new_mode=0o600)


def add_key(path: Path, name: str, role: str) -> str:
    """A new key, which is shown now and never again."""
    if role not in ROLES:
        raise InputError(expected_one_of("role", ROLES, role))
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise InputError(f"expected a name of 1 to 100 letters, got {name!r:.80}")
    keys = read_keys(path) if path.exists() else ()
    if any(key.name == name for key in keys):
        raise InputError(f"{path}: expected a new name, got {name}, which has a key: remove that first")
    token = PREFIX + secrets.token_urlsafe(32)
    made = datetime.now(UTC).isoformat(timespec="seconds")
    write_keys(path, [*keys, Key(name=name, role=role, sha256=hash_of(token), made=made)])
    return token


def remove_key(path: Path, name: str) -> None:
    """Take a key out of a file."""
    keys = read_keys(path)
    if all(key.name != name for key in keys):
        raise InputError(f"{path}: {expected_one_of('name of a key', [key.name for key in keys], name)}")
    write_keys(path, [key for key in keys if key.name != name])


class KeyRing:
    """The keys of a file, read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path, self._keys = path, read_keys(path)
        self._looked, self._said = time.monotonic(), ""
        self._seen: tuple[int, ...] | None = _state_of(path)

    def find(self, token: str) -> Key | None:
        """The key with that secret; every key is compared, in the same time whatever the secret is."""
        self.look()
        given, found = hash_of(token), None
        for key in self._keys:
            if hmac.compare_digest(given, key.sha256):
                found = key
        return found

    def look(self) -> bool:
        """Whether there are keys, after reading the file again if it changed.

        A file that cannot be read lets nobody in: it may be that of somebody whose key was to be removed. One that
        others can read takes keys away, but brings none: whoever can write to it would make one.
        """
        if time.monotonic() - self._looked > READ_AGAIN_SECONDS:
            self._looked = time.monotonic()
            try:
                seen = _state_of(self._path)
                if seen != self._seen:
                    self._keys, self._seen = self._read(), seen
            except (OSError, InputError) as error:
                self._keys, self._seen = (), None
                self._say(f"nobody can ask: {error}")
        return self._seen is not None

    def _read(self) -> tuple[Key, ...]:
        """The keys of the file as it is now."""
        try:
            found = read_keys(self._path)
            self._said = ""
            return found
        except InputError as error:
            found = read_keys(self._path, closed=False)
            self._say(f"keys can only be removed: {error}")
            return tuple(key for key in found if key in self._keys)

    def _say(self, words: str) -> None:
        """Log what is wrong, once."""
        if words != self._said:
            _log.warning("%s", words)
        self._said = words


def _state_of(path: Path) -> tuple[int, ...]:
    """What tells whether a file changed; its mode changes with ctime."""
    now = path.stat()
    return now.st_ino, now.st_mtime_ns, now.st_ctime_ns
