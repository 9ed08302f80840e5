"""ToolDec's checklist at the level of tokens: what may come next, over made vocabularies and real ones."""

import itertools
import string
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.calls.formats import Format, format_named
from guided.calls.modes import CALL, CALL_END
from guided.calls.parse import parse_text
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.compile import compile  # noqa: A004
from guided.engine.files import load_index
from guided.engine.index import Index
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.languages import Language
from tests.masks import bits
from tests.profiles import examples
from tests.real_vocabularies import real_vocabulary


def add(a: int, b: int) -> int:
    return a + b


def exp(x: int) -> int: ...
def square(x: int) -> int: ...
def sqrt(x: int) -> int: ...
def exp10(x: int) -> int: ...
def expand(x: int) -> int: ...
def now() -> None: ...
def total(*x: int) -> int: ...
def get_weather(city: str, day: Literal["today", "tomorrow"]) -> str: ...


# The paper's example: digits one by one, names in pieces, and every byte of the rest.
PIECES = [
    b"<T>",
    b"add",
    b"exp",
    b"s",
    b"qu",
    b"are",
    b"rt",
    b"q",
    b"exp10",
    b"and",
    b"10",
    b"square",
    b"sqrt",
    b"square(",
    b")=",
]
PAPER = Vocabulary(
    [
        *PIECES,
        *(bytes([value]) for value in range(256)),
        b"The",
        b" area",
        b" is",
        b" ",
        b"5)=",
        b"5) ",
        b"<",
        b"T>",
        b"=25",
    ],
    eos=[300],
    size=301,
)


def spelled(index: Index, state: int) -> set[bytes]:
    """What may come next, as bytes; the end as b"<eos>"."""
    tokens = index.allowed(state).tolist()
    return {index.vocabulary[token] or b"<eos>" for token in tokens}


def after(index: Index, data: bytes, state: int = 0) -> int:
    """The state after a text, spelled by single bytes."""
    single = {token: i for i, token in enumerate(index.vocabulary.tokens) if token is not None and len(token) == 1}
    for byte in data:
        state = index.next(state, single[bytes([byte])])
        assert state >= 0, data
    return state


def positional(*tools: object) -> Index:
    return compile(Tools(tools, "tooldec-positional"), PAPER)


def test_table_2_step_by_step() -> None:
    """'The side of a square is 5, what is its area?': text, then ``<T>square(5)=``, then text again."""
    index = positional(add, exp, square, sqrt)
    everything = {token for token in PAPER.tokens if token is not None} | {b"<eos>"}
    digits = {b"%d" % digit for digit in range(10)}
    state = 0
    steps: list[tuple[bytes, set[bytes]]] = [
        (b"The", everything),
        (b" area", everything),
        (b" is", everything),
        (b"<T>", everything),
        # Tool mode: pieces of names that lead on to a name.
        (b"s", {b"a", b"add", b"e", b"exp", b"s", b"square", b"sqrt", b"square("}),
        (b"qu", {b"q", b"qu"}),
        (b"are", {b"a", b"are"}),
        (b"(", {b"("}),
        # The argument is an integer: a sign or a digit, no zero before others.
        (b"5", digits | {b"+", b"-", b"10", b"5)="}),
        (b")=", digits | {b")", b")=", b"10", b"5)="}),
        # Text mode again.
        (b"=25", everything),
    ]
    for token, allowed in steps:
        assert spelled(index, state) == allowed, token
        state = index.next(state, PAPER.tokens.index(token))
    assert index.is_accepting(state)
    (call,) = parse_text(b"The area is<T>square(5)==25", Tools([square], "tooldec-positional"))
    assert (call.name, call.arguments) == ("square", {"x": 5})


def test_figure_2_names_and_arguments_are_chained() -> None:
    index = positional(add, exp, square, sqrt)
    assert spelled(index, after(index, b"<T>add(")) & {b")", b","} == set()
    assert spelled(index, after(index, b"<T>add(1")) & {b")", b",", b" "} == {b","}
    assert spelled(index, after(index, b"<T>add(1, 2")) & {b")", b",", b" "} == {b")"}
    assert spelled(index, after(index, b"<T>exp(1")) & {b")", b",", b" "} == {b")"}


def test_T6_figure_3_names_that_are_prefixes_of_others() -> None:
    one, two = positional(exp), positional(exp, exp10, expand)
    assert spelled(one, after(one, b"<T>exp")) == {b"("}
    assert spelled(two, after(two, b"<T>exp")) == {b"(", b"1", b"10", b"a", b"and"}
    assert spelled(two, after(two, b"<T>exp1")) == {b"0"}
    assert spelled(two, after(two, b"<T>expa")) == {b"n"}
    assert spelled(two, after(two, b"<T>exp10")) == {b"("}


# Figures 7 and 8: an unknown name, wrong arguments, a wrong end; refused at the byte where each goes wrong.
@pytest.mark.parametrize(
    ("begun", "refused"),
    [
        (b"<T>ad", b"a"),
        (b"<T>square", b"_"),
        (b"<T>square", b" "),
        (b"<T>square(", b'"'),
        (b"<T>square(", b")"),
        (b"<T>square(0", b"5"),
        (b"<T>square(5", b"."),
        (b"<T>square(5", b","),
        (b"<T>add(5", b")"),
        (b"<T>add(5, ", b" "),
        (b"<T>square(5)", b" "),
        (b"<T>square(5)", b"."),
        (b"<T>square(5)", b"\n"),
    ],
)
def test_figures_7_and_8_errors_are_refused_where_they_begin(begun: bytes, refused: bytes) -> None:
    index = positional(add, exp, square, sqrt)
    assert refused not in spelled(index, after(index, begun))


def test_T5_names_exactly_the_inventory() -> None:
    tools = [add, exp, square, sqrt, exp10, expand, now]
    language, found, names = Language(Tools(tools, "tooldec")), set(), [""]
    letters = string.ascii_letters + string.digits + "_("
    for name in names:  # grows during iteration
        for letter in letters:
            begun = f"<T>{name}{letter}".encode()
            if language.died_at(begun) == len(begun):
                (found.add(name) if letter == "(" else names.append(name + letter))
    assert found == {tool.__name__ for tool in tools}


def possible(data: bytes, start: bytes, calls: Collection[bytes]) -> bool:
    """May a text of calls from a finite list begin like this? By plain search."""
    while (place := data.find(start)) >= 0:
        rest = data[place + len(start) :]
        call = next((call for call in calls if rest.startswith(call)), None)
        if call is None:
            return any(call.startswith(rest) for call in calls)
        data = rest[len(call) :]
    return True


def pick(x: Literal["a", "b"]) -> None: ...


# All calls of `pick` and `now` after the trigger.
FINITE = [*(f'pick(x="{x}"){end}'.encode() for x in "ab" for end in ("=", " =")), b"now()=", b"now() ="]


@pytest.mark.network
@pytest.mark.parametrize("begun", [b"", b"Hi", b"<", b"<T", b"<T>now()="])
@pytest.mark.parametrize("name", ["smollm2", "gpt2"])
def test_T2_text_mode_allows_all_text_except_triggers_without_a_call(name: str, begun: bytes) -> None:
    vocabulary = real_vocabulary(name)
    index = compile(Tools([pick, now], "tooldec"), vocabulary)
    allowed = set(index.allowed(after(index, begun)).tolist())
    for token, data in enumerate(vocabulary.tokens):
        if data is not None:
            assert (token in allowed) == possible(begun + data, b"<T>", FINITE), data
    assert allowed >= set(vocabulary.eos)
    assert not allowed & (set(vocabulary.special.values()) - set(vocabulary.eos))


MADE = [b"<T>", b"<T>n", b"<T>x", b"<T>now()=", b"<T>now()=<T>", b"<T>now()=<T>q", b"T>", b"T>pick(", b"T>("]
MADE += [b" <T>now() = a", b"now", b")="]


@given(st.lists(st.sampled_from([*MADE, b"<", b"T", b">", b"(", b"a"]), max_size=4))
def test_T2_tokens_across_the_borders_of_modes(begun: list[bytes]) -> None:
    vocabulary = Vocabulary([*MADE, *(bytes([value]) for value in range(256))], eos=[290], size=291)
    index = compile(Tools([pick, now], "tooldec"), vocabulary)
    state, data = 0, b""
    for token in begun:
        following = index.next(state, vocabulary.tokens.index(token))
        assert (following >= 0) == possible(data + token, b"<T>", FINITE)
        if following < 0:
            return
        state, data = following, data + token
    for token, piece in enumerate(vocabulary.tokens):
        assert piece is not None
        assert (index.next(state, token) >= 0) == possible(data + piece, b"<T>", FINITE), (data, piece)


def test_T3_the_trigger_may_be_several_tokens() -> None:
    index = positional(now)
    for tokens in ([b"<T>"], [b"<", b"T", b">"], [b"<", b"T>"]):
        state = 0
        for token in tokens:
            state = index.next(state, PAPER.tokens.index(token))
        assert index.labels[state] == CALL
        assert spelled(index, state) == {b"n"}


SPECIAL = {"<tool_call>": 300, "</tool_call>": 301, "<|user|>": 302}


def test_T3_the_trigger_may_be_a_special_token() -> None:
    vocabulary = Vocabulary([bytes([value]) for value in range(256)], eos=[303], size=304, special=SPECIAL)
    index = compile(Tools([now], "json"), vocabulary)
    assert {300, 303} <= set(index.allowed(0).tolist())
    assert 302 not in index.allowed(0)
    state = index.next(0, SPECIAL["<tool_call>"])
    assert index.labels[state] == CALL
    assert 303 not in index.allowed(state)
    state = after(index, b'{"name": "now", "arguments": {}}', state)
    assert set(index.allowed(state).tolist()) == {ord("\n"), ord("<"), SPECIAL["</tool_call>"]}
    state = index.next(state, SPECIAL["</tool_call>"])
    assert index.labels[state] == CALL_END
    assert after(index, b"<tool_call>\n") >= 0


def test_T3_an_index_with_special_triggers_is_loaded_from_disk(tmp_path: Path) -> None:
    vocabulary = Vocabulary([bytes([value]) for value in range(256)], eos=[303], size=304, special=SPECIAL)
    index = compile(Tools([now], "json"), vocabulary)
    path = tmp_path / "tools.index"
    index.save(path)
    again = load_index(path, vocabulary)
    assert again.next(0, 300) == index.next(0, 300) >= 0
    assert np.array_equal(again.labels, index.labels)


def segmentations(text: bytes, tokens: dict[bytes, int]) -> Iterator[list[int]]:
    """All ways to spell a text with tokens."""
    if not text:
        yield []
    for end in range(1, len(text) + 1):
        if (token := tokens.get(text[:end])) is not None:
            for rest in segmentations(text[end:], tokens):
                yield [token, *rest]


@pytest.mark.network
@pytest.mark.parametrize("name", ["smollm2", "mistral-32k"])
def test_T7_every_token_path_of_a_name_is_allowed(name: str) -> None:
    vocabulary = real_vocabulary(name)
    index = compile(Tools([get_weather, now], "tooldec"), vocabulary)
    tokens = {data: token for token, data in enumerate(vocabulary.tokens) if data is not None}
    start = after(index, b"<T>")
    paths = list(segmentations(b"get_weather", tokens))
    assert len(paths) > 100
    ends = set()
    for path in paths:
        state = start
        for token in path:
            state = index.next(state, token)
        ends.add(state)
    assert len(ends) == 1
    assert min(ends) >= 0


def test_T8_tokens_that_span_name_argument_and_end() -> None:
    index = positional(square)
    tokens = PAPER.tokens.index
    state = index.next(after(index, b"<T>"), tokens(b"square("))
    assert state == after(index, b"<T>square(")
    assert index.next(state, tokens(b"5)=")) == after(index, b"<T>square(5)=")
    assert index.next(after(index, b"<T>square(5"), tokens(b")=")) == after(index, b"<T>square(5)=")
    assert index.next(state, tokens(b"5) ")) == -1


@pytest.mark.network
@pytest.mark.parametrize(
    ("begun", "token"), [("<T>get_weather(city", '="'), ('<T>get_weather(city="Oslo', '",'), ("<T>now(", ")=")]
)
def test_T8_tokens_of_a_real_vocabulary_that_span_the_parts_of_a_call(begun: str, token: str) -> None:
    vocabulary = real_vocabulary("smollm2")
    index = compile(Tools([get_weather, now], "tooldec"), vocabulary)
    number = vocabulary.tokens.index(token.encode())
    assert number in index.allowed(after(index, begun.encode()))


@settings(max_examples=examples(30))
@given(st.data())
def test_T9_any_vocabulary_spells_calls(data: st.DataObject) -> None:
    """However a text is cut into tokens of any vocabulary with all bytes, it is allowed."""
    text = 'Größe? <T>get_weather(city="Köln", day="today") = ok <T>now() = 1'.encode()
    cuts = data.draw(
        st.lists(st.integers(0, len(text)), max_size=10).map(lambda places: sorted({0, len(text), *places}))
    )
    pieces = [text[a:b] for a, b in itertools.pairwise(cuts)]
    vocabulary = Vocabulary([*dict.fromkeys(pieces), *(bytes([value]) for value in range(256))], eos=[400], size=401)
    guide = compile(Tools([get_weather, now], "tooldec"), vocabulary).guide()
    assert guide.advance_many([vocabulary.tokens.index(piece) for piece in pieces]) == len(pieces)
    assert guide.is_accepting
    assert guide.accepts(text)


def test_T17_arguments_are_separated_by_a_comma_and_at_most_one_space() -> None:
    automaton = Language(Tools([add], "tooldec-positional", tool_choice="required"))
    for text in ("1,2", "1, 2"):
        assert automaton.accepts(f"add({text})".encode()), text
    for text in ("1,  2", "1 ,2", "1;2", "1 2", " 1,2", "1,2 "):
        assert not automaton.accepts(f"add({text})".encode()), text


def test_T18_exactly_as_many_arguments_as_there_are_optional_ones_and_any_number() -> None:
    def some(a: int, b: int = 1, c: int = 2) -> None: ...

    automaton = Language(Tools([add, some, total, now], "tooldec-positional", tool_choice="required"))
    counts = {"add": {2}, "some": {1, 2, 3}, "total": set(range(9)), "now": {0}}
    for name, allowed in counts.items():
        for count in range(9):
            text = f"{name}({', '.join('7' * count)})"
            assert automaton.accepts(text.encode()) == (count in allowed), text
    for trailing in ("add(1, 2,)", "now(,)", "total(1,)", "some(1,,2)"):
        assert not automaton.accepts(trailing.encode()), trailing


def test_T19_the_terminator_is_forced() -> None:
    index = compile(Tools([now], "tooldec"), PAPER)
    assert spelled(index, after(index, b"<T>now()")) == {b" ", b"=", b"=25"}
    assert spelled(index, after(index, b"<T>now() ")) == {b"=", b"=25"}
    guide = index.guide()
    assert guide.forced() == b""
    for byte in b"<T>now() ":
        guide.advance(PAPER.tokens.index(bytes([byte])))
    assert guide.forced() == b"="


def test_T21_required_keys_in_order_and_optional_ones_present_or_not() -> None:
    def f(a: int, b: int = 1, *, c: int, d: int = 2) -> None: ...

    automaton = Language(Tools([f], "json", tool_choice="required"))
    for count in range(5):
        for keys in itertools.permutations("abcd", count):
            text = f'{{"name": "f", "arguments": {{{", ".join(f"{chr(34)}{key}{chr(34)}: 1" for key in keys)}}}}}'
            assert automaton.accepts(text.encode()) == (list(keys) == sorted(keys) and {"a", "c"} <= set(keys)), keys


def test_T22_tools_with_the_same_parameters_share_all_that_follows_the_name() -> None:
    """One more tool costs the states of its name and no more, and has the same values."""
    names = ["add", "multiply", "lcm", "gcd", "remainder"]
    tools = [Tool(get_weather, name=name) for name in names]
    frames = [Tools(tools[:count], "tooldec").lower(Limits()).frame for count in range(1, len(names) + 1)]  # type: ignore[union-attr]
    for count, frame in enumerate(frames, 1):
        assert frame.values == frames[0].values
        assert frame.automaton.n_states - frames[0].automaton.n_states <= sum(map(len, names[1:count]))


def test_T26_a_tool_without_arguments() -> None:
    index = positional(now)
    assert spelled(index, after(index, b"<T>now(")) == {b")", b")="}
    assert Language(Tools([now], tool_choice="required")).accepts(b'{"name": "now", "arguments": {}}')


@pytest.mark.parametrize("form", ["tooldec", "tooldec-positional", "json"])
def test_T27_the_end_of_sequence_is_allowed_in_accepting_states_only(form: str) -> None:
    index = compile(Tools([add, now, get_weather], form), PAPER)
    source, ends = np.random.default_rng(1), set()
    begun = after(index, b'<tool_call>{"name": "' if form == "json" else b"<T>")
    for state in [0, begun] * 10:
        for _ in range(40):
            allowed = index.allowed(state)
            assert (300 in allowed) == index.is_accepting(state)
            ends.add(300 in allowed)
            # A model that is keen on calls.
            keen = [token for token in allowed.tolist() if token < len(PIECES)]
            state = index.next(state, int(source.choice(keen or allowed[allowed != 300])))
    assert ends == {False, True}


@pytest.mark.parametrize("budget", range(1, 40))
def test_T28_near_the_end_of_a_budget_no_call_begins_that_does_not_fit(budget: int) -> None:
    spec = Tools([square, now], "tooldec-positional")
    index = compile(spec, PAPER)
    source = np.random.default_rng(budget)
    for _ in range(20):
        guide, data = index.guide(), b""
        for left in range(budget, 0, -1):
            allowed = bits(guide.mask_within(left))
            # A model that is keen on calls.
            keen = [token for token in allowed if token < len(PIECES)]
            token = int(source.choice(keen or allowed))
            guide.advance(token)
            if guide.is_finished:
                break
            data += PAPER.tokens[token] or b""
        assert guide.is_accepting
        parse_text(data, spec)


def test_a_name_that_a_vocabulary_cannot_spell_is_never_begun() -> None:
    """Liveness: without a byte for q, there is no way to square."""
    bytes_but_q = [bytes([value]) for value in range(256) if value != ord("q")]
    index = compile(Tools([square, sqrt, now], "tooldec"), Vocabulary(bytes_but_q, eos=[300], size=301))
    assert spelled(index, after(index, b"<T>")) == {b"n"}


@pytest.mark.network
@pytest.mark.parametrize("form", [format_named("tooldec"), format_named("json")], ids=lambda form: form.name)
def test_the_index_of_many_tools_over_a_real_vocabulary(form: Format) -> None:
    tools = [Tool(get_weather, name=f"get_{first}_{second}") for first in "abcdefgh" for second in "stuvwxyz"]
    index = compile(Tools(tools, form), real_vocabulary("smollm2"))
    assert index.n_states < 700
    state = after(index, form.start.encode() + form.before_name.encode())
    assert index.next(after(index, b"get_c_u", state), index.vocabulary.tokens.index(form.after_name[:1].encode())) >= 0
