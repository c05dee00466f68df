"""Results drawn for a terminal: readable at a glance, in colour or without."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gumdp.objectives.base import Array
from gumdp.report.listing import number

if TYPE_CHECKING:
    from gumdp.models.base import Model
    from gumdp.problem import Problem
    from gumdp.results import Bound, Certificate, Decision, Evaluation, Solution, Trial

SHADES = "·░▒▓█"  # none, then ever more
SEGMENTS = "█▒▓░#=+-"  # one for each action, over and over
COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red", "bright_black", "white")
ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓", "stay": "•"}
LINES = 12  # of a trajectory
RUNS = 4  # actions of one stay in a state
BARS = 16  # states that get a bar
SPARKS = "▁▂▃▄▅▆▇█"


def state_label(model: Model, cell: int) -> str:
    """The name of a state, or s and its number."""
    return model.state_name(cell) if model.state_names else f"s{cell}"


def action_label(model: Model, action: int) -> str:
    """The name of an action, or a and its number."""
    return model.action_name(action) if model.action_names else f"a{action}"


def trial_view(title: str, problem: Problem, trial: Trial, known: str, width: int) -> RenderableType:
    """A trial: its value, what happened, and where the time was spent."""
    parts: list[RenderableType] = [
        Text(title, style="bold"),
        Text(f"value {number(trial.value)} ({trial.actions.size} steps, {trial.seconds:.2g} s)"),
    ]
    if len([name for name in trial.parts if name != "constant"]) > 1:
        parts.append(Text("of which " + ", ".join(f"{name} {number(part)}" for name, part in trial.parts.items())))
    if trial.totals:
        totals = ", ".join(f"{name} {number(total)}" for name, total in trial.totals.items())
        parts.append(Text(f"totals: {totals}" + (f"; utility {number(trial.utility)}" if trial.maximised else "")))
    if trial.decisions and not math.isnan(trial.decisions[0].value):
        parts.append(Text(_forecast(trial.decisions[0])))
    if known:
        parts.append(Text(known, style="dim"))
    parts += [Text(), Text("trajectory: state –actions→ next state", style="bold"), *trajectory(problem, trial, width)]
    if trial.occupancy.shape == problem.shape:  # of hashed cells there is no map
        parts += [Text(), *occupancy_view(problem.model, trial.occupancy, width)]
    return Group(*parts)


def _forecast(first: Decision) -> str:
    """What the planner knew before the first step, and why the trial may end elsewhere."""
    if first.proved:
        return f"best possible mean {number(first.value)}, proved before the first step"
    if first.visits is None:
        return f"the planner's forecast before the first step was {number(first.value)}"
    return (
        f"at the first step, simulated runs ended at {number(first.value)} on average; "
        "they choose their later steps less carefully than this run did"
    )


def trajectory(problem: Problem, trial: Trial, width: int) -> list[Text]:
    """The states and actions in lines of at most ``width``, each after the number of its first step."""
    margin = len(str(trial.actions.size)) + 2
    lines: list[tuple[int, list[str]]] = []
    room = 0
    for step, token in _tokens(problem, trial):
        if room < len(token) + 1 or step % problem.horizon == 0:
            lines.append((step, []))
            room = width - margin
        lines[-1][1].append(token)
        room -= len(token) + 1
    left_out = lines[LINES - 2 : -1] if len(lines) > LINES else []
    drawn = []
    for line in lines:
        if not left_out or line not in left_out:
            drawn.append(Text.assemble((f"{line[0]:>{margin - 2}}  ", "dim"), " ".join(line[1])))
        elif line is left_out[0]:
            drawn.append(Text(f"{'':>{margin}}… {lines[-1][0] - line[0]} more steps (--json has them all) …", "dim"))
    return drawn


def _tokens(problem: Problem, trial: Trial) -> Iterator[tuple[int, str]]:
    """(step, text) of each stay in one state, with the actions taken there."""
    model = problem.model
    steps = enumerate(zip(trial.cells.tolist(), trial.actions.tolist(), strict=True))
    stays = groupby(steps, key=lambda item: (item[0] // problem.horizon, item[1][0]))
    for (_, cell), group in stays:
        stay = list(group)
        yield stay[0][0], f"{_short_label(model, cell)} –{_actions(model, [action for _, (_, action) in stay])}→"


def _actions(model: Model, actions: list[int]) -> str:
    """The names of the actions, repeated ones once; of many only the first."""
    runs = [(action_label(model, action), len(list(run))) for action, run in groupby(actions)]
    shown = " ".join(name if times == 1 else f"{name}×{times}" for name, times in runs[:RUNS])
    return shown if len(runs) <= RUNS else f"{shown} … ×{len(actions)}"


def _short_label(model: Model, cell: int) -> str:
    """The name of a state if it is short, else its place in the grid or its number."""
    name = state_label(model, cell)
    if len(name) <= 12:
        return name
    return f"s{cell}" if model.grid is None else f"({cell // model.grid[1]},{cell % model.grid[1]})"


def occupancy_view(model: Model, occupancy: Array, width: int) -> list[RenderableType]:
    """The occupancy as a map, where the states are squares of a grid, else as a bar for each state."""
    if model.grid is not None and model.axes is not None and 2 * model.grid[0] + 2 <= width and model.grid[1] <= 60:
        return phase_plane(occupancy, model.grid, model.axes, width)
    if model.grid is not None and 2 * model.grid[1] <= width and model.grid[0] <= 60:
        return grid_map(model, occupancy, model.grid, width)
    return bars(model, occupancy, width)


def grid_map(model: Model, occupancy: Array, grid: tuple[int, int], width: int) -> list[RenderableType]:
    """A square for each state: the darker, the more time was spent there; with the share and the usual action."""
    mass = occupancy.sum(axis=1).reshape(grid)
    usual = occupancy.argmax(axis=1).reshape(grid)
    arrows = [ARROWS.get(model.action_name(a).lower(), "") for a in range(occupancy.shape[1])]
    roomy = 9 * grid[1] <= width
    heading = "occupancy: share of the time in each square, %"
    lines: list[RenderableType] = [Text(heading + (", and the usual action" if roomy and all(arrows) else ""), "bold")]
    for r in range(grid[0]):
        line = Text()
        for c in range(grid[1]):
            level = _level(mass[r, c] / mass.max())
            line.append(SHADES[level] * 2, COLOURS[0] if level else "dim")
            if roomy:
                share = f"{100 * mass[r, c]:5.1f}" if mass[r, c] >= 0.0005 else "     "
                line.append(share + (arrows[usual[r, c]] if all(arrows) and mass[r, c] > 0 else " ") + " ")
        lines.append(line)
    return lines


def phase_plane(occupancy: Array, grid: tuple[int, int], axes: tuple[str, str], width: int) -> list[RenderableType]:
    """A square for each cell, the first dimension to the right and the second upwards, with the shares if they fit."""
    mass = occupancy.sum(axis=1).reshape(grid).T[::-1]
    roomy = 8 * grid[0] + 2 <= width
    title = f"occupancy: share of the time in each cell, %; {axes[0]} runs to the right, {axes[1]} upwards"
    lines: list[RenderableType] = [Text(title, "bold")]
    for row in mass:
        line = Text("│ ", "dim")
        for share in row:
            level = _level(share / mass.max())
            line.append(SHADES[level] * 2, COLOURS[0] if level else "dim")
            if roomy:
                line.append(f"{100 * share:5.1f} " if share > 0 else " " * 6)
        lines.append(line)
    lines.append(Text("└" + "─" * ((8 if roomy else 2) * grid[0] + 1), "dim"))
    return lines


def _level(share: float) -> int:
    return 0 if share <= 0.0 else min(4, 1 + int(share * 4.0))


def bars(model: Model, occupancy: Array, width: int) -> list[RenderableType]:
    """A bar for each state, made of a segment for each action; only the longest where there are many."""
    mass = occupancy.sum(axis=1)
    states, actions = occupancy.shape
    shown = np.arange(states) if states <= BARS else np.argsort(-mass, kind="stable")[:BARS]
    shown = shown[mass[shown] > 0.0] if states > BARS else shown
    legend = Text("occupancy: share of the time in each state, %\n", "bold")
    for a in range(actions):
        legend.append(f"{_segment(a)} {action_label(model, a)}  ", COLOURS[a % len(COLOURS)])
    names = [_cut(state_label(model, int(s)), width // 2) for s in shown]
    margin = max(len(name) for name in names)
    room = max(10, width - margin - 9)
    lines: list[RenderableType] = [legend]
    for s, name in zip(shown, names, strict=True):
        line = Text(f"{name:>{margin}} {100 * mass[s]:5.1f} ")
        for a, length in enumerate(_lengths(occupancy[s] / mass.max() * room)):
            line.append(_segment(a) * length, COLOURS[a % len(COLOURS)])
        lines.append(line)
    if states > BARS:
        visited = np.count_nonzero(mass)
        rest = f"; those not shown hold {100.0 * (1.0 - mass[shown].sum()):.1f} %" if visited > len(shown) else ""
        lines.append(Text(f"{visited} of {states} states were visited{rest}", "dim"))
    return lines


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _segment(action: int) -> str:
    return SEGMENTS[action % len(SEGMENTS)]


def _lengths(sizes: Array) -> list[int]:
    """Whole numbers near ``sizes`` whose sum is the rounded sum of all."""
    ends = np.rint(np.cumsum(sizes)).astype(int)
    return [int(n) for n in np.diff(ends, prepend=0)]


def evaluation_view(title: str, result: Evaluation, known: str) -> RenderableType:
    """The statistics of an evaluation, and the distribution of its values."""
    low, high = result.ci(0.9)
    parts: list[RenderableType] = [
        Text(title, style="bold"),
        Text(f"mean {number(result.mean)}, 90 % interval [{number(low)}, {number(high)}], {_effort(result)}"),
    ]
    if result.maximised:
        parts.append(Text(f"mean utility {number(result.utility)}: the values are its negatives"))
    if result.beta is not None:
        parts.append(Text(f"certainty equivalent {number(result.certainty_equivalent)} at risk {result.beta:g}"))
    if result.values.size > 1:
        spread = f"{number(result.values.min())} {sparkline(result.values)} {number(result.values.max())}"
        parts.append(
            Text(f"values {spread}, median {number(result.quantile(0.5))}, worst tenth {number(result.cvar())}")
        )
    if result.setup:
        parts.append(Text(f"search: {result.setup}", style="dim"))
    if known:
        parts.append(Text(known, style="dim"))
    return Group(*parts)


def solution_view(title: str, solution: Solution, known: str) -> RenderableType:
    """The value that a solver found, and how sure it is."""
    parts: list[RenderableType] = [
        Text(title, style="bold"),
        Text(
            (f"utility {solution.utility:.9g}" if solution.maximised else f"value {solution.value:.9g}")
            + f", {solution.method} ({solution.seconds:.2g} s)"
        ),
        Text(solution.status),
    ]
    if known:
        parts.append(Text(known, style="dim"))
    return Group(*parts)


def bound_line(bound: Bound) -> RenderableType:
    """One lower bound: when, how and how much; why, in a column of its own."""
    sure = "" if bound.level == 1.0 else f" ({100 * bound.level:g} % sure)"
    value = 0.0 if abs(bound.value) < 1e-12 else bound.value  # rounding is not worth twelve digits
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_column(no_wrap=True)
    line.add_column(style="dim")
    line.add_row(f"{bound.seconds:8.1f} s  {bound.method:<13} {value:>12.6g}", Text(bound.reason + sure))
    return line


def certificate_view(title: str, certificate: Certificate) -> RenderableType:
    """How far a planner can be from optimal, and what that rests on."""
    c = certificate
    rest = {"student": "Student's t", "bernstein": "the empirical Bernstein inequality"}[c.interval]
    luck = ", with control variates" if c.controlled else ""
    return Group(
        Text(f"{title} · {c.planner} · seed {c.seed}", style="bold"),
        Text(f"with {100 * c.level:g} % confidence within {c.gap:.2g} of the best possible policy", style="bold"),
        Text(f"at most  {c.upper:.6g}: mean {c.mean:.6g} of {c.trials} trials, by {rest}{luck}"),
        Text(f"at least {c.lower:.6g}: {c.bound.reason}"),
        Text(f"{c.seconds:.2g} s", style="dim"),
    )


def _effort(result: Any) -> str:
    many = "trial" if result.values.size == 1 else "trials"
    return f"{result.values.size} {many}, {result.seconds:.2g} s"


def sparkline(values: Array, bins: int = 24) -> str:
    """The histogram of ``values`` as a row of little bars.

    >>> sparkline(np.array([0.0, 0.0, 0.0, 1.0]), bins=2)
    '█▄'
    """
    counts, _ = np.histogram(values, bins=bins)
    return "".join(SPARKS[math.ceil(n / counts.max() * 7)] if n else " " for n in counts)
