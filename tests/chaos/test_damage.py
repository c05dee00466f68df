"""Damaged databases: what is read is right, or is refused in a sentence. Nothing is read as good that is not."""

import random
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import gumdp
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store

ARMS = [Arm("m1-entropy", "random"), Arm("m1-entropy", "greedy", {"horizon": 20}), Arm("subset-sum", "random", seed=3)]
PAGE = 4096


def fill(folder: Path, trials: range) -> None:
    rng = np.random.default_rng(trials.start)
    with Store.open(folder, "1.0+test") as store:
        store.begin("local", {"python": "3"}, "gumdp run")
        for arm in ARMS:
            outcomes = [Outcome(k, float(rng.normal()), float(rng.random())) for k in trials]
            store.add(arm, outcomes)
            kept = {"occupancy": rng.random((3, 2))}
            store.add(arm, [Outcome(trials.stop + 5, float(rng.normal()), 0.5, kept=kept)])
            store.add(arm, [Outcome(trials.stop + 9, float("nan"), 0.0, "boom")])
            store.note("bound", arm.problem_digest, {"value": float(rng.normal())})
        store.end("complete", 1.0)


def everything(folder: Path) -> list[object]:
    """All that a store tells."""
    with Store.read(folder) as store:
        told: list[object] = [store.versions(), store.runs()]
        for stored in store.arms():
            arm = stored.arm
            told += [
                arm.label,
                arm.digest,
                arm.identity,
                stored.version,
                stored.trials,
                stored.seconds,
                stored.failures,
            ]
            told += [store.numbered(stored), store.finding("bound", arm.problem_digest, stored.version)]
            for k in (305, 405):
                kept = store.kept(stored, k, "occupancy")
                told.append(None if kept is None else kept.tolist())
        told += [(stored.number, trial, text) for stored, trial, text in store.failures()]
        return [*told, list(store.rows())]


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> tuple[bytes, bytes, list[object]]:
    """A store's file, the same file as it was after its first run, and all that it tells."""
    folder = tmp_path_factory.mktemp("store") / "whole"
    fill(folder, range(300))
    young = (folder / "results.sqlite").read_bytes()
    fill(folder, range(300, 400))
    return (folder / "results.sqlite").read_bytes(), young, everything(folder)


def damaged(whole: bytes, young: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A file with something wrong: rot, cuts, pages that are blank, elsewhere, or as they were before."""
    data, pages = bytearray(whole), len(whole) // PAGE
    kind = rng.choice(["bit", "bit", "bit", "bits", "bytes", "blank", "swap", "copy", "stale", "cut", "hole"])
    page, other = rng.randrange(pages), rng.randrange(pages)
    here, there = (slice(p * PAGE, (p + 1) * PAGE) for p in (page, other))
    if kind in ("bit", "bits"):
        for _ in range(1 if kind == "bit" else 20):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "bytes":
        start = rng.randrange(len(data) - 16)
        data[start : start + 16] = rng.randbytes(16)
    elif kind == "blank":
        data[here] = bytes(PAGE)
    elif kind == "swap":
        data[here], data[there] = data[there], data[here]
    elif kind == "copy":
        data[here] = data[there]
    elif kind == "stale":
        page = rng.randrange(len(young) // PAGE)  # a write that never reached the disk
        data[page * PAGE : (page + 1) * PAGE] = young[page * PAGE : (page + 1) * PAGE]
    elif kind == "cut":
        del data[rng.randrange(len(data)) :]
    else:
        start = rng.randrange(len(data))
        del data[start : start + rng.randrange(1, 100)]
    return kind, bytes(data)


def attack(store: tuple[bytes, bytes, list[object]], folder: Path, seed: int, count) -> None:
    whole, young, told = store
    kind, data = damaged(whole, young, random.Random(seed))
    folder.mkdir()
    (folder / "results.sqlite").write_bytes(data)
    try:
        found = everything(folder)
    except gumdp.GumdpError:
        count("damaged databases", "refused")
    else:
        wrong = found != told
        count("damaged databases", "read as good and wrong" if wrong else "read, and right")
        assert not wrong, f"{kind}, seed {seed}"
    shutil.rmtree(folder)


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_database_is_right_or_refused(store, tmp_path: Path, seed: int, count) -> None:
    attack(store, tmp_path / "damaged", seed, count)


@pytest.mark.thorough
def test_of_two_hundred_damaged_databases_none_is_read_as_good(store, tmp_path: Path, count) -> None:
    for seed in range(1000, 1200):
        attack(store, tmp_path / "damaged", seed, count)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE trials SET value = value + 1e-9 WHERE arm = 2 AND trial = 7",
        "UPDATE trials SET seconds = 9.0 WHERE arm = 1 AND trial = 0",
        "UPDATE trials SET trial = 1000 WHERE arm = 1 AND trial = 3",
        "DELETE FROM trials WHERE arm = 3 AND trial = 8",
        "DELETE FROM trials WHERE arm = 3",
        "DELETE FROM failures",
        "DELETE FROM findings",
        "DELETE FROM tallies",
        "UPDATE tallies SET rows = rows - 1",
        "DELETE FROM runs WHERE run = 2",
        "UPDATE arms SET planner = 'greedy' WHERE arm = 1",
        "UPDATE findings SET data = '{\"value\": 0}'",
        "UPDATE details SET data = zeroblob(48)",
        "DELETE FROM details WHERE arm = 1",
        "DELETE FROM arms WHERE arm = 2",
        "UPDATE runs SET version = '1.0+tesu'",
        "UPDATE endings SET status = 'failed'",
    ],
)
def test_every_kind_of_row_is_guarded(store, tmp_path: Path, change: str) -> None:
    (tmp_path / "results.sqlite").write_bytes(store[0])
    db = sqlite3.connect(tmp_path / "results.sqlite")
    db.execute(change)
    db.commit()
    db.close()
    with pytest.raises(gumdp.GumdpError, match=r"results.sqlite can't be used: .*It is left as it is"):
        everything(tmp_path)


def test_a_run_refuses_a_damaged_store_and_leaves_it(store, tmp_path: Path) -> None:
    data = bytearray(store[0])
    (tmp_path / "results.sqlite").write_bytes(data)
    db = sqlite3.connect(tmp_path / "results.sqlite")
    db.execute("UPDATE trials SET value = 0 WHERE arm = 1 AND trial = 0")
    db.commit()
    db.close()
    with Store.open(tmp_path, "1.0+test") as open_store, pytest.raises(gumdp.GumdpError, match="it is damaged"):
        open_store.done(ARMS[0])
