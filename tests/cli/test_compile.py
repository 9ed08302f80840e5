"""``guided compile``: index files, their manifest, what is skipped, what fails, what an interrupt leaves."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import guided
from guided.cli import interrupts
from guided.cli.vocabularies import read_vocabulary
from guided.index.storage import FORMAT_VERSION
from tests.cli.programs import call, errors_of, process, write_ranks

SPECS = r"""
[date]
regex = '[0-9]{4}-[0-9]{2}'

[answer]
choice = ["yes", "no"]

[calls]
tools = "abilities.py:add"
format = "tooldec"
tool_choice = "required"
"""
TOOLS = "def add(a: int, b: int) -> int:\n    return a + b\n\ndef sub(a: int) -> int:\n    return -a\n"
BAD = "\n[bad]\nregex = '(a'\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with specs, tools and a vocabulary, which is the current one; its modules are forgotten afterwards."""
    write_ranks(tmp_path / "ranks", b"20", b"024", b"-1")
    (tmp_path / "specs.toml").write_text(SPECS)
    (tmp_path / "abilities.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)) or name in ("abilities", "tools"):
            del sys.modules[name]


VOCABULARY = ["--vocabulary", "ranks", "--eos", "259"]


def compile_all(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
    """What ``guided compile`` says of each spec."""
    done = call("compile", *VOCABULARY, *arguments, "--json")
    assert done.exit_code == code, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def statuses(*arguments: str, code: int = 0) -> dict[str, str]:
    return {entry["name"]: entry["status"] for entry in compile_all(*arguments, code=code)}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_writes_an_index_for_each_spec(folder: Path) -> None:
    done = call("compile", "specs.toml", *VOCABULARY, "-o", "out")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [
        ["compiled", "date"],
        ["compiled", "answer"],
        ["compiled", "calls"],
    ]
    assert lines[3] == f"3 compiled: {Path('out', 'manifest.json')}"
    vocabulary = read_vocabulary(Path("ranks"), [259])
    date = guided.load_index("out/date.index", vocabulary)
    assert date.accepts(b"2024-10")
    assert guided.load_index("out/answer.index", vocabulary).accepts(b"no")
    assert guided.load_index("out/calls.index", vocabulary).accepts(b"add(a=1, b=-2)")
    guided.compile(guided.Regex(r"[0-9]{4}-[0-9]{2}"), vocabulary).save("date.index")
    assert Path("date.index").read_bytes() == Path("out/date.index").read_bytes()


def test_the_manifest_lists_them(folder: Path) -> None:
    compile_all("specs.toml", "-o", "out")
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["version"] == 1
    assert [entry["name"] for entry in manifest["indices"]] == ["answer", "calls", "date"]
    date = manifest["indices"][2]
    index = guided.load_index("out/date.index", read_vocabulary(Path("ranks"), [259]))
    assert date == {
        "name": "date",
        "kind": "regex",
        "spec": index.spec_fingerprint,
        "vocabulary": index.vocabulary.fingerprint,
        "tokens": 260,
        "format": FORMAT_VERSION,
        "guided": guided.__version__,
        "status": "ok",
        "file": "date.index",
        "bytes": Path("out/date.index").stat().st_size,
        "sha256": date["sha256"],
        "states": index.n_states,
        "functions": len(index.tables.function_size),
        "masks": len(index.tables.mask_state),
    }


def test_up_to_date_files_are_skipped(folder: Path) -> None:
    first = compile_all("specs.toml", "-o", "out")
    before = contents(folder / "out")
    times = {path: path.stat().st_mtime_ns for path in (folder / "out").glob("*.index")}
    again = compile_all("specs.toml", "-o", "out")
    assert {entry["status"] for entry in again} == {"up to date"}
    assert contents(folder / "out") == before
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert [{**entry, "status": "compiled"} for entry in again] == first
    assert set(statuses("specs.toml", "-o", "out", "--force").values()) == {"compiled"}


def test_changed_specs_are_compiled_again(folder: Path) -> None:
    compile_all("specs.toml", "-o", "out")
    (folder / "specs.toml").write_text(SPECS.replace("{2}", "{3}"))
    assert statuses("specs.toml", "-o", "out") == {"date": "compiled", "answer": "up to date", "calls": "up to date"}
    (folder / "abilities.py").write_text(TOOLS.replace("b: int", "b: str"))
    assert statuses("specs.toml", "-o", "out")["calls"] == "compiled"
    damaged = folder / "out" / "answer.index"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    assert statuses("specs.toml", "-o", "out") == {"date": "up to date", "answer": "compiled", "calls": "up to date"}
    damaged.unlink()
    assert statuses("specs.toml", "-o", "out")["answer"] == "compiled"
    write_ranks(folder / "ranks", b"20", b"024", b"-2")
    assert set(statuses("specs.toml", "-o", "out").values()) == {"compiled"}
    (folder / "out" / "manifest.json").write_text("{")
    assert set(statuses("specs.toml", "-o", "out").values()) == {"compiled"}


@pytest.mark.parametrize("key", ["guided", "format"])
def test_another_release_compiles_again(folder: Path, key: str) -> None:
    compile_all("specs.toml", "-o", "out")
    path = folder / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["indices"][0][key] = "0"
    path.write_text(json.dumps(manifest))
    assert statuses("specs.toml", "-o", "out") == {"answer": "compiled", "date": "up to date", "calls": "up to date"}


def test_a_spec_that_fails_does_not_stop_the_others(folder: Path) -> None:
    (folder / "specs.toml").write_text(BAD + SPECS + "\n[lacking]\ntools = 'none.py'\n")
    done = call("compile", "specs.toml", *VOCABULARY, "-o", "out")
    assert done.exit_code == 1
    assert "failed bad: missing ), unterminated subpattern (at position 0)\n    (a\n    ^\n" in done.stderr
    assert "failed lacking: no such file: none.py\n" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("3 compiled, 2 failed: ")
    assert sorted(contents(folder / "out")) == ["answer.index", "calls.index", "date.index", "manifest.json"]
    entry = next(entry for entry in compile_all("specs.toml", "-o", "out", code=1) if entry["name"] == "bad")
    assert (entry["status"], entry["error"]["error"], entry["error"]["position"]) == ("failed", "PatternError", 0)


def test_a_fault_is_one_specs_concern(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from guided.engine import specs

    def lower(self: object, limits: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(specs.Choice, "lower", lower)
    done = call("compile", "specs.toml", *VOCABULARY, "-o", "out")
    assert done.exit_code == 1
    assert "failed answer: internal error in guided (KeyError: 'x')" in done.stderr
    assert "2 compiled, 1 failed" in done.stdout


def test_earlier_entries_stay(folder: Path) -> None:
    compile_all("specs.toml", "-o", "out")
    compile_all("--regex", "a+", "-o", "out")
    names = [entry["name"] for entry in json.loads(Path("out/manifest.json").read_text())["indices"]]
    assert names == ["answer", "calls", "date", "regex"]


def test_specs_from_options(folder: Path) -> None:
    found = statuses("--regex", "a", "--regex", "b", "--choice", "x", "--choice", "y", "--tools", "abilities.py")
    assert list(found) == ["regex", "regex-2", "choice", "abilities"]
    vocabulary = read_vocabulary(Path("ranks"), [259])
    assert guided.load_index("indices/regex-2.index", vocabulary).accepts(b"b")
    assert guided.load_index("indices/choice.index", vocabulary).accepts(b"y")


def test_files_of_every_kind(folder: Path) -> None:
    Path("month.regex").write_text("[0-9]{2}\n")
    Path("colour.choice").write_text("red\r\ngreen\nblue\n")
    definition = {"name": "mail", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}
    Path("mail.json").write_text(json.dumps([definition]))
    lines = [
        {"name": "x", "regex": "x+", "builder": "interegular"},
        {"name": "y", "choice": ["y", "z"]},
        {"name": "z", "tools": [definition], "tool_choice": ["mail"], "max_length": 3},
    ]
    Path("many.jsonl").write_text("\n\n".join(map(json.dumps, lines)) + "\n")
    files = ["month.regex", "colour.choice", "mail.json", "abilities.py:sub", "many.jsonl"]
    found = statuses(*files, "--tool-choice", "required", "--format", "tooldec")
    assert list(found) == ["month", "colour", "mail", "abilities", "x", "y", "z"]
    vocabulary = read_vocabulary(Path("ranks"), [259])
    texts = {
        "month": b"07",
        "colour": b"blue",
        "mail": b'mail(to="me")',
        "abilities": b"sub(a=1)",
        "x": b"xx",
        "y": b"z",
    }
    for name, text in {**texts, "z": b'{"name": "mail", "arguments": {"to": "abc"}}'}.items():
        index = guided.load_index(f"indices/{name}.index", vocabulary)
        assert index.accepts(text), name
        assert not index.accepts(text + b"!"), name


def test_paths_in_a_file_of_specs_begin_at_the_file(folder: Path) -> None:
    for name in ("first", "second"):
        (folder / name).mkdir()
        (folder / name / "tools.py").write_text(f"def {name}(a: int) -> int:\n    return a\n")
        (folder / name / f"{name}.toml").write_text(
            f"[{name}]\ntools = 'tools.py'\nformat = 'tooldec'\ntool_choice = 'required'\n"
        )
    compile_all("first/first.toml", "second/second.toml")
    vocabulary = read_vocabulary(Path("ranks"), [259])
    assert guided.load_index("indices/second.index", vocabulary).accepts(b"second(a=1)")
    assert guided.load_index("indices/first.index", vocabulary).accepts(b"first(a=1)")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = ", "specs.toml is not valid TOML: Invalid value"),
        ("x = 1", "specs.toml: 'x' is not a table: write each constraint as a table, [x]"),
        (
            "[x]",
            "specs.toml [x]: expected exactly one of the keys regex, choice, tools, json_schema, grammar, spec, found none",
        ),
        ("[x]\nregx = 'a'", "grammar, spec, found regx; did you mean 'regex'?"),
        (
            "[x]\nregex = 'a'\nchoice = ['b']",
            "specs.toml [x]: expected exactly one of the keys regex, choice, tools, json_schema, grammar, spec, found regex and choice",
        ),
        ("['a/b']\nregex = 'a'", "specs.toml ['a/b']: 'a/b' cannot be a file name"),
        ("['.x']\nregex = 'a'", "specs.toml ['.x']: '.x' cannot be a file name"),
        ("[a]\nregex = 'a'\n[A]\nregex = 'a'", "two constraints are named 'A' (specs.toml [a], specs.toml [A])"),
        ("", "nothing to compile"),
        ("[x]\nregex = 'é", "specs.toml is not valid TOML"),
    ],
)
def test_files_of_specs_that_are_wrong(folder: Path, content: str, message: str) -> None:
    Path("specs.toml").write_text(content)
    assert message.replace("['a/b']", "[a/b]").replace("['.x']", "[.x]") in errors_of(
        "compile", *VOCABULARY, "specs.toml"
    )
    assert not Path("indices").exists()


def test_a_blank_line_of_choices_is_an_error(folder: Path) -> None:
    Path("colour.choice").write_text("red\r\n\r\nblue\n")
    assert "colour.choice, line 2 is empty: remove it" in errors_of("compile", *VOCABULARY, "colour.choice")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("regex = 1", "regex must be a text, not a number"),
        ("regex = 'a'\nbuilder = 'x'", "builder must be 'guided' or 'interegular', not 'x'"),
        ("regex = 'a'\nformat = 'json'", "unknown option 'format' of regex: known options are builder"),
        ("choice = 'a'", "choice must be a list of texts, not a text"),
        ("choice = []", "a choice needs at least one option"),
        ("choice = ['a']\nx = 1", "unknown option 'x' of choice: known options are none"),
        (
            "tools = 1",
            "tools must be a source (tools.py:name, package.module, tools.json) or a list of definitions, not a number",
        ),
        ("tools = 'abilities.py'\nformat = 'x'", "unknown format 'x'"),
        ("tools = 'abilities.py'\nstrict = 1", "strict must be true or false, not a number"),
        ("tools = 'abilities.py'\nmax_length = true", "max_length must be a number, not true or false"),
        ("tools = 'abilities.py'\ntool_choice = ['x']", "unknown tool 'x'"),
        ("tools = 'abilities.py:x'", "abilities.py has no 'x'; it has add, sub"),
        ("tools = ''", "--tools: the source is empty"),
    ],
)
def test_specs_that_are_wrong_fail_by_name(folder: Path, table: str, message: str) -> None:
    Path("specs.toml").write_text(f"[x]\n{table}\n[good]\nregex = 'a'\n")
    done = call("compile", *VOCABULARY, "specs.toml")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"failed x: {message}")
    assert "1 compiled, 1 failed" in done.stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "many.jsonl, line 2 is not valid JSON"),
        ("[" * 100_000, "many.jsonl, line 2 is not valid JSON"),
        ("[]", "many.jsonl, line 2 is not an object with a name"),
        ('{"regex": "a"}', "many.jsonl, line 2 is not an object with a name"),
        ('{"name": "x"}', "many.jsonl, line 2: expected exactly one of the keys"),
    ],
)
def test_lines_that_are_wrong(folder: Path, line: str, message: str) -> None:
    Path("many.jsonl").write_text(f'{{"name": "a", "regex": "a"}}\n{line}\n')
    assert message in errors_of("compile", *VOCABULARY, "many.jsonl")


def test_arguments_that_are_wrong(folder: Path) -> None:
    assert (
        "nothing to compile: pass files that hold constraints, or --regex, --choice, --tools, --json-schema, --grammar or --spec"
        in errors_of("compile")
    )
    assert "unknown file type 'specs.txt': expected a name that ends in .toml, .jsonl" in errors_of(
        "compile", "specs.txt"
    )
    assert errors_of("compile", "none.toml") == "Error: none.toml: No such file or directory\n"
    assert "Error: none: cannot be read" in errors_of("compile", "specs.toml", "--vocabulary", "none")
    Path("latin.regex").write_bytes(b"\xe9")
    assert "latin.regex is not UTF-8, at byte 0" in errors_of("compile", "latin.regex")
    assert "Error: ranks: File exists" in errors_of("compile", "specs.toml", *VOCABULARY, "-o", "ranks")
    assert "two constraints are named 'choice'" in errors_of("compile", "--choice", "a", "--tools", "choice.py")


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_that_can_not_be_written_to(folder: Path) -> None:
    (folder / "out").mkdir(mode=0o500)
    assert "cannot be written" in errors_of("compile", "specs.toml", *VOCABULARY, "-o", "out")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_an_interrupt_leaves_complete_files_only_and_the_next_run_resumes(folder: Path) -> None:
    specs = "\n".join(f"[s{number}]\nregex = '\\w{{1,{number + 60}}}'" for number in range(40))
    Path("specs.toml").write_text(specs)
    command = [sys.executable, "-m", "guided", "compile", "specs.toml", *VOCABULARY]
    # Why: what runs the tests in the background may have told all its children to ignore interrupts. A session of its own is a
    # terminal's: the interrupt reaches all processes.
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=listen,
        start_new_session=True,
        # Kernels that this machine has not compiled yet are announced.
        env={**os.environ, "GUIDED_PROGRESS": "0"},
    ) as child:
        while child.poll() is None and len(list(Path("indices").glob("s*.index"))) < 3:
            sleep(0.01)
        os.killpg(child.pid, signal.SIGINT)
        output, errors = child.communicate(timeout=60)
    assert (child.returncode, output, errors) == (130, b"", b"Interrupted.\n")
    vocabulary = read_vocabulary(Path("ranks"), [259])
    left = sorted(path.name for path in Path("indices").iterdir())
    done = [name for name in left if name != "manifest.json"]
    assert 3 <= len(done) < 40
    assert all(name.endswith(".index") and not name.startswith(".") for name in done)
    for name in done:
        guided.load_index(f"indices/{name}", vocabulary)
    listed = [entry["file"] for entry in json.loads(Path("indices/manifest.json").read_text())["indices"]]
    assert set(listed) <= set(done)
    assert len(done) - len(listed) <= 1
    Path("specs.toml").write_text("\n".join(specs.splitlines()[:12]))
    again = statuses("specs.toml")
    assert sum(status == "up to date" for status in again.values()) == len(
        {f"s{n}.index" for n in range(6)} & set(listed)
    )


def test_an_interrupt_that_was_swallowed_ends_a_compile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C code between the handler and this loop may drop the exception."""
    monkeypatch.setattr(interrupts, "was_received", lambda: True)
    done = call("compile", "specs.toml", *VOCABULARY)
    assert (done.exit_code, done.stdout) == (interrupts.INTERRUPTED, "")
    assert len(json.loads(Path("indices/manifest.json").read_text())["indices"]) == 1


@pytest.mark.slow
def test_output_printed_by_tools_is_not_an_answer(folder: Path) -> None:
    (folder / "abilities.py").write_text("print('hello')\n" + TOOLS)
    done = process("compile", "specs.toml", *VOCABULARY, "--json", cwd=folder)
    assert [json.loads(line)["status"] for line in done.stdout.splitlines()] == ["compiled"] * 3
    assert b"hello" in done.stderr


PERSON = {"type": "object", "properties": {"name": {"type": "string"}}}


def test_a_json_file_is_a_schema_unless_it_holds_tools(folder: Path) -> None:
    """The manifest names the kind of each file, which follows from what the file contains."""
    definition = {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    (folder / "person.json").write_text(json.dumps(PERSON))
    (folder / "anything.json").write_text("true")
    (folder / "list.json").write_text(json.dumps([definition]))
    (folder / "object.json").write_text(json.dumps({"tools": [definition]}))
    (folder / "number.json").write_text("3")
    (folder / "broken.json").write_text("{")
    names = ["person", "anything", "list", "object", "number", "broken"]
    entries = compile_all(*(f"{name}.json" for name in names), code=1)
    found = {entry["name"]: (entry["kind"], entry["status"]) for entry in entries}
    assert found == {
        "person": ("json_schema", "compiled"),
        "anything": ("json_schema", "compiled"),
        "list": ("tools", "compiled"),
        "object": ("tools", "compiled"),
        "number": ("tools", "failed"),
        "broken": ("tools", "failed"),
    }
    assert "for a JSON Schema, give --json-schema" in next(
        entry["error"]["message"] for entry in entries if entry["name"] == "number"
    )


def test_options_of_a_kind_apply_to_files_of_that_kind(folder: Path) -> None:
    (folder / "person.json").write_text(json.dumps({**PERSON, "maxLenght": 3}))
    (folder / "digit.regex").write_text(r"\d")
    (folder / "word.lark").write_text('start: "a" "b"\n%ignore " "')
    (folder / "own.toml").write_text("[own]\njson_schema = {maxLenght = 3}\nstrict_keywords = false\n")
    given = [
        "person.json",
        "digit.regex",
        "word.lark",
        "own.toml",
        *("-O", "strict_keywords=true", "-O", "ascii=true", "-O", "max_ignored=1"),
    ]
    entries = {entry["name"]: entry for entry in compile_all(*given, code=1)}
    assert {name: entry["status"] for name, entry in entries.items()} == {
        "person": "failed", "digit": "compiled", "word": "compiled", "own": "compiled",
    }  # fmt: skip
    assert "is 'maxLength' meant" in entries["person"]["error"]["message"]
    assert call("check", "indices/digit.index", "\u0663").exit_code == 1
    assert [call("check", "indices/word.index", text).exit_code for text in ("a b", "a  b")] == [0, 1]
    for option, kind in (
        ("strict_keywords=true", "json-schema"),
        ("ascii=true", "regex or --grammar"),
        ("max_ignored=1", "grammar"),
    ):
        (folder / "colour.choice").write_text("red")
        assert f"--option {option.partition('=')[0]} needs --{kind}" in errors_of(
            "compile", "colour.choice", "-O", option, *VOCABULARY
        )


def test_an_index_that_grows_with_its_texts_does_not_look_empty(folder: Path) -> None:
    (folder / "person.json").write_text(json.dumps(PERSON))
    line = call("compile", "person.json", *VOCABULARY, "-o", "out").stdout.splitlines()[0]
    assert line.startswith("compiled  person  compiled when loaded  ")
    line = call("compile", "person.json", *VOCABULARY, "-o", "explored", "--explore", "4").stdout.splitlines()[0]
    assert line.startswith("compiled  person  4 states  ")


@pytest.mark.slow
def test_works_without_the_metadata_of_the_distribution(folder: Path) -> None:
    """A package that runs from a folder: its dependencies are installed, it is not. Nothing is up to date then."""
    import numpy

    site = folder / "site"
    site.mkdir()
    for entry in Path(numpy.__file__).parents[1].iterdir():
        if "guided" not in entry.name.lower():
            (site / entry.name).symlink_to(entry)
    environment = {
        "PYTHONPATH": os.pathsep.join([str(Path(guided.__file__).parents[1]), str(site)]),
        "GUIDED_PROGRESS": "0",
    }
    command = [sys.executable, "-S", "-m", "guided"]
    for _ in range(2):
        done = subprocess.run(
            [*command, "compile", "--regex", "a", *VOCABULARY, "-o", "out"],
            capture_output=True, check=False, env={**os.environ, **environment}, text=True,
        )  # fmt: skip
        assert (done.returncode, done.stderr, done.stdout.split()[:2]) == (0, "", ["compiled", "regex"])
    done = subprocess.run(
        [*command, "--version"], capture_output=True, check=False, env={**os.environ, **environment}, text=True
    )
    assert (done.returncode, done.stdout) == (0, "guided (unknown release)\n")
