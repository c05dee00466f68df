"""gumdp learn: a log becomes a model file, which the other commands open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import gumdp
from gumdp.cli.output import console, json_option, print_json
from gumdp.errors import GumdpError

COLUMNS = {"state": "state", "action": "action", "next_state": "next", "terminated": "terminated", "episode": "episode",
           "step": "step"}  # fmt: skip


def _takes_columns(command: Any) -> Any:
    for column, flag in reversed(COLUMNS.items()):
        text = f"The column that holds it, if not {column}."
        command = click.option(f"--{flag}", f"column_{column}", default=None, metavar="COLUMN", help=text)(command)
    return command


@click.command("learn")
@click.argument("log", type=click.Path(path_type=Path))
@_takes_columns
@click.option("--out", type=click.Path(path_type=Path), default=None, help="The model file; by default LOG with .npz.")
@click.option("--prior", type=float, default=0.0, show_default=True, help="Pseudo-counts of every successor.")
@click.option("--unseen", default="loop", show_default=True,
              help="What pairs that never occurred do: loop (stay), uniform (lead anywhere) or exclude (can't be "
                   "chosen).")  # fmt: skip
@click.option("--terminal", default="absorb", show_default=True,
              help="What follows the end of an episode: continue (whatever the log says), absorb (nothing changes any "
                   "more) or restart (a start state).")  # fmt: skip
@click.option("--start", default=None, metavar="STATE", help="Where trials begin, if not where episodes do.")
@json_option()
def learn(
    log: Path, out: Path | None, as_json: bool, prior: float, unseen: str, terminal: str, start: str | None,
    **columns: Any,
) -> None:  # fmt: skip
    """Estimate a model from a CSV or Parquet log of transitions, and write it to a file.

    Other commands take the file where they take a name: a problem of exploring it evenly, unless --set says otherwise.

    \b
    Examples:
      gumdp learn log.csv --state place --action move --next then --out rooms.npz
      gumdp plan rooms.npz --set objective=entropy --set horizon=50
    """
    from gumdp.models.columns import columns_of

    if log.suffix not in (".csv", ".parquet"):
        raise GumdpError(f"learn: the log must be a .csv or .parquet file, not {log.name!r}.")
    target = log.with_suffix(".npz") if out is None else out
    if target.suffix != ".npz":
        raise GumdpError(f"learn: a model file must end in .npz, not {target.name!r}.")
    table = _renamed(columns_of(log) or {}, columns)
    model = gumdp.learn(table, prior=prior, unseen=unseen, terminal=terminal, start=_state(start))
    gumdp.save_model(model, target)
    if as_json:
        seen = int((model.samples > 0).sum())
        facts = {"states": model.shape[0], "actions": model.shape[1], "pairs": model.samples.size, "seen": seen}
        print_json({"model": str(target), **facts, "transitions": int(model.samples.sum()), "text": str(model.source)})
    else:
        console().print(str(model.source), markup=False, highlight=False)
        console().print(f"{target}: {model!r}", markup=False, highlight=False)


def _state(start: str | None) -> str | int | None:
    """The state that was given: its number, where it looks like one, or its name."""
    return int(start) if start is not None and start.isdecimal() and start.isascii() else start


def _renamed(table: dict[str, Any], columns: dict[str, Any]) -> dict[str, Any]:
    """The table with the columns that were named under the names that ``gumdp.learn`` knows."""
    found = dict(table)
    for column in COLUMNS:
        given = columns[f"column_{column}"]
        if given is None:
            continue
        if given not in table:
            raise GumdpError(f"learn: the log has no column {given!r}; it has {list(table)}.")
        found[column] = table[given]
    return found


COMMANDS = (learn,)
