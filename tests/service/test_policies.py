"""Loaded policies: versions, swapping one for another while requests come, and what is refused."""

import shutil
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import end

from runcard.city import City
from runcard.errors import InputError, PolicyFileError
from runcard.plan.file import save
from runcard.plan.plan import Plan, solve
from runcard.service import policies
from runcard.service.policies import SLOW_SECONDS, PolicyStore, load_policy

ASKED = {"area": "n5", "type": "fire", "busy": ["E01"]}


@pytest.fixture
def copies(policy_folder: Path, tmp_path: Path) -> Path:
    """A folder of its own with optimal.policy and cards.policy."""
    for name in ("optimal.policy", "cards.policy"):
        shutil.copy(policy_folder / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def restart(serve: Any, copies: Path) -> Any:
    """What starts a service of a file of the folder, with its board there, after ending the one before."""
    running: list[Any] = []

    def again(name: str = "optimal.policy") -> Any:
        while running:
            end(running.pop())
        running.append(serve(str(copies / name), board=copies / "board.json"))
        return running[-1]

    return again


def serving(client: Any) -> str:
    """The name of the policy that answers."""
    return str(client.get("/ready").json()["policy"]["name"])


def test_the_version_is_that_of_the_file(client: Any, policy_folder: Path) -> None:
    """The list has each policy with the first 12 hex digits of the SHA-256 of its file, closest-first beside them."""
    found = client.get("/v1/policies").json()
    digest = sha256((policy_folder / "optimal.policy").read_bytes()).hexdigest()[:12]
    first, closest = found["policies"]
    assert (first["name"], first["version"], first["method"], first["serving"]) == ("optimal", digest, "optimal", True)
    assert first["changed_on_disk"] is False
    assert (closest["name"], closest["serving"], closest["file"]) == ("closest-first", False, None)
    assert found["types"] == ["fire", "medical"]


def test_a_policy_is_swapped_and_the_old_one_can_be_asked_for(client: Any, caplog: pytest.LogCaptureFixture) -> None:
    """After loading another file it answers; a request for the old version is refused, by its name it is not."""
    old = client.get("/ready").json()["policy"]["version"]
    loaded = client.post("/v1/policies", json={"file": "cards.policy"})
    assert (loaded.status_code, loaded.json()["serving"]) == (201, True)
    assert caplog.messages[-1] == f"policy cards, version {loaded.json()['version']}, was loaded"
    answer = client.post("/v1/decisions", json=ASKED).json()
    assert (answer["answered_by"], answer["policy"]["name"]) == ("fixed-card", "cards")
    assert "on the card" in answer["reason"]
    stale = client.post("/v1/decisions", json=ASKED | {"policy_version": old})
    assert stale.status_code == 409
    assert loaded.json()["version"] in stale.json()["detail"]
    named = client.post("/v1/decisions", json=ASKED | {"policy": "optimal", "policy_version": old}).json()
    assert named["answered_by"] == "optimal"
    closest = client.post("/v1/decisions", json=ASKED | {"policy": "closest-first"}).json()
    assert closest["fallback"] in (True, False)
    assert "by driving time" in closest["reason"]
    assert client.delete("/v1/policies/optimal").status_code == 204
    assert client.post("/v1/decisions", json=ASKED | {"policy": "optimal"}).status_code == 422


def test_a_swap_is_kept_over_a_restart(restart: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The file that was swapped in, by its own name or by that of the one that answers, does so after a restart, too;
    start-up says so."""
    kept = restart().post("/v1/policies", json={"file": "cards.policy", "name": "night"}).json()
    client = restart()
    again = client.get("/ready").json()["policy"]
    assert (again["name"], again["version"]) == ("night", kept["version"])
    assert "cards.policy answers, not optimal.policy" in caplog.text
    client.post("/v1/policies", json={"file": "optimal.policy"})
    client = restart()
    assert serving(client) == "optimal"
    named = client.post("/v1/policies", json={"file": "cards.policy", "name": "optimal", "serve": False}).json()
    assert named["serving"] is True  # it has the name of the one that answers
    assert restart().get("/ready").json()["policy"]["version"] == kept["version"]


def test_a_swap_that_cannot_be_kept_is_said_loudly(
    restart: Any, copies: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that is gone, or another first file, by name or version: it answers; a file of nonsense is refused."""
    restart().post("/v1/policies", json={"file": "cards.policy"})
    (copies / "cards.policy").rename(copies / "other.policy")
    assert serving(restart()) == "optimal"
    assert "optimal.policy ANSWERS AGAIN, not cards.policy" in caplog.text
    assert serving(restart("other.policy")) == "other"
    assert "the service is started with another file by now" in caplog.text
    caplog.clear()
    (copies / "other.policy").rename(copies / "cards.policy")
    shutil.copy(copies / "cards.policy", copies / "optimal.policy")  # the same name, and another policy
    assert serving(restart()) == "optimal"
    assert "the service is started with another file by now" in caplog.text
    (copies / "board.policy.json").write_text("{}")
    with pytest.raises(InputError, match="expected the policy that a service kept"):
        restart()


def test_a_kept_swap_leads_to_no_other_folder(restart: Any, copies: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever can write to the file that keeps a swap cannot let a policy answer from anywhere."""
    restart().post("/v1/policies", json={"file": "cards.policy"})
    (copies / "elsewhere").mkdir()
    (copies / "cards.policy").rename(copies / "elsewhere" / "cards.policy")
    kept = copies / "board.policy.json"
    kept.write_text(kept.read_text().replace("cards.policy", "elsewhere/cards.policy"))
    assert serving(restart()) == "optimal"
    assert "ANSWERS AGAIN" in caplog.text


def test_closest_first_has_a_version_of_its_own(client: Any) -> None:
    """The record of an answer cannot be taken for one of the served file; another served file, another version.

    No other policy can take the name under which the fallback is found.
    """

    def versions() -> dict[str, str]:
        found = client.get("/v1/policies")
        assert found.status_code == 200, found.text
        return {one["name"]: one["version"] for one in found.json()["policies"]}

    before = versions()
    assert before["closest-first"] != before["optimal"]
    answer = client.post("/v1/decisions", json=ASKED | {"policy": "closest-first"}).json()
    assert answer["policy"]["version"] == before["closest-first"]
    refused = client.post("/v1/policies", json={"file": "cards.policy", "name": "closest-first"})
    assert (refused.status_code, "expected another name for fixed-card" in refused.text) == (409, True)
    client.post("/v1/policies", json={"file": "cards.policy"})
    assert len(set(versions().values()) | set(before.values())) == 4


def test_periods_need_the_clock_of_the_city(serve: Any) -> None:
    """The clock of the machine may be that of another zone, so that nobody guesses: no start, no swap without it."""
    with pytest.raises(InputError, match=r"week.policy: it has periods of the week, expected the clock of the city"):
        serve("week.policy")
    refused = serve("plain.policy").post("/v1/policies", json={"file": "week.policy"})
    assert (refused.status_code, "expected the clock of the city" in refused.json()["detail"]) == (422, True)
    assert serve("week.policy", time_zone="America/Los_Angeles").get("/ready").status_code == 200


def test_a_file_that_changes_on_disk_is_said(serve: Any, copies: Path) -> None:
    """What was loaded answers on; the list says that the file is another one now, also if it is gone."""
    path = copies / "optimal.policy"
    client = serve(str(path))
    before = client.post("/v1/decisions", json=ASKED).json()
    shutil.copy(copies / "cards.policy", path)
    assert client.get("/v1/policies").json()["policies"][0]["changed_on_disk"] is True
    assert client.post("/v1/decisions", json=ASKED).json()["policy"] == before["policy"]
    reloaded = client.post("/v1/policies", json={"file": "optimal.policy", "serve": False}).json()
    assert reloaded["serving"] is True  # it has the name of the one that answers
    assert client.post("/v1/decisions", json=ASKED).json()["answered_by"] == "fixed-card"
    path.unlink()
    assert client.get("/v1/policies").json()["policies"][0]["changed_on_disk"] is True


def test_a_file_that_changes_while_it_is_read_is_refused(copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version would be that of another one than answers."""
    read = policies.load

    def load_and_change(path: Path) -> Plan:
        plan = read(path)
        shutil.copy(copies / "cards.policy", path)
        return plan

    monkeypatch.setattr(policies, "load", load_and_change)
    with pytest.raises(PolicyFileError, match="it changed while it was read"):
        load_policy(copies / "optimal.policy")


def test_links_and_damaged_files_are_refused(serve: Any, copies: Path) -> None:
    """A link to a file elsewhere, or to itself, and half a file are 422, and what answered answers on."""
    (copies / "served").mkdir()
    for name, content in (("a.policy", "optimal.policy"), ("broken.policy", "cards.policy")):
        (copies / "served" / name).write_bytes((copies / content).read_bytes()[: 3000 if name[0] == "b" else None])
    (copies / "served" / "link.policy").symlink_to(copies / "cards.policy")
    (copies / "served" / "loop").symlink_to("loop")
    client = serve(str(copies / "served" / "a.policy"))
    for name in ("link.policy", "loop", "broken.policy"):
        assert client.post("/v1/policies", json={"file": name}).status_code == 422
    assert client.post("/v1/decisions", json=ASKED).json()["answered_by"] == "optimal"


@pytest.mark.parametrize("what", ["units", "stations", "demand points"])
def test_a_policy_of_another_city_is_refused(
    policy_folder: Path, department_city: City, tmp_path: Path, what: str
) -> None:
    """A city that differs in one thing alone is refused for it: a unit's name, a station's node, a demand point."""
    store, city = PolicyStore(load_policy(policy_folder / "optimal.policy")), department_city
    if what == "units":
        city = replace(city, units=(replace(city.units[0], unit_id="E99"), *city.units[1:]))
    elif what == "stations":
        city = replace(city, stations=(replace(city.stations[0], node_id="n15"), *city.stations[1:]))
    else:
        city = replace(city, demand=city.demand[1:])
    path = save(solve(city, "closest-first"), tmp_path / "near.policy")
    with pytest.raises(PolicyFileError, match=f"expected the city that is served, .* got other {what}"):
        store.check(load_policy(path, name="near"))


def test_what_is_found_of_an_old_policy_does_not_bring_it_back(policy_folder: Path) -> None:
    """A late answer of a policy whose place another one has taken marks neither of them."""
    store = PolicyStore(load_policy(policy_folder / "optimal.policy"))
    old, new = store.serving, load_policy(policy_folder / "cards.policy", name="optimal")
    store.add(new, serve=True)
    store.mark(old, slow=not new.slow)
    assert store.by_name["optimal"] is store.serving is new


def test_what_is_found_of_another_policy_does_not_let_it_answer(policy_folder: Path) -> None:
    """A policy that was asked for by its name, and was slow, is slow from then on; the other one answers as before."""
    store = PolicyStore(load_policy(policy_folder / "optimal.policy"))
    other, serving = load_policy(policy_folder / "cards.policy"), store.serving
    store.add(other, serve=False)
    store.mark(other, slow=not other.slow)
    assert store.by_name["cards"].slow is not other.slow
    assert store.serving is serving


def test_there_always_is_a_closest_first(policy_folder: Path, department_city: City, tmp_path: Path) -> None:
    """A file may be called so if it is; when it is forgotten, the fallback is there all the same."""
    store = PolicyStore(load_policy(policy_folder / "optimal.policy"))
    path = solve(department_city, "closest-first").save(tmp_path / "closest-first.policy")
    store.add(load_policy(path), serve=False)
    assert store.get("closest-first").path == path
    store.forget("closest-first")
    assert store.get("closest-first").path is None


@pytest.mark.parametrize("works", [False, True])
def test_only_work_makes_a_policy_slow(policy_folder: Path, monkeypatch: pytest.MonkeyPatch, works: bool) -> None:
    """An answer that takes the processor for long is slow; one that waits while others use the machine is not."""
    decide = Plan.decide

    def late(self: Plan, *asked: Any, **more: Any) -> Any:
        if works:
            until = time.thread_time() + 2.0 * SLOW_SECONDS
            while time.thread_time() < until:
                pass
        else:
            time.sleep(2.0 * SLOW_SECONDS)
        return decide(self, *asked, **more)

    monkeypatch.setattr(Plan, "decide", late)
    assert load_policy(policy_folder / "optimal.policy").warm_up().slow is works
