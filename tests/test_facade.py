"""The façade is the public surface: one table of names, each lazily found in its home."""

import ast
import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import guided

HOMES = guided._HOMES


def type_checking_names() -> dict[str, str]:
    """Name -> module of the imports that type checkers see instead of the lazy ones."""
    source = Path(guided.__file__).read_text(encoding="utf-8")
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    assert [ast.unparse(block.test) for block in blocks] == ["TYPE_CHECKING"]
    found: dict[str, str] = {}
    for statement in blocks[0].body:
        assert isinstance(statement, ast.ImportFrom)
        for alias in statement.names:
            assert alias.asname == alias.name, "only `name as name` is a re-export under mypy --strict"
            found[alias.name] = statement.module or ""
    return found


def test_all_is_the_public_surface() -> None:
    assert guided.__all__ == [*sorted(HOMES), "__version__"]
    assert len(guided.__all__) <= 40
    assert dir(guided) == sorted(guided.__all__)
    assert not [name for name in HOMES if name.startswith("_")]


@pytest.mark.parametrize("name", sorted(HOMES))
def test_every_name_is_found_in_its_home(name: str) -> None:
    value = getattr(guided, name)
    assert value is getattr(importlib.import_module(HOMES[name]), name)
    assert value.__module__ == HOMES[name], "the table names the module that defines it"
    assert value.__doc__, "what is public is documented"


def test_type_checkers_see_the_same_names() -> None:
    assert type_checking_names() == HOMES


def test_names_are_found_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(vars(guided), "LimitError", raising=False)
    first = guided.LimitError
    assert vars(guided)["LimitError"] is first


@pytest.mark.parametrize("name", ["nothing", "jsonn", "__wrapped__"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'guided' has no attribute '{name}'"):
        getattr(guided, name)


def test_the_version_is_that_of_the_distribution() -> None:
    assert guided.__version__ == importlib.metadata.version("guided-decoding")


KERNELS_AT_WORK = """
import importlib, sys
import guided
for name in guided.__all__:
    getattr(guided, name)
print([f"{module}.{name}" for module in sys.modules if module.startswith("guided.kernels.")
       for name, value in vars(sys.modules[module]).items() if getattr(value, "signatures", None)])
"""


@pytest.mark.slow
def test_importing_runs_no_kernel() -> None:
    """A kernel that is loaded costs hundreds of milliseconds the first time."""
    done = subprocess.run(
        [sys.executable, "-c", KERNELS_AT_WORK],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.stdout.strip() == "[]"
