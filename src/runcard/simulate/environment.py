"""The simulation as a Gymnasium environment, so that learned policies can be compared with the optimum.

    one step        one incident: the action is the team that goes, by its number in `env.problem.teams`
    observation     idle trucks of each station, number of the demand point[, hour] of the incident that waits
    reward          -1 if the incident was late (in a city with standards: minus the weight of those that were missed);
                    or minus P(late) of the team, which varies less and has the same mean
    end             truncated after `episode_incidents`; terminated after the last incident of a log that is replayed

Every number of an observation counts from 0. The hour is part of it if the scenario changes with the hour. It is the
hour of the day if that is enough, otherwise the hour of the week from Monday on. An episode begins with every truck in
its station, on a Monday at 0:00 or at the first incident of a log. Nothing is discounted: the late fraction is a mean
over all incidents.

The dynamics and the random numbers are those of `simulate`: the episode after `reset(seed=s)` is batch 0 of seed s, the
episode after the next `reset()` is batch 1, and so on. (The simulation begins earlier, to warm up.)
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from runcard.city.model import City
from runcard.city.periods import HOURS_PER_WEEK
from runcard.errors import InputError, MissingExtraError
from runcard.mdp.from_city import dispatch_problem
from runcard.mdp.problem import P_LATE, DispatchProblem
from runcard.policy.options import first_in_order, idle_teams
from runcard.simulate.engine import batch_key
from runcard.simulate.kernels.day import MINUTES_PER_WEEK, advance, begin, send
from runcard.simulate.model import build_model
from runcard.simulate.rules import check_fits
from runcard.simulate.scenario import PAPER, Scenario, read_scenario
from runcard.simulate.state import new_state

try:
    import gymnasium
    from gymnasium.spaces import Discrete, MultiDiscrete
except ImportError as error:
    raise MissingExtraError("the Gymnasium environment", "gymnasium", "rl") from error

ENVIRONMENT_ID: Final = "runcard/Dispatch-v0"
REWARDS: Final = ("late", "expected")

Observation = NDArray[np.int64]


class DispatchEnv(gymnasium.Env[Observation, np.int64]):
    """A department in a scenario, one incident for each step.

    `info["action_mask"]` marks the teams that can go to the incident that waits: as many idle trucks as it needs, or
    every idle truck if there are fewer. Any other action is replaced by closest-first, and `info["valid"]` says so.
    `info` of a step also says what became of the incident: `team` (the number of the team that went), `late`,
    `first_minutes` and `last_minutes` (arrivals, from the call on), and `p_late` (what `problem` says of the team).
    `minutes` is the time of the incident that waits, since the episode began.

    If no `problem` is given, it is that of the city as the scenario changes it. One of a city that differs in more than
    that is refused, unless `other_city` allows it. The reward "expected" needs a P(late) that holds. It is refused if
    trucks are redirected or the call takes time.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 as Gymnasium declares it

    def __init__(
        self,
        city: City,
        scenario: Scenario | str = PAPER,
        *,
        problem: DispatchProblem | None = None,
        episode_incidents: int = 1000,
        reward: str = "late",
        other_city: bool = False,
    ) -> None:
        self.scenario = read_scenario(scenario) if isinstance(scenario, str) else scenario
        if reward not in REWARDS:
            raise InputError(f"expected a reward, one of {', '.join(REWARDS)}; got {reward!r}")
        if reward == "expected" and (self.scenario.redirect or self.scenario.call_minutes > 0.0):
            raise InputError(
                f'scenario {self.scenario.name}: expected reward="late", since P(late) of a team is not known where '
                "trucks are redirected or the call takes time"
            )
        if not (episode_incidents >= 1 and episode_incidents % 1 == 0):
            raise InputError(f"expected a whole number of incidents from 1 up in an episode, got {episode_incidents}")
        if len(city.kinds) > 1:
            raise InputError(
                f"{city.name}: expected a city with one kind of units in DispatchEnv, got {', '.join(city.kinds)}; "
                "city.of_kind is the city of one"
            )
        city = city.of_kind(city.kinds[0])
        self.problem = dispatch_problem(self.scenario.changed(city), minutes=False) if problem is None else problem
        check_fits(city, self.scenario, self.problem, "DispatchEnv", other_city=other_city)
        self.episode_incidents = episode_incidents
        self.reward = reward
        self._model = build_model(city, self.scenario)
        self._state = new_state(self._model)
        times = self._model.log["minutes"]
        self._start, self._end = (float(times[0]), float(times[-1])) if len(times) else (0.0, np.inf)
        self._team = np.empty(self._model.most_needed, np.int64)
        self._mask = np.zeros(self.problem.num_teams, np.int8)
        self._seed: int | None = None
        self._episode = self._num_sent = 0
        self._waits = False
        by_week = len(self._model.shifts) > 0 or len(times) > 0
        self._num_hours = HOURS_PER_WEEK if by_week else len(self._model.hour_share)
        hours = [self._num_hours] if self._num_hours else []
        self.action_space = Discrete(self.problem.num_teams)
        self.observation_space = MultiDiscrete(np.array([*(self.problem.trucks + 1), self.problem.num_points, *hours]))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """The first incident of an episode: the first episode of a seed or, without a seed, the next one."""
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._episode = seed % 2**63, 0
        elif self._seed is None:
            self._seed = int(self.np_random.integers(2**62))
        self._state = new_state(self._model)
        begin(self._model, self._state, batch_key(self._seed, self._episode), self._start)
        self._episode += 1
        self._num_sent = 0
        return self._next()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Send a team to the incident that waits, and go on to the next one."""
        if not self._waits:
            raise InputError("expected reset() before step(): no incident waits for a team")
        if not self.action_space.contains(action):
            raise InputError(f"expected a team from 0 to {self.problem.num_teams - 1}, got {action!r}")
        problem, state, clock = self.problem, self._state, self._state.clock[0]
        point, valid = int(clock["point"]), bool(self._mask[action])
        team = int(action) if valid else first_in_order(problem, problem.order, state.idle, point)
        self._team[:] = problem.teams.stations[team]
        send(self._model, state, self._team)
        late, missed, p_late = bool(clock["late"]), clock["missed"], float(problem.measures[P_LATE][team, point])
        happened = {
            "team": team,
            "valid": valid,
            "late": late,
            "first_minutes": float(clock["first"]),
            "last_minutes": float(clock["last"]),
            "p_late": p_late,
        }
        self._num_sent += 1
        seen, now = self._next()
        truncated = self._num_sent >= self.episode_incidents and self._waits
        reward = -float(missed) if self.reward == "late" else -p_late
        return seen, reward, not self._waits, truncated, happened | now

    def _next(self) -> tuple[Observation, dict[str, Any]]:
        """Go on to the next incident, if any: what is seen, the teams that can go to it, and when it is."""
        state, clock = self._state, self._state.clock[0]
        self._waits = bool(advance(self._model, state, self._end))
        self._mask[:] = 0
        if self._waits:
            self._mask[idle_teams(self.problem, state.idle, int(clock["point"]))] = 1
        seen = [*state.idle.tolist(), int(clock["point"])]
        if self._num_hours:
            seen.append(int(clock["now"] % MINUTES_PER_WEEK / 60.0) % self._num_hours)
        now = {"action_mask": self._mask.copy(), "minutes": float(clock["now"]) - self._start}
        return np.array(seen, np.int64), now


if ENVIRONMENT_ID not in gymnasium.registry:
    gymnasium.register(ENVIRONMENT_ID, entry_point="runcard.simulate.environment:DispatchEnv")
