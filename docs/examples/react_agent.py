"""A ReAct agent: the model thinks, acts, reads what it observes, and thinks again, until it gives its answer.

    python docs/examples/react_agent.py "How old is the bridge of Lucerne?"

Three tools and `finish`, which ends the text. Whatever the model writes, each step ends with a call of one of them, the word Action in a
thought is a word, and the tokens that are left at last are enough to finish. What it thinks, and whether it is right, is its own: the
default model is small, and ages are what it has seen an example of.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import guided

BUILT = {"tower of Pisa": 1372, "bridge of Lucerne": 1365, "castle of Prague": 870}
WHERE = {"tower of Pisa": "Italy", "bridge of Lucerne": "Switzerland", "castle of Prague": "Czechia"}


def find_year(building: str) -> int:
    """The year in which something was built."""
    return BUILT[building]


def find_country(building: str) -> str:
    """The country in which something stands."""
    return WHERE[building]


def subtract(a: int, b: int) -> int:
    """Take b from a."""
    return a - b


def finish(answer: str) -> str:
    """Give the answer."""
    return answer


# ReAct as the package has it, but that the next thought is begun for the model.
REACT = replace(
    guided.Tools([finish], format="react").format,
    name="react with thoughts",
    result="\nObservation: {result}\nThought:",
)
PROMPT = """Question: Where is the tower of Belem?
Thought: I need the country in which the tower of Belem stands.
Action: find_country
Action Input: {{"building": "tower of Belem"}}
Observation: Portugal
Thought: The tower of Belem stands in Portugal.
Action: finish
Action Input: {{"answer": "Portugal"}}

Question: How old is the abbey of Melk? It is the year 2025.
Thought: I need the year in which the abbey of Melk was built.
Action: find_year
Action Input: {{"building": "abbey of Melk"}}
Observation: 1736
Thought: Now I need 2025 minus 1736.
Action: subtract
Action Input: {{"a": 2025, "b": 1736}}
Observation: 289
Thought: The abbey of Melk is 289 years old.
Action: finish
Action Input: {{"answer": "289 years"}}

Question: {question}
Thought:"""
QUESTIONS = [
    "How old is the tower of Pisa? It is the year 2025.",
    "How old is the bridge of Lucerne? It is the year 2024.",
]


def main(model: guided.LanguageModel, questions: Sequence[str]) -> None:
    """Print what the agent thinks, does and observes, and its answer."""
    tools = [find_year, find_country, subtract, finish]
    agent = guided.tools(model, tools, format=REACT, until="finish", timeout=5)
    for question in questions:
        result = agent(PROMPT.format(question=question), max_tokens=250)
        print(f"Question: {question}\nThought:{result.text}")
        print(f"Answer: {result.calls[-1].result}\n")


if __name__ == "__main__":
    main(guided.load(), sys.argv[1:] or QUESTIONS)
