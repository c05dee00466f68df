"""The named problems as a table. Cheap to import: the list is there at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gumdp.zoo.registry import Entry


def number(value: float) -> str:
    """``value`` with four significant digits."""
    return f"{value:.4g}"


def problem_table(entries: Sequence[Entry]) -> RenderableType:
    """The named problems and what is known of each."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("S × A", no_wrap=True)
    table.add_column("horizon", justify="right", no_wrap=True)
    table.add_column("discount", justify="right", no_wrap=True)
    table.add_column("objective", no_wrap=True)
    table.add_column("what it is, and known values")
    for entry in entries:
        size = f"{entry.shape[0]} × {entry.shape[1]}" if entry.shape else "–"
        step = ["–" if (x := entry.options.get(key)) is None else str(x) for key in ("horizon", "discount")]
        known = known_values(entry)
        about = Text.assemble(entry.summary, (f"\n{known}" if known else "", "dim"))
        table.add_row(entry.name, size, *step, entry.objective or "–", about)
    return table


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
