"""The folder of compiled code: private, whole or not at all, bounded, and never in the way."""

import errno
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gumdp.jit import folder as folders
from gumdp.jit.cache import KernelCache
from gumdp.jit.folder import Folder, user_cache
from gumdp.jit.record import allocating

posix = pytest.mark.posix


def kernel(folder: Folder, factor: float = 2.0):
    """A kernel of its own, whose compiled code is kept in ``folder``."""

    def double(x):
        return factor * x

    compiled = allocating(double)
    compiled._cache = KernelCache(compiled, folder)
    return compiled


def test_a_second_kernel_of_the_same_meaning_finds_the_first_one_s_code(tmp_path: Path) -> None:
    assert kernel(Folder(tmp_path / "c"))(3.0) == 6.0
    again, other = kernel(Folder(tmp_path / "c")), kernel(Folder(tmp_path / "c"), 5.0)
    assert again(3.0) == 6.0
    assert sum(again.stats.cache_hits.values()) == 1
    assert other(3.0) == 15.0
    assert sum(other.stats.cache_hits.values()) == 0


def test_a_damaged_file_is_compiled_anew(tmp_path: Path) -> None:
    assert kernel(Folder(tmp_path / "c"))(3.0) == 6.0
    (path,) = (tmp_path / "c").iterdir()
    whole = path.read_bytes()
    damaged = [whole[:k] for k in (0, 5, 20, len(whole) // 2, len(whole) - 1)] + [whole + b"\0"]
    damaged += [whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :] for k in range(0, len(whole), len(whole) // 12)]
    for text in damaged:
        path.write_bytes(text)
        assert Folder(tmp_path / "c").read(path.stem) is None
    again = kernel(Folder(tmp_path / "c"))
    assert again(3.0) == 6.0
    assert sum(again.stats.cache_hits.values()) == 0
    assert sum(kernel(Folder(tmp_path / "c")).stats.cache_hits.values()) == 0
    assert path.read_bytes()[:38] != damaged[-1][:38]  # the damaged one was replaced


@posix
def test_the_folder_and_its_files_are_the_user_s_alone(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "deep" / "c")
    folder.write("a", b"text")
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()] == [0o600]


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    Folder(tmp_path / "c").write("a", b"text")
    (tmp_path / "c").chmod(mode)
    folder = Folder(tmp_path / "c")
    with pytest.warns(UserWarning, match="others may write to it.*GUMDP_CACHE_DIR"):
        assert folder.read("a") is None
    assert folder.read("a") is None  # and no second warning, which would be an error here
    folder.write("b", b"text")
    assert not (tmp_path / "c" / "b.nbc").exists()


@posix
def test_a_folder_of_someone_else_s_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Folder(tmp_path / "c").write("a", b"text")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(UserWarning, match="belongs to someone else"):
        assert Folder(tmp_path / "c").read("a") is None


@posix
def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    Folder(tmp_path / "theirs").write("a", b"text")
    (tmp_path / "c").symlink_to(tmp_path / "theirs")
    with pytest.warns(UserWarning, match="not a folder"):
        assert Folder(tmp_path / "c").read("a") is None


@posix
def test_a_file_that_others_may_write_to_is_not_read(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "c")
    folder.write("a", b"text")
    assert folder.read("a") == b"text"
    (tmp_path / "c" / "a.nbc").chmod(0o606)
    assert folder.read("a") is None


def test_without_a_folder_it_goes_on_with_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = Folder(tmp_path / "file" / "c")
    with pytest.warns(UserWarning, match="each process compiles anew") as caught:
        assert kernel(folder)(3.0) == 6.0
        assert kernel(folder, 5.0)(3.0) == 15.0
    assert len(caught) == 1


def test_on_a_full_disk_it_goes_on_with_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folders.os, "replace", full)
    folder = Folder(tmp_path / "c")
    with pytest.warns(UserWarning, match="No space left on device") as caught:
        assert kernel(folder)(3.0) == 6.0
        assert kernel(folder, 5.0)(3.0) == 15.0
    assert len(caught) == 1
    assert list((tmp_path / "c").iterdir()) == []


def test_what_was_not_used_for_long_goes_and_of_one_kernel_the_newest_stay(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "c")
    for k in range(8):
        folder.write(f"one-{k}", b"text")
        os.utime(folder.path / f"one-{k}.nbc", (time.time() - 100 + k,) * 2)
    folder.write("two-0", b"text")
    folder.write("old-0", b"text")
    os.utime(folder.path / "old-0.nbc", (time.time() - 31 * folders.DAY,) * 2)
    folder.tidy("one-", keep=3)
    assert {path.stem for path in folder.path.iterdir()} == {"one-5", "one-6", "one-7", "two-0"}


def test_what_is_read_counts_as_used(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "c")
    folder.write("a", b"text")
    os.utime(folder.path / "a.nbc", (time.time() - 29 * folders.DAY,) * 2)
    folder.read("a")
    assert time.time() - (folder.path / "a.nbc").stat().st_mtime < folders.DAY


def test_processes_that_write_at_the_same_time_keep_their_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two writers starts before the other has finished; Numba's own cache mixes them up."""
    one, two = Folder(tmp_path / "c"), Folder(tmp_path / "c")
    replace = os.replace

    def slow(old: Path, new: Path) -> None:
        monkeypatch.setattr(folders.os, "replace", replace)
        two.write("two", b"code of two")
        two.write("one", b"code of one")
        replace(old, new)

    monkeypatch.setattr(folders.os, "replace", slow)
    one.write("one", b"code of one")
    assert (one.read("one"), one.read("two")) == (b"code of one", b"code of two")


def test_the_environment_says_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GUMDP_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert tmp_path in user_cache().parents
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert user_cache() == tmp_path / "numba" / "gumdp"
    monkeypatch.setenv("GUMDP_CACHE_DIR", str(tmp_path / "mine"))
    assert user_cache() == tmp_path / "mine"


def test_a_package_whose_constant_was_replaced_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gumdp.jit.meaning import package_digest

    folder = Folder(tmp_path / "c")
    compiled = kernel(folder)
    package_digest(compiled)
    cell = compiled.py_func.__closure__[0]
    monkeypatch.setattr(cell, "cell_contents", 7.0)
    assert compiled(3.0) == 21.0
    assert list(folder.path.iterdir()) == []


CALLS = """
import sys
from gumdp.jit.record import kernel, shared

@shared
def inner(x):
    return 2.0 * x

@kernel
def outer(x):
    return inner(x) + 1.0

if __name__ != "__main__":
    assert outer(3.0) == 7.0
    print(*(sum(k.stats.cache_hits.values()) for k in (inner, outer)))
"""


def test_a_kernel_finds_the_shared_one_that_it_calls_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(CALLS)
    environment = {**os.environ, "GUMDP_CACHE_DIR": str(tmp_path / "c"), "PYTHONPATH": str(tmp_path)}

    def hits() -> str:
        command = [sys.executable, "-c", "import calls"]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()

    assert hits() == "0 0"
    assert hits() == "1 1"
    for path in (tmp_path / "c").rglob("calls.inner-*"):
        path.unlink()
    other = "from gumdp.jit.record import kernel\nkernel(lambda x: x + 1)(1)\n"  # so that names are not the same again
    (tmp_path / "calls.py").write_text(CALLS.replace("@shared", other + "\n@shared", 1))
    assert hits() in ("0 0", "0 1")  # it is compiled, and never called by a name that nobody has
    assert hits() == "1 1"
