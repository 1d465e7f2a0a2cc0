"""API keys: their file, their roles, and what the service does without them."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from runcard.cli import main
from runcard.errors import InputError
from runcard.service import keys as keys_module
from runcard.service.keys import ROLES, KeyRing, add_key, hash_of, read_keys, remove_key
from runcard.service.limits import role_for


def bearer(token: str) -> dict[str, str]:
    """The header of a key."""
    return {"Authorization": f"Bearer {token}"}


def test_a_key_is_kept_as_its_hash_in_a_file_of_its_owner(tmp_path: Path) -> None:
    """The file has mode 0600 and the SHA-256 of the key, never the key; keys are long and differ."""
    path = tmp_path / "keys.json"
    first, second = add_key(path, "cad", "decide"), add_key(path, "chief", "read")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert first not in text
    assert [key.sha256 for key in read_keys(path)] == [hash_of(first), hash_of(second)]
    assert first != second
    assert len(first) > 43  # 256 bits in base 64


def test_keys_are_on_the_disk_before_they_take_the_place_of_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is synchronised is the whole new file, while the old one is still there: a power cut leaves one of them."""
    path, synchronised, fsync = tmp_path / "keys.json", list[tuple[str, list[str]]](), os.fsync
    add_key(path, "cad", "decide")

    def noted(handle: int) -> None:
        fsync(handle)
        content = Path(f"/proc/self/fd/{handle}").read_text()
        synchronised.append((content, [key.name for key in read_keys(path)]))

    monkeypatch.setattr(os, "fsync", noted)
    add_key(path, "chief", "read")
    assert synchronised == [(path.read_text(), ["cad"])]
    assert [key.name for key in read_keys(path)] == ["cad", "chief"]


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        ("{}", 0o644, "expected keys that only their owner can read: chmod 600"),
        ("{}", 0o600, "expected a file of API keys"),
        ("no json", 0o600, "expected a file of API keys"),
        ('{"keys": [{"name": "a", "role": "king", "sha256": "", "made": ""}]}', 0o600, "expected a role"),
    ],
)
def test_an_unsound_file_of_keys_is_refused(tmp_path: Path, content: str, mode: int, words: str) -> None:
    """A file that others can read, or that is none, is no file of keys."""
    path = tmp_path / "keys.json"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(InputError, match=words):
        read_keys(path)


def test_a_credential_of_systemd_may_be_read_by_its_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below $CREDENTIALS_DIRECTORY mode 0440 is sound, as systemd 254 makes it; 0444 is not, nor 0440 elsewhere."""
    inside, outside = tmp_path / "credentials" / "keys.json", tmp_path / "keys.json"
    inside.parent.mkdir()
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(inside.parent))
    for path in (inside, outside):
        add_key(path, "cad", "decide")
        path.chmod(0o440)
    assert [key.name for key in read_keys(inside)] == ["cad"]
    with pytest.raises(InputError, match="expected keys that only their owner can read"):
        read_keys(outside)
    inside.chmod(0o444)
    with pytest.raises(InputError, match="expected keys that only their owner can read"):
        read_keys(inside)


def test_a_removed_key_is_refused_within_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read again when it changes; one that others can read removes keys, and adds none."""
    monkeypatch.setattr(keys_module, "READ_AGAIN_SECONDS", -1.0)
    path = tmp_path / "keys.json"
    one, two, three = (add_key(path, name, "administer") for name in ("one", "two", "three"))
    ring = KeyRing(path)
    assert ring.find(one) == read_keys(path)[0]
    remove_key(path, "one")
    assert ring.find(one) is None
    path.chmod(0o644)
    assert ring.find(two) is not None
    four = add_key(tmp_path / "more.json", "four", "read")
    document = json.loads(path.read_text())
    document["keys"][0] = json.loads((tmp_path / "more.json").read_text())["keys"][0]
    path.write_text(json.dumps(document))
    assert [ring.find(token) is not None for token in (two, three, four)] == [False, True, False]
    path.chmod(0o600)
    assert [ring.find(token) is not None for token in (two, three, four)] == [False, True, True]


@pytest.mark.parametrize("content", [None, "damaged", "[" * 100_000, '{"keys": [{"name": [], "role": [], "made": 1}]}'])
def test_a_file_of_keys_that_cannot_be_read_lets_nobody_in(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    """A file that is gone or damaged is 401 for all and 503 for `/ready`, and mended it is as before."""
    monkeypatch.setattr(keys_module, "READ_AGAIN_SECONDS", -1.0)
    path = tmp_path / "keys.json"
    token = add_key(path, "one", "read")
    sound, client = path.read_text(), serve(keys=path)
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    assert client.get("/ready").status_code == 503
    assert client.get("/v1/board", headers=bearer(token)).status_code == 401
    path.write_text(sound)
    path.chmod(0o600)
    assert client.get("/v1/board", headers=bearer(token)).status_code == 200
    assert client.get("/ready").status_code == 200


REQUESTS = [
    ("GET", "/v1/board", None, "read"),
    ("GET", "/metrics", None, "read"),
    ("POST", "/v1/decisions", {"area": "n5", "type": "fire"}, "decide"),
    ("PUT", "/v1/units/E01", {"status": "busy"}, "decide"),
    ("POST", "/v1/policies", {"file": "cards.policy", "serve": False}, "administer"),
    ("DELETE", "/v1/policies/cards", None, "administer"),
]


def test_roles_allow_what_they_say(serve: Any, tmp_path: Path) -> None:
    """Without a key 401, with too small a role 403, with the role or a greater one an answer; health is for all."""
    path = tmp_path / "keys.json"
    tokens = {role: add_key(path, role, role) for role in ROLES}
    client = serve(keys=path)
    assert client.get("/health").status_code == 200
    assert client.get("/ready").status_code == 200
    for method, where, body, needed in REQUESTS:
        ask = {"json": body} if body is not None else {}
        missing = client.request(method, where, **ask)
        assert (missing.status_code, missing.headers["www-authenticate"]) == (401, "Bearer")
        assert client.request(method, where, headers=bearer("rck_wrong"), **ask).status_code == 401
        for role in ROLES:
            enough = ROLES.index(role) >= ROLES.index(needed)
            answer = client.request(method, where, headers=bearer(tokens[role]), **ask)
            assert (answer.status_code < 300) == enough, (method, where, role, answer.text)
            if not enough:
                assert answer.status_code == 403
                assert f"expected a key with the role {needed}" in answer.json()["detail"]
    by_other_header = client.get("/v1/board", headers={"X-API-Key": tokens["read"]})
    assert by_other_header.status_code == 200
    asked = client.post("/v1/decisions", json={"area": "n5", "type": "fire"}, headers=bearer(tokens["decide"])).json()
    record = client.get(f"/v1/decisions/{asked['decision_id']}", headers=bearer(tokens["read"])).json()
    assert record["asked_by"] == "decide"  # the name of the key


def test_every_route_of_the_api_needs_a_role(client: Any) -> None:
    """No route below /v1 is open; to change policies takes the role administer, to change anything else decide."""
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/v1/policies", "/v1/policies/{name}", "/v1/decisions", "/v1/scene", "/v1/route", "/health"} <= set(paths)
    for path, methods in paths.items():
        for method in methods:
            needed: str | None = "administer" if "policies" in path else "decide"
            if method == "get" or path in ("/v1/scene", "/v1/route"):
                needed = "read" if path.startswith("/v1") or path == "/metrics" else None
            assert role_for(method.upper(), path) == needed, (method, path)


def test_keys_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`keys add` prints the key once, `list` names without keys, `remove` takes it away; mistakes are sentences."""
    path = str(tmp_path / "keys.json")
    assert main(["keys", "add", "cad", "--role", "decide", "--keys", path]) == 0
    token = capsys.readouterr().out.strip()
    found = KeyRing(Path(path)).find(token)
    assert found is not None
    assert main(["keys", "list", "--keys", path]) == 0
    shown = capsys.readouterr().out
    assert "cad  decide" in shown
    assert token not in shown
    for words, wrong in (
        (["keys", "add", "cad", "--keys", path], "expected a new name, got cad"),
        (["keys", "add", "x", "--role", "king", "--keys", path], "expected a role (read, decide, administer)"),
        (["keys", "remove", "nobody", "--keys", path], "expected a name of a key (cad), got 'nobody'"),
        (["keys", "burn", "x"], "expected add, list, remove, got 'burn'"),
        (["keys", "add"], "expected a name to add"),
    ):
        assert main(words) == 2
        assert wrong in " ".join(capsys.readouterr().err.split())
    assert main(["keys", "remove", "cad", "--keys", path]) == 0
    assert read_keys(Path(path)) == ()
