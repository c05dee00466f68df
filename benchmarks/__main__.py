"""``python -m benchmarks``: print the tables, and write them as JSON."""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
from pathlib import Path
from typing import Any

import numba

import gumdp
from benchmarks import growth, packages, page, returns, search, startup, store, threads

PARTS = ("limit", "python", "packages", "threads", "startup", "growth", "returns", "store")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all of them by default")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, no large sizes")
    parser.add_argument("--minutes", type=float, default=10.0, help="of training for each learner in returns")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/latest.json"))
    arguments = parser.parse_args()
    if wrong := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown part {sorted(wrong)[0]!r}; there are {', '.join(PARTS)}")
    wanted = arguments.parts or PARTS
    repeats = 5 if arguments.quick else 25
    known = [name for name in search.PROBLEMS if name in gumdp.zoo.names()]
    results: dict[str, Any] = {
        "gumdp": gumdp.__version__,
        "numba": numba.__version__,
        "python_version": platform.python_version(),
        "machine": platform.machine(),
    }
    if "limit" in wanted:
        results["limit"] = [search.against_limit(name, repeats) for name in known]
        show("The paper's search, 4000 iterations, against the bare rollouts in it", results["limit"])
    if "python" in wanted:
        results["python"] = [search.against_python(name, repeats) for name in known[:3]]
        show("Against the same algorithm in plain Python", results["python"])
    if "packages" in wanted:
        results["packages"] = packages.rows(repeats)
        show("Against packages that one can install (m1-entropy, at the root)", results["packages"])
    if "threads" in wanted:
        results["threads"] = [threads.scaling(repeats=max(2, repeats // 8))]
        show("Two threads", results["threads"])
    if "startup" in wanted:
        results["startup"] = startup.rows()
        show("A new process to its first answer: seconds", results["startup"])
    if "growth" in wanted:
        results["growth"] = growth.tables(max(3, repeats // 5), 10**4 if arguments.quick else 10**6)
        show("Growth: µs an iteration", [{"over": k, **v} for k, v in results["growth"].items()])
    if "returns" in wanted and importlib.util.find_spec("mo_gymnasium"):
        results["returns"] = returns.rows(arguments.quick, arguments.minutes)
        show("The utility of one run's rewards, on MO-Gymnasium's worlds", results["returns"])
    if "store" in wanted:
        results["store"] = store.rows(max(3, repeats // 5))
        show("A stored row beside its trial, and the digest of a user's code (processor time)", results["store"])
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nwritten to {arguments.out}")
    if not arguments.quick:
        page.write(results)
        for line in page.remember(results):
            print(f"slower than before: {line}")


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print the rows, a column a line, so that long names stay readable."""
    print(f"\n{title}")
    for row in rows:
        items = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()]
        print("  " + "   ".join(items))


if __name__ == "__main__":
    main()
