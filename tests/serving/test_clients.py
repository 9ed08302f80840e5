"""The recipe with clients on top of the openai package: each gets what the schema says from a real server."""

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import guided
from benchmarks.serving_server import MODEL, Server

EXAMPLES = Path(guided.__file__).resolve().parent.parent / "docs" / "examples"


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    for name in ("openai", "pydantic_ai", "langchain_openai"):
        pytest.importorskip(name, reason="pip install 'pydantic-ai-slim[openai]' langchain-openai")
    spec = importlib.util.spec_from_file_location("served_clients", EXAMPLES / "served_clients.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_openai(server: Server, recipe: ModuleType) -> None:
    person, label = recipe.with_openai(f"{server.url}/v1", MODEL, recipe.QUESTIONS[0])
    assert isinstance(person, recipe.Person)
    assert label in ("adult", "child")


def test_pydantic_ai(server: Server, recipe: ModuleType) -> None:
    person = asyncio.run(recipe.with_pydantic_ai(f"{server.url}/v1", MODEL, recipe.QUESTIONS[0]))
    assert isinstance(person, recipe.Person)


def test_langchain(server: Server, recipe: ModuleType) -> None:
    person, results = recipe.with_langchain(f"{server.url}/v1", MODEL, recipe.QUESTIONS[0])
    assert isinstance(person, recipe.Person)
    assert results, "the model must call a tool"
    assert {result.partition(":")[0] for result in results} <= {"get_weather", "find_train"}


def test_the_program(server: Server, recipe: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    recipe.main(f"{server.url}/v1", MODEL, recipe.QUESTIONS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == recipe.QUESTIONS[0]
    assert [line.split()[0] for line in lines[1:]] == ["openai", "pydantic-ai", "langchain"]
