"""Observations of any kind are numbered, divided, or refused before anything is built."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import gumdp
from clock import within
from gumdp.models.gymnasium.observations import cells_for, count_of, number_in


class Shows(gymnasium.Env):
    """Shows samples of any observation space."""

    action_space = spaces.Discrete(2)

    def __init__(self, space: Any, shown: Any = None) -> None:
        self.observation_space, self.shown = space, shown
        space.seed(0)

    def look(self) -> Any:
        return self.observation_space.sample() if self.shown is None else self.shown

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.look(), {}

    def step(self, action: int) -> Any:
        return self.look(), 0.0, False, False, {}


def test_integer_boxes_are_enumerated() -> None:
    space = spaces.Box(np.array([0, -1]), np.array([10, 1]), dtype=np.int32)
    assert count_of(space) == 33
    seen = {number_in(space, np.array([a, b])) for a in range(11) for b in (-1, 0, 1)}
    assert seen == set(range(33))
    cells = cells_for(Shows(space), "it", None)
    assert cells.names is not None
    assert cells.names[number_in(space, np.array([3, -1]))] == "3, -1"


def test_some_dimensions_of_a_composite_observation_can_be_divided() -> None:
    space = spaces.Dict(
        door=spaces.Discrete(3), place=spaces.Box(0.0, 1.0, (2,)), speed=spaces.Box(-np.inf, np.inf, (1,))
    )
    observation = {"door": 2, "place": np.array([0.1, 0.9]), "speed": np.array([4.0])}
    cells = cells_for(Shows(space), "it", {"place": 5, "speed": (2, -10.0, 10.0)})
    assert cells.count == 5 * 5 * 2
    assert cells.number(observation, None) == (0 * 5 + 4) * 2 + 1
    assert cells_for(Shows(space), "it", {0: 3, "place[1]": 2}).number(observation, None) == 2 * 2 + 1
    with pytest.raises(
        gumdp.GumdpError, match=r"'room' in bins is no dimension .* there are door, place\[0\], place\[1\]"
    ):
        cells_for(Shows(space), "it", {"room": 3})
    with pytest.raises(gumdp.GumdpError, match=r"must be a count or \(count, low, high\)"):
        cells_for(Shows(space), "it", {"place": (3, 1.0)})


@pytest.mark.parametrize("size", [24, 200])
def test_too_many_cells_are_refused_at_once(size: int) -> None:
    env = Shows(spaces.Box(-1.0, 1.0, (size,)))
    with (
        within(1.0),
        pytest.raises(gumdp.GumdpError, match=r"3 × 3 × 3 × 3 × … bins of .* dimensions make .* cells, more than"),
    ):
        gumdp.from_gymnasium(env, bins=3)


def test_an_image_asks_for_some_dimensions_or_a_function() -> None:
    env = Shows(spaces.Box(0, 255, (210, 160, 3), np.uint8))
    with pytest.raises(
        gumdp.GumdpError, match=r"are about 10\^242\d{3}, more than .*bins=\{'x0': 8\}.* 100800 dimensions"
    ):
        gumdp.from_gymnasium(env)
    cells = cells_for(env, "it", {5: 4})
    assert cells.count == 4
    image = np.zeros((210, 160, 3), np.uint8)
    image[0, 1, 2] = 200
    assert cells.number(image, None) == 3


@pytest.mark.parametrize(
    ("space", "shown"),
    [
        (spaces.Tuple([spaces.Discrete(3), spaces.Discrete(4)]), (0, 5)),
        (spaces.MultiDiscrete([3, 4]), np.array([3, 0])),
        (spaces.Box(0, 4, (2,), np.int64), np.array([5, 0])),
        (spaces.Dict(a=spaces.Discrete(3)), {"b": 0}),
    ],
)
def test_an_observation_outside_its_space_is_named(space: Any, shown: Any) -> None:
    cells = cells_for(Shows(space), "it", None)
    with pytest.raises(gumdp.GumdpError, match=r"it showed .* not in its observation space .*; give index="):
        cells.number(shown, None)


def test_dimensions_that_are_not_divided_change_nothing() -> None:
    rng = np.random.default_rng(0)
    env = Shows(spaces.Box(-1.0, 1.0, (4,), np.float64))
    for bins in (gumdp.Bins((3, 1, 4, 1)), gumdp.Bins.at([[-1, 0, 0.2, 1], [-1, 1], [-1, -0.5, 1], [-1, 1]])):
        cells = cells_for(env, "it", bins)
        whole = bins.over(env.observation_space.low, env.observation_space.high)
        points = rng.uniform(-1.0, 1.0, (200, 4))
        assert [cells.number(x, None) for x in points] == whole.index(points).tolist()
