"""Gymnasium's classic control environments as compiled simulators, their parameters read from the environment."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gumdp.errors import GumdpError
from gumdp.models.bins import Bins
from gumdp.models.classic_dynamics import Acrobot, CartPole, MountainCar, Pendulum, Upright
from gumdp.models.compiled import Absorbing, Restarting, Simulation
from gumdp.models.simulator import Simulator
from gumdp.models.source import Source

HOME = "gymnasium.envs.classic_control."
AFTER = {"continue": "goes on under its own dynamics", "absorb": "stays as it is", "restart": "starts afresh"}


@dataclass(frozen=True)
class Twin:
    """How to make the compiled twin of one environment."""

    build: Callable[[Any, Any], Any]  # (environment, torques) → the record of its dynamics
    names: tuple[str, ...]  # of the dimensions of a state
    range: Callable[[Any], tuple[Any, Any]]  # environment → (low, high) of a state
    bins: Bins  # where the user gives none
    actions: tuple[str, ...] | None  # their names
    terminal: str  # where the user does not say


def twin_of(env: Any) -> Twin | None:
    """The twin of this environment, or None. A subclass may do anything, so that only the class itself has one."""
    kind = type(env.unwrapped)
    return TWINS.get(kind.__name__) if kind.__module__.startswith(HOME) else None


def simulate(
    env: Any, name: str, terminal: str | None = None, bins: Bins | None = None, torques: int | ArrayLike = 5
) -> Simulator:
    """The compiled model of a classic control environment."""
    twin = twin_of(env)
    if twin is None:
        raise GumdpError(
            f"from_gymnasium: there is no compiled simulator of {name}, only of MountainCar, CartPole, Acrobot and "
            "Pendulum; use another method, or write a gumdp.Simulator."
        )
    world = env.unwrapped
    pushes = torques_of(world, torques) if twin.actions is None else np.zeros(0)
    terminal = terminal or twin.terminal
    divided = (bins or twin.bins).over(*twin.range(world), names=twin.names, what=f"a state of {name}")
    free = dynamics = twin.build(world, pushes)
    if terminal == "absorb":
        dynamics = Absorbing(free, free)
    elif terminal == "restart":
        dynamics = Restarting(free, free, free)
    boxes = divided.boxes()
    where = Upright(boxes) if isinstance(free, Pendulum) else boxes
    actions, commands = twin.actions, tuple[Any, ...](range(len(twin.actions or ())))
    if actions is None:
        actions, commands = tuple(f"torque {u:g}" for u in pushes), tuple(np.array([u], np.float32) for u in pushes)
    model = Simulator.from_record(Simulation(len(actions), dynamics, free, where), divided, actions)
    model.source = Source(
        f"{name}: a compiled simulator of its dynamics, {len(actions)} actions; the occupancy counts "
        f"{' × '.join(map(str, divided.shape or ()))} cells of ({', '.join(twin.names)}); "
        f"after a terminal state it {AFTER[terminal]}.",
        read=read_state,
        commands=commands,
        terminal=terminal,
    )
    return model


def read_state(env: Any, observation: Any, over: bool = False) -> tuple[float, ...]:
    """The state that the environment itself goes by, which is finer than the observation."""
    return tuple(float(x) for x in env.unwrapped.state)


def torques_of(world: Any, torques: Any) -> Any:
    """The torques to choose from: so many between the extremes, or those given."""
    most = float(world.max_torque)
    given = np.atleast_1d(np.asarray(torques, dtype=np.float64))
    if np.ndim(torques) == 0 and isinstance(torques, (int, np.integer)) and torques >= 2:
        given = np.linspace(-most, most, int(torques))
    elif np.ndim(torques) != 1 or given.size == 0 or not (np.abs(given) <= most).all():
        raise GumdpError(
            f"from_gymnasium: torques must be a whole number of at least 2, or a list of numbers between {-most:g} "
            f"and {most:g}, not {torques!r}."
        )
    return given.astype(np.float32)


def _mountain_car(world: Any, pushes: Any) -> MountainCar:
    return MountainCar(
        float(world.force), float(world.gravity), float(world.min_position), float(world.max_position),
        float(world.max_speed), float(world.goal_position), float(world.goal_velocity),
    )  # fmt: skip


def _cart_pole(world: Any, pushes: Any) -> CartPole:
    return CartPole(
        float(world.gravity), float(world.masspole), float(world.total_mass), float(world.length),
        float(world.polemass_length), float(world.force_mag), float(world.tau),
        world.kinematics_integrator == "euler", float(world.x_threshold), float(world.theta_threshold_radians),
    )  # fmt: skip


def _pendulum(world: Any, pushes: Any) -> Pendulum:
    g, m, length = world.g, world.m, world.l
    scaled = np.array([3.0 / (m * length**2) * u for u in pushes]).astype(np.float64)  # u is a 32-bit float there too
    return Pendulum(float(3 * g / (2 * length)), scaled, float(world.dt), float(world.max_speed))


def _acrobot(world: Any, pushes: Any) -> Acrobot:
    return Acrobot(
        float(world.LINK_MASS_1), float(world.LINK_MASS_2), float(world.LINK_LENGTH_1), float(world.LINK_COM_POS_1),
        float(world.LINK_COM_POS_2), float(world.LINK_MOI), float(world.dt), float(world.MAX_VEL_1),
        float(world.MAX_VEL_2), np.array(world.AVAIL_TORQUE, dtype=np.float64), float(world.torque_noise_max),
        world.book_or_nips != "nips",
    )  # fmt: skip


INF = math.inf
TWINS = {
    "MountainCarEnv": Twin(
        _mountain_car,
        ("position", "velocity"),
        lambda w: ([w.min_position, -w.max_speed], [w.max_position, w.max_speed]),
        Bins(10),
        ("push left", "coast", "push right"),
        "continue",
    ),
    "CartPoleEnv": Twin(
        _cart_pole,
        ("position", "velocity", "angle", "angular velocity"),
        lambda w: ([-w.x_threshold, -INF, -w.theta_threshold_radians, -INF],
                   [w.x_threshold, INF, w.theta_threshold_radians, INF]),
        Bins(6, low=(math.nan, -3.0, math.nan, -3.5), high=(math.nan, 3.0, math.nan, 3.5)),
        ("push left", "push right"),
        "restart",
    ),
    "PendulumEnv": Twin(
        _pendulum,
        ("angle", "angular velocity"),
        lambda w: ([-math.pi, -w.max_speed], [math.pi, w.max_speed]),
        Bins(12),
        None,
        "continue",
    ),
    "AcrobotEnv": Twin(
        _acrobot,
        ("first angle", "second angle", "first velocity", "second velocity"),
        lambda w: ([-math.pi, -math.pi, -w.MAX_VEL_1, -w.MAX_VEL_2], [math.pi, math.pi, w.MAX_VEL_1, w.MAX_VEL_2]),
        Bins(6),
        ("torque -1", "torque 0", "torque 1"),
        "continue",
    ),
}  # fmt: skip
