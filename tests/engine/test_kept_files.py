"""Files of every version of the format: the current one's load and are written again byte for byte, earlier ones are refused."""

import json
import re
from pathlib import Path

import pytest

import guided
from guided.engine.files import read_index_file
from guided.index.storage import FORMAT_VERSION
from tests.engine.kept_files import EXPECTED, FOLDER, SPECS, VOCABULARY, facts

WANTED = json.loads((FOLDER / EXPECTED).read_text(encoding="utf-8"))
EARLIER = [path for version in range(1, FORMAT_VERSION) for path in sorted((FOLDER / f"v{version}").glob("*.index"))]


def kept(name: str) -> Path:
    return FOLDER / f"v{FORMAT_VERSION}" / f"{name}.index"


def test_every_version_has_its_files() -> None:
    for version in range(1, FORMAT_VERSION + 1):
        assert {path.stem for path in (FOLDER / f"v{version}").glob("*.index")} == set(SPECS), (
            f"keep files of version {version}: python -m tests.engine.kept_files tests/data/index/v{version}"
        )
    assert set(WANTED) == set(SPECS)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", SPECS)
def test_kept_files_load_with_the_same_masks(name: str, mmap: bool) -> None:
    index = guided.load_index(kept(name), VOCABULARY, mmap=mmap)
    assert facts(index) == WANTED[name]
    assert index.spec_fingerprint == SPECS[name].fingerprint


@pytest.mark.parametrize("name", SPECS)
def test_files_of_today_have_the_same_bytes(name: str, tmp_path: Path) -> None:
    index = guided.compile(SPECS[name], VOCABULARY)
    index.save(tmp_path / "today.index")
    assert (tmp_path / "today.index").read_bytes() == kept(name).read_bytes(), (
        "a change of the format needs a new version"
    )
    guided.load_index(kept(name), VOCABULARY).save(tmp_path / "again.index")
    assert (tmp_path / "again.index").read_bytes() == kept(name).read_bytes()


@pytest.mark.parametrize("name", SPECS)
def test_a_file_is_read_without_its_vocabulary(name: str) -> None:
    found = read_index_file(kept(name))
    index = guided.compile(SPECS[name], VOCABULARY)
    assert found.automaton == index.tables.automaton
    assert found.spec_fingerprint == index.spec_fingerprint
    assert (found.vocabulary_fingerprint, found.n_tokens) == (VOCABULARY.fingerprint, len(VOCABULARY))
    assert (found.unenforced, found.notes) == ((), ())


@pytest.mark.parametrize("path", EARLIER, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_earlier_versions_are_refused_by_name(path: Path) -> None:
    version = path.parent.name.removeprefix("v")
    message = (
        rf"{re.escape(str(path))} has version {version} of the format, "
        rf"and this release reads version {FORMAT_VERSION}: compile it again"
    )
    for mmap in (False, True):
        with pytest.raises(guided.IndexFormatError, match=message):
            guided.load_index(path, VOCABULARY, mmap=mmap)
    with pytest.raises(guided.IndexFormatError, match=message):
        read_index_file(path)
