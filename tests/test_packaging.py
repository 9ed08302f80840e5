"""What is built and installed: the wheel's contents, both kinds of install, pins, and a light import.

The wheel is built through a source distribution, so that both are complete.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, entry_points, metadata, requires, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import guided
from guided.resources import grammar_names, grammar_path

ROOT = Path(guided.__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*arguments: str, cwd: Path, **environment: str) -> str:
    """The output of a command that must succeed, without this process's coverage and import path."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTHON", "MAKE"))}
    done = subprocess.run(
        arguments, cwd=cwd, env=inherited | environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{arguments}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT), cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel is installed, and nothing else."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    run(*pip, "--target", str(target), str(wheel), cwd=target)
    return target


def packaged_files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def read(wheel: Path, name: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (member,) = [member for member in archive.namelist() if member.endswith(f".dist-info/{name}")]
        return archive.read(member).decode()


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "guided").rglob("*.py")}
    formats = {path.relative_to(ROOT).as_posix() for path in (ROOT / "guided/calls/formats").glob("*.toml")}
    grammars = {f"guided/grammars/{path.name}" for path in (ROOT / "grammars").iterdir()}
    automata = {path.relative_to(ROOT).as_posix() for path in (ROOT / "guided/schema/formats/automata").iterdir()}
    info = {name for name in packaged_files(wheel) if ".dist-info/" in name}
    assert packaged_files(wheel) - info == modules | formats | grammars | automata | {
        "guided/py.typed",
        "guided/__init__.pyi",
        "guided/elsewhere.json",
        "guided/cli/demo_examples.json",
        "guided/cli/demo_questions.json",
        "guided/engine/explorer.html",
    }


@pytest.mark.slow
def test_the_wheel_carries_its_licence_and_its_command(wheel: Path) -> None:
    assert read(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "guided = guided.cli:main" in read(wheel, "entry_points.txt")
    metadata = read(wheel, "METADATA").splitlines()
    # PEP 639: an expression and files, and no classifier.
    assert "License-Expression: Apache-2.0" in metadata
    assert "License-File: LICENSE" in metadata
    assert not [line for line in metadata if line.startswith(("License:", "Classifier: License"))]
    assert f"Version: {guided.__version__}" in metadata
    extras = [line.removeprefix("Provides-Extra: ") for line in metadata if line.startswith("Provides-Extra: ")]
    assert sorted(extras) == ["bench", "demo", "dev", "docs", "llama", "sglang", "torch", "vllm"]


def test_one_version_everywhere() -> None:
    """The version is in the source only, from which the metadata of a wheel have it; tags and the changelog agree with it."""
    citation = yaml.safe_load((ROOT / "docs/CITATION.cff").read_text(encoding="utf-8"))
    assert "version" not in citation
    assert PROJECT["dynamic"] == ["version"]
    assert citation["license"] == PROJECT["license"]
    changelog = (ROOT / "docs/changelog.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([\d.]+|Unreleased)", changelog, re.MULTILINE)[0] in (guided.__version__, "Unreleased")
    if not (ROOT / ".git").exists():
        pytest.skip("an archive has no tags")
    tags = run("git", "tag", "--points-at", "HEAD", cwd=ROOT).split()
    assert [tag for tag in tags if re.match(r"v\d", tag)] in ([], [f"v{guided.__version__}"])


@pytest.mark.slow
def test_a_tree_without_git_builds_the_same_version(built: Path, tmp_path: Path) -> None:
    """As an archive of the sources does: nothing asks git for tags."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    assert not (folder / ".git").exists()
    (folder / "PKG-INFO").unlink()
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path / "out"), cwd=folder)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [
        f"guided_decoding-{guided.__version__}-py3-none-any.whl"
    ]


FIELDS = {"markdown": {"value"}, "textarea": {"label"}, "input": {"label"}, "dropdown": {"label", "options"}}
OPTIONAL_FIELDS = {"description", "placeholder", "render", "value", "multiple"}


@pytest.mark.parametrize("name", ["bug", "feature", "question"])
def test_issue_forms_are_valid(name: str) -> None:
    """GitHub ignores a form with an error, silently."""
    form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text(encoding="utf-8"))
    assert form.keys() == {"name", "description", "labels", "body"}
    assert form["name"] == name.capitalize()
    assert isinstance(form["description"], str)
    ids = [item["id"] for item in form["body"] if item["type"] != "markdown"]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z_-]+", one) for one in ids)
    for item in form["body"]:
        assert item.keys() <= {"type", "id", "attributes", "validations"}
        needed, attributes = FIELDS[item["type"]], item["attributes"]
        assert needed <= attributes.keys() <= needed | OPTIONAL_FIELDS
        assert len(set(attributes.get("options", ()))) == len(attributes.get("options", ()))
        assert item.get("validations", {}).keys() <= {"required"}
    assert any(item.get("validations", {}).get("required") is True for item in form["body"])


def test_the_forms_of_issues_are_all() -> None:
    folder = ROOT / ".github/ISSUE_TEMPLATE"
    assert {path.name for path in folder.iterdir()} == {"bug.yml", "config.yml", "feature.yml", "question.yml"}
    config = yaml.safe_load((folder / "config.yml").read_text(encoding="utf-8"))
    assert config == {"blank_issues_enabled": False}


@pytest.mark.slow
def test_the_source_distribution_has_the_files_of_the_tests(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "constraints.txt", "Makefile", "LICENSE", "grammars/json.lark"} <= names
    assert {"tests/test_packaging.py", ".github/ISSUE_TEMPLATE/bug.yml"} <= names
    assert {".mkdocs.yml", "docs/hooks.py", "docs/pictures/call.svg", "docs/CITATION.cff"} <= names
    assert not [name for name in names if name.startswith((".venv", "dist", "site"))]


@pytest.mark.slow
def test_both_distributions_can_be_uploaded(built: Path) -> None:
    pytest.importorskip("twine", reason="pip install -e '.[dev]'")
    output = run(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(built.iterdir())), cwd=built)
    assert output.count("PASSED") == 2


FIND_GRAMMARS = """
import json, guided
from guided.resources import grammar_names, grammar_path
print(json.dumps([guided.__file__, {name: str(grammar_path(name)) for name in grammar_names()}]))
"""


@pytest.mark.slow
def test_an_installed_wheel_finds_its_own_grammars(installed: Path, tmp_path: Path) -> None:
    output = run(sys.executable, "-c", FIND_GRAMMARS, cwd=tmp_path, PYTHONPATH=str(installed))
    package, paths = json.loads(output)
    assert Path(package).is_relative_to(installed.resolve())
    assert sorted(paths) == sorted(path.stem for path in (ROOT / "grammars").glob("*.lark"))
    for name, path in paths.items():
        assert Path(path).parent == installed.resolve() / "guided" / "grammars"
        assert Path(path).read_bytes() == (ROOT / "grammars" / f"{name}.lark").read_bytes()


def test_an_editable_install_finds_the_grammars_of_the_checkout(tmp_path: Path) -> None:
    package, paths = json.loads(run(sys.executable, "-c", FIND_GRAMMARS, cwd=tmp_path))
    assert Path(package).parent == ROOT / "guided"
    assert paths == {name: str(grammar_path(name)) for name in grammar_names()}
    assert {Path(path).parent for path in paths.values()} == {ROOT / "grammars"}


@pytest.mark.slow
def test_an_install_without_grammars_says_so(installed: Path, tmp_path: Path) -> None:
    bare = tmp_path / "site" / "guided"
    bare.mkdir(parents=True)
    for name in ("__init__.py", "__init__.pyi", "caching.py", "errors.py", "resources.py"):
        (bare / name).write_bytes((installed / "guided" / name).read_bytes())
    program = (
        "from guided.errors import GrammarError\n"
        "from guided.resources import grammar_path\n"
        "try:\n    grammar_path('json')\nexcept GrammarError as error:\n    print(error)\n"
    )
    output = run(sys.executable, "-c", program, cwd=tmp_path, PYTHONPATH=str(bare.parent))
    assert output == "unknown grammar; bundled grammars are: none (in json)\n"


def test_the_command_line_is_declared_and_can_be_loaded() -> None:
    (command,) = entry_points(group="console_scripts", name="guided")
    assert command.value == PROJECT["scripts"]["guided"]
    assert callable(command.load())


def test_import_guided_is_light(tmp_path: Path) -> None:
    program = "import sys; before = set(sys.modules); import guided; print(*set(sys.modules) - before)"
    names = run(sys.executable, "-c", program, cwd=tmp_path).split()
    roots = {name.partition(".")[0] for name in names}
    assert roots - sys.stdlib_module_names == {"guided"}, "no dependency is imported before its first use"
    assert [name for name in names if name.startswith("guided")] == ["guided"], "no module of the package either"


def requirements() -> list[Requirement]:
    optional = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in optional for line in extra)]
    found = [Requirement(line) for line in lines]
    return [requirement for requirement in found if requirement.name != PROJECT["name"]]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in found}


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_requirements_are_pinned_within_their_ranges(requirement: Requirement) -> None:
    assert pins()[canonicalize_name(requirement.name)] in requirement.specifier


def closure(name: str, extras: frozenset[str]) -> set[str]:
    """The distributions that one needs here, itself included."""
    seen: set[tuple[str, str]] = set()
    stack = [(canonicalize_name(name), extra) for extra in {"", *extras}]
    while stack:
        name, extra = place = stack.pop()
        if place in seen:
            continue
        seen.add(place)
        for line in requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                stack.extend((canonicalize_name(needed.name), other) for other in {"", *needed.extras})
    return {name for name, _ in seen}


def pinned_version(requirement: Requirement) -> bool:
    """Is the installed version the one in constraints.txt, or is there none?"""
    try:
        installed = version(requirement.name).partition("+")[0]  # a wheel for the CPU is 2.13.0+cpu
    except PackageNotFoundError:
        return True
    return installed == pins()[canonicalize_name(requirement.name)]


def test_indirect_dependencies_are_pinned_too() -> None:
    if not all(map(pinned_version, requirements())):
        pytest.skip("other versions than those of constraints.txt are installed")
    needed = closure(PROJECT["name"], frozenset({"dev"})) - {PROJECT["name"]}
    assert {"torch", "numba", "pytest", "pluggy", "sympy"} <= needed
    # Torch's build with CUDA pins its own parts.
    needed = {name for name in needed if not name.startswith(("nvidia-", "cuda-"))}
    assert needed <= pins().keys()


def test_pins_install_on_every_supported_python() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    refusing = []
    for name in pins():
        with contextlib.suppress(PackageNotFoundError):
            supported = metadata(name).get("Requires-Python")
            if supported and pinned_version(Requirement(name)) and not SpecifierSet(supported).contains(oldest):
                refusing.append(f"{name}: {supported}")
    assert refusing == []


def test_pins_are_exact_and_name_no_index() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    assert lines == sorted(lines, key=lambda line: canonicalize_name(line.split("==")[0]))
    for name in ("constraints.txt", "Makefile", ".ci/run", "pyproject.toml"):
        assert not re.search(r"index-url|find-links", (ROOT / name).read_text(encoding="utf-8")), name


def test_the_oldest_constraints_are_the_declared_lower_bounds() -> None:
    text = (ROOT / "tests" / "constraints" / "oldest.txt").read_text(encoding="utf-8")
    oldest = dict(re.findall(r"^([\w.-]+)==([\w.]+)$", text, flags=re.MULTILINE))
    versions = {canonicalize_name(name): version.split(".") for name, version in oldest.items()}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    for dependency in declared:
        name, least = dependency.split(">=")
        bound = least.split(".")
        assert versions[canonicalize_name(name)][: len(bound)] == bound, dependency


def test_make_lists_its_targets_and_knows_them() -> None:
    listed = re.findall(r"^  make ([\w-]+)", run("make", "help", cwd=ROOT), flags=re.MULTILINE)
    assert listed == [
        "help",
        "demo",
        "test",
        "test-rest",
        "test-all",
        "coverage",
        "test-with",
        "test-serving",
        "hostile",
        "lint",
        "bench",
        "docs",
        "screenshots",
        "wheel",
        "release-check",
        "clean",
    ]
    for target in listed:
        assert run("make", "--dry-run", target, cwd=ROOT)


def test_workflows_run_what_exists() -> None:
    """They run on other machines only: their targets and files exist, and the tests run with each Python that is declared."""
    targets = re.findall(r"^([\w.-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    folder = ROOT / ".github" / "workflows"
    workflows = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.iterdir()}
    assert set(workflows) == {"release", "site", "tests"}
    for workflow in workflows.values():
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                words = step.get("run", "").split()
                assert words[:1] != ["make"] or words[1] in {*targets, ".venv"}
                assert all((ROOT / word).is_file() for word in words if re.match(r"(\.ci|tests)/", word))
    matrix = workflows["tests"]["jobs"]["tests"]["strategy"]["matrix"]
    versions = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)]
    assert matrix["python"] == versions
    files = [*matrix["constraints"], *(each["constraints"] for each in matrix["include"])]
    assert all((ROOT / file).is_file() for file in files)
    assert workflows["release"]["jobs"]["publish"]["permissions"] == {"id-token": "write"}


def test_the_interpreter_that_makes_the_environment_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    assert "/opt/python3.13 -m venv .venv" in run("make", "-n", "test", "PYTHON=/opt/python3.13", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.network
def test_a_clean_install_names_the_packages_of_a_model_and_downloads_nothing(wheel: Path, tmp_path: Path) -> None:
    """The core from PyPI, no torch: advice comes at once, and a vocabulary is enough for what needs only that."""
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", str(venv), cwd=tmp_path)
    python = venv / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel), cwd=tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    environment |= {"GUIDED_CACHE": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    environment |= {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home" / ".cache")}
    assert (
        run(str(python), "-m", "guided", "--version", cwd=tmp_path, **environment) == f"guided {guided.__version__}\n"
    )
    for command in (["run", "--choice", "a", "Say a"], ["demo"]):
        done = subprocess.run(
            [str(python), "-m", "guided", *command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, "")
        advice = re.fullmatch(
            r"Error: the default model needs .*, not installed here: run pip install (.*)\n", done.stderr
        )
        assert advice is not None, done.stderr
        names = {Requirement(word.strip('"')).name for word in advice[1].split()}
        assert names == {"torch", "transformers", "gguf", "accelerate", "safetensors", "tokenizers"}
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("*.gguf"))
