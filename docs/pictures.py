"""The pictures of the documentation, drawn from real objects: indices, guides, and the default model.

    python docs/pictures.py          # writes docs/pictures/*.svg

Every number in a picture is an answer of an index; `call.svg` also shows what the default model prefers. The pictures follow the reader's
light or dark colors. Equal versions of guided draw equal bytes, which tests/test_site.py checks.
"""

import re
from pathlib import Path
from xml.sax.saxutils import escape

import guided
from guided.automata.drawing import to_svg
from guided.automata.graph import graph_of
from guided.calls.prompts import few_shot
from guided.cli.demo_tools import PLAIN, TOOLS

FOLDER = Path(__file__).resolve().parent / "pictures"
STYLE = (
    "<style>svg{--ink:#1c1e21;--soft:#5f6670;--line:#c6ccd4;--ground:#fff;--good:#0b7a4b;--fill:#d8f1e4;--bad:#b3261e;--tool:#e4edfb;"
    "--mark:#1f4e8c}@media (prefers-color-scheme:dark){svg{--ink:#e6e8eb;--soft:#a4abb5;--line:#454b55;--ground:#1d2026;--good:#63d6a0;"
    "--fill:#1f4a38;--bad:#ff8a80;--tool:#22304a;--mark:#8ab8ff}}text{fill:var(--ink);font-family:ui-monospace,monospace;font-size:13px}"
    ".s{fill:var(--soft);font-size:12px}.g{fill:var(--good)}.b{fill:var(--bad)}.m{fill:var(--mark);font-weight:700}"
    ".ground{fill:var(--ground)}.cell{fill:var(--fill);stroke:var(--line)}.no{fill:none;stroke:var(--line)}.tool{fill:var(--tool)}"
    ".bar{fill:var(--good);opacity:.55}.line{stroke:var(--line)}.h{font-weight:700}.t{font-size:11px}.mid{text-anchor:middle}.end{text-anchor:end}</style>"
)


def document(wide: int, high: int, title: str, shapes: list[str]) -> str:
    """Return an SVG document with a title for screen readers."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img">'
        f"<title>{escape(title)}</title>"
    )
    ground = f'<rect class="ground" width="{wide}" height="{high}" rx="8"/>'
    return "\n".join([head, STYLE, ground, *shapes, "</svg>"]) + "\n"


def text(x: float, y: float, said: str, kind: str = "") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}"{f" class={kind!r}" if kind else ""}>{escape(said)}</text>'.replace("'", '"', 2)


def box(x: float, y: float, wide: float, high: float, kind: str) -> str:
    """Return a rectangle with round corners."""
    return f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="4" class="{kind}"/>'


def visible(data: bytes | None) -> str:
    """Return a token as text, with its blanks visible."""
    return "end" if data is None else data.decode(errors="backslashreplace").replace(" ", "␣").replace("\n", "⏎")


def index_picture() -> str:
    """An automaton, and the index over a small vocabulary: state and token -> state."""
    tokens = [b"-", b"0", b"1", b"12", b".", b".5", b"3.1", b"-7", b"a", b"1a", None]
    vocabulary = guided.Vocabulary(tokens, eos=[len(tokens) - 1])
    pattern = r"-?[1-9][0-9]*(\.[0-9]+)?"
    index = guided.compile(guided.Regex(pattern), vocabulary)
    graph = to_svg(graph_of(index.tables.automaton))
    _, _, wide, high = map(float, re.search(r'viewBox="([^"]+)"', graph)[1].split())
    graph = graph.replace('<svg xmlns="http://www.w3.org/2000/svg"', '<svg x="10" y="34"', 1)
    graph = re.sub(r'<rect [^>]*class="ground"/>', "", graph).strip()
    left, top, column, row = 118, 34 + int(high) + 62, 56, 30
    shapes = [text(20, 26, f"The automaton of  {pattern}", "h"), graph]
    shapes += [text(20, top - 40, "The index: from each state, the allowed tokens and the state after them", "h")]
    shapes += [text(left + column * (t + 0.5), top - 10, visible(vocabulary[t]), "mid") for t in range(len(tokens))]
    for state in range(index.tables.automaton.n_states):
        y = top + row * state
        shapes.append(text(20, y + 20, f"state {state}", "s"))
        for token in range(len(tokens)):
            after = index.next(state, token)
            x = left + column * token
            shapes.append(box(x + 3, y + 2, column - 6, row - 4, "no" if after < 0 else "cell"))
            if after >= 0:
                end = after == index.final
                shapes.append(text(x + column / 2, y + 20, "✓" if end else str(after), "mid g"))
    width = max(left + column * len(tokens) + 20, int(wide) + 30)
    return document(
        width, top + row * index.tables.automaton.n_states + 16, f"Automaton and index of {pattern}", shapes
    )


def stack_picture() -> str:
    """The stack of a JSON Schema while a text is read, token by token, with the number of allowed tokens."""
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        },
        "required": ["city"],
    }
    pieces = ['{"', "city", '":', ' "', "Oslo", '",', ' "', "days", '":', " [", "12", ", ", "3", "]", "}"]
    data = sorted({piece.encode() for piece in pieces} | {bytes([byte]) for byte in range(256)})
    vocabulary = guided.Vocabulary([*data, None], eos=[len(data)])
    index = guided.compile(guided.JsonSchema(schema), vocabulary)
    guide, tables = index.guide(), index.tables
    column, base, cell = 56, 124, 32
    shapes = [text(20, 28, "The stack while JSON is read: a cell for each open value", "h")]
    shapes += [
        text(20, base + 22, "token", "s"),
        text(20, base + 48, "allowed", "s"),
        text(20, base + 66, "before it", "s"),
    ]
    opened: list[str] = []
    for number, piece in enumerate(pieces):
        x = 90 + column * number
        n_allowed = len(index.allowed(guide.state))
        guide.advance(vocabulary.tokens.index(piece.encode()))
        for mark in piece:
            if mark in "{[":
                opened.append("object" if mark == "{" else "array")
            elif mark in "}]":
                opened.pop()
        assert tables.stacks.depth(tables.configuration(guide.state)[1]) == len(opened)
        for level, name in enumerate(opened):
            y = base - cell * (level + 1)
            shapes += [box(x + 2, y, column - 4, cell - 3, "cell"), text(x + column / 2, y + 19, name, "mid t")]
        shapes.append(text(x + column / 2, base + 22, visible(piece.encode()), "mid m"))
        shapes.append(text(x + column / 2, base + 56, f"{n_allowed}", "mid"))
    shapes.append(f'<line x1="86" x2="{90 + column * len(pieces)}" y1="{base + 2}" y2="{base + 2}" class="line"/>')
    assert guide.is_accepting
    return document(90 + column * len(pieces) + 16, base + 84, "The stack of a JSON Schema", shapes)


def call_picture(model: guided.LanguageModel) -> str:
    """A tool call while it is constrained: the token taken, the number of allowed tokens, and the model's favorite."""
    generator = guided.tools(model, TOOLS, format="tooldec")
    question = "Put on a record by Johnny Cash."
    prompt = few_shot(generator.spec, question, PLAIN)
    result = generator(prompt, max_tokens=60, stop="\nQ:")
    (call,) = result.calls
    guide = guided.compile(generator.spec, model.vocabulary).guide()
    session = model.session()
    logits = session.start(model.encode(prompt))
    row, top, chip, bar, alone, total = 29, 92, 40, 190, 440, len(model.vocabulary)
    trigger = result.text.index("<T>") + len("<T>")
    shapes, n_read, y, modes = [], 0, top, 10**6
    for token in result.tokens:
        if n_read >= call.span[1]:
            break
        data = model.vocabulary[token]
        allowed = guide.mask()
        n_allowed = sum(int(word).bit_count() for word in allowed.view("uint32"))
        favorite = int(logits.argmax())
        refused = not allowed[favorite >> 5] >> (favorite & 31) & 1
        if n_read >= trigger:
            modes = min(modes, y)
            shapes.insert(0, f'<rect x="16" y="{y - 19}" width="720" height="{row}" class="tool"/>')
        shapes.append(text(chip, y, visible(data), "m"))
        shapes.append(
            f'<rect x="{bar}" y="{y - 12}" width="{max(2, 130 * n_allowed / total):.1f}" height="14" rx="2" class="bar"/>'
        )
        shapes.append(text(bar + 140, y, f"{n_allowed:,}", "g"))
        shapes.append(text(alone, y, visible(model.vocabulary[favorite]), "b" if refused else ""))
        if refused:
            shapes.append(text(alone + 110, y, "not allowed: masked", "s b"))
        guide.advance(token)
        logits = session.feed([token])
        n_read, y = n_read + len(data), y + row
    shapes.append(text(chip, y, f"{call.result}", "h"))
    shapes.append(text(alone, y, "the result of the Python function", "s"))
    shapes.append(text(724, top, "text mode", "s end"))
    shapes.append(text(724, modes + row, "tool mode", "s end"))
    head = [text(24, 32, f"Q: {question}", "h"), text(24, 64, "token taken", "s")]
    head += [text(bar, 64, f"allowed, of {total:,}", "s"), text(alone, 64, "the model's first choice", "s")]
    return document(752, y + 24, "A tool call while it is constrained", [*shapes, *head])


def pictures(model: guided.LanguageModel | None) -> dict[str, str]:
    """Return each file name and its contents; `call.svg` only with a model."""
    found = {"index.svg": index_picture(), "stack.svg": stack_picture()}
    return found if model is None else {**found, "call.svg": call_picture(model)}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, content in pictures(guided.load()).items():
        (FOLDER / name).write_text(content, encoding="utf-8")
