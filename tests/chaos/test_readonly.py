"""Folders that can't be written to, and folders that lead elsewhere: one sentence, exit 2, and nothing is touched."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gumdp.cli.main import main
from gumdp.experiments.plan.arm import Arm
from gumdp.experiments.store.outcome import Outcome
from gumdp.experiments.store.store import Store

ARM = Arm("m1-entropy", "random", {"horizon": 5})
KILLED = """
import os, sys
from pathlib import Path
from test_readonly import fill
fill(Path(sys.argv[1]), lambda: os.kill(os.getpid(), 9))
"""


def fill(folder: Path, before_it_ends=lambda: None) -> None:
    with Store.open(folder) as store:
        store.begin("local", {}, "test")
        store.add(ARM, [Outcome(k, 0.5, 0.1) for k in range(3)])
        before_it_ends()
        store.end("complete", 1.0)


def mount(*words: object) -> bool:
    tool = shutil.which(str(words[0]))
    return tool is not None and subprocess.run([tool, *map(str, words[1:])], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A read-only disk with an empty folder, a store, stores of a run that was killed, and a log."""
    disk = tmp_path_factory.mktemp("disk")
    if not mount("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk):
        pytest.skip("mounting is not allowed here")
    try:
        (disk / "empty").mkdir()
        fill(disk / "good")
        here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])}
        subprocess.run([sys.executable, "-c", KILLED, disk / "killed"], env=here)
        assert (disk / "killed" / "results.sqlite-wal").stat().st_size > 0
        shutil.copytree(disk / "killed", disk / "part")
        (disk / "part" / "results.sqlite-shm").unlink()
        (disk / "log.csv").write_text("state,action,next_state\n0,0,1\n1,0,0\n")
        assert mount("mount", "-o", "remount,ro", disk)
        yield disk
    finally:
        mount("umount", disk)


REFUSED = [
    "run {plan} --out {disk}/good", "run {plan} --trials 5 --out {disk}/good", "run {plan} --out {disk}/killed",
    "run {plan} --out {disk}/part", "run {plan} --out {disk}/new", "run {plan} --out {disk}/empty",
    "reproduce --quick --out {disk}/new", "reproduce --quick --out {disk}/good", "results {disk}/empty",
    "results {disk}/part", "results {disk}/good --csv {disk}/x.csv", "report {disk}/good", "report {disk}/part",
    "report {disk}/good --out {disk}/report", "learn {disk}/log.csv",
    "plan m1-entropy --planner random --set horizon=3 --plot {disk}/x.png",
    "plan m1-entropy --planner random --set horizon=3 --animate {disk}/x.gif",
]  # fmt: skip


@pytest.mark.parametrize("line", REFUSED)
def test_a_disk_that_can_t_be_written_to_is_a_sentence(capsys, disk: Path, plan: Path, line: str, count) -> None:
    code = main(line.format(disk=disk, plan=plan).split())
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    assert len(err.splitlines()) == 1
    assert "a bug" not in err
    assert ".part" not in err  # the name of a file aside means nothing to anybody
    count("commands on a read-only disk", "refused in a sentence")


@pytest.mark.parametrize("folder", ["good", "killed"])
def test_results_on_a_disk_that_can_t_be_written_to_are_read(
    capsys, tmp_path: Path, disk: Path, folder: str, count
) -> None:
    """Also those of a run that was killed: what it had committed stands in its log."""
    for line in (["results", f"{disk}/{folder}"], ["report", f"{disk}/{folder}", "--out", str(tmp_path / "report")]):
        assert main(line) == 0, capsys.readouterr().err
        assert "0.5" in capsys.readouterr().out
        count("commands on a read-only disk", "answered")


def test_a_store_that_sqlite_opens_for_reading_only_is_refused_when_a_run_begins(
    capsys, tmp_path: Path, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be mounted: as SQLite has it when the file's permissions forbid to write."""
    import sqlite3

    fill(tmp_path / "out")
    real = sqlite3.connect

    def readonly(path, *args, **options):
        if str(path).endswith("results.sqlite"):
            return real(f"{Path(path).as_uri()}?mode=ro", *args, **options, uri=True)
        return real(path, *args, **options)

    monkeypatch.setattr(sqlite3, "connect", readonly)
    assert main(["run", str(plan), "--out", str(tmp_path / "out"), "--trials", "5"]) == 2
    err = capsys.readouterr().err
    assert "results.sqlite can't be used: it can't be written to or opened. It is left as it is." in err


def test_a_disk_that_is_full_when_a_run_begins_is_a_sentence(tmp_path_factory, capsys, plan: Path) -> None:
    disk = tmp_path_factory.mktemp("full")
    if not mount("mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk):
        pytest.skip("mounting is not allowed here")
    try:
        fill(disk / "out")
        with open(disk / "rest", "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        assert os.statvfs(disk).f_bfree == 0
        assert main(["run", str(plan), "--out", str(disk / "out"), "--trials", "5"]) == 2
        assert "the disk is full; make room and run the same command again" in capsys.readouterr().err
    finally:
        mount("umount", disk)


# --- folders of strangers that lead elsewhere ---


def a_link_for_the_report(folder: Path, other: Path) -> None:
    (folder / "report").symlink_to(other)


def a_link_for_the_tables(folder: Path, other: Path) -> None:
    (folder / "report").mkdir()
    (folder / "report" / "tables").symlink_to(other)


def a_pipe_for_the_page(folder: Path, other: Path) -> None:
    (folder / "report").mkdir()
    os.mkfifo(folder / "report" / "index.html")


@pytest.mark.parametrize("lure", [a_link_for_the_report, a_link_for_the_tables, a_pipe_for_the_page])
def test_a_report_is_not_led_out_of_its_folder(capsys, tmp_path: Path, lure, count) -> None:
    folder, other = tmp_path / "theirs", tmp_path / "mine"
    other.mkdir()
    (other / "index.html").write_text("mine")
    fill(folder)
    lure(folder, other)
    assert main(["report", str(folder)]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert "name another place with --out" in err
    assert [(path.name, path.read_text()) for path in other.iterdir()] == [("index.html", "mine")]
    assert main(["report", str(folder), "--out", str(tmp_path / "report")]) == 0
    count("hostile folders", "report kept in its place")


def test_a_link_for_a_page_is_replaced_and_not_followed(tmp_path: Path) -> None:
    fill(tmp_path / "theirs")
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "theirs" / "report").mkdir()
    (tmp_path / "theirs" / "report" / "index.html").symlink_to(tmp_path / "mine")
    assert main(["report", str(tmp_path / "theirs")]) == 0
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "theirs" / "report" / "index.html").is_symlink()


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """A pipe here: what stands for /dev/stdout must be there afterwards."""
    from gumdp.files import write

    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write(tmp_path / "pipe", "text", through=True)
    assert os.read(reading, 100) == b"text"
    os.close(reading)
    with pytest.raises(OSError, match="not a plain file"):
        write(tmp_path / "pipe", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
