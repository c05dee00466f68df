"""The studio's page in a real browser: what people do with it, and that it is theirs alone."""

import base64
import io
import json
import struct
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

import gumdp
from browser import needs_browser
from chrome import Chrome, Tab
from clock import STRICT, in_time
from gumdp.studio.server import Studio
from studio_client import open_studio

pytestmark = needs_browser
WATCH = "studio.views.watch"


@pytest.fixture(scope="module")
def chrome(tmp_path_factory) -> Iterator[Chrome]:
    with Chrome(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture(scope="module")
def studio(tmp_path_factory) -> Iterator[Studio]:
    with open_studio(tmp_path_factory.mktemp("studio"), first="m1-entropy") as made:
        yield made


@pytest.fixture
def tab(chrome: Chrome, studio: Studio) -> Iterator[Tab]:
    with opened(chrome, studio) as made:
        yield made
        assert made.said == []  # nothing went wrong on its console


def opened(chrome: Chrome, studio: Studio, fragment: str = "", **size: Any) -> Tab:
    made = chrome.tab(studio.address + fragment, **size)
    made.wait(f"window.studio && studio.views && {WATCH}.place !== null")
    return made


def choose(tab: Tab, problem: str, options: dict[str, Any], iterations: int = 50) -> None:
    """Open a problem with a search of so many iterations, to be played as fast as can be."""
    spec, planner = {"name": problem, "options": options}, {"name": "mcts", "options": {"iterations": iterations}}
    setting = json.dumps({"problem": spec, "planner": planner, "seed": 0, "trial": 0})
    tab.run(f"Object.assign(studio.setting, {setting})")
    tab.run(f"{WATCH}.$.speed.value = '100'; {WATCH}.open()")
    tab.wait(f"{WATCH}.place !== null && {WATCH}.scene.about.includes('horizon')")


def every(selector: str, condition: str) -> str:
    return f"[...document.querySelectorAll('{selector}')].every((e) => {condition})"


def fill_in(tab: Tab, name: str, value: str) -> None:
    """Give the field of that id a value, as if it was typed."""
    field = f"document.getElementById('{name}')"
    tab.run(f"{field}.value = '{value}'; {field}.dispatchEvent(new Event('change'))")


def paint(tab: Tab, tool: str, row: int, column: int) -> None:
    """Choose a brush and click on a square."""
    tab.click(f"[data-tool='{tool}']")
    left, top, wide = tab.run(
        "(() => { const g = studio.views.paint.geometry(), b = studio.views.paint.$.canvas.getBoundingClientRect();"
        " return [b.left + g.left, b.top + g.top, g.wide]; })()"
    )
    tab.press_at(left + (column + 0.5) * wide, top + (row + 0.5) * wide)


def test_it_loads_at_once_and_complains_about_nothing(tab: Tab) -> None:
    assert tab.run("document.title") == "m1-entropy · gumdp studio"
    painted = []
    for _ in range(3):  # a busy machine may be late once
        tab.ask("Page.reload")
        tab.wait(f"window.studio && studio.views && {WATCH}.place !== null")
        painted.append(tab.wait("performance.getEntriesByName('first-contentful-paint')[0]?.startTime"))
    assert min(painted) < 1000
    assert tab.run(every("canvas[role=img]", "e.ariaLabel || !e.clientWidth"))  # pictures have words
    assert tab.run(
        every("input, select, button", "e.labels?.length || e.ariaLabel || e.textContent.trim() || e.hidden")
    )


def test_a_run_is_played_to_its_end_and_is_the_trial(tab: Tab) -> None:
    choose(tab, "m1-entropy", {"horizon": 30})
    tab.click("#play")
    tab.wait("document.documentElement.dataset.over === 'true'")
    problem = gumdp.zoo.load("m1-entropy", horizon=30)
    trial = gumdp.run_trial(problem, gumdp.MCTS(iterations=50), seed=0)
    assert float(tab.run(f"String({WATCH}.end.value)")) == trial.value
    assert tab.run("document.getElementById('final').textContent") == f"{trial.value:.6g}"
    tab.key("ArrowLeft")
    assert tab.run(f"{WATCH}.at") == 29
    assert ": " in tab.run("document.getElementById('why').textContent")


def test_an_action_is_taken_by_hand(tab: Tab) -> None:
    choose(tab, "painted", {})
    tab.click("#step")
    tab.wait(f"{WATCH}.steps.length === 1")
    tab.click(".action:nth-child(5)")
    step = tab.wait(f"{WATCH}.steps[1]")
    assert step["hand"]
    assert step["action"] == 4
    tab.wait("document.querySelector('.banner').textContent.includes('estimate')")
    tab.click("#play")
    tab.wait("document.documentElement.dataset.over === 'true'")
    planner = gumdp.ByHand(gumdp.MCTS(iterations=50), {1: 4})
    expected = gumdp.run_trial(gumdp.zoo.load("painted"), planner, seed=0).value
    assert float(tab.run(f"String({WATCH}.end.value)")) == expected


def test_somebody_plays_against_the_planner_on_the_same_dice(tab: Tab) -> None:
    choose(tab, "m1-entropy", {"horizon": 4})
    tab.click("#versus")
    for t in range(4):
        tab.wait(f"{WATCH}.asked && {WATCH}.asked.t === {t}")
        tab.key("2")
        tab.wait(f"{WATCH}.steps.length === {t + 1}")
    tab.wait("document.querySelector('.banner').textContent.includes('the planner')")
    rival = gumdp.run_trial(gumdp.zoo.load("m1-entropy", horizon=4), gumdp.MCTS(iterations=50), seed=0)
    assert float(tab.run(f"String({WATCH}.rival.value)")) == rival.value
    tab.click("#wheel")


def test_three_planners_race_and_one_is_better(tab: Tab) -> None:
    choose(tab, "m1-entropy", {"horizon": 20})
    tab.click("[data-view=race]")
    tab.click('[data-planner="mcts-paper"]')  # the fourth that is chosen at first
    tab.run("studio.views.race.$.trials.value = '12'")
    tab.click("#side")
    tab.wait("studio.views.race.sides.filter(Boolean).length === 3")
    tab.click("#race-go")
    assert tab.wait("document.documentElement.dataset.raced") == "12"
    words = tab.run("document.getElementById('verdict').textContent")
    assert "mcts(iterations=300) leads" in words
    assert "lower in" in words
    assert "gumdp report" in words
    tab.click("[data-view=results]")
    tab.wait("document.documentElement.dataset.arms === '3'")
    tab.click("[data-look]")
    tab.click("[data-trial='5']")
    tab.wait(f"studio.view === 'watch' && {WATCH}.end !== null")
    problem = gumdp.zoo.load("m1-entropy", horizon=20)
    assert tab.run(f"{WATCH}.scene.title") == "m1-entropy"
    arm = tab.run("studio.setting.planner.name")
    planner = {"random": gumdp.Random(), "solver": gumdp.BestOnAverage(), "mcts": gumdp.MCTS(iterations=300)}[arm]
    expected = gumdp.run_trial(problem, planner, seed=0, trial=5).value
    assert float(tab.run(f"String({WATCH}.end.value)")) == expected


def test_a_world_is_painted_planned_and_taken_home_to_the_bit(tab: Tab, tmp_path: Path) -> None:
    tab.click("[data-view=paint]")
    fill_in(tab, "world-rows", "6")
    fill_in(tab, "world-columns", "6")
    tab.click("#clear")
    for tool, squares in {"#": [(1, 1), (1, 2), (4, 4)], "~": [(3, 3)], ">": [(2, 4)], "start": [(5, 0)]}.items():
        for row, column in squares:
            paint(tab, tool, row, column)
    rows = ["......", ".##...", "....>.", "...~..", "....#.", "......"]
    assert tab.run("studio.views.paint.world.map") == rows
    assert tab.run("studio.views.paint.world.starts") == [[5, 0]]
    tab.click("#undo")
    assert tab.run("studio.views.paint.world.starts") == [[0, 0]]
    tab.click("#plan")
    tab.wait(f"studio.view === 'watch' && {WATCH}.scene.grid && {WATCH}.scene.grid[0] === 6 && {WATCH}.place !== null")
    assert tab.run(f"{WATCH}.scene.walls") == rows
    tab.run(f"{WATCH}.$.speed.value = '100'; {WATCH}.setPlanner('mcts')")
    tab.wait(f"{WATCH}.place !== null")
    tab.click("#play")
    tab.wait("document.documentElement.dataset.over === 'true'")
    value = float(tab.run(f"String({WATCH}.end.value)"))
    tab.click("#home")
    tab.wait("document.getElementById('script').textContent.includes('gumdp.run_trial')")
    (tmp_path / "run.py").write_text(tab.run("document.getElementById('script').textContent"), encoding="utf-8")
    command = [sys.executable, str(tmp_path / "run.py")]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert float(printed) == value
    tab.key("Escape")


# Files that the page gives to the browser, kept in the page: browsers ask before a second download, and nobody answers.
COLLECT = """(() => {
  const make = URL.createObjectURL.bind(URL);
  let last = null;
  window.files = {};
  URL.createObjectURL = (blob) => make((last = blob));
  HTMLAnchorElement.prototype.click = function () { window.files[this.download] = last; };
})()"""


def given(tab: Tab, name: str) -> bytes:
    """The file of that name which the page wants to be saved."""
    file = f"window.files[{json.dumps(name)}]"
    tab.wait(f"Boolean({file})")
    reading = f"reader.onload = () => done(reader.result.split(',')[1]); reader.readAsDataURL({file});"
    return base64.b64decode(tab.run(f"new Promise((done) => {{ const reader = new FileReader(); {reading} }})"))


def play_painted(tab: Tab) -> None:
    tab.run(COLLECT)
    spec = {"name": "painted", "options": {}}
    tab.run(f"Object.assign(studio.setting, {{ problem: {json.dumps(spec)}, seed: 0, trial: 0 }})")
    tab.run(f"{WATCH}.$.speed.value = '100'; {WATCH}.setPlanner('greedy')")
    tab.wait(f"{WATCH}.place !== null && {WATCH}.scene.title === 'two rooms'")
    tab.click("#play")
    tab.wait("document.documentElement.dataset.over === 'true'")
    tab.click("#home")
    tab.wait("document.getElementById('script').textContent.includes('gumdp.run_trial')")  # it moves what is below


def test_pictures_and_films_are_what_they_are_called(tab: Tab) -> None:
    from PIL import Image

    play_painted(tab)
    tab.click("#svg")
    tab.click("#gif")
    root = ElementTree.fromstring(given(tab, "two-rooms.svg").decode())
    assert "two rooms" in [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    with Image.open(io.BytesIO(given(tab, "two-rooms.gif"))) as image:
        assert image.n_frames == 81
        for k in (0, 40, 80):  # every frame decodes
            image.seek(k)
            image.load()
        assert image.size == (520, 430)
    tab.key("Escape")


def test_an_mp4_plays_to_its_end(tab: Tab, chrome: Chrome) -> None:
    play_painted(tab)
    tab.click("#mp4")
    film = given(tab, "two-rooms.mp4")
    assert film[4:8] == b"ftyp"
    where = film.index(b"stsz")
    assert struct.unpack(">III", film[where + 4 : where + 16])[2] == 81  # frames
    offset = struct.unpack(">I", film[film.index(b"stco") + 12 :][:4])[0]
    assert film[offset - 4 : offset] == b"mdat"
    tab.key("Escape")
    source = f"data:video/mp4;base64,{base64.b64encode(film).decode()}"
    playing = """new Promise((done) => {
      const video = document.createElement("video");
      video.onerror = () => done(video.error.message);
      video.onloadeddata = () => (video.currentTime = video.duration - 0.1);
      video.onseeked = () => done([video.duration, video.videoWidth, video.videoHeight]);
      video.src = SOURCE;
    })"""
    with chrome.tab() as other:  # the page's own policy lets it play none
        assert other.run(playing.replace("SOURCE", json.dumps(source))) == [14, 1040, 860]


def test_a_world_is_saved_and_opened_again(tab: Tab, tmp_path: Path) -> None:
    tab.run(COLLECT)
    tab.click("[data-view=paint]")
    paint(tab, "#", 0, 5)
    tab.click("#save")
    file = tmp_path / "world.json"
    file.write_bytes(given(tab, "two-rooms.json"))
    gumdp.zoo.load("painted", world=file.read_text(encoding="utf-8"))
    painted = tab.run("studio.views.paint.world")
    tab.click("#clear")

    def bring(path: Path) -> None:
        chosen = tab.ask("Runtime.evaluate", expression="document.querySelector('#paint input[type=file]')")
        tab.ask("DOM.setFileInputFiles", files=[str(path)], objectId=chosen["result"]["objectId"])

    bring(file)
    tab.wait("studio.views.paint.world.map[0][5] === '#'")
    assert tab.run("studio.views.paint.world") == painted | {"objective": {"kind": "explore"}}
    (tmp_path / "broken.json").write_text('{"format": "gumdp-world", "version": 1, "map": []}', encoding="utf-8")
    bring(tmp_path / "broken.json")
    assert "map" in tab.wait("document.getElementById('error').textContent")
    assert tab.run("studio.views.paint.world.map[0][5]") == "#"


@pytest.mark.thorough
def test_a_planner_is_certified_and_bounded_along_the_run(tab: Tab) -> None:
    choose(tab, "m1-entropy", {"horizon": 8}, 20)
    tab.click("#step")
    tab.wait(f"{WATCH}.steps.length === 1")
    tab.run(f"{WATCH}.$.proofSeconds.value = '2'")
    tab.click("#prove")
    tab.wait(f"Number.isFinite({WATCH}.steps[0].floor) && !{WATCH}.due")  # and drawn
    assert tab.run("document.getElementById('proof-words').textContent").startswith("No policy is below")
    tab.run(f"{WATCH}.$.certifyTrials.value = '8'")
    tab.click("#certify")
    tab.wait(f"{WATCH}.certificate && {WATCH}.certificate.phase === 'end' && !{WATCH}.due")
    words = tab.run("document.getElementById('proof-words').textContent")
    assert words.startswith("With 99 % confidence MCTS(iterations=20) is within")
    assert "8 trials" in words
    assert tab.run(f"{WATCH}.$.proof.ariaLabel").startswith("Between")
    tab.run(f"{WATCH}.setPlanner('random')")  # whom it says nothing about
    tab.wait(f"{WATCH}.place !== null && {WATCH}.certificate === null")


@pytest.mark.parametrize("view", ["watch", "race", "paint", "results"])
def test_nothing_sticks_out_of_a_phone(tab: Tab, view: str) -> None:
    tab.size(width=390, height=844, mobile=True)
    tab.click(f"[data-view={view}]")
    tab.wait(f"studio.view === '{view}' && document.documentElement.clientWidth === 390")
    assert tab.run("document.documentElement.scrollWidth") <= 390


def test_it_is_dark_for_those_who_like_it_dark(chrome: Chrome, studio: Studio) -> None:
    with opened(chrome, studio, dark=True) as tab:
        lightness = "Number(getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0])"
        assert tab.run(lightness) < 60
        tab.click("#theme")
        assert tab.run(lightness) > 200
        tab.click("#theme")
        tab.run("localStorage.clear()")


def test_everything_can_be_done_from_the_keyboard(tab: Tab) -> None:
    choose(tab, "painted", {})
    tab.run("document.activeElement.blur()")
    tab.key("ArrowRight")
    tab.wait(f"{WATCH}.steps.length === 1")
    tab.key("3")
    assert tab.wait(f"{WATCH}.steps[1]")["action"] == 2
    tab.key("w")
    tab.wait(f"{WATCH}.asked")
    tab.key("ArrowDown")
    assert tab.wait(f"{WATCH}.steps[2]")["action"] == 2
    tab.key("w")
    tab.key(" ")
    tab.wait("document.documentElement.dataset.over === 'true'")
    tab.key("ArrowLeft")
    reached = set()
    for _ in range(40):
        tab.key("Tab")
        reached.add(tab.run("document.activeElement.id"))
    assert {"play", "step", "home", "choose", "wheel", "versus", "prove"} <= reached
    tab.run("document.querySelector('[data-view=paint]').focus()")
    tab.key("Enter")
    tab.wait("studio.view === 'paint'")
    tab.run("document.getElementById('easel').focus()")
    tab.key("ArrowRight")
    tab.key(" ")
    assert tab.run("studio.views.paint.world.map[0][1]") == "#"


def test_a_reload_and_a_link_keep_the_state(tab: Tab, chrome: Chrome, studio: Studio) -> None:
    choose(tab, "painted", {"world": gumdp.zoo.find("painted").options["world"].replace("two rooms", "here")})
    for _ in range(3):
        tab.click("#step")
    tab.wait(f"{WATCH}.steps.length === 3")
    tab.click(".action:nth-child(2)")
    tab.wait(f"{WATCH}.steps.length === 4")
    steps = tab.run(f"{WATCH}.steps.map((s) => [s.cell, s.action, s.cost])")
    link = tab.run("studio.address()")
    tab.wait("studio.address() === location.href")  # which is written a moment later
    tab.go("about:blank")
    tab.go(link)
    tab.wait(f"window.studio && studio.views && {WATCH}.steps.length === 4")
    assert tab.run(f"{WATCH}.steps.map((s) => [s.cell, s.action, s.cost])") == steps
    assert tab.run(f"{WATCH}.hands") == {"3": 1}
    assert tab.run(f"{WATCH}.scene.title") == "here"
    tab.ask("Page.reload")
    tab.wait(f"window.studio && studio.views && {WATCH}.steps.length === 4 && {WATCH}.at === 4")


def test_a_link_keeps_who_races_what_is_painted_and_which_rows_are_shown(tab: Tab) -> None:
    tab.click("[data-view=results]")
    tab.run("studio.views.results.$.filter.value = 'mcts'; studio.views.results.table()")
    tab.click("[data-view=paint]")
    paint(tab, "~", 2, 1)
    tab.click("[data-view=race]")
    tab.click('[data-planner="random"]')
    tab.run("studio.views.race.$.trials.value = '17'; studio.save()")
    link, racing = tab.run("studio.address()"), tab.run("studio.views.race.chosen()")
    assert [planner["name"] for planner in racing] == ["solver", "mcts", "mcts-paper"]
    tab.go("about:blank")
    tab.go(link)
    tab.wait("window.studio && studio.views && studio.view === 'race'")
    assert tab.run("studio.views.race.chosen()") == racing
    assert tab.run("studio.views.race.$.trials.value") == "17"
    assert tab.run("studio.views.paint.world.map[2][1]") == "~"
    assert tab.run("studio.views.results.$.filter.value") == "mcts"


LINKS = ["#view=nothing&s=AAAA", "#s=eyJhIjoxfQ", "#view=watch&s=" + "x" * 5000, "#%00"]


@pytest.mark.parametrize("link", LINKS, ids=["no base64", "no setting", "cut off", "nothing"])
def test_a_link_that_is_none_begins_afresh(chrome: Chrome, studio: Studio, link: str) -> None:
    with opened(chrome, studio, link) as tab:
        assert tab.run(f"{WATCH}.scene.title") == "m1-entropy"
        assert tab.said == []


HOSTILE = '<img src=x onerror="window.owned=1">\'"&\u202e'


def test_what_others_named_stays_text(chrome: Chrome, tmp_path: Path) -> None:
    model = gumdp.Tabular(
        [[[1, 0], [0, 1]], [[1, 0], [0, 1]]], state_names=[HOSTILE, "b"], action_names=[HOSTILE, "</script>"]
    )
    given = gumdp.Problem(model, gumdp.normalized(gumdp.Entropy()), 0.9, 4, name=HOSTILE)
    planner = {"name": "greedy", "options": {}}  # compiles least
    setting = {"problem": {"name": "@given", "options": {}}, "planner": planner, "seed": 0, "trial": 0}
    link = f"#view=watch&s={base64.urlsafe_b64encode(json.dumps({'setting': setting}).encode()).decode().rstrip('=')}"
    with open_studio(tmp_path, given=given, first="@given") as studio, opened(chrome, studio, link) as tab:
        tab.click("#step")
        tab.wait(f"{WATCH}.steps.length === 1")
        tab.click("#choose")
        assert tab.run("window.owned") is None
        assert tab.run("document.querySelectorAll('main img').length") == 0
        assert HOSTILE in tab.run("document.querySelector('.problem-name').textContent")
        assert tab.said == []


@pytest.mark.thorough
def test_a_function_is_confirmed_before_it_runs(tab: Tab) -> None:
    tab.click("[data-view=paint]")
    fill_in(tab, "goal", "function")
    tab.click("#plan")
    tab.wait("!!document.querySelector('dialog #allow')")
    assert tab.run("document.querySelector('dialog pre').textContent").startswith("def cost(d):")
    assert tab.run("studio.view") == "paint"
    tab.run("studio.setting.planner = { name: 'greedy', options: {} }; studio.searches = () => true")  # compiles least
    tab.click("#allow")
    tab.wait(f"studio.view === 'watch' && {WATCH}.place !== null && {WATCH}.scene.about.includes('Function')")
    assert '"code"' not in tab.run("JSON.stringify(studio.saved())")
    tab.wait("studio.address() === location.href")
    tab.ask("Page.reload")  # the world is in the address, the function is not
    tab.wait("window.studio && studio.views && studio.view === 'paint'")
    assert tab.run("studio.views.paint.world.objective.kind") == "function"


# --- smooth ---


# What it takes is counted in seconds of processors, which a busy machine does not change; what people see, in those of
# the clock, where the machine is quiet.


def page_facts(tab: Tab) -> dict[str, float]:
    """The page's own measures: seconds of its processor, bytes, elements."""
    return {fact["name"]: fact["value"] for fact in tab.ask("Performance.getMetrics")["metrics"]}


@pytest.mark.slow
def test_a_tree_of_a_million_nodes_is_shown_ten_times_a_second(tab: Tab) -> None:
    tab.ask("Performance.enable", timeDomain="threadTicks")
    choose(tab, "patrol", {"rows": 8, "columns": 8}, 2_000_000)
    note = "requestAnimationFrame(() => times.push([performance.now(), m.nodes]))"
    tab.run(f"window.times = []; studio.link.on('think', (m) => {note})")
    tab.click("#step")
    tab.wait("times.some(([, nodes]) => nodes > 1e6)", 240)
    first, server, page = tab.run("times.length"), time.process_time(), page_facts(tab)["TaskDuration"]
    tab.wait(f"times.length >= {first + 20} || {WATCH}.steps.length === 1", 120)
    spent, drawn = time.process_time() - server, page_facts(tab)["TaskDuration"] - page
    late = [at for at, nodes in tab.run("times") if nodes > 1_000_000]
    assert len(late) > 10
    assert in_time(spent / len(late), 0.1)  # the search goes on all the while, and looks up at least ten times a second
    assert in_time(drawn / len(late), 0.05)
    if STRICT:
        assert (late[-1] - late[0]) / (len(late) - 1) < 100.0
    tab.run(f"{WATCH}.open()")


@pytest.mark.slow
def test_a_large_map_plays_at_thirty_steps_a_second(tab: Tab) -> None:
    tab.ask("Performance.enable", timeDomain="threadTicks")
    choose(tab, "patrol", {"rows": 40, "columns": 40, "horizon": 150}, 20)
    tab.run(f"{WATCH}.forward()")
    tab.wait(f"{WATCH}.steps.length === 1")
    server, page = time.process_time(), page_facts(tab)["TaskDuration"]
    tab.run("window.began = performance.now()")
    tab.click("#play")
    tab.wait("document.documentElement.dataset.over === 'true'")
    took = tab.run("performance.now()") - tab.run("window.began")
    spent, drawn = time.process_time() - server, page_facts(tab)["TaskDuration"] - page
    assert in_time(spent / 149, 1 / 30)
    assert in_time(drawn / 149, 1 / 30)
    if STRICT:
        assert 149_000 / took > 30


HOUR = 14_400  # steps that an hour of playing has, at the four a second that are set at first


@pytest.mark.slow
def test_memory_stays_flat_over_an_hours_worth_of_steps(tab: Tab) -> None:
    tab.ask("Performance.enable")
    tab.run("studio.setting.problem = { name: 'm1-entropy', options: { horizon: 720 } }")
    tab.run(f"{WATCH}.setPlanner('greedy')")

    def used() -> tuple[float, float, float]:
        """Megabytes of the page and of the server, and elements of the page."""
        for _ in range(2):
            tab.ask("HeapProfiler.collectGarbage")
        facts, status = page_facts(tab), Path("/proc/self/status")
        lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else ["VmRSS: 0"]
        server = next(float(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        return facts["JSHeapUsedSize"] / 1e6, server / 1e3, facts["Nodes"]

    def play(runs: int) -> None:
        for _ in range(runs):
            tab.run(f"{WATCH}.open(); studio.link.send('speed', {{ value: 1000 }}); {WATCH}.start()")
            tab.wait(f"{WATCH}.end !== null && {WATCH}.steps.length === 720")

    play(3)  # caches fill
    before = used()
    for _ in range(2):
        play(HOUR // 720 // 2)
        now = used()
        assert now[0] - before[0] < 2.0
        assert now[1] - before[1] < 15.0
        assert now[2] - before[2] < 500


@pytest.mark.slow
def test_an_hour_in_one_run_is_still_drawn_quickly(tab: Tab) -> None:
    tab.ask("Performance.enable", timeDomain="threadTicks")
    tab.run(f"studio.setting.problem = {{ name: 'm1-entropy', options: {{ horizon: {HOUR} }} }}")
    tab.run(f"{WATCH}.setPlanner('greedy')")
    tab.wait(f"{WATCH}.place !== null && {WATCH}.scene.steps === {HOUR}")
    tab.run(f"studio.link.send('speed', {{ value: 1000 }}); {WATCH}.start()")
    tab.wait(f"{WATCH}.end !== null", 300)
    before = page_facts(tab)["TaskDuration"]
    tab.run("for (let k = 0; k < 10; k++) studio.redraw()")
    assert (page_facts(tab)["TaskDuration"] - before) / 10 < 0.05
    tab.ask("HeapProfiler.collectGarbage")
    assert page_facts(tab)["JSHeapUsedSize"] < 60e6
