"""Tree-search packages that one can install, on the same work: the root of m1-entropy, 100-step rollouts.

``make bench`` installs them; what could not be installed is skipped with a word.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gumdp
from benchmarks.search import ITERATIONS, Bench
from benchmarks.timing import best


def rows(repeats: int) -> list[dict[str, Any]]:
    """µs an iteration of each package that is here, and how many times ours that is, on the clock and of the processor.

    ``mctx`` keeps more than one core busy; the others, and ours here, one.
    """
    problem = gumdp.zoo.load("m1-entropy")
    bench = Bench(problem, gumdp.MCTS.paper(ITERATIONS))
    ours = best({"ours": bench.two_roots}, repeats)["ours"] / ITERATIONS / 2.0
    table = [compared("gumdp", (ours, ours), ours)]
    others = {"mctx": with_mctx, "pomdp-py": with_pomdp_py, "mcts": with_mcts, "gymcts": with_gymcts}
    for name, measure in others.items():
        if importlib.util.find_spec(name.replace("-", "_")) is None:
            table.append({"package": name, "skipped": "not installed"})
            continue
        table.append(compared(name, measure(problem), ours))
    return table


def compared(name: str, seconds: tuple[float, float], ours: float) -> dict[str, Any]:
    """A row: seconds an iteration on the clock and of the processor, beside ours."""
    wall, processor = seconds
    return {"package": name, "us_an_iteration": wall * 1e6, "ratio": wall / ours, "ratio_cpu": processor / ours}


def timed(run: Callable[[], Any], iterations: int) -> tuple[float, float]:
    """Seconds an iteration on the clock and of the processor, the least of three, as ours is the least of several."""

    def once() -> tuple[float, float]:
        wall, processor = time.perf_counter(), time.process_time()
        run()
        return (time.perf_counter() - wall) / iterations, (time.process_time() - processor) / iterations

    walls, processors = zip(*(once() for _ in range(3)), strict=True)
    return min(walls), min(processors)


def with_mcts(problem: Any, iterations: int = 100) -> tuple[float, float]:
    """Seconds an iteration of ``mcts``: states as objects, one player."""
    from mcts import mcts

    cumulative = problem.model.dense().cumsum(axis=2)
    rng = np.random.default_rng(0)

    class State:
        def __init__(self, state: int, occupancy: Any, step: int) -> None:
            self.state, self.occupancy, self.step = state, occupancy, step

        def getCurrentPlayer(self) -> int:
            return 1

        def getPossibleActions(self) -> list[int]:
            return list(range(problem.shape[1]))

        def takeAction(self, action: int) -> State:
            occupancy = self.occupancy.copy()
            occupancy[self.state, action] += problem.weights[self.step]
            draw = np.searchsorted(cumulative[self.state, action], rng.random())
            return State(min(int(draw), problem.shape[0] - 1), occupancy, self.step + 1)

        def isTerminal(self) -> bool:
            return self.step == problem.steps

        def getReward(self) -> float:
            return -problem.value(self.occupancy)

    searcher = mcts(iterationLimit=iterations)
    return timed(lambda: searcher.search(initialState=State(0, np.zeros(problem.shape), 0)), iterations)


def with_gymcts(problem: Any, iterations: int = 100) -> tuple[float, float]:
    """Seconds an iteration of ``gymcts``: an environment that saves and restores its state and makes its own rollouts.

    Its nodes keep the state in which they were made, so it plans for one draw of chance; the work is the same.
    """
    import random

    from gymcts.gymcts_agent import GymctsAgent
    from gymcts.gymcts_env_abc import GymctsABC
    from gymnasium.spaces import Discrete

    cumulative = problem.model.dense().cumsum(axis=2)
    rng = np.random.default_rng(0)
    every = list(range(problem.shape[1]))

    class World(GymctsABC):  # type: ignore[misc]
        action_space = Discrete(problem.shape[1])

        def __init__(self) -> None:
            self.load_state((0, np.zeros(problem.shape), 0))

        def get_state(self) -> Any:
            return self.state, self.occupancy.copy(), self.at

        def load_state(self, state: Any) -> None:
            self.state, self.occupancy, self.at = state[0], state[1].copy(), state[2]

        def is_terminal(self) -> bool:
            return bool(self.at == problem.steps)

        def get_valid_actions(self) -> list[int]:
            return every

        def action_masks(self) -> Any:
            return None

        def step(self, action: int) -> Any:
            self.occupancy[self.state, action] += problem.weights[self.at]
            draw = np.searchsorted(cumulative[self.state, action], rng.random())
            self.state, self.at = min(int(draw), problem.shape[0] - 1), self.at + 1
            return self.state, 0.0, self.is_terminal(), False, {}

        def rollout(self) -> float:
            while not self.is_terminal():
                self.step(random.choice(every))
            return -float(problem.value(self.occupancy))

    agent = GymctsAgent(World())
    return timed(lambda: agent.vanilla_mcts_search(num_simulations=iterations), iterations)


def with_pomdp_py(problem: Any, iterations: int = 1000) -> tuple[float, float]:
    """Seconds an iteration of ``pomdp_py``: POUCT, with the state observed and the cost paid at the end."""
    import random

    import pomdp_py

    cumulative = problem.model.dense().cumsum(axis=2)
    rng = np.random.default_rng(0)

    class State(pomdp_py.State):  # type: ignore[misc]
        def __init__(self, state: int, occupancy: Any, step: int) -> None:
            self.state, self.occupancy, self.step = state, occupancy, step

        def __hash__(self) -> int:
            return id(self)

        def __eq__(self, other: object) -> bool:
            return self is other

    class Action(pomdp_py.SimpleAction):  # type: ignore[misc]
        def __init__(self, number: int) -> None:
            super().__init__(str(number))
            self.number = number

    class Transitions(pomdp_py.TransitionModel):  # type: ignore[misc]
        def sample(self, world: State, action: Action) -> State:
            occupancy = world.occupancy.copy()
            occupancy[world.state, action.number] += problem.weights[world.step]
            draw = np.searchsorted(cumulative[world.state, action.number], rng.random())
            return State(min(int(draw), problem.shape[0] - 1), occupancy, world.step + 1)

    class Observations(pomdp_py.ObservationModel):  # type: ignore[misc]
        def sample(self, world: State, action: Action) -> Any:
            return pomdp_py.SimpleObservation(world.state)

    class Rewards(pomdp_py.RewardModel):  # type: ignore[misc]
        def sample(self, world: State, action: Action, after: State) -> float:
            return -problem.value(after.occupancy) if after.step == problem.steps else 0.0

    class AnyAction(pomdp_py.RolloutPolicy):  # type: ignore[misc]
        actions = tuple(Action(a) for a in range(problem.shape[1]))

        def get_all_actions(self, state: Any = None, history: Any = None) -> Any:
            return self.actions

        def rollout(self, state: State, history: Any = None) -> Action:
            return random.choice(self.actions)

    belief = pomdp_py.Particles([State(0, np.zeros(problem.shape), 0)])
    agent = pomdp_py.Agent(belief, AnyAction(), Transitions(), Observations(), Rewards())
    search = pomdp_py.POUCT(
        max_depth=problem.steps - 1, discount_factor=1.0, num_sims=iterations, rollout_policy=agent.policy_model
    )
    return timed(lambda: search.plan(agent), iterations)


def with_mctx(problem: Any, batch: int = 128, simulations: int = 200) -> tuple[float, float]:
    """Seconds an iteration of ``mctx``: a batch of searches, rollouts to the horizon as leaf values."""
    import jax
    import jax.numpy as jnp
    import mctx

    logits = jnp.log(jnp.asarray(problem.model.dense()))
    weights = jnp.asarray(problem.weights)
    states, actions = problem.shape

    def move(key: Any, world: Any, action: Any) -> Any:
        state, occupancy, t = world
        here = jax.nn.one_hot(state * actions + action, states * actions)
        after = jax.random.categorical(key, logits[state, action])
        live = t < problem.steps
        occupancy = occupancy + jnp.where(live, weights[jnp.minimum(t, problem.steps - 1)], 0.0) * here
        return jnp.where(live, after, state), occupancy, jnp.minimum(t + 1, problem.steps)

    def rollout(key: Any, world: Any) -> Any:
        def body(k: Any, carry: Any) -> Any:
            key, world = carry
            key, one, two = jax.random.split(key, 3)
            return key, move(one, world, jax.random.randint(two, (), 0, actions))

        _, (_, occupancy, _) = jax.lax.fori_loop(0, problem.steps, body, (key, world))
        return -jnp.sum(jax.scipy.special.xlogy(occupancy, occupancy))

    def recurrent(parameters: Any, key: Any, action: Any, world: Any) -> Any:
        keys = jax.random.split(key, 2 * batch).reshape(2, batch, -1)
        after = jax.vmap(move)(keys[0], world, action)
        over = after[2] >= problem.steps
        value = jax.vmap(rollout)(keys[1], after)
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(over, value, 0.0),
            discount=jnp.where(over, 0.0, 1.0),
            prior_logits=jnp.zeros((batch, actions)),
            value=jnp.where(over, 0.0, value),
        )
        return output, after

    @jax.jit
    def plan(key: Any) -> Any:
        zeros = jnp.zeros(batch, jnp.int32)
        world = (zeros, jnp.zeros((batch, states * actions)), zeros)
        root = mctx.RootFnOutput(prior_logits=jnp.zeros((batch, actions)), value=jnp.zeros(batch), embedding=world)
        return mctx.muzero_policy(None, key, root, recurrent, num_simulations=simulations).action

    plan(jax.random.PRNGKey(0)).block_until_ready()
    return timed(lambda: plan(jax.random.PRNGKey(1)).block_until_ready(), batch * simulations)
