"""The architecture as tests: who may import what, and where.

The direction of imports is import-linter's (``make lint``); here is what it can not say. Everything is read from the
source, nothing is run.
"""

import ast
import dataclasses
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import guided

ROOT = Path(guided.__file__).resolve().parent.parent
PACKAGE = ROOT / "guided"
FILES = sorted(path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py"))
FACADE = "guided/__init__.py"

# Package -> the only folder that may import it.
HOMES = {
    "torch": "guided/integrations/",
    "transformers": "guided/integrations/",
    "triton": "guided/integrations/",
    "llama_cpp": "guided/integrations/",
    "vllm": "guided/integrations/",
    "sglang": "guided/integrations/",
    "numba": "guided/kernels/",
    "llvmlite": "guided/kernels/",
    "lark": "guided/lalr/",
    "interegular": "guided/engine/",
}

# What a kernel's file may import: of the package only files whose sources name the cache folder (`guided.kernels.extension`).
KERNEL_IMPORTS = {"numba", "numba.core", "numba.extending", "numpy", "guided.arrays", "typing", "collections.abc"}
# What makes kernels out of functions.
COMPILERS = {f"guided/kernels/{name}.py" for name in ("build", "compiler", "extension", "jit")}

# Whose functions may import: whatever they need, or only packages that an install may lack. All other files show what
# they need at their tops.
# Progress lines import rich where one is shown, kernels numba where no code compiled ahead of time fits, schemas pydantic for Python types,
# grammars Lark where one is read, schemas and tools the grammars for engine="lalr": the core never waits for them.
LOCAL_IMPORTS = (
    "guided/calls/inputs.py",
    "guided/calls/spec.py",
    "guided/cli/",
    "guided/engine/algebra.py",
    "guided/engine/grammar.py",
    "guided/engine/json_schema.py",
    "guided/engine/network.py",
    "guided/integrations/",
    "guided/kernels/copying.py",
    "guided/kernels/jit.py",
    "guided/progress.py",
    "guided/schema/frontend/inputs.py",
)
LOCAL_OPTIONAL_IMPORTS = ("guided/vocabulary/", "guided/patterns/properties.py")


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module: ``from a.b import c`` is ``a.b``, with ``c`` among the names."""

    module: str
    names: tuple[str, ...]
    line: int
    level: int
    local: bool

    @property
    def root(self) -> str:
        return self.module.partition(".")[0]


@cache
def tree(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"), filename=file)


@cache
def imports(file: str) -> tuple[Import, ...]:
    return tuple(_imports(tree(file), local=False))


def _imports(node: ast.AST, local: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, (), child.lineno, 0, local)
        elif isinstance(child, ast.ImportFrom):
            names = tuple(alias.name for alias in child.names)
            yield Import(child.module or "", names, child.lineno, child.level, local)
        else:
            yield from _imports(child, local or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


@cache
def always_there() -> frozenset[str]:
    """Import names of what every install has: the standard library, the package, its dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    dependencies = {re.match(r"[\w.-]+", line)[0].lower().replace("-", "_") for line in project["dependencies"]}
    # numba cannot be installed without llvmlite.
    return frozenset(dependencies | set(sys.stdlib_module_names) | {"guided", "llvmlite"})


def offenders(is_wrong: Callable[[str, Import], bool], files: Iterable[str] = FILES) -> list[str]:
    """Where the imports are for which ``is_wrong(file, import)`` holds."""
    return [f"{file}:{item.line}: {item.module}" for file in files for item in imports(file) if is_wrong(file, item)]


def test_reads_imports_in_all_positions() -> None:
    source = "import a.b\nif x:\n    from c import d\nclass E:\n    def f(self):\n        from g import h\n"
    found = [(item.module, item.names, item.local) for item in _imports(ast.parse(source), local=False)]
    assert found == [("a.b", (), False), ("c", ("d",), False), ("g", ("h",), True)]


def test_the_package_has_files() -> None:
    assert FACADE in FILES
    assert len(FILES) > 10


def test_every_module_has_a_docstring() -> None:
    docstrings = {file: ast.get_docstring(tree(file)) or "" for file in FILES}
    assert not [file for file, text in docstrings.items() if not text[:1].isprintable() or not text]


def test_nothing_inside_imports_the_facade() -> None:
    assert not offenders(lambda _, item: item.module == "guided")


def test_imports_are_absolute_and_by_name() -> None:
    assert not offenders(lambda _, item: item.level > 0 or "*" in item.names)


def test_functions_import_only_where_packages_are_optional() -> None:
    def is_wrong(file: str, item: Import) -> bool:
        if file == FACADE or file.startswith(LOCAL_IMPORTS) or not item.local:
            return False
        return not file.startswith(LOCAL_OPTIONAL_IMPORTS) or item.root in always_there()

    assert not offenders(is_wrong)


def test_optional_packages_are_not_imported_at_the_top() -> None:
    files = [file for file in FILES if not file.startswith("guided/integrations/")]
    assert not offenders(lambda _, item: not item.local and item.root not in always_there(), files)


def test_only_its_home_imports_a_package() -> None:
    assert not offenders(lambda file, item: not file.startswith(HOMES.get(item.root, "guided/")))


def test_kernels_import_numba_and_numpy_only() -> None:
    def is_wrong(_: str, item: Import) -> bool:
        return item.module not in KERNEL_IMPORTS and not item.module.startswith("guided.kernels.")

    assert not offenders(
        is_wrong, [file for file in FILES if file.startswith("guided/kernels/") and file not in COMPILERS]
    )


def test_imports_are_statements() -> None:
    """An import that no reader and no linter sees is allowed to the façade alone, which is lazy by design."""
    found = []
    for file in FILES:
        calls = [node.func for node in ast.walk(tree(file)) if isinstance(node, ast.Call)]
        names = {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
        if file != FACADE and names & {"import_module", "__import__"}:
            found.append(file)
    assert not found


def test_no_two_modules_import_each_other() -> None:
    """Not even through others, nor for types alone: whoever reads a module has read what it needs."""
    modules = {file[:-3].replace("/", ".").removesuffix(".__init__"): file for file in FILES}
    targets = {
        module: {
            full if full in modules else item.module
            for item in imports(file)
            for full in (f"{item.module}.{name}" for name in item.names or ("",))
            if item.root == "guided"
        }
        - {module}
        for module, file in modules.items()
    }
    # What is left when modules whose imports are all gone are taken away, again and again, imports in a circle.
    left = dict(targets)
    while done := [module for module, needed in left.items() if not needed & left.keys()]:
        for module in done:
            del left[module]
    assert not left


# They write files in new folders that are renamed or removed as a whole.
WRITERS = {"guided/cli/warmup.py", "guided/files.py", "guided/generate/fetch.py", "guided/kernels/build.py"}
WRITES = re.compile(r"\.write_(text|bytes)\(|\bopen\([^)]*['\"][wax]b?\+?['\"]|\bmkstemp\b|\bNamedTemporaryFile\b")


def test_files_are_replaced_by_one_function() -> None:
    found = {name for name in FILES if WRITES.search((ROOT / name).read_text(encoding="utf-8"))}
    assert found == WRITERS, "guided.files.replace_file writes a file atomically"


# Names of a `LimitError` that are not fields of `Limits`; docs/limits.md describes them.
LIMITS_OF_LARK_TEXTS = {"rules", "expression", "character_sets", "rule_depth", "group_depth"}
SIZES_OF_TABLES = {"vocabulary_bytes", "call_types", "plan_groups", "plan_states"}
LIMITS_OF_CALLS = {"max_tokens", "max_new_tokens", "attempts", "rollback", "context", "recursion"}


def _strings(file: str, node: ast.expr) -> set[str] | None:
    """Constant strings that an expression may be; None if it may be another."""
    match node:
        case ast.Constant(value=str(value)):
            return {value}
        case ast.IfExp():
            found, other = _strings(file, node.body), _strings(file, node.orelse)
            return None if found is None or other is None else found | other
        case ast.Name(id=name):
            values = [
                _strings(file, each.value)
                for each in ast.walk(tree(file))
                if isinstance(each, ast.Assign) and any(getattr(target, "id", "") == name for target in each.targets)
            ]
            return set().union(*values) if values and None not in values else None
    return None


def test_limit_errors_name_a_field_of_limits_or_a_documented_limit() -> None:
    """One name is always one number: a caller that reads ``what`` knows which field to raise."""
    fields = {field.name for field in dataclasses.fields(guided.Limits)}
    others = LIMITS_OF_LARK_TEXTS | SIZES_OF_TABLES | LIMITS_OF_CALLS
    assert not fields & others
    used: set[str] = set()
    unknown = []
    for file in FILES:
        for node in ast.walk(tree(file)):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = {"LimitError": 0, "check_budget": 0, "Steps": 1}.get(called)
            if place is None or len(node.args) <= place:
                continue
            names = _strings(file, node.args[place])
            used |= names or set()
            if names is None or not names <= fields | others:
                unknown.append((file, ast.unparse(node.args[place])))
    # They repeat a name that is checked where it is given.
    assert sorted(unknown) == [
        ("guided/automata/steps.py", "self.what"),
        ("guided/errors.py", "error.what"),
        ("guided/integrations/following.py", "what"),
        ("guided/schema/frontend/keywords/strings.py", "error.what"),
        ("guided/schema/strings/combination.py", "error.what"),
    ]
    assert others <= used
    text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    assert not {name for name in others if f"`{name}`" not in text}


def test_budgets_are_fields_of_limits() -> None:
    """A number beyond which a call fails, or answers otherwise, is a field of `Limits` or has a documented name (see above).

    Other bounds say what they bound: ``_KEPT`` entries of a cache, ``_TRIED`` alternatives of a search whose answer stays a correct bound,
    ``_SHOWN`` parts of a message, a size that a file's format or a table has, or where one of two methods of the same result begins.
    """
    names = {
        f"{file}: {target.id}"
        for file in FILES
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for each in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target in ast.walk(each)
        if isinstance(target, ast.Name) and target.id.lstrip("_").startswith("MOST")
    }
    assert not names


# Classes with a single subclass, and why they are two.
SINGLE_SUBCLASSES = {
    # Interfaces: others than the subclass implement or call them.
    "Pushdown": "the protocol of automata with a stack, which `SchemaMachine` and others satisfy without inheriting",
    "StoredSpec": "the protocol of specs in index files",
    "StackSpec": "the protocol of specs that need a stack",
    # Classes that are instantiated themselves.
    "Masks": "builds the masks of schemas; `NameMasks` adds what the names of an inventory need",
    "FunctionModel": "a model of any function; `ScriptedModel` keeps a script and notes its prompts",
    "FunctionSession": "the session of such a model; the one of `ScriptedModel` notes its prompts",
    "Concatenation": "what `+` makes; `StructuralTag` is one with a constructor of its own",
    "SchemaError": "raised itself; `Unsatisfiable` leaves optional parameters out",
    "_Schemas": "writes the schemas of types that are enforced; `_Shown` those that models see",
    # Coroutines over one cursor, which cannot be another object's: the calls of a text are made of single calls.
    "Scanner": "reads patterns and values; `CallScanner` reads one call",
    "CallScanner": "reads one call; `CallParser` reads texts with any number of them",
}


def test_classes_with_one_subclass_are_documented() -> None:
    """A base class that only shares code with its one subclass is the other half of that class."""
    classes: set[str] = set()
    subclasses: dict[str, set[str]] = {}
    for file in FILES:
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ClassDef):
                classes.add(node.name)
                for base in node.bases:
                    named = base.value if isinstance(base, ast.Subscript) else base
                    name = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
                    subclasses.setdefault(name, set()).add(f"{file}: {node.name}")
    found = {name for name in classes if len(subclasses.get(name, ())) == 1}
    assert found == set(SINGLE_SUBCLASSES)


def test_nothing_reads_pickles() -> None:
    assert not offenders(
        lambda _, item: (
            item.root in {"pickle", "shelve", "dill"} or (item.root == "marshal" and item.names != ("dumps",))
        )
    )


def test_no_module_has_the_name_of_a_public_name() -> None:
    """``guided.regex`` is a function: a package ``guided/regex`` would replace it on its first import."""
    children = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    modules = {name for name in guided.__all__ if isinstance(getattr(guided, name), ModuleType)}
    assert modules == {"events", "testing"}
    assert children & set(guided.__all__) == modules
