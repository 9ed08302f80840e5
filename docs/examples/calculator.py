"""A calculator: the model writes the sum, Python works it out, and the model goes on from the result.

    python docs/examples/calculator.py "What is 12 times 7?"

Names and numbers cannot be misspelled, so every call is run. Whether it is the sum that was asked for is up to the model.
"""

import math
import sys
from collections.abc import Callable, Sequence

import guided


def add(*numbers: float) -> str:
    """Add numbers."""
    return f"{sum(numbers):g}"


def subtract(first: float, second: float) -> str:
    """Take the second number from the first."""
    return f"{first - second:g}"


def multiply(*numbers: float) -> str:
    """Multiply numbers."""
    return f"{math.prod(numbers):g}"


def divide(first: float, second: float) -> str:
    """Divide the first number by the second."""
    return f"{first / second:g}"


def example(question: str, function: Callable[..., str], *numbers: float) -> guided.Example:
    """A question with the call that answers it; numbers are given by position, and so is any number of them."""
    call: dict[str, object] = {"numbers": numbers}
    if function not in (add, multiply):
        call = {"first": numbers[0], "second": numbers[1]}
    return guided.Example(question, " is the answer.", call, function(*numbers))


TOOLS = [
    guided.Tool(
        add, examples=[example("What is 30 plus 47?", add, 30, 47), example("Add 3, 4 and 51.", add, 3, 4, 51)]
    ),
    guided.Tool(subtract, examples=[example("What is 205 minus 61?", subtract, 205, 61)]),
    guided.Tool(multiply, examples=[example("What is 18 times 9?", multiply, 18, 9)]),
    guided.Tool(divide, examples=[example("What is 361 divided by 4?", divide, 361, 4)]),
]
QUESTIONS = ["What is 12 times 7?", "What is 250 minus 38?", "What is 144 divided by 0?", "Add 17, 25 and 9."]


def main(model: guided.LanguageModel, questions: Sequence[str]) -> None:
    """Print the answer to each question, with what was worked out."""
    calculator = guided.tools(model, TOOLS, format="tooldec-positional")
    for question in questions:
        result = calculator(calculator.few_shot(question), max_tokens=40, stop="\nQ:")
        print(question)
        for call in result.calls:
            print("   ", call.name, call.arguments, "->", call.error or call.result)
        print("   ", result.text.strip())


if __name__ == "__main__":
    main(guided.load(), sys.argv[1:] or QUESTIONS)
