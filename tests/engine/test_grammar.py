"""`Grammar` as users meet it: every form of input, what Lark says of a text, files, errors with their place."""

import pickle
import re
from pathlib import Path

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.indenter import PythonIndenter

import guided
from guided.engine.algebra import Alternatives, Concatenation
from guided.errors import GrammarError, IndexFormatError, LimitError, VocabularyError
from tests.generate.models import ascii_model
from tests.profiles import examples

BALANCED = 'start: "a" start "b" | "c"'
WORD = r"start: /\w/"
BYTES = guided.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=[256])


def accepts(spec: guided.Grammar, text: str) -> bool:
    return guided.compile(spec, BYTES).accepts(text.encode())


def test_a_text_a_file_and_an_object_are_one_grammar(tmp_path: Path) -> None:
    file = tmp_path / "balanced.lark"
    file.write_text(BALANCED, encoding="utf-8")
    specs = [
        guided.Grammar(BALANCED),
        guided.Grammar(file),
        guided.Grammar(str(file), allow_files=True),
        guided.Grammar(lark.Lark(BALANCED, parser="lalr")),
    ]
    assert len({spec.fingerprint for spec in specs}) == 1
    for spec in specs:
        assert accepts(spec, "aacbb")
        assert not accepts(spec, "aacb")
        assert spec.parse("acb").data == "start"


@pytest.mark.slow
def test_names() -> None:
    assert accepts(guided.Grammar("json"), '{"a": [1, null]}')
    assert accepts(guided.Grammar("python3"), "if x:\n    y = 1\n")
    python = guided.Grammar("python")
    assert python.start == "file_input"
    assert accepts(python, "def f(a, *, b=1):\n\treturn [x for x in a if b]\n")
    assert not accepts(python, "def f(:\n")


def test_parameters() -> None:
    text = 'start: "a" b\nb: "b"'
    assert accepts(guided.Grammar(text, start="b"), "b")
    assert guided.Grammar(lark.Lark(text, parser="lalr", start="b")).start == "b"
    basic, contextual = (
        guided.Grammar('start: "ab" | "a" X\nX: "b"', lexer=lexer) for lexer in ("basic", "contextual")
    )
    assert basic.fingerprint != contextual.fingerprint
    tree = "%import common.NEWLINE\nstart: (_NL | tree)+\ntree: WORD _NL [_INDENT tree+ _DEDENT]\n"
    tree += "WORD: /[a-z]+/\n_NL: /(\\r?\\n[\\t ]*)+/\n%declare _INDENT _DEDENT\n"

    class Blocks(PythonIndenter):
        NL_type, INDENT_type, DEDENT_type = "_NL", "_INDENT", "_DEDENT"
        OPEN_PAREN_types, CLOSE_PAREN_types = [], []

    assert accepts(guided.Grammar(tree, postlex=Blocks()), "a\n  b\n  c\nd\n")
    assert not accepts(guided.Grammar(tree, postlex=Blocks()), "a\n  b\n c\n")


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text("WORD: /[a-z]+/\n", encoding="utf-8")
    spec = guided.Grammar("start: WORD\n%import words.WORD", import_paths=[tmp_path])
    assert accepts(spec, "abc")


def test_saved_and_loaded(tmp_path: Path) -> None:
    index = guided.compile(guided.Grammar("json"), BYTES)
    index.explore(50)
    index.save(tmp_path / "one")
    loaded = guided.load_index(tmp_path / "one", BYTES)
    assert loaded.spec_fingerprint == index.spec_fingerprint
    assert [loaded.allowed(state).tolist() for state in range(50)] == [
        index.allowed(state).tolist() for state in range(50)
    ]
    assert loaded.accepts(b"[1, 2]")
    loaded.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    spec = guided.Grammar(BALANCED)
    again = pickle.loads(pickle.dumps(guided.compile(spec, BYTES)))
    assert again.accepts(b"acb")
    with pytest.raises(GrammarError, match="have no parser"):
        guided.Grammar.from_data(spec.data).parse("c")
    assert guided.Grammar.from_data(spec.data) == spec


def test_damaged_files(tmp_path: Path) -> None:
    spec = guided.Grammar(BALANCED)
    for data in ("", "{}", spec.data.replace('"end":', '"end":9'), spec.data.replace('"start"', '"other"'), "[]"):
        with pytest.raises(ValueError, match=r"."):
            guided.Grammar.from_data(data)
    path = tmp_path / "index"
    guided.compile(spec, BYTES).save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(IndexFormatError):
        guided.load_index(path, BYTES)


def test_notes_name_the_conflicts() -> None:
    dangling = guided.compile(guided.Grammar('start: "i" start ("e" start)? | "x"'), BYTES)
    assert [note.split(":")[0] for note in dangling.notes] == ["conflict on E"]


REFUSED = {
    "no grammar": ('start: ("a"', "start"),
    "an unknown name": ("pascal", "pascal"),
    "an unknown rule": ("start: other", "other"),
    "no start": ("a: /x/", "start"),
    "a backreference": ("start: X\nX: /(?P<q>a)(?P=q)/", "X"),
    "reduce/reduce": ("start: a | b\na: /x/\nb: /x/", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_rule(name: str) -> None:
    text, rule = REFUSED[name]
    with pytest.raises(GrammarError) as caught:
        guided.compile(guided.Grammar(text), BYTES)
    assert rule in caught.value.rule or rule in str(caught.value)


def test_texts_that_lead_nowhere() -> None:
    with pytest.raises(GrammarError, match="the grammar accepts no text"):
        guided.compile(guided.Grammar('start: l "t"\nl: "t" l | "t"'), BYTES)
    index = guided.compile(guided.Grammar('start: l "t" | "c"\nl: "t" l | "t"'), BYTES)
    assert index.allowed(0).tolist() == [ord("c")]
    assert any("l occurs in no accepted text" in note for note in index.notes)


def test_arguments_of_other_types() -> None:
    with pytest.raises(TypeError, match="text, a name, a path or a Lark object"):
        guided.Grammar(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lexer must be"):
        guided.Grammar(BALANCED, lexer="dynamic")
    with pytest.raises(TypeError, match="start must be the name of a rule"):
        guided.Grammar(BALANCED, start=["start"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="list of folders"):
        guided.Grammar(BALANCED, import_paths="folder")
    with pytest.raises(TypeError, match="its own"):
        guided.Grammar(lark.Lark(BALANCED, parser="lalr"), lexer="basic")


def test_a_text_outside_the_grammar() -> None:
    spec = guided.Grammar(BALANCED)
    with pytest.raises(GrammarError, match="does not match the grammar"):
        spec.parse("ab")
    deep = guided.Grammar('start: "(" start ")" | "x"')
    with pytest.raises((LimitError, GrammarError)):
        deep.parse("(" * 100_000)


def test_vocabularies_that_lack_bytes() -> None:
    tokens = guided.Vocabulary([b"a", b"b", b"ab", b"cc", None], eos=[4])
    with pytest.raises(VocabularyError, match="needs a byte"):
        guided.compile(guided.Grammar(BALANCED), tokens)
    index = guided.compile(guided.Grammar('start: ("a" | "x")+ "b"'), tokens)
    assert "the vocabulary cannot encode" in index.notes[-1]
    assert index.allowed(0).tolist() == [0, 2]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.text(st.sampled_from('ab"\\\\/\\n\\té\u2028|'), min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_terminal_may_be_a_list_of_texts(texts: list[str]) -> None:
    spec = guided.Grammar('start: "<" NAME ">"\nNAME: "x"', terminals={"NAME": texts})
    index = guided.compile(spec, BYTES)
    for text in (*texts, "x", "", texts[0] + "a", texts[0][:-1]):
        assert index.accepts(f"<{text}>") == (text in texts)
        if text in texts:
            assert str(spec.parse(f"<{text}>").children[0]) == text


def test_a_terminal_may_be_a_pattern_or_a_choice() -> None:
    text = 'start: A B\nA: "x"\nB: "y"'
    spec = guided.Grammar(
        text, terminals={"A": guided.Regex(r"[a-z]+/\/?\d", ascii=True), "B": guided.Choice(["p", "q"])}
    )
    for one, expected in (("ab/1p", True), ("a//2q", True), ("a/\u0661p", False), ("xy", False), ("a/1r", False)):
        assert accepts(spec, one) == expected
    written = guided.Grammar('start: A B\nA: /(?a:[a-z]+\\/\\/?\\d)/\nB: "p" | "q"')
    assert spec.fingerprint == written.fingerprint


_TERMINAL_LEAVES = st.one_of(
    st.sampled_from(["a", "b", "ab", "/", ""]),
    st.sampled_from(["a*", "a|ab", "[ab]+/?", "b"]).map(guided.Regex),
    st.just(guided.Choice(["a", "ab"])),
    st.just(guided.JsonSchema({"enum": ["a", 1, 12]}, whitespace="compact")),
    st.just(guided.FreeText(stop="/")),
)
_TERMINAL_SPECS = st.recursive(
    _TERMINAL_LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(tuple).map(Concatenation),
        st.lists(inner, min_size=1, max_size=3).map(tuple).map(Alternatives),
        inner.map(guided.Maybe),
        st.builds(guided.Repeat, inner, st.integers(0, 2), st.sampled_from([None, 2, 3]), st.sampled_from([None, "/"])),
    ),
    max_leaves=4,
).map(lambda part: Concatenation((part, "b")))


@settings(max_examples=examples(100), deadline=None)
@given(_TERMINAL_SPECS, st.lists(st.text('ab/12"', max_size=5), max_size=6))
def test_a_terminal_may_be_a_composition(term: Concatenation, texts: list[str]) -> None:
    spec = guided.Grammar('start: "<" A ">"\nA: "x"', terminals={"A": term})
    index, alone = guided.compile(spec, BYTES), guided.compile(term, BYTES)
    for text in (*texts, *(text + "b" for text in texts)):
        try:
            spec.parse(f"<{text}>")
            is_parsed = True
        except GrammarError:
            is_parsed = False
        assert index.accepts(f"<{text}>") == is_parsed
        # The lexer takes the first match of the pattern, which may be shorter than the text.
        assert alone.accepts(text) or not is_parsed


def test_terminals_match_what_their_specs_do() -> None:
    cases: list[tuple[object, list[str], list[str]]] = [
        ("a" + guided.Maybe(guided.Regex("b+")) | guided.Choice(["c", "cd"]), ["a", "abb", "c", "cd"], ["d", "acd"]),
        (guided.Regex("a|b") + "c", ["ac", "bc"], ["a", "b"]),
        (guided.JsonSchema({"enum": ["a", 1, 12, None]}), ['"a"', "1", "12", "null"], ["2", '"b"']),
        (guided.JsonSchema({"type": "integer"}), ["0", "-12"], ["01"]),
        (bool, ["true", "false"], ["x"]),
        (guided.Repeat("a" | guided.Regex("b"), 1, 3, ","), ["a", "a,b", "b,b,b"], ["", "a,", "a,a,a,a"]),
        ("a" + guided.FreeText(stop="!"), ["a!", "aé!"], ["a!!", "!"]),
        ("a" + guided.Regex(""), ["a"], [""]),
    ]
    for given_spec, inside, outside in cases:
        spec = guided.Grammar('start: "<" A ">"\nA: "x"', terminals={"A": given_spec})
        assert all(accepts(spec, f"<{text}>") for text in inside)
        assert not any(accepts(spec, f"<{text}>") for text in outside)


@pytest.mark.parametrize(
    ("terminals", "kind", "message"),
    [
        (
            {"NOPE": ["a"]},
            GrammarError,
            "NOPE is not defined, and only what is defined can be replaced: add `NOPE: ...`",
        ),
        ({"start": ["a"]}, GrammarError, "not the name of a terminal, which is written in capitals"),
        ({"A": []}, GrammarError, "a terminal must match at least one text"),
        ({"A": [""]}, GrammarError, "none of them may be empty"),
        ({"A": "text"}, TypeError, "terminal A must be a list of str, a spec or a type, not str"),
        ({"A": [1]}, TypeError, "terminal A must match texts, not int"),
        ({"A": 3}, TypeError, "terminal A must be a list of str, a spec or a type, not int"),
        ({"A": guided.FreeText(max_tokens=3)}, GrammarError, "a terminal cannot count tokens"),
        ({"A": "a" + guided.Grammar('start: "a"')}, GrammarError, "needs a stack or too many states"),
        ({"A": guided.FreeText(stop="a", excludes="a")}, GrammarError, "a terminal must match at least one text"),
        ({"A": guided.Maybe("a")}, GrammarError, "can match the empty string, which"),
    ],
)
def test_terminals_are_checked(terminals: dict[str, object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        guided.Grammar('start: A\nA: "x"', terminals=terminals)  # type: ignore[arg-type]
    with pytest.raises(GrammarError, match="the terminals of a Lark object cannot be replaced"):
        guided.Grammar(lark.Lark('start: "a"', parser="lalr"), terminals={"A": ["a"]})


@pytest.mark.parametrize("text", ['start: "a"+', "start: A\nA: /a(?=b)/ | /b/"])
def test_tokens_that_encode_no_single_byte_spell_no_text(text: str) -> None:
    with pytest.raises(VocabularyError, match="a byte that the vocabulary cannot encode"):
        guided.compile(guided.Grammar(text), guided.Vocabulary([b"ab", None], eos=[1]))


@pytest.mark.parametrize("pattern", [r"\w+", r"[\w-]+", r"\d{1,3}", r"a\s?b", r"\W", r"(?i:ſ|k)", r"\D", r"(?u:\w)+"])
@pytest.mark.parametrize("ascii_only", [False, True])
@given(text=st.text("aZ9_- \xa0\u0663é\N{KELVIN SIGN}ſk", max_size=4))
def test_patterns_of_an_ascii_grammar_match_what_re_does(pattern: str, ascii_only: bool, text: str) -> None:
    """As for a `Regex` and for Lark with ``g_regex_flags``."""
    spec = guided.Grammar(f"start: A\nA: /{pattern}/", ascii=ascii_only)
    expected = re.fullmatch(pattern, text, re.ASCII if ascii_only else 0) is not None
    assert (
        accepts(spec, text) == guided.compile(guided.Regex(pattern, ascii=ascii_only), BYTES).accepts(text) == expected
    )
    if expected:
        assert spec.parse(text).children == [text]
    else:
        with pytest.raises(GrammarError, match="does not match"):
            spec.parse(text)


def test_specs_of_terminals_keep_their_own_flag() -> None:
    for is_own in (False, True):
        for is_ascii in (False, True):
            given_spec = guided.Regex(r"\w+", ascii=is_own)
            for part in (given_spec, "x" + given_spec):
                spec = guided.Grammar('start: A\nA: "x"', terminals={"A": part}, ascii=is_ascii)
                assert accepts(spec, "xé") == (not is_own)


def test_ascii_is_a_bool_and_not_for_lark_objects() -> None:
    with pytest.raises(TypeError, match="ascii must be True or False, not 1"):
        guided.Grammar('start: "a"', ascii=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="carries its own g_regex_flags: leave out ascii"):
        guided.Grammar(lark.Lark('start: "a"', parser="lalr"), ascii=True)
    index = guided.compile(guided.Grammar(WORD, ascii=True), BYTES)
    again = guided.Grammar.from_data(guided.Grammar(WORD, ascii=True).data)
    assert index.spec_fingerprint == again.fingerprint != guided.Grammar(WORD).fingerprint
    assert not guided.compile(again, BYTES).accepts("é")
    model = ascii_model()
    made = guided.grammar(model, WORD, ascii=True)
    assert made.index is not None
    assert made.index.spec_fingerprint == again.fingerprint
