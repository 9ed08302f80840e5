"""Kernels compiled ahead of time: a wheel that has them needs no numba; they give what numba's code gives, and only for the same sources.

The extension is taken from the wheel, which is built once (about a minute).
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import guided
from tests.kernels.digest import digest

ROOT = Path(guided.__file__).resolve().parent.parent
PACKAGE = ROOT / "guided"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="kernels are compiled ahead of time on Linux only"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]


def process(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A process in a folder without sources, with no caches but the named ones."""
    dropped = ("NUMBA_", "COV_", "COVERAGE_", "PYTHON", "GUIDED_COMPILED_KERNELS")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return subprocess.run(
        arguments, env=inherited | environment, cwd="/", capture_output=True, text=True, check=False, timeout=600
    )


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    done = process(*arguments, **environment)
    assert done.returncode == 0, f"{arguments}:\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = built(folder, GUIDED_COMPILED_KERNELS="1")
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def extensions(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the extension, which serves a checkout as NUMBA_CACHE_DIR."""
    folder = tmp_path_factory.mktemp("extensions")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".so"))
        (folder / Path(name).name).write_bytes(archive.read(name))
    return folder


def in_checkout(extensions: Path, program: str, **environment: str) -> list[str]:
    variables = {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(extensions)} | environment
    return run(sys.executable, "-c", program, **variables).stdout.splitlines()


FIRST_USES = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None  # an import of them fails
from guided import Grammar, JsonSchema, Regex, Vocabulary, compile
vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}, "required": ["name"]}
texts = [(Regex("[a-z]+(,[a-z]+)*"), b"ab,c"), (JsonSchema(schema), b'{"name": "ab"}'), (Grammar("json"), b'{"a": [1]}')]
for spec, text in texts:
    guide = compile(spec, vocabulary).guide()
    for byte in text:
        assert guide.mask()[byte >> 5] >> (byte & 31) & 1
        guide.mask_within(guide.remaining + 2)
        guide.advance(byte)
    guide.advance(256)
    print(guide.is_finished)
import guided
print(guided.__file__)
"""


def test_the_wheel_names_its_platform_and_holds_one_extension(wheel: Path) -> None:
    assert "-cp311-abi3-manylinux_2_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        (extension,) = (one for one in archive.infolist() if one.filename.endswith(".so"))
    assert extension.filename.startswith("guided/kernels/guided_compiled_kernels-")
    assert extension.file_size < 1 << 20


def built(folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    return process(*command, **environment)


def test_an_install_compiles_kernels_unless_told_otherwise(extensions: Path, tmp_path: Path) -> None:
    # The extension in the cache folder is used, or a minute would be spent on another.
    for variable, tag in (("", "abi3-manylinux"), ("0", "py3-none-any")):
        folder = tmp_path / tag
        done = built(folder, NUMBA_CACHE_DIR=str(extensions), GUIDED_COMPILED_KERNELS=variable)
        assert done.returncode == 0, done.stderr
        (path,) = folder.glob("*.whl")
        assert tag in path.name


@pytest.mark.parametrize(("variable", "fails"), [("", False), ("1", True)])
def test_an_install_without_a_c_compiler_says_so(variable: str, fails: bool, tmp_path: Path) -> None:
    done = built(tmp_path, NUMBA_CACHE_DIR=str(tmp_path), CC="no-such-compiler", GUIDED_COMPILED_KERNELS=variable)
    assert "there is no C compiler (no-such-compiler)" in done.stdout + done.stderr
    assert (done.returncode != 0) == fails
    assert [path.name.partition("-py3-")[2] for path in tmp_path.glob("*.whl")] == ([] if fails else ["none-any.whl"])


@pytest.mark.network
def test_a_fresh_install_needs_no_numba_and_no_cache(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", str(venv))
    python = str(venv / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "numba", "llvmlite")
    home = tmp_path / "home"
    home.mkdir()
    *finished, package = run(python, "-c", FIRST_USES, HOME=str(home)).stdout.splitlines()
    assert finished == ["True"] * 3
    assert Path(package).is_relative_to(venv)
    assert not list(home.rglob("*"))


def test_a_checkout_uses_the_extension_in_the_cache_folder(extensions: Path) -> None:
    assert in_checkout(extensions, FIRST_USES)[:3] == ["True"] * 3


def test_masks_are_those_of_numba(extensions: Path) -> None:
    program = "from tests.kernels.digest import digest; print(*digest()); import sys; print('numba' in sys.modules)"
    *found, is_imported = " ".join(in_checkout(extensions, program)).split()
    assert found == digest()
    assert is_imported == "False"


ARGUMENTS = """
import logging, sys
import numpy as np
from guided.kernels.hashing import find, key_slot, row_slot
from guided.kernels.jit import python_function
from guided.kernels.masks import are_equal
from guided.kernels.minimize import invert
missed = []
logging.getLogger("guided.kernels").setLevel(logging.INFO)
logging.getLogger("guided.kernels").addHandler(logging.Handler())
logging.getLogger("guided.kernels").handlers[0].emit = lambda record: missed.append(record.msg)
keys, values = np.array([-1, 5, 1, -1], np.int64), np.array([0, 7, 9, 0], np.int32)
def calls(function, *arguments):
    missed.clear()
    print(function(*arguments) == python_function(function)(*arguments), sum("ahead of time" in each for each in missed))
calls(find, 5, keys, values)
calls(find, np.int64(5), keys, values)
keys.setflags(write=False)
calls(find, 5, keys, values)  # read-only arrays fit code that only reads them
calls(row_slot, np.uint64(2**63 + 5), 8)
print("numba" in sys.modules)
calls(find, 5, np.repeat(keys, 2)[::2], values)  # not contiguous
calls(find, 5, keys, values.astype(np.int64))
try:
    find(5, keys)
except TypeError as error:
    print("TypeError")
from guided.kernels.hashing import rehash
try:
    rehash(keys, values, np.full(8, -1), np.frombuffer(bytes(32), np.int32))  # one that it writes
except Exception as error:
    print(type(error).__name__)
"""


def test_arguments_that_fit_no_signature_go_to_numba(extensions: Path, tmp_path: Path) -> None:
    shutil.copytree(extensions, tmp_path / "cache")
    lines = in_checkout(tmp_path / "cache", ARGUMENTS)
    assert lines[:4] == ["True 0"] * 4
    assert lines[4] == "False"
    assert lines[5:7] == ["True 2", "True 0"]  # one of them for the kernel that it calls; both serve the second call
    assert lines[7:] == ["TypeError", "TypingError"]


WHICH = """
from guided.kernels.hashing import key_slot
print(type(key_slot).__name__, key_slot(5, 8))
"""


@pytest.mark.parametrize("variable", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT", "GUIDED_COMPILED_KERNELS"])
def test_the_environment_turns_it_off(extensions: Path, tmp_path: Path, variable: str) -> None:
    shutil.copytree(extensions, tmp_path / "cache")
    value = "0" if variable == "GUIDED_COMPILED_KERNELS" else "1"
    kind, slot = in_checkout(tmp_path / "cache", WHICH, **{variable: value})[0].split()
    assert kind == ("function" if variable == "NUMBA_DISABLE_JIT" else "CPUDispatcher")
    assert in_checkout(extensions, WHICH) == [f"builtin_function_or_method {slot}"]


def test_an_extension_of_other_sources_is_never_used(extensions: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "guided", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copytree(extensions, tmp_path / "cache")
    variables = {"PYTHONPATH": str(site), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(sys.executable, "-c", WHICH, **variables).stdout.startswith("builtin_function_or_method ")
    source = site / "guided" / "kernels" / "hashing.py"
    source.write_text(source.read_text(encoding="utf-8").replace("0x9E3779B97F4A7C15", "0x9E3779B97F4A7C17"))
    assert run(sys.executable, "-c", WHICH, **variables).stdout.startswith("_Uncompiled ")


def test_a_damaged_extension_is_reported_and_the_others_take_over(extensions: Path, tmp_path: Path) -> None:
    (path,) = extensions.glob("*.so")
    (tmp_path / path.name).write_bytes(b"not a library" * 100)
    done = run(sys.executable, "-c", WHICH, PYTHONPATH=str(ROOT), NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout.startswith("_Uncompiled ")
    assert "cannot be used" in done.stderr


THREADS = """
import sys, threading, time
import numpy as np
from guided.kernels.masks import content_hash
words = np.arange(30_000_000, dtype=np.int32)
most = 0
for _ in range(50):  # a busy machine may give this thread no time during one call
    thread = threading.Thread(target=content_hash, args=(words,))
    thread.start()
    n_turns = 0
    while thread.is_alive():
        n_turns += 1
        time.sleep(0)
    most = max(most, n_turns)
    if most > 10:
        break
print(most > 10, "numba" in sys.modules)
"""


def test_calls_release_the_interpreter(extensions: Path) -> None:
    assert in_checkout(extensions, THREADS) == ["True False"]


def test_warmup_finds_the_extension(extensions: Path) -> None:
    done = run(sys.executable, "-m", "guided", "warmup", PYTHONPATH=str(ROOT), NUMBA_CACHE_DIR=str(extensions))
    first, second = done.stdout.splitlines()
    assert first.endswith("all from the cache")
    assert second == f"cache: {next(extensions.glob('*.so'))}"
