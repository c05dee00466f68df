"""Environments by their ids, what they are wrapped in, what to call them, and what their actions are."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import importlib
import itertools
import math
import traceback
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from gumdp.errors import GumdpError, check_int, failures_of, items, show, unknown

PACKAGES = {  # the beginning of an id: (the module that registers it, what to install)
    "MiniGrid-": ("minigrid", "minigrid"), "BabyAI-": ("minigrid", "minigrid"),
    "ALE/": ("ale_py", "ale-py"), "mo-": ("mo_gymnasium", "mo-gymnasium"),
    "deep-sea-treasure": ("mo_gymnasium", "mo-gymnasium"), "resource-gathering": ("mo_gymnasium", "mo-gymnasium"),
    "four-room": ("mo_gymnasium", "mo-gymnasium"), "fishwood": ("mo_gymnasium", "mo-gymnasium"),
    "breakable-bottles": ("mo_gymnasium", "mo-gymnasium"), "fruit-tree": ("mo_gymnasium", "mo-gymnasium"),
    "minecart": ("mo_gymnasium", "mo-gymnasium"), "water-reservoir": ("mo_gymnasium", "mo-gymnasium"),
    "highway-": ("highway_env", "highway-env"), "merge-": ("highway_env", "highway-env"),
    "roundabout-": ("highway_env", "highway-env"), "parking-": ("highway_env", "highway-env"),
    "intersection-": ("highway_env", "highway-env"), "racetrack-": ("highway_env", "highway-env"),
    "exit-": ("highway_env", "highway-env"), "two-way-": ("highway_env", "highway-env"),
    "u-turn-": ("highway_env", "highway-env"), "lane-keeping-": ("highway_env", "highway-env"),
    "popgym-": ("popgym", "popgym"), "FlappyBird-": ("flappy_bird_gymnasium", "flappy-bird-gymnasium"),
    "tetris_gymnasium/": ("tetris_gymnasium.envs", "tetris-gymnasium"), "mobile-": ("mobile_env", "mobile-env"),
    "Fetch": ("gymnasium_robotics", "gymnasium-robotics"), "Hand": ("gymnasium_robotics", "gymnasium-robotics"),
    "PointMaze_": ("gymnasium_robotics", "gymnasium-robotics"), "Adroit": ("gymnasium_robotics", "gymnasium-robotics"),
    "AntMaze_": ("gymnasium_robotics", "gymnasium-robotics"), "Franka": ("gymnasium_robotics", "gymnasium-robotics"),
    "Vizdoom": ("vizdoom.gymnasium_wrapper", "vizdoom"),
}  # fmt: skip
WATCHING = {  # wrappers that leave states, actions, transitions and rewards alone
    "HumanRendering", "OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics", "RecordVideo", "Recorder",
    "RenderCollection", "TimeLimit",
}  # fmt: skip
PAYING = {"ClipReward", "NormalizeReward", "TransformReward"}  # wrappers that change nothing but rewards
MANY = 10_000  # actions to choose from


def open_environment(env: Any, **options: Any) -> Any:
    """The environment itself, made if ``env`` is an id, a specification, or a function that makes one."""
    import gymnasium

    opened = _opened(env, **options)
    for space in ("observation_space", "action_space"):
        with failures_of(f"{space} of {type(opened).__name__}"):
            found = getattr(opened, space)
        if not isinstance(found, gymnasium.Space):
            raise GumdpError(f"{title(opened)} has the {space} {show(found)}, which is no space of Gymnasium's.")
    return opened


def _opened(env: Any, **options: Any) -> Any:
    import gymnasium
    from gymnasium.envs.registration import EnvSpec
    from gymnasium.error import DependencyNotInstalled, NameNotFound, NamespaceNotFound, VersionNotFound

    if isinstance(env, (str, EnvSpec)):
        if isinstance(env, str):
            register_package(env)
        try:
            return gymnasium.make(env, **options)
        except (NameNotFound, NamespaceNotFound, VersionNotFound):
            raise _unknown_id(env) from None
        except DependencyNotInstalled as error:
            raise GumdpError(f"gymnasium.make({show(env)}) needs a package that is not installed: {error}") from error
        except Exception as error:  # whatever the environment's constructor raises
            raise GumdpError(f"gymnasium.make({show(env)}) failed: {_told(error)}") from error
    if not isinstance(env, gymnasium.Env) and callable(env) and not isinstance(env, type(gymnasium)):
        try:
            made = env(**options)
        except Exception as error:  # whatever the function raises
            raise GumdpError(f"the function that makes an environment failed: {_told(error)}") from error
        if not isinstance(made, gymnasium.Env):
            raise GumdpError(f"the function that makes an environment returned {type(made).__name__} instead of one.")
        return made
    if not isinstance(env, gymnasium.Env):
        raise GumdpError(
            f"expected a Gymnasium environment, the id of one or a function that makes one, not {type(env).__name__}."
        )
    if options:
        raise GumdpError(f"{sorted(options)[0]} is for making an environment, but one was given: make it so yourself.")
    return env


def _told(error: Exception) -> str:
    """What an error says, or where it comes from, if it says nothing."""
    if str(error).strip():
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = "/".join(PurePath(place.filename).parts[-3:])
    return f"{type(error).__name__} in {where}, line {place.lineno}: {place.line}"


def register_package(name: str) -> None:
    """Import the package that knows the environment, if it is one that has to be imported first."""
    import gymnasium

    given, named, bare = name.rpartition(":")
    if named and bare not in gymnasium.registry:  # some packages wait to be asked
        with contextlib.suppress(Exception):  # which gymnasium.make explains
            getattr(importlib.import_module(given), "register_envs", lambda: None)()
    module, package = next((found for start, found in PACKAGES.items() if name.startswith(start)), (None, None))
    if module is None or name in gymnasium.registry:
        return
    try:
        importlib.import_module(module)
    except ImportError as error:
        extra = " (or 'gumdp[minigrid]')" if package == "minigrid" else ""
        if (error.name or "").partition(".")[0] == module.partition(".")[0]:
            raise GumdpError(f"{name} needs the package {package}: pip install {package}{extra}.") from None
        raise GumdpError(f"{name} needs the package {package}, which can't be imported: {error}.") from error


def _unknown_id(name: str) -> GumdpError:
    import gymnasium

    package, found, _ = name.rpartition(":")
    if found:
        return GumdpError(
            f"unknown Gymnasium environment {name!r}: {package} has been imported and has not registered it; it may "
            "have a function for that."
        )
    near = difflib.get_close_matches(name, gymnasium.registry, n=1, cutoff=0.75)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return GumdpError(
        f"unknown Gymnasium environment {name!r}; {hint}"
        f"Where a package registers it when it is imported, name that too: 'package:{name}'."
    )


def newest(name: str) -> str:
    """The id of the newest registered version of an environment, as 'Taxi' → 'Taxi-v4'.

    >>> newest("FrozenLake")
    'FrozenLake-v1'
    """
    import gymnasium

    versions = [spec.version for spec in gymnasium.registry.values() if spec.namespace is None and spec.name == name]
    if not versions:
        raise unknown("Gymnasium environment", name, gymnasium.registry)
    return f"{name}-v{max(v or 0 for v in versions)}"


def title(env: Any) -> str:
    """What to call an environment in a sentence."""
    spec = getattr(env, "spec", None)
    return spec.id if spec is not None else type(env.unwrapped).__name__


def changed_by(env: Any) -> str | None:
    """The name of a wrapper that may change states, actions or transitions, or None."""
    import gymnasium

    while isinstance(env, gymnasium.Wrapper):
        if not _is_one_of(env, WATCHING | PAYING):
            return type(env).__name__
        env = env.env
    return None


def pays_its_own(env: Any) -> bool:
    """Whether a wrapper changes what the environment pays."""
    import gymnasium

    while isinstance(env, gymnasium.Wrapper):
        if not _is_one_of(env, WATCHING):
            return True
        env = env.env
    return False


def unwatched(env: Any) -> Any:
    """The environment without the outer wrappers that change nothing."""
    import gymnasium

    while isinstance(env, gymnasium.Wrapper) and _is_one_of(env, WATCHING):
        env = env.env
    return env


def _is_one_of(env: Any, names: set[str]) -> bool:
    """Whether a wrapper is one of Gymnasium's, or of ours, of these names; somebody's own may be called the same."""
    return type(env).__name__ in names and type(env).__module__.partition(".")[0] in ("gymnasium", "gumdp")


def remake(env: Any) -> Any:
    """Another environment of the same registration, with the same options and wrappers; None if there is no telling."""
    import gymnasium

    with contextlib.suppress(Exception):  # a wrapper that does not say how it was made, a package that is gone
        spec = env.spec
        if spec is not None and spec.entry_point is not None:
            return gymnasium.make(spec, disable_env_checker=True, render_mode=None)
    with contextlib.suppress(Exception):  # no render_mode, perhaps
        return gymnasium.make(env.spec, disable_env_checker=True)
    return None


def specification(env: Any, wrapped: bool) -> Any:
    """How to make this environment again: its registration and options, and its wrappers if ``wrapped``; or None."""
    spec = None
    with contextlib.suppress(Exception):  # a wrapper that does not say how it was made
        spec = env.spec if wrapped else env.unwrapped.spec
    if spec is None:
        return None
    options = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    return dataclasses.replace(spec, kwargs=options)


def actions_of(env: Any, given: Any = None) -> tuple[Any, ...]:
    """What the environment calls its actions, which must be finitely many; ``given`` are those to choose from.

    A whole number gives so many levels in every dimension of a continuous action.
    """
    space = env.action_space
    if given is not None and not isinstance(given, (int, np.integer)):
        if items(given) is None:
            raise GumdpError(f"from_gymnasium: actions must be a number of levels or a list, not {show(given)}.")
        return _chosen(space, given, title(env))
    kind = type(space).__name__
    if kind == "Box" and given is not None and np.isfinite(space.low).all() and np.isfinite(space.high).all():
        return _levels(space, check_int("from_gymnasium: actions", given, 2), title(env))
    if given is not None:
        raise GumdpError(
            f"from_gymnasium: actions={show(given)} is for continuous actions within bounds, but {title(env)} has "
            f"{space}; give a list of the actions to choose from."
        )
    count = _count(space)
    if count is None:
        raise GumdpError(
            f"from_gymnasium: {title(env)} has the action space {space}; there must be finitely many to choose from. "
            "Give actions=3 for so many levels in every dimension, or a list of actions."
        )
    if count > MANY:
        raise GumdpError(f"from_gymnasium: {title(env)} has {count:,} actions; give a list of those to choose from.")
    return tuple(_each(space))


def _count(space: Any) -> int | None:
    kind = type(space).__name__
    if kind == "Discrete":
        return int(space.n)
    if kind == "MultiDiscrete":
        return math.prod(int(n) for n in np.ravel(space.nvec))
    if kind == "MultiBinary":
        return int(2 ** min(62, int(np.prod(space.n))))
    if kind in ("Tuple", "Dict"):
        parts = [_count(p) for p in (space.spaces.values() if kind == "Dict" else space.spaces)]
        return None if None in parts else math.prod(p or 0 for p in parts)
    return None


def _each(space: Any) -> list[Any]:
    """All members of a finite space."""
    kind = type(space).__name__
    if kind == "Discrete":
        return list(range(int(space.start), int(space.start + space.n)))
    if kind == "Tuple":
        return list(itertools.product(*(_each(p) for p in space.spaces)))
    if kind == "Dict":
        return [dict(zip(space.spaces, c, strict=True)) for c in itertools.product(*map(_each, space.spaces.values()))]
    sizes = np.ravel(space.nvec) if kind == "MultiDiscrete" else np.full(int(np.prod(space.n)), 2)
    start = np.asarray(getattr(space, "start", 0), dtype=space.dtype)
    return [np.reshape(c, space.shape).astype(space.dtype) + start for c in itertools.product(*map(range, sizes))]


def _levels(space: Any, levels: int, name: str) -> tuple[Any, ...]:
    """So many levels in each dimension, in all combinations."""
    count = levels ** int(np.prod(space.shape))
    if count > MANY:
        raise GumdpError(
            f"from_gymnasium: {levels} levels in each of {int(np.prod(space.shape))} dimensions make {count:,} actions "
            f"of {name}; give actions as a list of those to choose from."
        )
    lines = [np.linspace(a, b, levels) for a, b in zip(space.low.ravel(), space.high.ravel(), strict=True)]
    return tuple(np.reshape(c, space.shape).astype(space.dtype) for c in itertools.product(*lines))


def _chosen(space: Any, given: Any, name: str) -> tuple[Any, ...]:
    """The actions that the user gave, as the environment takes them."""
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, str) or len(given) == 0:
        raise GumdpError(f"from_gymnasium: actions must be a whole number or a list of actions, not {show(given)}.")
    commands = []
    for action in given:
        command = np.asarray(action, space.dtype) if type(space).__name__ in ("Box", "MultiDiscrete") else action
        if not space.contains(command):
            raise GumdpError(f"from_gymnasium: {show(action)} in actions is no action of {name}, which has {space}.")
        commands.append(command)
    return tuple(commands)
