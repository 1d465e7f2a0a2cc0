"""The catalogue of teams, against plain enumeration."""

from itertools import combinations_with_replacement, permutations
from math import comb

import numpy as np
import pytest

from runcard.errors import InputError
from runcard.response.teams import Teams

CASES = [((2, 1), 2), ((1, 1, 1), 0), ((1,), 3), ((3, 1, 2, 1), 3), ((4, 2, 1), 4), ((1, 2, 1, 3, 1), 2)]


def plain_list(trucks: tuple[int, ...], max_size: int) -> list[tuple[int, ...]]:
    """Every team as its stations, by size and then by station, found by trying every multiset."""
    return [
        team
        for size in range(max_size + 1)
        for team in combinations_with_replacement(range(len(trucks)), size)
        if all(team.count(i) <= trucks[i] for i in range(len(trucks)))
    ]


@pytest.mark.parametrize(("trucks", "max_size"), CASES)
def test_lists_every_team_once_by_size_and_station(trucks: tuple[int, ...], max_size: int) -> None:
    """Stations, counts and sizes are those of every multiset that the stations allow, in order."""
    teams, expected = Teams.of(trucks, max_size), plain_list(trucks, max_size)
    assert [tuple(i for i in team if i >= 0) for team in teams.stations.tolist()] == expected
    assert teams.counts.tolist() == [[team.count(i) for i in range(len(trucks))] for team in expected]
    assert teams.sizes.tolist() == [len(team) for team in expected]
    for size in range(max_size + 1):
        assert [t for t, team in enumerate(expected) if len(team) == size] == list(
            range(len(teams))[teams.of_size(size)]
        )


@pytest.mark.parametrize(("trucks", "max_size"), CASES)
def test_finds_a_team_by_its_stations_and_by_its_code(trucks: tuple[int, ...], max_size: int) -> None:
    """Every way to look a team up gives its place in the list, whatever the order of the stations."""
    teams, every_code = Teams.of(trucks, max_size), set()
    for number, team in enumerate(plain_list(trucks, max_size)):
        assert teams.number(team[::-1]) == number
        for padded in set(permutations([*team, *[-1] * (max_size - len(team))])):
            code = 0
            for i in padded:
                code = code * teams.base + i + 1
            every_code.add(code)
            assert teams.number_of_code[code] == number
            assert teams.numbers(np.array([padded], np.int64)).tolist() == [number]
    assert set(np.flatnonzero(teams.number_of_code >= 0).tolist()) == every_code


def test_a_team_that_does_not_exist_is_refused() -> None:
    """A truck too many of a station, or in all, is an error and not some other team."""
    teams = Teams.of([1, 2], 2)
    for wrong in ([0, 0], [0, 1, 1], [2]):
        with pytest.raises(InputError, match="expected a team"):
            teams.number(wrong)


@pytest.mark.parametrize(("trucks", "max_size"), CASES)
def test_idle_teams_are_those_whose_trucks_are_idle(trucks: tuple[int, ...], max_size: int) -> None:
    """In every state, masks and the search agree with comparing counts."""
    teams = Teams.of(trucks, max_size)
    for counts in np.ndindex(*(number + 1 for number in trucks)):
        idle = np.array(counts, np.int64)
        expected = (teams.counts <= idle).all(axis=1)
        state = np.uint64((((1 << np.minimum(idle, teams.bits)) - 1) << teams.first_bit).sum())
        assert ((teams.masks & ~state) == 0).tolist() == expected.tolist()
        for size in range(max_size + 1):
            assert teams.idle(idle, size).tolist() == np.flatnonzero(expected & (teams.sizes == size)).tolist()


def test_large_departments_are_listed_at_once() -> None:
    """The number of teams is a binomial coefficient: 200 trucks in pairs, 20 in threes."""
    assert len(Teams.of([1] * 200, 2)) == 1 + 200 + comb(200, 2)
    assert len(Teams.of([1] * 20, 3)) == 1 + 20 + comb(20, 2) + comb(20, 3)


def test_a_catalogue_cannot_be_written_to() -> None:
    """It is shared by everything that is made for one department."""
    teams = Teams.of([1, 1], 2)
    for array in (teams.stations, teams.counts, teams.sizes, teams.number_of_code, teams.masks):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
