"""``guided warmup``: compile every kernel in advance.

Where a C compiler is at hand, into an extension that later processes load without numba (`guided.kernels.build`); otherwise into numba's
cache. A wheel for the platform has the extension already.

Numba compiles a kernel for the types of its arguments, so the kernels are not called directly: small inputs go through the same functions
as real ones. Tests check that all kernels are reached, and that real inputs cause no further compilation.
"""

import logging
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from guided.cli.boundary import ACCEPTED, UsageError
from guided.cli.output import console, print_json
from guided.cli.specs import JsonOption
from guided.progress import announcement, progress

# Beginning of the records of `guided.kernels.compiler`.
_COMPILED = "compiled "

__all__ = ["build_extension", "kernels", "warm", "warmup"]


def warmup(as_json: JsonOption = False) -> int:
    """Compile all kernels now, so that nothing has to wait for it later.

    Needed once per machine (about a minute), unless the installed wheel has compiled kernels. With a C compiler, later processes load the
    code without numba; otherwise from numba's cache. NUMBA_CACHE_DIR sets the folder. Each kernel is shown on stderr.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        raise UsageError("nothing to compile: NUMBA_DISABLE_JIT switches numba's compiler off")
    from guided.kernels import extension

    begin = time.perf_counter()
    compiled, reason = 0, ""
    with progress("compiling kernels") as say:

        def advance(what: str) -> None:
            say(f"compiling kernels: {what}")
            if what.startswith(_COMPILED):
                announcement(what)

        path = extension.path()
        if extension.is_wanted() and path is None:
            try:
                path = extension.cache_path()
                compiled = build_extension(path, advance)
            except (extension.BuildError, OSError) as error:
                path, reason = None, str(error)
        if path is None or not extension.is_wanted():
            _import_all()
            with _each_kernel(advance):
                warm(advance)
            found = kernels()
            compiled = sum(sum(kernel.stats.cache_misses.values()) for kernel in found.values())
            n_kernels, place = len(found), _folder(found)
        else:
            n_kernels, place = extension.count(path), str(path)
    seconds = time.perf_counter() - begin
    if as_json:
        result = {"kernels": n_kernels, "compiled": compiled, "seconds": round(seconds, 3), "cache": place}
        print_json(result | {"extension": place == str(path), "reason": reason})
        return ACCEPTED
    out = console()
    how = f"{compiled} compiled now" if compiled else "all from the cache"
    out.print(f"{n_kernels} kernels are ready after {seconds:.1f} s: {how}")
    out.print(f"cache: {place or 'none: no folder is writable, so every process compiles; set NUMBA_CACHE_DIR'}")
    if reason:
        out.print(f"no extension was built, so processes import numba: {reason}")
    return ACCEPTED


def build_extension(target: Path, advance: Callable[[str], None]) -> int:
    """Write the extension of all kernels to a file, and return the number of its kernels. Takes about a minute.

    Parameters
    ----------
    target : Path
        A file named `guided.kernels.extension.file_name`, in an existing folder.
    advance : callable
        Receives the name of each stage.

    Raises
    ------
    BuildError
        It cannot be built here; the message says what is missing.
    """
    from guided.kernels import extension

    # Why a process: the processor to compile for is a setting of numba's import, and code from its cache cannot be taken apart.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    root = str(Path(__file__).parents[2])
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        settings = {
            "GUIDED_COMPILED_KERNELS": "0",
            "NUMBA_CACHE_DIR": folder,
            "NUMBA_CPU_NAME": extension.processor(),
            "NUMBA_CPU_FEATURES": "",
            "PYTHONPATH": os.pathsep.join(filter(None, [root, inherited.get("PYTHONPATH")])),
        }
        program = "import sys; from guided.cli.warmup import compile_all; compile_all(sys.argv[1])"
        command = [sys.executable, "-c", program, folder]
        errors = Path(folder, "errors")
        with (
            errors.open("w") as stream,
            subprocess.Popen(
                command, env=inherited | settings, stdout=subprocess.PIPE, stderr=stream, text=True
            ) as child,
        ):
            try:
                for line in child.stdout or ():
                    advance(line.rstrip())
            except BaseException:
                child.kill()
                raise
        if child.returncode:
            lines = errors.read_text(errors="replace").splitlines() or [f"status {child.returncode}"]
            raise extension.BuildError(lines[-1].partition("BuildError: ")[2] or "\n".join(lines))
        # Why: a process that starts meanwhile finds a whole file or none.
        os.replace(Path(folder, target.name), target)
    return extension.count(target)


def compile_all(folder: str) -> None:
    """Compile all kernels in this process and write their extension into a folder; print the name of each stage."""
    from guided.kernels.build import build, c_compiler

    def advance(what: str) -> None:
        print(what, flush=True)

    c_compiler()
    _import_all()
    with _each_kernel(advance):
        warm(advance)
    advance("an extension of all kernels")
    build(Path(folder))


def warm(advance: Callable[[str], None]) -> None:
    """Run small inputs through every function that uses kernels; ``advance`` receives the name of each stage."""
    advance("regular expressions")
    import numpy as np

    from guided.automata.automaton import Automaton
    from guided.automata.build import from_tree
    from guided.engine.compile import compile as compile_spec
    from guided.engine.specs import Choice, Regex
    from guided.limits import Limits
    from guided.patterns.parse import parse
    from guided.vocabulary.vocabulary import Vocabulary

    automaton = Regex(r"(?i)[a-c]{2,40}x|[^b]*\w{0,30}ü|\d+").lower(Limits())
    automaton.witness()
    Regex(r"(?!ab)[a-z]+(?<=c)").lower(Limits())

    advance("choices")
    # Why so many: tables that outgrow their initial size are reallocated by other kernels.
    words = {
        "".join(chr(97 + (place * place + 7 * number * (place + 1)) % 26) for place in range(4)) for number in range(26)
    }
    names = Choice(sorted(words | {first + last for first in words for last in words}))
    names.lower(Limits())

    advance("algebra of languages")
    other = Regex(r"[a-z]{0,60}\w").lower(Limits())
    (~(automaton & other) - (automaton | other)).witness()
    from_tree(parse("[a-z]{3,9}") & ~parse("a+"), Limits())
    # Why: kernels are compiled separately for read-only tables, which automata have.
    Automaton.from_table(other.table, other.classes, other.accepting, other.labels)

    advance("JSON strings")
    from guided.schema.formula.atoms import JsonOptions
    from guided.schema.formula.formulas import Formulas
    from guided.schema.strings.automaton import string_automaton
    from guided.schema.values.keys import key_automaton

    formulas = Formulas()
    pattern = formulas.atom(("pattern", "^[a-c]+$"))
    both = formulas.conjunction([pattern, formulas.negation(formulas.atom(("length", 3, 9)))])
    for options in (JsonOptions(), JsonOptions(escapes="any")):
        string_automaton(formulas, (both, formulas.atom(("strings", ("ab",)))), options, Limits())
        key_automaton(["ab"], [], formulas, options, Limits())

    advance("vocabularies, indices and masks")
    # Why pairs: masks with many similar tokens are computed by another kernel.
    pairs = [bytes([first, second]) for first in range(97, 123) for second in range(97, 123)]
    vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), *pairs, None], eos=[256 + len(pairs)])
    for spec in (Regex(r"[a-z]+(,[a-z]+){0,30}"), Regex("(?s).*"), names):
        index = compile_spec(spec, vocabulary)
        for state in range(index.n_states):
            index.mask(state)
            index.mask_within(state, index.remaining(state) + 1)

    advance("JSON Schemas")
    from guided.engine.json_schema import JsonSchema

    text = {"type": "string", "pattern": "^[a-z]", "maxLength": 9}
    properties = {
        "name": text,
        "more": {"type": "array", "items": {"type": "integer", "minimum": 3}, "uniqueItems": True},
        "size": {"enum": [1, None]},
    }
    # Why another pattern and unique items: other kernels recognize strings that can continue wherever any string can, and count tokens that
    # depend on earlier text.
    others = {"type": "string", "pattern": "y"}
    schema = {"type": "object", "properties": properties, "required": ["name", "more"], "additionalProperties": others}
    index = compile_spec(JsonSchema(schema), vocabulary)
    guide = index.guide()
    for token in b'{"name": "a\\n", "more": [31, 4], "x": "y"}':
        guide.mask()
        guide.mask_within(guide.remaining + 2)
        guide.advance(token)
    index.explore(2)

    advance("grammars")
    from guided.engine.grammar import Grammar

    # Why several grammars: other kernels handle lexemes that may end where they could continue, and masks that resemble others.
    keyword = 'start: ("is" NAME)+\nNAME: /[a-z]+/\n%ignore " "'
    ambiguous_lexemes = 'start: (A | B)+\nA: /a(bc)?/\nB: "b"'
    for grammar, data in (("json", b'{"name": [31, true]}'), (ambiguous_lexemes, b"aba"), (keyword, b"is it is in")):
        guide = compile_spec(Grammar(grammar), vocabulary).guide()
        for token in data:
            guide.mask()
            guide.mask_within(guide.remaining + 2)
            guide.advance(token)

    advance("tools")
    from guided.calls.spec import Tools

    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    definitions = [{"name": name, "parameters": parameters} for name in ("weather", "weathers", "map")]
    calls = Tools(definitions, format="json", tool_choice="required")
    guide = compile_spec(calls.inventory(), vocabulary).guide()
    for token in b'{"name": "weather", "arguments": {"city": "a"}}':
        guide.mask()
        guide.mask_within(guide.remaining + 2)
        guide.advance(token)

    advance("logits")
    from guided.generate.masking import mask_bits

    for kind in (np.int16, np.int32, np.int64):
        bits = np.zeros((1, vocabulary.size), kind)
        for out in (bits, np.empty_like(bits)):
            mask_bits(bits, [index.mask(0)], -1, out)

    advance("batches of masks")
    from guided.kernels.copying import copy_rows

    nothing = np.zeros(0, np.int64)
    copy_rows(nothing, nothing, nothing)


@contextmanager
def _each_kernel(advance: Callable[[str], None]) -> Iterator[None]:
    """Pass on the records of the logger ``guided.kernels``, one for each kernel that was compiled."""
    from guided.kernels.compiler import without_notice

    without_notice()
    logger, level = logging.getLogger("guided.kernels"), logging.getLogger("guided.kernels").level
    handler = _Lines(advance)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class _Lines(logging.Handler):
    """Passes on the messages of records."""

    def __init__(self, advance: Callable[[str], None]) -> None:
        super().__init__()
        self._advance = advance

    def emit(self, record: logging.LogRecord) -> None:
        self._advance(record.getMessage())


def _import_all() -> None:
    """Import the modules of all kernels, so that progress is measured against all of them."""
    import guided.kernels as package

    for module in pkgutil.iter_modules(package.__path__):
        pkgutil.resolve_name(f"{package.__name__}.{module.name}")


def kernels() -> dict[str, Any]:
    """Numba's dispatchers of all kernels in the loaded modules, by module and name; empty if the extension is used."""
    from guided.kernels import compiler

    return {f"{one.py_func.__module__}.{one.py_func.__qualname__}": one for one in compiler.kernels()}


def _folder(found: dict[str, Any]) -> str | None:
    """The folder of numba's cache."""
    paths = {kernel.stats.cache_path for kernel in found.values()} - {None}
    return str(sorted(paths)[0]) if paths else None
