"""Fingerprints of everything that kernels make, for a few small languages over a small vocabulary."""

import hashlib

import numpy as np

from guided.automata.build import from_strings, from_tree
from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.index.pushdown import PushdownIndex
from guided.index.regular import build_regular
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.vocabulary.vocabulary import Vocabulary
from tests.index.brackets import Parser, brackets

PATTERNS = ["a{1,9}", r"(?:\w\d?){0,3}", "(a|b)*a(a|b){4}", "[é-ü€]+x?", r"(?=.*b)a.*", "a{300}", "(?!)|b"]
TOKENS = [bytes([97 + i % 3]) * (1 + i // 3 % 4) + "é€1"[i % 3].encode()[: i % 4] for i in range(60)]
PAIRS = [((b"a", b"b"), (b"(", b")")), ((b"begin", b"end"), (b"(", b")"))]
SCHEMAS = [
    {"type": "array", "items": {"type": "string", "maxLength": 2}},
    {"type": "object", "properties": {"a1": {"type": "integer", "maximum": 30}, "é": {}}, "minProperties": 1},
    {"type": "array", "items": {"enum": [1, "a"]}, "uniqueItems": True},
]
TEXTS = [
    b"",
    b"a",
    b"((a",
    b"((a)b)(",
    b"begin(be",
    b'["',
    b'["\xc3',
    b'["a"',
    b'{"a1":',
    b'{"a',
    b"[1",
    b"[1,",
    b'[1,"a',
]


def digest() -> list[str]:
    """SHA-256 of automata, their combinations, indices, and masks where there is a stack."""
    vocabulary = Vocabulary([*TOKENS, *(bytes([value]) for value in range(256))], eos=[330], size=340)
    automata = [from_tree(parse(pattern)) for pattern in PATTERNS]
    automata += [
        from_strings([b"ab", b"abc", b"xbc", b""]),
        automata[0] & automata[2],
        automata[1] | automata[3],
        ~automata[2],
    ]
    found = []
    for automaton in automata:
        index = build_regular(automaton, vocabulary, Limits())
        hashed = hashlib.sha256(automaton.fingerprint.encode())
        arrays = [value for _, value in sorted(vars(index).items()) if isinstance(value, np.ndarray)]
        for array in [*arrays, *map(index.mask, range(index.n_states)), index.mask_within(0, int(index.distance[0]))]:
            hashed.update(np.ascontiguousarray(array).tobytes())
        found.append(hashed.hexdigest())
    pieces = [b"((", b"))(", b"beg", b"end)", b'","', b'"]', b'": ', b'{"a', b"1,", b"},"]
    vocabulary = Vocabulary([*TOKENS[::4], *pieces, *(bytes([value]) for value in range(256))], eos=[290], size=300)
    stacked = [
        PushdownIndex(Parser(brackets(pairs), has_plan=i > 0), vocabulary, Limits()) for i, pairs in enumerate(PAIRS)
    ]
    for index in [*stacked, *(compile_spec(JsonSchema(schema), vocabulary).tables for schema in SCHEMAS)]:
        assert isinstance(index, PushdownIndex)
        hashed = hashlib.sha256()
        for text in TEXTS:
            state, count = index.trace(0, text)
            masks = index.mask(state), index.mask_within(state, index.remaining(state))
            hashed.update(b"%d %d %b %b" % (state, count, masks[0].tobytes(), masks[1].tobytes()))
        found.append(hashed.hexdigest())
    return found


if __name__ == "__main__":
    np.seterr(over="ignore")
    print(*digest(), sep="\n")
