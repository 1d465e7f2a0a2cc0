"""The Gymnasium environment."""

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

import runcard
from runcard.city.model import City
from runcard.errors import InputError, MissingExtraError
from runcard.mdp.rows import ValueRule
from runcard.policy.base import Policy
from runcard.policy.by_table import table_rule
from runcard.policy.options import first_in_order
from runcard.simulate.engine import batch_key
from runcard.simulate.environment import ENVIRONMENT_ID, DispatchEnv
from runcard.simulate.kernels.day import begin
from runcard.simulate.kernels.run import run_batch
from runcard.simulate.model import build_model
from runcard.simulate.result import interval_of
from runcard.simulate.rules import array_rule
from runcard.simulate.scenario import Scenario, Shift, read_scenario
from runcard.simulate.state import RECORD, new_state, no_counts

from .cases import department_of

Choose = Callable[[NDArray[np.int64], NDArray[np.int8]], int]
Step = tuple[NDArray[np.int64], float, bool, bool, dict[str, Any]]


def small_city(trucks: tuple[int, ...] = (1, 1, 1), needed: tuple[int, ...] = (2,), load: float = 0.3) -> City:
    """A grid with stations of these many trucks, and demand points that need these many in turn."""
    city = runcard.generate_grid(side=3, num_stations=len(trucks), load=load, seed=5)
    stations = tuple(replace(station, trucks=num) for station, num in zip(city.stations, trucks, strict=True))
    demand = tuple(replace(point, trucks=needed[n % len(needed)]) for n, point in enumerate(city.demand))
    return replace(city, stations=stations, demand=demand)


CITIES = {
    "one": small_city(needed=(1,)),
    "two": small_city(),
    "stations of several trucks": small_city((2, 3), needed=(1, 2)),
    "three": small_city((1, 2, 1), needed=(3,), load=0.6),
}


def play(
    env: DispatchEnv, choose: Callable[[NDArray[np.int64], NDArray[np.int8]], Any], seed: int | None
) -> list[Step]:
    """Every step of an episode in which `choose` gives the action for an observation and a mask."""
    seen, info = env.reset(seed=seed)
    steps: list[Step] = []
    while not steps or not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(choose(seen, info["action_mask"])))
        seen, info = steps[-1][0], steps[-1][4]
    return steps


def first_team(_: NDArray[np.int64], mask: NDArray[np.int8]) -> int:
    """The first of the teams that can go."""
    return int(mask.argmax())


def optimal_choice(policy: Policy) -> Choose:
    """What the optimal policy does, from an observation that begins with the idle trucks and the demand point."""
    assert isinstance(policy.rule, ValueRule)
    num = policy.problem.num_stations + 1
    table = table_rule(policy.problem, policy.rule).table.reshape(*(policy.problem.trucks + 1), -1)
    return lambda seen, _: int(table[tuple(seen[:num])])


@pytest.mark.parametrize(
    ("name", "scenario"),
    [("one", "paper"), ("two", "evening"), ("stations of several trucks", "redirect+breakdowns"), ("three", "paper")],
)
def test_gymnasiums_own_checker_has_nothing_to_say(name: str, scenario: str) -> None:
    """`check_env` passes, with no warning, for an environment made by its registered name."""
    env = gymnasium.make(f"runcard.simulate.environment:{ENVIRONMENT_ID}", city=CITIES[name], scenario=scenario)
    check_env(env.unwrapped)


@pytest.mark.parametrize("scenario", ["paper", "redirect", "breakdowns", "night-shift"])
def test_the_teams_that_can_go(scenario: str) -> None:
    """The mask has exactly the teams of idle trucks, as many as needed or all if fewer, and never none."""
    city = CITIES["stations of several trucks"]
    env = DispatchEnv(city, scenario, episode_incidents=150)
    problem, rng = env.problem, np.random.default_rng(1)
    seen, info = env.reset(seed=1)
    few = False
    for _ in range(150):
        idle, point = seen[: problem.num_stations], int(seen[problem.num_stations])
        wanted = min(int(problem.trucks_needed[point]), int(idle.sum()))
        few |= wanted < problem.trucks_needed[point]
        expected = [sum(team) == wanted and all(team <= idle) for team in problem.teams.counts]
        assert info["action_mask"].dtype == np.int8
        assert info["action_mask"].tolist() == expected
        assert seen in env.observation_space
        chosen = int(rng.choice(np.flatnonzero(info["action_mask"])))
        seen, _, _, _, info = env.step(chosen)
        assert info["valid"]
        assert info["team"] == chosen
    assert few


def test_an_action_that_cannot_go_is_closest_first() -> None:
    """A team that is busy or of the wrong size is replaced, and the step says so."""
    city = CITIES["two"]
    env = DispatchEnv(city, episode_incidents=60)
    problem = env.problem

    def closest(seen: NDArray[np.int64], _: NDArray[np.int8]) -> int:
        return first_in_order(problem, problem.order, seen[:-1], int(seen[-1]))

    by_mask, replaced = play(env, closest, 3), play(env, lambda _, mask: int(mask.argmin()), 3)
    assert all(step[4]["valid"] for step in by_mask)
    assert not any(step[4]["valid"] for step in replaced)
    for one, other in zip(by_mask, replaced, strict=True):
        assert one[0].tolist() == other[0].tolist()
        assert one[4]["team"] == other[4]["team"]


def test_a_seed_is_an_episode() -> None:
    """The same seed gives the same episodes in the same order; another seed, or the next reset, gives others."""
    env, other = (DispatchEnv(CITIES["two"], "evening", episode_incidents=40) for _ in range(2))
    episodes = [str(play(env, first_team, seed)) for seed in (7, None, None, 8)]
    again = [str(play(other, first_team, seed)) for seed in (7, None, None, 8)]
    assert episodes == again
    assert len(set(episodes)) == 4
    fresh = [str(play(DispatchEnv(CITIES["two"], episode_incidents=20), first_team, None)) for _ in range(2)]
    assert fresh[0] != fresh[1]


@pytest.mark.parametrize(
    ("city", "scenario"), [(CITIES["two"], "redirect+evening"), (CITIES["three"], "turn-back+breakdowns")]
)
def test_an_episode_is_a_batch_of_the_simulation(city: City, scenario: str) -> None:
    """Without warming up, the simulation's records of a policy are those of the environment, number by number."""
    policy = runcard.solve_problem(runcard.dispatch_problem(city), "optimal")
    rule, model = array_rule(policy), build_model(city, read_scenario(scenario))
    env = DispatchEnv(city, scenario, episode_incidents=300)
    for number in range(2):
        state, records, team = new_state(model), np.zeros(300, RECORD), np.empty(model.most_needed, np.int64)
        begin(model, state, batch_key(11, number), 0.0)
        state.clock["measured_from"] = 0.0
        run_batch(model, state, rule, no_counts(len(model.standards)), records, team, 0, 300, 1e9)
        steps = play(env, optimal_choice(policy), None if number else 11)
        infos = [step[4] for step in steps]
        assert [info["late"] for info in infos] == records["late"].tolist()
        assert [info["first_minutes"] for info in infos] == records["first"].tolist()
        assert [info["last_minutes"] for info in infos] == records["last"].tolist()
        assert [info["minutes"] for info in infos[:-1]] == records["minutes"][1:].tolist()
        sent = env.problem.teams.stations[[info["team"] for info in infos]]
        assert sent.tolist() == records["stations"][:, : model.most_needed].tolist()
        assert [step[1] for step in steps] == [-float(late) for late in records["late"]]


@pytest.mark.slow
def test_the_late_fraction_is_the_exact_one() -> None:
    """By either reward, the mean over episodes has the exact late fraction in its 99.9 % interval; one varies less."""
    city = CITIES["two"]
    policy = runcard.solve_problem(runcard.dispatch_problem(city), "optimal")
    exact = runcard.evaluate(policy).late_fraction
    widths = []
    for reward in ("late", "expected"):
        env = DispatchEnv(city, episode_incidents=1000, reward=reward)
        rewards = [[step[1] for step in play(env, optimal_choice(policy), None if n else 4)] for n in range(12)]
        # The first busy times of an episode, with more idle trucks than usual, are left out.
        found = interval_of([-float(np.mean(one[20:])) for one in rewards], 0.999)
        assert found.low < exact < found.high
        widths.append(found.half)
    assert widths[1] < widths[0]


@pytest.mark.parametrize("scenario", ["traffic", "turn-back+steady-scenes", "breakdowns+evening"])
def test_what_is_expected_is_what_happens(scenario: str) -> None:
    """P(late) of the teams that go has the mean of what is drawn, in scenarios that change the law of driving too."""
    env = DispatchEnv(CITIES["stations of several trucks"], scenario, episode_incidents=1000)
    episodes = [[step[4] for step in play(env, first_team, None if n else 6)] for n in range(6)]
    found = interval_of([float(np.mean([info["late"] - info["p_late"] for info in one])) for one in episodes], 0.999)
    assert found.low < 0.0 < found.high
    assert found.half < 0.05


def test_what_a_step_says() -> None:
    """Times rise, the first truck is not behind the last, and P(late) is that of the problem."""
    env = DispatchEnv(CITIES["two"], episode_incidents=200, reward="expected")
    seen, _ = env.reset(seed=2)
    point = int(seen[-1])
    steps = play(env, first_team, 2)
    for seen, reward, terminated, truncated, info in steps:
        assert 0.0 <= info["first_minutes"] <= info["last_minutes"]
        assert info["p_late"] == env.problem.measures["late"][info["team"], point] == -reward
        assert not terminated
        point = int(seen[-1])
        assert isinstance(reward, float)
        assert isinstance(truncated, bool)
    assert [step[3] for step in steps] == [False] * 199 + [True]
    assert all(early[4]["minutes"] < late[4]["minutes"] for early, late in pairwise(steps))


def test_the_hour_is_seen_where_it_matters() -> None:
    """There is no hour in the paper's model; rates by hour of day show that, and shifts the hour of the week."""
    city = CITIES["two"]
    sizes = [2, 2, 2, len(city.demand)]
    assert DispatchEnv(city).observation_space.nvec.tolist() == sizes
    assert DispatchEnv(city, "evening").observation_space.nvec.tolist() == [*sizes, 24]
    shifts = Scenario("shifts", shifts=(Shift(city.stations[0].station_id, 3.0, 7 * 24.0 - 6.0),))
    env = DispatchEnv(city, shifts, episode_incidents=300)
    assert env.observation_space.nvec.tolist() == [*sizes, 168]
    steps = play(env, first_team, 1)
    for seen, *_, info in steps:
        assert seen[-1] == int(info["minutes"] % 10080.0 / 60.0)
        assert seen[0] == 0 or not 3 <= seen[-1] < 165
    assert len({int(step[0][-1]) for step in steps}) > 100


@pytest.mark.parametrize("most", [1000, 5])
def test_a_log_ends_the_episode(tmp_path: Path, most: int) -> None:
    """Every incident of a log is one step, then the episode is terminated, and another step is an error.

    It is not cut, even if it has as many incidents as an episode may have: there is nothing to go on with.
    """
    city = CITIES["two"]
    nodes = [city.demand[n % len(city.demand)].node_id for n in range(5)]
    rows = [f"2015-01-06T{10 + n}:30:00,{node}" for n, node in enumerate(nodes)]
    (tmp_path / "log.csv").write_text("\n".join(["time,node_id", *rows]))
    env = DispatchEnv(city, Scenario("replay", log=tmp_path / "log.csv"), episode_incidents=most)
    seen, info = env.reset(seed=1)
    assert seen[-2:].tolist() == [0, 34]
    assert info["minutes"] == 0.0
    steps = play(env, first_team, 1)
    assert [step[2] for step in steps] == [False] * 4 + [True]
    assert not any(step[3] for step in steps)
    assert [step[0][-2] for step in steps[:-1]] == [n % len(city.demand) for n in range(1, 5)]
    assert steps[-1][4]["action_mask"].sum() == 0
    with pytest.raises(InputError, match=r"expected reset\(\) before step\(\)"):
        env.step(0)


def test_several_at_once() -> None:
    """A vector of environments of one city steps them together, each with a seed of its own and masks in one array."""
    city = CITIES["three"]
    envs = SyncVectorEnv(
        [lambda: DispatchEnv(city, episode_incidents=5) for _ in range(3)], autoreset_mode=AutoresetMode.NEXT_STEP
    )
    _, infos = envs.reset(seed=1)
    for _ in range(12):
        assert infos["action_mask"].shape == (3, envs.single_action_space.n)  # type: ignore[attr-defined]
        seen, rewards, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        assert seen.shape == (3, 4)
        assert rewards.shape == (3,)
    envs.close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"reward": "minutes"}, "expected a reward, one of late, expected; got 'minutes'"),
        ({"reward": "expected", "scenario": "redirect"}, 'scenario redirect: expected reward="late"'),
        ({"reward": "expected", "scenario": "turnout"}, 'scenario turnout: expected reward="late"'),
        ({"episode_incidents": 0}, "expected a whole number of incidents from 1 up in an episode, got 0"),
        ({"episode_incidents": 1.5}, "expected a whole number of incidents from 1 up in an episode, got 1.5"),
        ({"episode_incidents": float("nan")}, "expected a whole number of incidents from 1 up in an episode, got nan"),
        ({"scenario": "papr"}, "expected a scenario, got 'papr'"),
        (
            {"problem": runcard.dispatch_problem(CITIES["one"])},
            "DispatchEnv: expected what was made for the stations and demand",
        ),
        (
            {"problem": runcard.dispatch_problem(replace(CITIES["two"], target_minutes=9.0))},
            "DispatchEnv: expected what was made for .* as it is now",
        ),
    ],
)
def test_settings_that_mean_nothing(settings: dict[str, Any], words: str) -> None:
    """Each is refused in a sentence."""
    with pytest.raises(InputError, match=words):
        DispatchEnv(CITIES["two"], **settings)


def test_several_kinds_are_refused_and_one_of_them_is_not() -> None:
    """A department has no single team to choose; the city of one of its kinds has, and misses several standards."""
    city = department_of()
    with pytest.raises(InputError, match=r"expected a city with one kind of units in DispatchEnv, got engine, ladder"):
        DispatchEnv(city)
    env = DispatchEnv(city.of_kind("engine"), episode_incidents=1000)
    steps = [[(step[1], step[4]) for step in play(env, first_team, None if n else 4)] for n in range(6)]
    # The weights are 1 and 1/2, and those that are expected have the mean of those that happen.
    assert {reward for one in steps for reward, _ in one} == {0.0, -0.5, -1.0, -1.5}
    assert all((reward < 0.0) == info["late"] for one in steps for reward, info in one)
    found = interval_of([float(np.mean([reward + info["p_late"] for reward, info in one])) for one in steps], 0.999)
    assert found.low < 0.0 < found.high
    assert found.half < 0.1


@pytest.mark.parametrize("action", [-1, 7, 1.0, None, "s0"])
def test_an_action_that_is_no_team(action: Any) -> None:
    """What is not the number of a team is an error, and so is a step before the first reset."""
    env = DispatchEnv(CITIES["two"])
    with pytest.raises(InputError, match=r"expected reset\(\) before step\(\)"):
        env.step(0)
    env.reset(seed=1)
    with pytest.raises(InputError, match=f"expected a team from 0 to 6, got {action!r}"):
        env.step(action)


def test_without_gymnasium(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install, and everything else can be had without."""
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "runcard.simulate.environment")
    with pytest.raises(MissingExtraError, match=r"the Gymnasium environment needs gymnasium.*runcard\[rl\]"):
        _ = runcard.DispatchEnv
    names: dict[str, object] = {}
    exec("from runcard import *", names)
    assert "DispatchEnv" not in names
