"""What the option ``whitespace`` costs in tokens and right answers: ``python -m benchmarks.whitespace --funcqa DIR``.

The default model answers greedily. *FuncQA*: questions of one call (`benchmarks.tooldec.funcqa`), answered as JSON with a tool and a list
of numbers; right is the call of the data set. *Letters*: orders by template and seed, as in docs/examples/extraction.py; right is an order
of which every field is. *Parts*: the tool and the numbers of a call, the fields and the items of an order. Each is asked in two ways: after
examples written by `json.dumps`, and as a message of a chat that shows no JSON, where a model writes whatever blanks it likes.

The table is that of benchmarks/record/whitespace.md. *Blanks*: the share of tokens that consist of nothing but whitespace. *Cut*: texts
that ``max_tokens`` steered.
"""

import argparse
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

import guided
from benchmarks.machine import processor
from benchmarks.tooldec.arithmetic import TOOLS
from benchmarks.tooldec.funcqa import one_call

LAYOUTS: tuple[Any, ...] = ("flexible", 4, 1, (", ", ": "), "compact", "pretty(2)")


class Call(BaseModel):
    """A tool and its arguments."""

    tool: Literal[tuple(TOOLS)]  # type: ignore[valid-type]
    arguments: Annotated[list[float], Field(min_length=1, max_length=4)]


class Item(BaseModel):
    """A line of an order."""

    product: Annotated[str, Field(max_length=40)]
    quantity: Annotated[int, Field(ge=1, le=1000)]
    price: Annotated[float, Field(ge=0, le=9999, multiple_of=0.01)]


class Order(BaseModel):
    """What is bought, and by whom."""

    name: Annotated[str, Field(max_length=40)]
    city: Annotated[str, Field(max_length=40)]
    country: Literal["France", "Germany", "United Kingdom"]
    items: Annotated[list[Item], Field(min_length=1, max_length=3)]


@dataclass(frozen=True, slots=True)
class Task:
    """Prompts in two ways, the type of the answers, and the parts of the answer to each, as a function of a value gives them."""

    kind: Any
    with_examples: Sequence[str]
    asked: Sequence[list[dict[str, str]]]
    parts: Callable[[Any], Sequence[Any]]
    wanted: Sequence[Sequence[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--funcqa", type=Path, help="folder of FuncQA's files; without it, questions of our own")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--letters", type=int, default=30)
    parser.add_argument("--max-tokens", type=int, default=120)
    arguments = parser.parse_args()
    model = guided.load()
    tasks = {"letters": letters(arguments.letters), "FuncQA": calls(arguments.funcqa, arguments.questions)}
    print(f"{processor()}; the default model, greedy, `max_tokens={arguments.max_tokens}`.\n")
    print(
        "| task | asked | `whitespace` | right | parts right | tokens | blanks | cut |\n|---|---|---|---|---|---|---|---|"
    )
    for name, task in tasks.items():
        for way, prompts in (("with examples", task.with_examples), ("in a chat", task.asked)):
            for layout in LAYOUTS:
                generate = guided.json(model, task.kind, whitespace=layout)
                results = generate.batch(prompts, max_tokens=arguments.max_tokens)
                print(f"| {name} | {way} | `{layout!r}` | {row(model, task, results)} |", flush=True)


def row(model: guided.LanguageModel, task: Task, results: Sequence[guided.Result[Any]]) -> str:
    """The cells of one layout."""
    found = [[] if one.error is not None else task.parts(one.value) for one in results]
    n_right = sum(map(list.__eq__, map(list, found), map(list, task.wanted)))
    n_parts = sum(part in given for given, wanted in zip(found, task.wanted, strict=True) for part in wanted)
    share = n_parts / sum(map(len, task.wanted))
    tokens = [token for one in results for token in one.tokens]
    blanks = sum(not model.vocabulary.tokens[token].strip() for token in tokens if model.vocabulary.tokens[token])
    cut = sum(one.steered is not None for one in results)
    return f"{n_right} of {len(results)} | {share:.0%} | {len(tokens) / len(results):.1f} | {blanks / len(tokens):.0%} | {cut}"


def calls(folder: Path | None, count: int) -> Task:
    """Questions of FuncQA."""
    setting = one_call(folder, seen_only=False)
    problems = [one for one in setting.problems if one.call][:count]
    wanted = [[one.gold, *_numbers(one.call)] for one in problems]
    shown = [
        ("How many pages are 12 books of 230 pages?", {"tool": "multiply", "arguments": [12, 230]}),
        ("What is left of 90 after 17 are taken?", {"tool": "subtract", "arguments": [90, 17]}),
        ("What is the square root of 81?", {"tool": "sqrt", "arguments": [81]}),
        ("In how many ways can 3 of 8 be chosen?", {"tool": "choose", "arguments": [8, 3]}),
    ]
    examples = "".join(f"Question: {question}\nCall: {json.dumps(call)}\n\n" for question, call in shown)
    questions = [one.prompt.rpartition("Question: ")[2].removesuffix("\nTool:") for one in problems]
    names = ", ".join(TOOLS)
    message = f"Which tool answers the question, and with which numbers? Answer in JSON. The tools are {names}.\n\n"
    return Task(
        Call,
        [f"{examples}Question: {question}\nCall: " for question in questions],
        [[{"role": "user", "content": message + question}] for question in questions],
        lambda call: [call.tool, *call.arguments],
        wanted,
    )


def _numbers(call: str) -> list[float]:
    """The numbers of a call."""
    inner = call.partition("(")[2].removesuffix(")").replace("=", "= ")
    return [float(part.rpartition(" ")[2]) for part in inner.split(",") if part.strip()]


def letters(count: int) -> Task:
    """Orders and their letters."""
    chance = random.Random(7)
    orders = [_order(chance) for _ in range(count + 2)]
    examples = "".join(
        f"Letter: {_letter(order)}\nThe order in JSON: {json.dumps(order.model_dump())}\n\n" for order in orders[:2]
    )
    wanted = orders[2:]
    message = "Read the order out of the letter: name, city, country, and items with product, quantity and price. Answer in JSON.\n\n"
    return Task(
        Order,
        [f"{examples}Letter: {_letter(order)}\nThe order in JSON: " for order in wanted],
        [[{"role": "user", "content": message + _letter(order)}] for order in wanted],
        _parts,
        [_parts(order) for order in wanted],
    )


def _parts(order: Order) -> list[Any]:
    return [order.name, order.city, order.country, *order.items]


def _order(chance: random.Random) -> Order:
    city, country = chance.choice([
        ("Lyon", "France"), ("Paris", "France"), ("Berlin", "Germany"), ("Hamburg", "Germany"), ("London", "United Kingdom"),
        ("Leeds", "United Kingdom"),
    ])  # fmt: skip
    names = "Ada Byron", "Jeanne Martin", "Karl Weber", "Mary Shaw", "Paul Durand", "Eva Kramer", "Tom Reed"
    products = chance.sample(["lamp", "chair", "table", "clock", "mirror", "vase", "carpet"], chance.randint(1, 2))
    items = [
        Item(product=product, quantity=chance.randint(2, 20), price=chance.choice([4.5, 12, 30.5, 45, 120, 9.99]))
        for product in products
    ]
    return Order(name=chance.choice(names), city=city, country=country, items=items)


def _letter(order: Order) -> str:
    items = " and ".join(f"{one.quantity} {one.product}s at {one.price:g} euros each" for one in order.items)
    return f"Please send {items} to {order.name} in {order.city}, {order.country}."


if __name__ == "__main__":
    main()
