"""The named problems as a table. Cheap to import: the list is there at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gumdp.zoo.registry import Entry


def number(value: float) -> str:
    """``value`` with four significant digits."""
    return f"{value:.4g}"


def problem_table(entries: Sequence[Entry]) -> RenderableType:
    """The named problems, a line each on most screens."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("S × A", no_wrap=True, justify="right")
    table.add_column("what it is")
    for entry in entries:
        table.add_row(entry.name, size(entry), entry.summary)
    return Group(table, Text("\ngumdp list NAME shows what one of them takes and what is known of it", style="dim"))


def entry_view(entry: Entry) -> RenderableType:
    """All about a named problem."""
    options = ", ".join(f"{name}={value}" for name, value in entry.options.items())
    facts = {
        "size": f"{size(entry)} (states × actions)",
        "objective": f"{entry.objective} (a cost: less is better)" if entry.objective else "",
        "options": f"{options} (change one with --set)" if options else "",
        "known": known_values(entry),
    }
    grid = Table.grid(padding=(0, 2, 0, 0))
    for what, fact in facts.items():
        if fact:
            grid.add_row(Text(what, style="dim"), Text(fact))
    return Group(Text.assemble((entry.name, "bold cyan"), f": {entry.summary}"), grid)


def size(entry: Entry) -> str:
    """How many states and actions there are."""
    return f"{entry.shape[0]} × {entry.shape[1]}" if entry.shape else "–"


def known_values(entry: Entry) -> str:
    """The optimum and the published values of a named problem, in a line."""
    parts = [f"optimum {number(entry.optimum)}"] if entry.optimum is not None else []
    parts += [f"{what} {number(value)}" for what, value in entry.known.items()]
    if entry.publication:
        options = ", ".join(f"{name}={value}" for name, value in entry.publication.options.items())
        values = ", ".join(f"{who} {number(value)}" for who, value in entry.published.items())
        budget = f" ({entry.publication.iterations} iterations)"
        parts.append(f"published{f' with {options}' if options else ''}: {values}{budget}")
    return "; ".join(parts)


def entry_data(entry: Entry) -> dict[str, Any]:
    """A named problem as a plain dictionary."""
    states, actions = entry.shape or (None, None)
    return {
        "name": entry.name,
        "summary": entry.summary,
        "objective": entry.objective,
        "states": states,
        "actions": actions,
        "options": dict(entry.options),
        "optimum": entry.optimum,
        "known": dict(entry.known),
        "published": dict(entry.published),
    }
