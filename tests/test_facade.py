"""The façade is the public surface: one table of names, each lazily found in its home."""

import ast
import importlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import FunctionType

import pytest

import guided
from tests.test_docs import ROOT, blocks

HOMES = guided._HOMES


STUB = Path(guided.__file__).with_name("__init__.pyi")
MODULES = {"events", "testing"}


def names_of_the_stub() -> dict[str, str]:
    """Name -> module of the imports that type checkers see."""
    found: dict[str, str] = {}
    for statement in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom):
            (alias,) = statement.names
            assert alias.asname == alias.name, "only `name as name` is a re-export under mypy --strict"
            found[alias.name] = f"guided.{alias.name}" if statement.module == "guided" else statement.module or ""
    return found


def test_all_is_the_public_surface() -> None:
    assert guided.__all__ == [*sorted(HOMES), "__version__"]
    assert len(guided.__all__) <= 60
    assert dir(guided) == sorted(guided.__all__)
    assert not [name for name in HOMES if name.startswith("_")]


@pytest.mark.parametrize("name", sorted(HOMES.keys() - MODULES))
def test_every_name_is_found_in_its_home(name: str) -> None:
    value = getattr(guided, name)
    assert value is getattr(importlib.import_module(HOMES[name]), name)
    # Why not all: an alias of a type has the module of what it stands for, or that of `typing`.
    if isinstance(value, type | FunctionType):
        assert value.__module__ == HOMES[name], "the table names the module that defines it"
    assert value.__doc__, "what is public is documented"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_public_modules_list_their_names(name: str) -> None:
    module = getattr(guided, name)
    assert module is importlib.import_module(f"guided.{name}")
    assert sorted(module.__all__) == module.__all__
    assert all(hasattr(module, inner) for inner in module.__all__)


# What users may import besides the names of the façade; docs/stability.md lists the same.
PUBLIC_MODULES = {
    "guided.calls.parse",
    "guided.calls.sources.rest",
    "guided.events",
    "guided.integrations.llama_cpp",
    "guided.integrations.masking",
    "guided.integrations.openai_chunks",
    "guided.integrations.serving",
    "guided.integrations.vllm",
    "guided.resources",
    "guided.testing",
    "guided.vocabulary.segmentation",
}


def cells(notebook: Path) -> str:
    """The code of a notebook, without the lines that are commands of IPython."""
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in found if cell["cell_type"] == "code")
    return "\n".join(line for line in code.split("\n") if line[:1] not in ("%", "!"))


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = [
    *((path.name, source) for path in DOCUMENTS for _, source in blocks(path, "python")),
    *((path.name, path.read_text(encoding="utf-8")) for path in sorted((ROOT / "docs" / "examples").glob("*.py"))),
    *((path.name, cells(path)) for path in sorted((ROOT / "docs" / "examples").glob("*.ipynb"))),
]


def imported(source: str) -> set[str]:
    """The modules and names of the package that a program imports."""
    found = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.partition(".")[0] == "guided"}


@pytest.mark.parametrize(("name", "source"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_documents_and_examples_import_what_is_public(name: str, source: str) -> None:
    public = {"guided", *PUBLIC_MODULES, *(f"guided.{one}" for one in guided.__all__)}
    wrong = {one for one in imported(source) if one not in public and one.rpartition(".")[0] not in PUBLIC_MODULES}
    assert not wrong, name


def test_the_page_on_stability_lists_the_public_modules() -> None:
    text = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    row = next(line for line in text.split("\n") if line.startswith("| **public** |"))
    assert set(re.findall(r"`(guided\.[\w.]+)`", row)) == PUBLIC_MODULES
    for module in PUBLIC_MODULES - {"guided.integrations.llama_cpp", "guided.integrations.vllm"}:
        assert importlib.import_module(module).__all__


def test_packages_name_their_public_modules() -> None:
    """In the last line of their docstrings; every other module is private."""
    found = set()
    for file in (STUB.with_suffix(".py"), *sorted(STUB.parent.glob("*/__init__.py"))):
        package = ".".join(file.parent.relative_to(STUB.parents[1]).parts)
        # Its sources name the folder of compiled code: a line there compiles all kernels anew.
        if package == "guided.kernels":
            continue
        last = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n")[-1]
        assert re.fullmatch(r"Public modules: (none|`[\w.]+`(, `[\w.]+`)*)\.", last), package
        found |= {f"{package}.{name}" for name in re.findall(r"`([\w.]+)`", last)}
    assert found == PUBLIC_MODULES


def test_type_checkers_see_the_same_names() -> None:
    assert names_of_the_stub() == HOMES


def test_the_package_works_from_a_zip_file(tmp_path: Path) -> None:
    archive = tmp_path / "guided.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (path for suffix in ("py", "pyi", "json") for path in STUB.parent.rglob(f"*.{suffix}")):
            file.write(path, path.relative_to(STUB.parents[1]))
    program = f"""
import sys
sys.path.insert(0, {str(archive)!r})
import guided
assert guided.__file__.startswith({str(archive)!r})
assert not hasattr(guided, "nothing")
try:
    guided.Regex("a", flag=1)
except TypeError as error:
    assert "flag" in str(error)
    print(guided.LimitError.__module__)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "guided.errors"


def test_names_are_found_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(vars(guided), "LimitError", raising=False)
    first = guided.LimitError
    assert vars(guided)["LimitError"] is first


@pytest.mark.parametrize("name", ["nothing", "jsonn", "__wrapped__"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'guided' has no attribute '{name}'"):
        getattr(guided, name)


ALONE = """
import sys
before = {*sys.modules}
import guided
guided.__all__
print([name for name in {*sys.modules} - before if name.partition(".")[0] not in sys.stdlib_module_names])
"""


def test_the_import_imports_nothing_else() -> None:
    """Ten milliseconds, which `python -X importtime -c "import guided"` shows, are those of Python's own modules."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    assert done.stdout.strip() == "['guided']"


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


WITHOUT_LARK = """
import sys
import guided
vocabulary = guided.Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
definition = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "array"}}}}
def add(x: int, y: int) -> int: return x + y
for spec in guided.JsonSchema({"type": "object"}), guided.Tools([definition]), guided.Tools([add, definition]):
    guided.compile(spec, vocabulary).guide().mask()
print([name for name in ("lark", "guided.lalr") if name in sys.modules])
for name in guided.__all__:
    getattr(guided, name)
print("lark" in sys.modules)
guided.Grammar("json")
print("lark" in sys.modules)
"""


def test_lark_is_imported_only_for_grammars() -> None:
    """Schemas and tools import nothing of the package's part for grammars either."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LARK], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    assert done.stdout.split() == ["[]", "False", "True"]


WITHOUT_PYDANTIC = """
import gc, sys
import guided
vocabulary = guided.Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
specs = guided.Regex("a+"), guided.JsonSchema({"type": "object"}), guided.Grammar("json")
for spec in specs:
    guided.compile(spec, vocabulary).guide().mask()
print(gc.isenabled(), [name for name in ("pydantic", "docstring_parser", "urllib.request") if name in sys.modules])
guided.JsonSchema(int)
print("pydantic" in sys.modules)
"""


@pytest.mark.slow
def test_a_pattern_a_schema_and_a_grammar_do_without_pydantic() -> None:
    """Its import, for types of Python, is a fifth of what such a process costs."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYDANTIC],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert done.stdout.split("\n")[:2] == ["True []", "True"]
