"""``guided warmup``: every kernel is compiled, and real inputs need no other."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import guided
from tests.cli.programs import call, errors_of, process, reply
from tests.real_vocabularies import real_file

KERNELS = Path(guided.__file__).parent / "kernels"
NO_KERNELS = {"__init__", "build", "compiler", "extension", "jit"}

# Real inputs after the warmup; prints what was compiled by each.
PROGRAM = """
import sys
from guided.cli.warmup import kernels
from guided.generate.warming import warm
warm(lambda what: None)
before = {name: set(kernel.signatures) for name, kernel in kernels().items()}
print("never compiled:", sorted(name for name, found in before.items() if not found))
import numpy as np
from guided.calls.spec import Tools
from guided.cli.demo_tools import TOOLS
from guided.engine.compile import compile
from guided.engine.specs import Choice, Regex
from guided.index.regular import RegularIndex
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
vocabulary = Vocabulary.from_file(sys.argv[1])
from guided.engine.json_schema import JsonSchema
from tests.masks import bits
person = {"type": "object", "properties": {"name": {"type": "string", "minLength": 2}, "born": {"type": "string", "format": "date"}}}
specs = [JsonSchema(person), JsonSchema({"type": "array", "items": {"type": ["number", "boolean"]}, "minItems": 2, "maxItems": 5})]
specs += [Regex(r'"(\\\\[nt"]|[^"\\\\\\n]){1,200}"'), Regex(r"(?i)[\\w .-]+@\\w+\\.[a-z]{2,9}"), Regex(r"(?=.*\\d)[^\\W_]{8}(?<!x)")]
specs += [Choice(["Oslo", "Ostrava", "Øresund"]), Choice([f"{i * i}é" for i in range(3000)]), Regex("a|b|c", builder="interegular")]
specs += [Tools(TOOLS, format="tooldec"), Tools(TOOLS, format="json").first_call(), Tools(TOOLS, tool_choice="required")]
for spec in specs:
    index = compile(spec, vocabulary)
    guide = index.guide()
    while not guide.is_finished:
        guide.mask()
        mask = guide.mask_within(max(guide.remaining, 20 - len(guide)))
        guide.advance(bits(mask)[-1])
    if isinstance(index.tables, RegularIndex):
        index.tables.automaton.witness()
first, second = (Regex(pattern).lower(Limits()) for pattern in (r"[^a]{3}", r"\\w*"))
for automaton in (first & second, first | second, first - second, ~first):
    automaton.witness()
print("compiled later:", sorted(name for name, found in kernels().items() if set(found.signatures) - before[name]))
print("modules:", sorted({name.split(".")[2] for name in kernels()}))
"""


@pytest.mark.network
@pytest.mark.slow
def test_reaches_every_kernel_and_nothing_real_needs_another(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(real_file("smollm2"))],
        capture_output=True,
        check=True,
        text=True,
        env={"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "", "HOME": str(tmp_path), "GUIDED_COMPILED_KERNELS": "0"},
    )
    modules = sorted(path.stem for path in KERNELS.glob("*.py") if path.stem not in NO_KERNELS)
    assert done.stdout.splitlines() == ["never compiled: []", "compiled later: []", f"modules: {modules}"]
    again = process("warmup", env={"NUMBA_CACHE_DIR": str(tmp_path)})
    first, second = again.stdout.decode().splitlines()
    assert first.endswith("all from the cache")
    assert second.startswith(f"cache: {tmp_path}")


def test_says_how_long_it_took_and_where_the_cache_is() -> None:
    done = call("warmup")
    assert done.exit_code == 0
    assert all(line.startswith("guided: compiled ") for line in done.stderr.splitlines())
    first, second = done.stdout.splitlines()
    assert "kernels are ready after" in first
    folder = second.removeprefix("cache: ")
    assert list(Path(folder).glob("*.nbi"))
    found = reply("warmup")
    assert found["cache"] == folder
    assert found["kernels"] > 20
    assert found["seconds"] < 60


def test_says_when_the_compiler_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert "Error: nothing to compile: NUMBA_DISABLE_JIT" in errors_of("warmup")


@pytest.mark.slow
def test_explains_a_missing_extension(tmp_path: Path) -> None:
    environment = {
        "NUMBA_CACHE_DIR": str(tmp_path), "GUIDED_COMPILED_KERNELS": "1", "CC": str(tmp_path / "none"), "GUIDED_PROGRESS": "1",
    }  # fmt: skip
    done = process("warmup", env=environment)
    first, second, third = done.stdout.decode().splitlines()
    assert "kernels are ready after" in first
    assert second.startswith(f"cache: {tmp_path}")
    assert third.startswith("no extension was built, so processes import numba: there is no C compiler")
    # Each kernel is shown, though stderr is no terminal.
    lines = done.stderr.decode().splitlines()
    assert len(lines) > 20
    assert all(re.fullmatch(r"guided: compiled guided\.kernels\.\w+\.\w+ in [0-9.]+ s", line) for line in lines)
