"""The city in a policy file: addresses from a file alone, and whatever may be wrong with it."""

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.departments import grid_department
from tests.town import plain_town

from runcard.city import City
from runcard.city.files import city_from_texts, city_texts
from runcard.errors import CityError, InputError, PolicyFileError
from runcard.plan import stored_city
from runcard.plan.file import load, read_contents, save, write_contents
from runcard.plan.plan import solve
from runcard.plan.situation import Situation


@pytest.fixture(scope="module")
def city() -> City:
    """Four engines and two ladders on 16 nodes; the last 6 are no demand points."""
    whole = grid_department(side=4, engines=4, ladders=2)
    return replace(whole, demand=tuple(point for point in whole.demand if int(point.node_id[1:]) < 10))


@pytest.fixture(scope="module")
def saved(city: City, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its file."""
    return save(solve(city), tmp_path_factory.mktemp("saved") / "city.policy")


def test_a_city_is_made_again_from_its_texts(city: City) -> None:
    """A department and a plain city are equal to what their texts say; without a text the fault names the file."""
    for given in (city, plain_town()):
        assert city_from_texts(city_texts(given)) == given
    texts = city_texts(city)
    del texts["link.csv"]
    with pytest.raises(CityError, match=r"city: 1 fault: link\.csv: the file is missing"):
        city_from_texts(texts)


@pytest.mark.parametrize("plain", [False, True])
def test_a_file_answers_for_any_place_as_the_department_did(city: City, tmp_path: Path, plain: bool) -> None:
    """The same decision at a node that is no demand point, with a unit elsewhere, before and after a round trip."""
    given = replace(plain_town(), demand=plain_town().demand[::3]) if plain else city
    before = solve(given, "closest-first")
    after = load(save(before, tmp_path / "city.policy"))
    again = load(save(after, tmp_path / "again.policy"))
    points = {point.node_id for point in given.demand}
    names = before.unit_ids or before.fleets[0].problem.station_ids
    for node in given.nodes:
        if node.node_id not in points:
            asked = Situation(
                at=node.node_id, type="" if plain else "fire", idle=names, moved={names[0]: given.nodes[0].node_id}
            )
            answers = [plan.decide(asked) for plan in (before, after, again)]
            assert len({one.units for one in answers}) == 1
            first, *others = ([of.decision for of in answer.kinds] for answer in answers)
            assert others == [first, first]


def test_the_city_is_read_only_when_it_is_needed(city: City, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision for a demand point never unpacks the city; one elsewhere does, once."""
    calls = []
    read = stored_city._unpacked
    monkeypatch.setattr(stored_city, "_unpacked", lambda word: calls.append(word) or read(word))
    department = load(saved)
    department.decide(Situation(at=city.demand[0].node_id, type="fire", idle=department.unit_ids))
    assert calls == []
    for _ in range(2):
        department.decide(Situation(at="n15", type="fire", idle=department.unit_ids))
    assert len(calls) == 1


def test_a_file_of_before_says_what_is_missing(saved: Path, tmp_path: Path) -> None:
    """Without a city, demand points are answered as ever, and an address is refused in a sentence."""
    about, arrays, _ = read_contents(saved)
    del about["city"]
    department = load(write_contents(tmp_path / "old.policy", about, arrays))
    assert department.ground is None
    assert department.decide(Situation(at="n0", type="fire", idle=department.unit_ids)).units
    with pytest.raises(InputError, match="the policy holds no city"):
        department.decide(Situation(at=(0.0, 0.0), type="fire", idle=department.unit_ids))


def packed(content: Any) -> str:
    """A word of a header, as it should be."""
    return base64.b64encode(zlib.compress(json.dumps(content).encode())).decode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about, words: words.update(city=words["city"][:-8] + "AAAAAAA="), "does not match its digest"),
        (lambda about, words: words.pop("city"), "does not match its digest"),
        (lambda about, words: about.pop("city"), "does not match its digest"),
        (lambda about, words: about.update(city=7), "does not match its digest"),
        (lambda about, words: about["city"].update(outside_links={"engine": -1}), "expected the links of trucks from"),
        (lambda about, words: about["city"].update(outside_links=[1]), "expected the links of trucks from outside"),
    ],
)
def test_a_damaged_city_is_refused_with_the_file(
    saved: Path, tmp_path: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any], message: str
) -> None:
    """A city that is not the one that was written, or is missing, is found when the file is loaded."""
    about, arrays, words = read_contents(saved)
    change(about, words)
    path = write_contents(tmp_path / "other.policy", about, arrays, {k: v for k, v in words.items() if k == "city"})
    with pytest.raises(PolicyFileError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("no base64!", "the city in the policy file is damaged"),
        (base64.b64encode(b"not packed").decode(), "the city in the policy file is damaged"),
        (packed("a"), "expected the texts of its files"),
        (packed({"node.csv": 7}), "expected the texts of its files"),
        (packed({"node.csv": "node_id"}), "the city in the policy file is not sound: city: "),
        (base64.b64encode(zlib.compress(b"{}")[:-3]).decode(), "is cut short"),
        (base64.b64encode(zlib.compress(b" " * 2000)).decode(), "of more than 1,000 bytes"),
    ],
)
def test_a_city_that_somebody_made_up_is_refused_when_it_is_needed(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, message: str
) -> None:
    """With a digest that fits: no text, other files, and one that would unpack to more than there is room for."""
    monkeypatch.setattr(stored_city, "MOST_BYTES", 1000)
    about, arrays, _ = read_contents(saved)
    about["city"]["digest"] = stored_city._digest(word)
    department = load(write_contents(tmp_path / "made up.policy", about, arrays, {"city": word}))
    assert department.decide(Situation(at="n0", type="fire", idle=department.unit_ids)).units
    with pytest.raises(PolicyFileError, match=message):
        department.decide(Situation(at="n15", type="fire", idle=department.unit_ids))
