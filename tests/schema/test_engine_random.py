"""The engine against the oracles: random schemas, options, texts and vocabularies.

What is_text says is the language. The engine must accept exactly those texts, byte by byte; over a vocabulary it must allow exactly the
tokens whose bytes can be read, and end exactly where a text is one. It may refuse a schema, but only few, and by name.
"""

import json
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from guided.engine.index import Index
from guided.errors import LimitError, SchemaError, VocabularyError
from guided.guide.guide import Guide
from guided.schema.formula.atoms import JsonOptions
from guided.vocabulary.vocabulary import Vocabulary
from tests.profiles import examples
from tests.real_vocabularies import real_vocabulary
from tests.schema.engine import compiled, is_empty, refusal
from tests.schema.oracle import Undefined, lifted
from tests.schema.oracle_published import is_valid
from tests.schema.oracle_text import NotJson, has_format, is_narrowed, is_text, read
from tests.schema.strategies import discriminated, instances_near, plain_schemas, schemas, values
from tests.schema.walks import steered_text
from tests.strategies import vocabularies

# Refusals that random schemas may meet: references that mean nothing, schemas without values, what is not enforced.
EMPTY = "no value"
REFUSED = {"$ref", "uniqueItems", "unevaluatedItems", "unevaluatedProperties"}
BRIEF = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])


@st.composite
def option_sets(draw: st.DrawFn, order: str = "any") -> dict[str, Any]:
    """Options of all kinds but the order of properties."""
    return {
        "whitespace": draw(st.sampled_from(["compact", "flexible", "[ ]?", "pretty(0)", "pretty(3)"])),
        "property_order": order,
        "numbers": draw(st.sampled_from(["plain", "any"])),
        "escapes": draw(st.sampled_from(["canonical", "any", "dumps"])),
        "format": draw(st.sampled_from(["annotate", "assert"])),
    }


# --------------------------------------------------------------------------------------------------------------- texts

_SPACES = st.sampled_from(["", "", "", "", " ", "  ", "\n", "\t "])


@st.composite
def texts_of(draw: st.DrawFn, value: Any, options: dict[str, Any]) -> bytes:
    """A spelling of a value, mostly one that the options allow; sometimes changed in one byte."""
    free = draw(st.integers(0, 7)) == 0
    text = _spelled(
        draw, value, {**options, "whitespace": "flexible", "numbers": "any", "escapes": "any"} if free else options
    )
    data = text.encode()
    if draw(st.integers(0, 5)) == 0 and data:
        place = draw(st.integers(0, len(data) - 1))
        piece = draw(st.sampled_from([b"", b'"', b",", b"}", b"]", b"0", b"\\", b" ", b"e", b"\xff"]))
        data = data[:place] + piece + data[place + draw(st.integers(0, 1)) :]
    return data


def _spelled(draw: st.DrawFn, value: Any, options: dict[str, Any]) -> str:
    if options["whitespace"].startswith("pretty"):
        return _in_lines(draw, value, options, "\n")

    def gap() -> str:
        match options["whitespace"]:
            case "compact":
                return ""
            case "flexible":
                return draw(_SPACES)
        return draw(st.sampled_from(["", " "]))

    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return _number(draw, value, options)
    if isinstance(value, str):
        return _string(draw, value, options)
    if isinstance(value, list):
        items = [gap() + _spelled(draw, item, options) + gap() for item in value]
        return "[" + (",".join(items) or gap()) + "]"
    members = [
        f"{gap()}{_string(draw, name, options)}{gap()}:{gap()}{_spelled(draw, member, options)}{gap()}"
        for name, member in value.items()
    ]
    return "{" + (",".join(members) or gap()) + "}"


def _in_lines(draw: st.DrawFn, value: Any, options: dict[str, Any], line: str) -> str:
    deeper = line + " " * (JsonOptions(**options).indent or 0)
    if isinstance(value, list) and value:
        items = [deeper + _in_lines(draw, item, options, deeper) for item in value]
        return "[" + ",".join(items) + line + "]"
    if isinstance(value, dict) and value:
        members = [
            f"{deeper}{_string(draw, name, options)}: {_in_lines(draw, member, options, deeper)}"
            for name, member in value.items()
        ]
        return "{" + ",".join(members) + line + "}"
    return _spelled(draw, value, {**options, "whitespace": "compact"})


def _number(draw: st.DrawFn, value: int | float, options: dict[str, Any]) -> str:
    fraction = lifted(value).value
    spellings = [json.dumps(value)]
    if fraction.denominator == 1:
        whole = int(fraction)
        spellings += [str(whole), str(whole)]
        if options["numbers"] == "any":
            spellings.append(f"{whole}.0")
    if options["numbers"] == "any":
        spellings += [f"{Decimal(str(value)).normalize():{form}}" for form in ("e", "E")]
    return draw(st.sampled_from(spellings))


def _string(draw: st.DrawFn, text: str, options: dict[str, Any]) -> str:
    if options["escapes"] == "canonical" or draw(st.booleans()):
        return json.dumps(text, ensure_ascii=options["escapes"] != "canonical" and draw(st.booleans()))
    units = text.encode("utf-16-be", "surrogatepass")
    digits = [units[i : i + 2].hex() for i in range(0, len(units), 2)]
    return '"' + "".join(f"\\u{each.upper() if draw(st.booleans()) else each}" for each in digits) + '"'


# ----------------------------------------------------------------------------------------------------------- acceptance


def refused_or_index(schema: Any, options: dict[str, Any], *vocabulary: Vocabulary) -> Index | str:
    """The index, or in a word why there is none."""
    try:
        return compiled(schema, *vocabulary, **options)
    except VocabularyError as error:
        return f"vocabulary: {error}"
    except (SchemaError, LimitError) as error:
        if is_empty(error):
            return EMPTY
        return f"{refusal(error)}: {error}"


def language(schema: Any, data: bytes, options: dict[str, Any]) -> bool:
    """What the oracle says; an example without meaning is dropped."""
    try:
        return is_text(schema, data, JsonOptions(**options), formats=has_format)
    except Undefined:
        assume(False)
        raise


def agree(schema: Any, options: dict[str, Any], data: st.DataObject, counts: dict[str, int]) -> None:
    """The engine and the oracle on texts near a schema."""
    found = refused_or_index(schema, options)
    counts["all"] += 1
    for _ in range(6):
        text = data.draw(texts_of(data.draw(instances_near(schema)), options))
        expected = language(schema, text, options)
        if found == EMPTY:
            assert not expected, f"{text!r} is valid"
            continue
        if isinstance(found, str):
            counts["refused"] += 1
            event(f"refused {found.partition(':')[0]}")
            assert not expected or found.partition(":")[0] in REFUSED, f"{found}, and {text!r} is valid"
            return
        event(f"accepted: {expected}")
        accepted = found.guide().accepts(text)
        assert accepted == expected or (expected and is_narrowed(text, JsonOptions(**options))), text


KINDS: dict[str, st.SearchStrategy[Any]] = {
    "anything": schemas(),
    "objects": schemas(4, about="object", references=False),
    "arrays": schemas(4, about="array", references=False),
    "strings": schemas(4, about="string", references=False, formats=True),
    "numbers": schemas(4, about="number", references=False),
    "references": schemas(about="object"),
    "alternatives": discriminated(),
    "unevaluated properties": schemas(4, about="object", unevaluated=True),
    "unevaluated items": schemas(4, about="array", unevaluated=True),
    "unique items": schemas(4, about="array", unique=True, references=False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_is_the_oracle(kind: str) -> None:
    counts = {"all": 0, "refused": 0}

    @settings(BRIEF, max_examples=examples(60, by_default=6))
    @given(KINDS[kind], option_sets(), st.data())
    def run(schema: Any, options: dict[str, Any], data: st.DataObject) -> None:
        agree(schema, options, data, counts)

    run()
    assert counts["refused"] <= (0.5 if kind.startswith(("un", "ref")) else 0.25) * counts["all"]


@BRIEF
@given(plain_schemas(), option_sets("schema"), st.data())
def test_the_engine_is_the_oracle_in_the_order_of_the_schema(
    schema: Any, options: dict[str, Any], data: st.DataObject
) -> None:
    agree(schema, options, data, {"all": 0, "refused": 0})


@BRIEF
@given(schemas(6), option_sets(), st.data())
def test_an_order_only_takes_texts_away(schema: Any, options: dict[str, Any], data: st.DataObject) -> None:
    ordered = refused_or_index(schema, {**options, "property_order": "schema"})
    free = refused_or_index(schema, options)
    assert isinstance(ordered, str) == isinstance(free, str)
    if isinstance(ordered, str) or isinstance(free, str):
        return
    for _ in range(4):
        text = data.draw(texts_of(data.draw(instances_near(schema)), options))
        assert not ordered.guide().accepts(text) or free.guide().accepts(text)


# ------------------------------------------------------------------------------------------------------------- theorems

ALPHABET = '{}[]":,ab01-.é\\nultrefs \n'


def _bits(guide: Guide, size: int) -> np.ndarray:
    return np.unpackbits(guide.mask().view(np.uint8), bitorder="little")[:size].astype(bool)


def _reads(guide: Guide, data: bytes) -> bool:
    """Whether a guide over single bytes can read these."""
    guide = guide.fork()
    for value in data:
        if not guide.mask()[value >> 5] >> (value & 31) & 1:
            return False
        guide.advance(value)
    return True


def _single_bytes(vocabulary: Vocabulary) -> Vocabulary:
    """Token b is byte b, for the bytes that the vocabulary's tokens can spell; 256 ends a text."""
    single = {data for data in vocabulary.tokens if data and len(data) == 1}
    return Vocabulary(
        [bytes([value]) if bytes([value]) in single else None for value in range(256)], eos=[256], size=257
    )


@BRIEF
@given(
    schemas(6) | discriminated(),
    option_sets(),
    vocabularies(ALPHABET, complete=True, max_tokens=40, longest=4),
    st.randoms(use_true_random=False),
    st.data(),
)
def test_theorems(
    schema: Any, options: dict[str, Any], vocabulary: Vocabulary, chance: random.Random, data: st.DataObject
) -> None:
    """Soundness, liveness, cache, and masks token by token, along a random walk; completeness along texts, cut at random."""
    try:
        index = refused_or_index(schema, options, vocabulary)
    except VocabularyError:
        single = {data[0] for data in vocabulary.tokens if data and len(data) == 1}
        for _ in range(6):
            written = data.draw(texts_of(data.draw(instances_near(schema)), options))
            assert not single.issuperset(written) or not language(schema, written, options), written
        return
    assume(not isinstance(index, str))
    assert isinstance(index, Index)
    guide = index.guide()
    spelled = compiled(schema, _single_bytes(vocabulary), **options).guide()
    text, walked = b"", []
    for _ in range(15):
        mask = _bits(guide, vocabulary.size)
        ends = {bool(mask[token]) for token in vocabulary.eos}
        assert ends == {guide.is_accepting}
        expected = language(schema, text, options)
        if guide.is_accepting != expected:
            assert expected, text  # soundness
            assert is_narrowed(text, JsonOptions(**options)), text
        for token, found in enumerate(vocabulary.tokens):
            if token not in vocabulary.eos:
                assert mask[token] == (bool(found) and _reads(spelled, found or b"")), (text, found)
        assert (mask == _bits(guide, vocabulary.size)).all()  # cache
        allowed = [token for token in np.flatnonzero(mask).tolist() if token not in vocabulary.eos]
        if not allowed:
            assert mask.any(), text  # liveness
            break
        token = chance.choice(allowed)
        guide.advance(token)
        walked.append(token)
        piece = vocabulary[token] or b""
        text += piece
        spelled.advance_many(piece)
    _lives(spelled)
    again = compiled(schema, vocabulary, **options).guide()
    assert again.advance_many(walked) == len(walked)
    assert (_bits(again, vocabulary.size) == _bits(guide, vocabulary.size)).all()
    for _ in range(3):
        valid = data.draw(texts_of(data.draw(instances_near(schema)), options))
        is_small = set(valid) <= set(ALPHABET.encode())
        if is_small and language(schema, valid, options) and not is_narrowed(valid, JsonOptions(**options)):
            _is_completed(index, vocabulary, valid, chance)


_CLOSING = {value: place for place, value in enumerate(b'}]"0a1belu')}


def _lives(guide: Guide, most: int = 1500) -> None:
    """A text can end from here: found by search, unless that takes too long; a search that ends without is a dead end."""
    seen, todo = {guide.state}, [guide.fork()]
    while todo:
        here = todo.pop()
        if here.is_accepting:
            return
        allowed = np.flatnonzero(_bits(here, 256)).tolist()
        for value in sorted(allowed, key=lambda value: _CLOSING.get(value, 99), reverse=True):
            further = here.fork()
            further.advance(value)
            if further.state not in seen:
                seen.add(further.state)
                todo.append(further)
        if len(seen) > most:
            event("liveness not decided")
            return
    raise AssertionError("a dead end")


def _cut(vocabulary: Vocabulary, text: bytes, chance: random.Random) -> Iterator[int]:
    """Tokens of a text, cut at random."""
    while text:
        fitting = [token for token, data in enumerate(vocabulary.tokens) if data and text.startswith(data)]
        token = chance.choice(fitting)
        yield token
        text = text[len(vocabulary[token] or b"") :]


def _is_completed(index: Index, vocabulary: Vocabulary, text: bytes, chance: random.Random) -> None:
    guide = index.guide()
    for token in _cut(vocabulary, text, chance):
        assert _bits(guide, vocabulary.size)[token], (text, vocabulary[token])
        guide.advance(token)
    assert guide.is_accepting


# ----------------------------------------------------------------------------------------------------- real vocabularies


@pytest.mark.network
@pytest.mark.parametrize("name", ["gpt2", "llama3-128k", "mistral-32k"])
def test_random_walks_over_real_vocabularies_end_in_valid_documents(name: str) -> None:
    vocabulary = real_vocabulary(name)
    ended = []

    @settings(BRIEF, max_examples=examples(12))
    @given(schemas(5), option_sets(), st.randoms(use_true_random=False))
    def run(schema: Any, options: dict[str, Any], chance: random.Random) -> None:
        index = refused_or_index(schema, options, vocabulary)
        if isinstance(index, str):
            return
        text = steered_text(index, vocabulary, chance)
        if text is None:
            return
        ended.append(text)
        json.loads(text)
        assert language(schema, text, options), text
        if all(number.lstrip("-").isdigit() and len(number) < 15 for number in read(text).numbers):
            assert is_valid(schema, json.loads(text)), text

    run()
    assert ended


# --------------------------------------------------------------------------------------------------------------- RFC 8259


@given(values(10), option_sets(), st.data())
def test_the_empty_schema_is_rfc_8259(value: Any, options: dict[str, Any], data: st.DataObject) -> None:
    text = data.draw(texts_of(value, options))
    assert compiled({}, **options).guide().accepts(text) == is_text({}, text, JsonOptions(**options))


@given(st.binary(max_size=12) | st.text('{}[]",:0123456789.-+eEtrufalsn\\ \n\t/bx😀', max_size=12).map(str.encode))
def test_nothing_but_json_is_a_text_of_the_empty_schema(text: bytes) -> None:
    try:
        document = read(text)
    except NotJson:
        document = None
    except Undefined:
        assume(False)
        return
    expected = document is not None and not document.repeated and not document.gaps[0] and not document.gaps[-1]
    assert compiled({}, numbers="any", escapes="any").guide().accepts(text) == expected
