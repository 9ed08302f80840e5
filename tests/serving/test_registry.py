"""The proposed registry of backends (docs/adr/0038-registry.diff) applies to the installed vLLM, and its own tests pass there."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

DIFF = Path(__file__).parents[2] / "docs" / "adr" / "0038-registry.diff"
VERSIONS = ("0.32.0", "0.33.0")


def linked(folder: Path, patched: Path) -> None:
    """Complete patched files to a copy of a folder, by links."""
    for path in folder.iterdir():
        beside = patched / path.name
        if beside.is_dir():
            linked(path, beside)
        elif not beside.exists() and path.name != "__pycache__":
            beside.symlink_to(path)


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
def test_the_proposed_registry_works(tmp_path: Path) -> None:
    if version("vllm").partition("+")[0] not in VERSIONS:
        pytest.skip(f"the diff is one against vLLM {VERSIONS[-1]}")
    spec = find_spec("vllm")
    assert spec is not None
    assert spec.origin is not None
    installed = Path(spec.origin).parent
    for name in re.findall(r"^--- a/vllm/(\S+)$", DIFF.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if (installed / name).exists():
            (tmp_path / "vllm" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(installed / name, tmp_path / "vllm" / name)
    subprocess.run(["patch", "-p1", "--input", str(DIFF)], cwd=tmp_path, check=True)
    linked(installed, tmp_path / "vllm")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "VLLM_PLUGINS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/v1"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout
