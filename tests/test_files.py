"""`replace_file`: the old file or the new one, whatever happens."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import guided
from guided.files import open_regular, replace_file
from tests.cli.programs import call, write_ranks
from tests.generate.models import ASCII
from tests.interrupted import interrupted_anywhere


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, "snow \N{SNOWMAN}\r\n")
    assert path.read_bytes() == "snow \N{SNOWMAN}\r\n".encode()
    replace_file(str(path), [b"a", b"", b"b"])
    assert path.read_bytes() == b"ab"
    assert names(tmp_path) == ["file"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def pieces() -> Iterator[bytes]:
        yield b"x" * 100_000
        assert len(names(tmp_path)) == 2
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_file(path, pieces())
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


# A file that nobody got is closed when it is freed.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_open_that_is_interrupted_anywhere_raises_the_interrupt(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    moments = [*interrupted_anywhere(lambda: open_regular(path).close())]
    assert len(moments) > 10


def test_readers_see_one_of_the_files(tmp_path: Path) -> None:
    path, seen, done = tmp_path / "file", set[bytes](), threading.Event()
    contents = [bytes([65 + number]) * 200_000 for number in range(20)]
    replace_file(path, [contents[0]])

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for content in contents:
        replace_file(path, [content[:7], content[7:]])
    done.set()
    reader.join()
    assert seen <= set(contents)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    replace_file(tmp_path / "file", "a")
    (tmp_path / "other").write_text("a")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "other")}
    assert len(modes) == 1


def test_a_link_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    replace_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs of POSIX")
def test_named_pipes_are_written_in_place(tmp_path: Path) -> None:
    path, found = tmp_path / "fifo", list[str]()
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: found.append(path.read_text()))
    reader.start()
    replace_file(path, "hello")
    reader.join()
    assert found == ["hello"]
    replace_file("/dev/null", "nothing")
    assert not Path("/dev/null").is_file()


def test_names_of_any_length(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    replace_file(path, "a")
    assert path.read_text() == "a"


def test_errors_name_the_file(tmp_path: Path) -> None:
    for path in (tmp_path / "missing" / "file", tmp_path / ("n" * 256)):
        with pytest.raises(OSError, match=r"missing/file|nnn") as caught:
            replace_file(path, "a")
        assert caught.value.filename == str(path)
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path, "a")
    with pytest.raises(OSError, match="invalid"):
        replace_file("a\0b", "a")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["schema", "SCHEMA", "--lark", "--output", "OUT"],
        ["inspect", "INDEX", "--graph", "OUT.svg"],
        ["explore", "--regex", "a", "--vocabulary", "TOKENS", "--eos", "256", "--output", "OUT"],
    ],
)
def test_failed_commands_leave_the_old_files(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "SCHEMA").write_text('{"type": "boolean"}')
    write_ranks(tmp_path / "TOKENS")
    guided.compile(guided.Regex("a|b"), ASCII).save(tmp_path / "INDEX")
    monkeypatch.chdir(tmp_path)
    target = tmp_path / arguments[-1]
    target.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = call(*arguments)
    assert done.exit_code == 2, done.output
    assert "No space left on device" in done.stderr
    assert target.read_text() == "old"
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]
