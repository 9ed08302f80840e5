"""Load or compile every kernel: small inputs go through all functions that use one.

Numba compiles a kernel for the types of its arguments, so kernels are not called directly. Tests check that all are reached, and that real
inputs cause no further compilation.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex
from guided.generate.masking import mask_bits
from guided.kernels.copying import copy_rows
from guided.kernels.jit import compile_at_once
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.strings.automaton import string_automaton
from guided.schema.values.keys import key_automaton
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["load_kernels", "warm"]


@cache
def load_kernels() -> None:
    """Run `warm` once per process: about a second where the kernels are compiled already."""
    warm(lambda _: None)


@compile_at_once()
def warm(advance: Callable[[str], None]) -> None:
    """Run small inputs through every function that uses kernels; ``advance`` receives the name of each stage."""
    advance("regular expressions")
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
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    definitions = [{"name": name, "parameters": parameters} for name in ("weather", "weathers", "map")]
    calls = Tools(definitions, format="json", tool_choice="required")
    guide = compile_spec(calls.inventory(), vocabulary).guide()
    for token in b'{"name": "weather", "arguments": {"city": "a"}}':
        guide.mask()
        guide.mask_within(guide.remaining + 2)
        guide.advance(token)

    advance("logits")
    for kind in (np.int16, np.int32, np.int64):
        bits = np.zeros((1, vocabulary.size), kind)
        for out in (bits, np.empty_like(bits)):
            mask_bits(bits, [index.mask(0)], -1, out)

    advance("batches of masks")
    nothing = np.zeros(0, np.int64)
    copy_rows(nothing, nothing, nothing)
