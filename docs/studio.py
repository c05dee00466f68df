"""Makes the studio's pictures of the documentation, in a real browser: ``python docs/studio.py`` (needs Chromium)."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from chrome import Chrome, Tab  # noqa: E402
from studio_client import open_studio  # noqa: E402

WATCH = "studio.views.watch"
LAKE = {"name": "frozenlake-entropy", "options": {"discount": 0.98, "horizon": 120}}
PATROL = {"name": "patrol", "options": {"rows": 8, "columns": 8, "horizon": 128}}
MUSEUM = {
    "format": "gumdp-world", "version": 1, "name": "a small museum", "starts": [[7, 0]], "horizon": 120, "slip": 0.2,
    "map": ["........", "..##.##.", "..#...#.", ".~#...>.", ".~#...#.", "..##<##.", "....~...", "........"],
    "target": None, "discount": 1.0, "objective": {"kind": "budget", "budget": 0.05, "penalty": 10.0},
    "costs": [["00000000", "00000000", "00000000", "03000000", "03000000", "00000000", "00005000", "00000000"]],
}  # fmt: skip


def main() -> None:
    """Open the studio, use it, and keep what it looks like."""
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)  # so that no picture shows a path of this machine
    with open_studio(Path()) as studio, Chrome(folder / "profile") as chrome:
        tab = chrome.tab(studio.address, width=1280, height=960)
        tab.wait(f"window.studio && studio.views && {WATCH}.place !== null")
        watch(tab)
        race(tab)
        tab.click("[data-view=watch]")
        car(tab)
        paint(tab)


def begin(tab: Tab, problem: dict[str, Any]) -> None:
    """A new run of a problem."""
    planner = {"name": "mcts", "options": {"iterations": 1000}}
    tab.run(
        f"Object.assign(studio.setting, {json.dumps({'problem': problem, 'planner': planner})})"
    )
    tab.run(f"{WATCH}.$.speed.value = '100'; {WATCH}.open()")
    tab.wait(f"{WATCH}.place !== null")


def watch(tab: Tab) -> None:
    """A run in its middle, with lower bounds and a certificate."""
    begin(tab, LAKE)
    tab.click("#prove")
    tab.wait(f"{WATCH}.bound && {WATCH}.bound.last")
    tab.run(f"{WATCH}.start()")
    tab.wait(f"{WATCH}.end !== null")
    tab.run(f"{WATCH}.$.certifyTrials.value = '40'")
    tab.click("#certify")
    tab.wait(f"{WATCH}.certificate?.phase === 'end'", 600)
    tab.run(f"{WATCH}.goTo(36)")
    keep(tab, "watch", height=1080)


def car(tab: Tab) -> None:
    """MountainCar, in the dark."""
    problem = {"name": "mountaincar-entropy", "options": {"discount": 1.0}}
    begin(tab, problem)
    tab.run(f"{WATCH}.start()")
    tab.wait(f"{WATCH}.steps.length >= 120", 600)
    tab.run(f"{WATCH}.pause()")
    tab.wait(f"!{WATCH}.thought")
    tab.run(f"{WATCH}.goTo(120)")
    keep(tab, "car", height=900, dark=True)


def race(tab: Tab) -> None:
    """Three planners, side by side and over many trials."""
    begin(tab, PATROL)
    tab.click("[data-view=race]")
    tab.click('[data-planner="mcts-paper"]')
    tab.click("#side")
    tab.wait("studio.views.race.sides.filter(Boolean).length === 3")
    tab.click("#race-go")
    tab.wait("document.documentElement.dataset.raced")
    tab.run(
        "clearTimeout(studio.views.race.timer); studio.views.race.at = 128; studio.redraw()"
    )
    keep(tab, "race", height=1500)


def paint(tab: Tab) -> None:
    """A painted world, in the dark."""
    tab.run(f"studio.views.paint.world = {json.dumps(MUSEUM)}; studio.show('paint')")
    keep(tab, "paint", height=860, dark=True)


def keep(tab: Tab, name: str, **size: Any) -> None:
    """Write what is in the window, and what a phone shows first."""
    window = {"width": 1280, "height": 960, **size}
    tab.size(**window)
    tab.ask("Input.dispatchMouseEvent", type="mouseMoved", x=700, y=4)
    picture(tab, name)
    phone = {"width": 400, "height": 1060, "deviceScaleFactor": 2, "mobile": True}
    tab.ask("Emulation.setDeviceMetricsOverride", **phone)
    picture(tab, f"{name}-phone")
    tab.size(**window)


def picture(tab: Tab, name: str) -> None:
    """Write what is in the window, in 256 colours."""
    tab.run("document.activeElement.blur(); scrollTo(0, 0)")
    time.sleep(0.5)
    path = HERE / "images" / f"studio-{name}.png"
    tab.picture(path, full=False)
    with Image.open(path) as shot:
        few = shot.convert("RGB").quantize(
            256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE
        )
    few.save(path, optimize=True)
    print(path)


if __name__ == "__main__":
    main()
