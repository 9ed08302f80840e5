"""RestBench (of RestGPT): requests that a path of REST operations answers, TMDB (100 requests, 54 operations) and Spotify (57, 40).

Gold paths are stripped of stray blanks; a request whose path has an operation that the document does not have is left out, and said.
Operations have four sets of names:

===========  =================================================================================
paths        ``GET_movie_movie_id_credits``: method and path
summaries    ``Get_Credits``: what the document calls it, with a number where two are alike
objects      ``movie_credits``: the path's own words, parameters left out, the object first
letters      eight random letters
===========  =================================================================================
"""

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["METHODS", "NAME_SETS", "Api", "Operation", "api"]

METHODS = ("get", "post", "put", "delete", "patch")
NAME_SETS = ("paths", "summaries", "objects", "letters")
_PARAMETER = re.compile(r"\{\w+\}")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes
    ----------
    key : str
        ``"GET /movie/{movie_id}/credits"``.
    summary, text : str
        What the document says of it; ``text`` is the first line of its description.
    """

    key: str
    summary: str
    text: str


@dataclass(frozen=True, slots=True)
class Api:
    """An API with its requests.

    Attributes
    ----------
    operations : tuple of Operation
    requests : tuple of (str, tuple of str)
        What is asked, and the keys of its path.
    left_out : int
        Requests whose path the document does not have.
    """

    operations: tuple[Operation, ...]
    requests: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: int

    def names(self, name_set: str, seed: int = 0) -> dict[str, str]:
        """Key of an operation -> its name in a set."""
        letters = random.Random(seed)
        found: dict[str, str] = {}
        for operation in self.operations:
            name = _named(operation, name_set, letters)
            taken = set(found.values())
            number = 2
            while name in taken:
                name = f"{name.rstrip('0123456789').rstrip('_')}_{number}"
                number += 1
            found[operation.key] = name
        return found


def api(folder: Path | None, name: str) -> Api:
    """TMDB ("tmdb") or Spotify ("spotify"); a small one of our own without the data."""
    operations, asked = _own() if folder is None else _read(folder, name)
    known = {operation.key for operation in operations}
    requests = tuple(item for item in asked if set(item[1]) <= known)
    return Api(operations, requests, len(asked) - len(requests))


def _named(operation: Operation, name_set: str, letters: random.Random) -> str:
    method, _, path = operation.key.partition(" ")
    if name_set == "letters":
        return "".join(letters.choice("bcdfghjklmnpqrstvwxz") for _ in range(8))
    if name_set == "summaries":
        return re.sub(r"\W+", "_", operation.summary).strip("_")
    if name_set == "objects":
        words = [word for word in _PARAMETER.sub("", path).split("/") if word]
        return "_".join(words + ([] if method == "GET" else [method.lower()]))
    return re.sub(r"\W+", "_", operation.key).strip("_")


def _read(folder: Path, name: str) -> tuple[tuple[Operation, ...], list[tuple[str, tuple[str, ...]]]]:
    paths = json.loads((folder / f"{name}_oas.json").read_text(encoding="utf-8"))["paths"]
    operations = tuple(
        Operation(f"{method.upper()} {path}", item["summary"].strip(), _first_line(item))
        for path, methods in paths.items()
        for method, item in methods.items()
        if method in METHODS
    )
    asked: list[Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return operations, [(item["query"].strip(), tuple(step.strip() for step in item["solution"])) for item in asked]


def _first_line(item: dict[str, Any]) -> str:
    text = (item.get("description") or item["summary"]).strip()
    return " ".join(text.splitlines()[0].split())


def _own() -> tuple[tuple[Operation, ...], list[tuple[str, tuple[str, ...]]]]:
    """A library's API, and requests by template."""
    things = ("book", "author", "shelf", "reader")
    operations = []
    for thing in things:
        operations += [
            Operation(f"GET /search/{thing}", f"Search {thing.title()}", f"Search for a {thing}."),
            Operation(f"GET /{thing}/{{id}}", "Get Details", f"Get the details of a {thing}."),
            Operation(f"GET /{thing}/{{id}}/reviews", "Get Reviews", f"Get the reviews of a {thing}."),
            Operation(f"GET /{thing}/popular", "Get Popular", f"Get the popular ones of each {thing}."),
        ]
    asked = [
        (text.format(thing, number), (first.format(thing), second.format(thing)))
        for thing in things
        for number, (text, first, second) in enumerate((
            ("What do people say about the {0} called Number {1}?", "GET /search/{0}", "GET /{0}/{{id}}/reviews"),
            ("Tell me more about the {0} called Number {1}.", "GET /search/{0}", "GET /{0}/{{id}}"),
            ("What are the reviews of the most popular {0}?", "GET /{0}/popular", "GET /{0}/{{id}}/reviews"),
        ))
    ]  # fmt: skip
    return tuple(operations), asked
