"""Random grammars, each from a number: what the engine, its definition and Lark make of one, side by side.

`sample` draws a grammar: rules with Lark's operators, priorities, inlining and templates over terminals that overlap (`tests.lalr.nasty`
and `tests.lalr.test_prefix` have the pools), keywords, ignored terminals, both lexers, and one time in eight lines that an Indenter
reads. `check` compares, and raises `Mismatch`:

- acceptance: on all texts up to a length, and on random longer ones, Lark, the readings of prefixes (`Prefixes`) and the automaton agree;
- viability: no beginning of an accepted text is refused, the automaton and the readings keep the same texts, and what is kept can be
  completed, by search, unless the grammar is one of those whose notes say that dead ends are possible;
- masks: at random places the mask over a random vocabulary is what the readings take, token by token, and EOS is in it where Lark parses.

The same number is the same grammar everywhere. Does not shrink: the grammars are small.
"""

import random
from dataclasses import dataclass
from typing import ClassVar
from unittest.mock import patch

import lark
from lark.indenter import Indenter

from guided.arrays import DEAD
from guided.automata.pushdown import KEPT
from guided.automata.stacks import Configuration, Stacks
from guided.errors import GrammarError, LimitError
from guided.index import lexeme_masks
from guided.index.lexeme_masks import LexemeMasks
from guided.index.pushdown import PushdownIndex
from guided.lalr.loading import tables_of_object
from guided.lalr.machine import LalrMachine
from guided.lalr.scanner import scanner_of
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.lalr.nasty import POOL, STRINGS
from tests.lalr.prefixes import Prefixes
from tests.lalr.test_prefix import REGEXES, parsed
from tests.masks import bits

__all__ = ["Mismatch", "Sample", "check", "sample"]

LIMITS = Limits(steps=20_000_000, states=20_000)
# All texts so long are read, of letters that the grammar's terminals are made of.
LONGEST, N_LETTERS, N_LONGER = 4, 4, 60
# Alternatives of a line that an Indenter reads; the last of them open what they do not close.
BLOCKS = ("_NL _IN line+ _OUT", "_NL [_IN line+ _OUT]", "_NL _IN (line | _NL)+ _OUT _NL?", "_NL _IN line _OUT NAME _NL")
LINES = ('"(" NAME? ")" _NL', 'NAME "(" [NAME] ")" _NL', '"(" _NL? ")" _NL', "NAME* _NL")
UNBALANCED = ('"(" _NL', 'NAME ")" _NL', "_NL _IN line", '"(" line ")" _NL')
# States of a search for a completion.
MOST_SEARCHED = 1_500
# Of one text.
MOST_REDUCED = 5_000


class Blocks(Indenter):
    """Lines with a column."""

    NL_type, INDENT_type, DEDENT_type = "_NL", "_IN", "_OUT"
    OPEN_PAREN_types: ClassVar = ["LPAR"]
    CLOSE_PAREN_types: ClassVar = ["RPAR"]
    tab_len = 4


class Endless(Exception):
    """Lark reduces rules that derive themselves, for ever."""


class Mismatch(Exception):
    """Two of them disagree."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A random grammar.

    Attributes
    ----------
    text, lexer : str
    letters : str
        Characters to make texts of.
    is_indented : bool
        Is it read with an Indenter?
    """

    text: str
    lexer: str
    letters: str
    is_indented: bool

    def parser(self) -> lark.Lark:
        """Lark's parser, if Lark takes it."""
        return lark.Lark(self.text, parser="lalr", lexer=self.lexer, postlex=Blocks() if self.is_indented else None)


def sample(number: int) -> Sample:
    """The grammar of a number."""
    choice = random.Random(number)
    if choice.randrange(8) == 0:
        return Sample(_indented(choice), "contextual", "a\n (" if choice.random() < 0.5 else "a\n )", True)
    nasty = choice.random() < 0.5
    pool = [regex for regex in POOL if "é" not in regex or choice.random() < 0.3] if nasty else list(REGEXES)
    strings = [string for string in STRINGS if "\n" not in string] if nasty else ["a", "ab", "abc", "c", "ba"]
    names = [f"{choice.choice('ABCDE')}{number}" for number in range(choice.randint(1, 4))]
    lines = [f"{name}{_priority(choice)}: /{_one_line(choice.choice(pool))}/" for name in names]
    for name in names:
        if choice.random() < 0.15:
            lines.append(f"S{name}: {name} {_quoted(choice.choice(strings))}")
    symbols = [line.split(":")[0].split(".")[0] for line in lines]
    symbols += [_quoted(choice.choice(strings), choice.choice(["", "", "i"])) for _ in range(choice.randint(0, 3))]
    ignored = ["%ignore " + choice.choice([names[0], "/ /", '/[c"]/', "/b+/"])] if choice.random() < 0.6 else []
    rules = ["start", *choice.sample(["x", "?y", "_z", "w.2"], choice.randint(0, 3))]
    called = [rule.strip("?").split(".")[0] for rule in rules[1:]]
    if choice.random() < 0.15:
        rules.append("t{p}")
        called.append(f"t{{{choice.choice(symbols)}}}")
    made = [_rule(choice, rule, symbols + ["p"] * (rule == "t{p}"), called) for rule in rules]
    alphabet = 'ab"\né' if nasty else "abc "
    letters = "".join(choice.sample(alphabet, min(N_LETTERS, len(alphabet))))
    text = "\n".join([*made, *dict.fromkeys(lines), *ignored])
    return Sample(text, choice.choice(["contextual", "contextual", "basic"]), letters, False)


def _rule(choice: random.Random, name: str, terminals: list[str], rules: list[str]) -> str:
    alternatives = [_sequence(choice, terminals, rules, 2) for _ in range(choice.choice([1, 1, 2, 2, 3]))]
    # Why first a terminal: most rules should have a text.
    if rules:
        alternatives.append(choice.choice(terminals))
    return f"{name}: {' | '.join(dict.fromkeys(alternatives))}"


def _sequence(choice: random.Random, terminals: list[str], rules: list[str], depth: int) -> str:
    return " ".join(_item(choice, terminals, rules, depth) for _ in range(choice.choice([1, 1, 2, 2, 3])))


def _item(choice: random.Random, terminals: list[str], rules: list[str], depth: int) -> str:
    kind = choice.random()
    if kind < 0.72 or not depth:
        return choice.choice([*terminals, *terminals, *rules])
    inner = _sequence(choice, terminals, rules, depth - 1)
    if kind < 0.78:
        inner += f" | {_sequence(choice, terminals, rules, depth - 1)}"
    if kind < 0.82:
        return f"[{inner}]"
    return f"({inner}){choice.choice(['?', '*', '+', '', '~1..2'])}"


def _indented(choice: random.Random) -> str:
    """Lines and blocks; of their alternatives some open what they do not close."""
    block = choice.choice(BLOCKS)
    others = LINES if choice.random() < 0.7 else [*LINES, *UNBALANCED]
    lines = [choice.choice(["NAME _NL", "NAME? _NL", '"b"+ _NL']), f"NAME {block}"]
    lines += choice.sample(others, choice.randint(0, 2))
    newline = choice.choice(["(\\r?\\n[ \\t]*)+", "(\\r?\\n[ \\t]*(#[^\\n]*)?)+", "\\n[ \\t]*", "(\\n *)+"])
    return "\n".join(
        [
            f"start: {choice.choice(['(line | _NL)*', 'line+', '_NL? line*'])}",
            f"line: {' | '.join(lines)}",
            f"NAME: /{choice.choice(['[ab]+', 'a|ab', 'a+?', '[a-z]'])}/",
            f"_NL: /{newline}/",
            'LPAR: "("\nRPAR: ")"',
            "%declare _IN _OUT",
            choice.choice(['%ignore " "', "%ignore / +/", ""]),
        ]
    )


def _priority(choice: random.Random) -> str:
    return choice.choice(["", "", "", "", ".2", ".-1"])


def _quoted(text: str, flags: str = "") -> str:
    escaped = text.replace('"', '\\"')
    return f'"{escaped}"{flags}'


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n").replace("/", "\\/")


@dataclass(slots=True)
class Engines:
    """A grammar as Lark's parser, as readings of prefixes, and as the automaton."""

    made: Sample
    parser: lark.Lark
    prefixes: Prefixes
    machine: LalrMachine
    stacks: Stacks
    # Is what is kept exactly what can be completed?
    is_exact: bool

    @classmethod
    def of(cls, made: Sample) -> "Engines":
        parser = made.parser()
        _count_reductions(parser)
        tables = tables_of_object(parser, LIMITS)
        scanner = scanner_of(tables.lexer, LIMITS)
        prefixes = Prefixes(tables, scanner, tables.starts[0].name, LIMITS)
        machine = LalrMachine(tables, scanner, tables.starts[0], LIMITS, b"\x01" * 256)
        is_exact = not prefixes.dead_ends.doubts
        return cls(made, parser, prefixes, machine, Stacks(machine), is_exact)

    @property
    def begin(self) -> Configuration | None:
        return None if self.machine.is_empty else (self.machine.start, 0, *KEPT)

    def fail(self, why: str, text: str) -> None:
        raise Mismatch(f"{why} at {text!r}; {self.made.lexer}{', indented' * self.made.is_indented}\n{self.made.text}")


def check(number: int) -> str:
    """Compare what is made of the grammar of a number.

    Returns
    -------
    str
        ``"exact"``; ``"in doubt"``: dead ends are possible, and it says so; or why nothing is compared.

    Raises
    ------
    Mismatch
    """
    return check_sample(sample(number), number)


def check_sample(made: Sample, number: int) -> str:
    """Compare what is made of a grammar; ``number`` draws texts and tokens."""
    try:
        made.parser()
    except (lark.exceptions.LarkError, AttributeError):
        return "refused by Lark"
    try:
        engines = Engines.of(made)
        choice = random.Random(number)
        _check_texts(engines, choice)
        _check_masks(engines, choice)
    except LimitError:
        return "over a limit"
    except GrammarError:
        return "refused"
    except Endless:
        return "endless in Lark"
    return "exact" if engines.is_exact else "in doubt"


def _count_reductions(parser: lark.Lark) -> None:
    """Have Lark's parser raise `Endless` after more reductions than a short text can have; it makes no trees then, which is faster."""

    def count(children: object) -> None:
        nonlocal n_reduced
        n_reduced += 1
        if n_reduced > MOST_REDUCED:
            raise Endless

    def parse(*arguments: object, **options: object) -> object:
        nonlocal n_reduced
        n_reduced = 0
        return begin(*arguments, **options)

    n_reduced = 0
    core = parser.parser.parser.parser
    core.callbacks = dict.fromkeys(core.callbacks, count)
    begin, parser.parser.parse = parser.parser.parse, parse


def _check_texts(engines: Engines, choice: random.Random) -> None:
    """All short texts, and some longer ones."""
    letters = [letter.encode() for letter in engines.made.letters]
    known: dict[str, tuple[int, Configuration | None]] = {"": (engines.prefixes.initial, engines.begin)}
    work = [""]
    for text in work:
        state, _ = known[text]
        _check_text(engines, text, *known[text])
        if len(text) < LONGEST:
            work += _longer(engines, text, known, letters)
        elif state != DEAD and len(work) < 10_000:
            # Beyond that length, only what goes on; at random.
            following = _longer(engines, text, known, letters)
            if choice.random() < N_LONGER / 256 and len(text) < 3 * LONGEST:
                work += following
    # Where dead ends are possible, the automaton and the readings may keep different ones, but each keeps what Lark parses.
    alive = {text for text, (state, place) in known.items() if state != DEAD and place is not None}
    for text, (state, _) in known.items():
        if engines.prefixes.is_accepting(state) and not all(text[:i] in alive for i in range(len(text))):
            engines.fail("the beginning of a text is refused", text)
    if engines.is_exact:
        _check_completions(engines, {state for text in alive if len(text) <= LONGEST for state in [known[text][0]]})


def _longer(
    engines: Engines, text: str, known: dict[str, tuple[int, Configuration | None]], letters: list[bytes]
) -> list[str]:
    state, place = known[text]
    for letter in letters:
        after = None if place is None else engines.stacks.read(place, letter)
        known[text + letter.decode()] = engines.prefixes.read(state, letter), after
    return [text + letter.decode() for letter in letters]


def _check_text(engines: Engines, text: str, state: int, place: Configuration | None) -> None:
    expected = parsed(engines.parser, text)
    if engines.prefixes.is_accepting(state) != expected:
        engines.fail(f"Lark says {expected}, the readings do not", text)
    if (place is not None and engines.stacks.is_end(place)) != expected:
        engines.fail(f"Lark says {expected}, the automaton does not", text)
    if engines.is_exact and (place is not None) != (state != DEAD):
        engines.fail(f"the readings keep {'less' if state == DEAD else 'more'} than the automaton", text)


def _check_completions(engines: Engines, states: set[int]) -> None:
    """What is kept reaches a text: what a search goes through to its end without one is a mismatch."""
    prefixes = engines.prefixes
    text = engines.made.text
    letters = bytes(sorted({*(text + text.upper() + text.lower() + " \n").encode()}))
    good: set[int] = set()
    for first in sorted(states):
        came, work = {first: first}, [first]
        for state in work:
            if state in good or prefixes.is_accepting(state):
                while state not in good:
                    good.add(state)
                    state = came[state]
                break
            for byte in letters:
                after = prefixes.step(state, byte)
                if after != DEAD and after not in came:
                    came[after] = state
                    work.append(after)
            if len(came) > MOST_SEARCHED:
                break
        else:
            engines.fail("what is kept leads nowhere", str(prefixes.hypotheses(first)))


def _check_masks(engines: Engines, choice: random.Random) -> None:
    """Along random walks over a random vocabulary; half of them with plans made of each other, as those of many tokens are."""
    if engines.machine.is_empty:
        return
    with patch.object(lexeme_masks, "_DENSE", choice.choice([0, lexeme_masks._DENSE])):
        _check_walks(engines, choice)


def _check_walks(engines: Engines, choice: random.Random) -> None:
    letters = engines.made.letters + 'abc é"'
    longer = {"".join(choice.choices(letters, k=choice.randint(2, 5))).encode() for _ in range(40)}
    longer |= {bytes([byte]) for byte in "".join(letters).encode()} | {b"\xa9a", b"b\xc3"}
    tokens = sorted(longer)
    eos = len(tokens)
    vocabulary = Vocabulary([*tokens, None], eos=[eos])
    index = PushdownIndex(engines.machine, vocabulary, LIMITS, masks=LexemeMasks)
    prefixes = engines.prefixes
    for _ in range(4):
        state, reading, text = 0, prefixes.initial, b""
        for _ in range(choice.randint(2, 8)):
            found = bits(index.mask(state))
            after = {token: prefixes.read(reading, data) for token, data in enumerate(tokens)}
            place = index.configuration(state)
            expected = [
                token
                for token, data in enumerate(tokens)
                if (after[token] != DEAD if engines.is_exact else index.stacks.read(place, data) is not None)
            ]
            if found != expected + [eos] * prefixes.is_accepting(reading):
                more, less = {*found} - {*expected, eos}, {*expected} - {*found}
                engines.fail(f"the mask has {_spelled(tokens, more)}, and lacks {_spelled(tokens, less)}", repr(text))
            if not expected:
                break
            token = choice.choice(expected)
            state, reading, text = index.next(state, token), after[token], text + tokens[token]


def _spelled(tokens: list[bytes], chosen: set[int]) -> list[bytes]:
    return [tokens[token] for token in sorted(chosen)]
