"""The examples in ``docs/examples`` run: with a model that says what it is told to, and with the default model."""

import csv
import importlib.util
import io
import json
import urllib.request
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import guided
from guided.generate.function_model import FunctionModel
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import default_model

EXAMPLES = Path(guided.__file__).resolve().parent.parent / "docs" / "examples"
# tests/serving/test_clients.py runs the recipe that needs a server.
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "served_clients")


def example(name: str) -> ModuleType:
    """The example as a module, anew."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Answering(FunctionModel):
    """Answers each question as it is told to, byte by byte, and ends then."""

    def __init__(self, answers: dict[str, str], begun: str = "A:") -> None:
        vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
        super().__init__(self._logits, vocabulary, lambda text: list(text.encode()))
        self.answers = {f"{question}\n{begun}".encode(): answer.encode() for question, answer in answers.items()}

    def _logits(self, tokens: list[int]) -> np.ndarray:
        context = bytes(tokens)
        found = [(context.rfind(question), question) for question in self.answers]
        place, question = max(found)
        said, answer = context[place + len(question) :], self.answers[question]
        logits = np.zeros(257)
        logits[256] = 1
        if answer.startswith(said) and said != answer:
            logits[answer[len(said)]] = 9
        return logits


def test_the_calculator_evaluates_the_models_expression(capsys: pytest.CaptureFixture[str]) -> None:
    module = example("calculator")
    try:
        1.0 / 0.0  # noqa: B018 - Python 3.14 words the error in another way
    except ZeroDivisionError as error:
        reason = str(error)
    model = Answering(
        {
            "Add 1, 2 and 4.": " <T>add(1, 2, 4)=7 is the answer.",
            "What is 1 divided by 0?": f" <T>divide(1, 0)=error: ZeroDivisionError: {reason}",
        }
    )
    module.main(model, ["Add 1, 2 and 4.", "What is 1 divided by 0?"])
    assert capsys.readouterr().out.splitlines() == [
        "Add 1, 2 and 4.",
        "    add {'numbers': [1.0, 2.0, 4.0]} -> 7",
        "    <T>add(1, 2, 4)=7 is the answer.",
        "What is 1 divided by 0?",
        f"    divide {{'first': 1.0, 'second': 0.0}} -> {reason}",
        f"    <T>divide(1, 0)=error: ZeroDivisionError: {reason}",
    ]


@pytest.mark.slow
def test_the_assistant_asks_before_it_writes(capsys: pytest.CaptureFixture[str]) -> None:
    module = example("assistant")
    call = '<T>add_event(day="today", time="20:15", title="chess") ='
    said = {"yes": "added", "no": "error: CallRefused: no"}
    for answer, result in said.items():
        model = Answering({"Chess at 20:15!": f" {call} {result}\nOk."})
        module.main(model, ["Chess at 20:15!"], confirm=lambda _call, answer=answer: answer == "yes" or answer)
        assert capsys.readouterr().out == f"Chess at 20:15!\n \n    {call}\n    {result}\nOk.\n\n"
    assert module.CALENDAR["today"] == ["09:00 dentist", "20:15 chess"]
    model = Answering({"Rain?": ' <T>get_weather(city="Berlin", day="tomorrow") = sunny, 21 C\nNo.'})
    module.main(model, ["Rain?"])
    assert capsys.readouterr().out.endswith("    sunny, 21 C\nNo.\n\n")


def test_the_rest_client_sends_the_models_calls(capsys: pytest.CaptureFixture[str]) -> None:
    module = example("rest_client")
    texts = {
        "Melville?": ' <T>find_books(author="Herman Melville", limit=9) = ["Moby-Dick", "Typee"]\nTwo.',
        "Emma?": ' <T>get_stock(title="Emma") = {"copies": 3}\nThree.',
        "Order!": ' <T>order_book(body={"title": "Emma", "copies": 2}) = {"ordered": 2}\nDone.',
    }
    module.main(Answering(texts), list(texts), module.serve())
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines if line.startswith("    <T>")] == [
        text.split("\n")[0].strip() for text in texts.values()
    ]
    assert [line.strip() for line in lines if line.strip() in ("Two.", "Three.", "Done.")] == [
        "Two.",
        "Three.",
        "Done.",
    ]
    with urllib.request.urlopen(module.serve() + "/books?author=Nobody", timeout=60) as answer:
        assert answer.read() == b"[]"


def test_the_agent_thinks_acts_and_observes_until_it_answers(capsys: pytest.CaptureFixture[str]) -> None:
    said = """ the Action is to look.
Action: find_country
Action Input: {"building": "tower of Pisa"}
Observation: Italy
Thought: and I know.
Action: finish
Action Input: {"answer": "Italy"}"""
    module = example("react_agent")
    module.main(Answering({"Where is it?": said}, "Thought:"), ["Where is it?"])
    assert capsys.readouterr().out == f"Question: Where is it?\nThought:{said}\nAnswer: Italy\n\n"
    module.main(
        Answering({"What?": ' I do not know.\nAction: find_year\nAction Input: {"building": "x"}'}, "Thought:"),
        ["What?"],
    )
    printed = capsys.readouterr().out
    assert "Observation: error: KeyError: 'x'\nThought:" in printed
    assert printed.endswith("\nAnswer: \n\n")


@pytest.mark.model
@pytest.mark.parametrize("name", NAMES)
def test_with_the_default_model(name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "mcp_tools":
        pytest.importorskip("mcp.server", reason="pip install mcp")
    module = example(name)
    monkeypatch.setattr("builtins.input", lambda _: "y")
    address = (module.serve(),) if hasattr(module, "serve") else ()
    module.main(default_model(), module.QUESTIONS[:1], *address)
    assert module.QUESTIONS[0] in capfd.readouterr().out


def test_every_example_has_a_test() -> None:
    named = ["assistant", "calculator", "react_agent", "rest_client", "sql_database"]
    assert sorted([*named, "batch_csv", "classification", "extraction", "mcp_tools", "reasoning"]) == NAMES


def test_an_order_is_shown_part_by_part(capsys: pytest.CaptureFixture[str]) -> None:
    module = example("extraction")
    order = (
        '{"customer": {"name": "Ada", "city": "Lyon", "country": "France"}, '
        '"items": [{"product": "lamp", "quantity": 2, "price": 30.5}]}'
    )
    module.main(Answering({"Letter: Two lamps.": order}, "The order in JSON:\n"), ["Two lamps."])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Two lamps."
    assert lines[1:4] == ["    /customer/name: 'Ada'", "    /customer/city: 'Lyon'", "    /customer/country: 'France'"]
    assert lines[-1] == "  1 items for Ada, 61.0 euros in all"


def test_unclear_texts_are_found_by_their_probabilities(capsys: pytest.CaptureFixture[str]) -> None:
    module = example("classification")
    module.main(Answering({"Review: Good.": " positive"}, "Sentiment:"), ["Good."])
    name, probability = capsys.readouterr().out.splitlines()[1].split()
    assert name == "positive"
    assert float(probability.rstrip("%")) > 90
    module.UNCLEAR = 1.1
    module.main(Answering({"Review: Good.": " positive"}, "Sentiment:"), ["Good."])
    assert capsys.readouterr().out.endswith("  unclear: ask a person\n")


def test_reasoning_precedes_json(capsys: pytest.CaptureFixture[str]) -> None:
    module = example("reasoning")
    said = 'It is Rome.</think>{"name": "Rome", "continent": "Europe"}'
    module.main(Answering({"Question: Which?": said}, "<think>"), ["Which?"])
    assert capsys.readouterr().out.splitlines() == [
        "Which?",
        "    'It is Rome.'",
        "    City(name='Rome', continent='Europe')",
    ]


def test_a_table_is_extended_row_by_row() -> None:
    module = example("batch_csv")
    asked = {
        f"Message: text {number}": f'{{"product": "p{number}", "topic": "other", "is_urgent": true}}'
        for number in range(11)
    }
    model = Answering(asked, "Product, topic and urgency as JSON:")
    output = io.StringIO()
    module.main(model, [f"text {number}" for number in range(11)], output)
    rows = list(csv.DictReader(io.StringIO(output.getvalue())))
    assert [row["product"] for row in rows] == [f"p{number}" for number in range(11)]
    assert rows[0] == {"text": "text 0", "product": "p0", "topic": "other", "is_urgent": "True"}


def test_tools_of_an_mcp_server_are_called(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcp.server", reason="pip install mcp")
    module = example("mcp_tools")
    said = '{"name": "reserve_book", "arguments": {"title": "Emma", "days": 3}}'
    module.main(Answering({"Q: Emma!": said}, "A: <tool_call>\n"), ["Emma!"])
    assert capfd.readouterr().out.splitlines() == [
        "Emma!",
        "    reserve_book {'title': 'Emma', 'days': 3} -> Emma is reserved for 3 days",
    ]


@pytest.mark.model
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "first_steps.ipynb").read_text(encoding="utf-8"))
    monkeypatch.setattr(guided, "load", default_model)
    namespace: dict[str, object] = {"__name__": "__main__"}
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert not any(cell.get("outputs") for cell in notebook["cells"])
    for source in code:
        exec(source, namespace)
    assert (tmp_path / "number.html").is_file()


def test_sql_names_only_tables_and_columns_of_the_database(capsys: pytest.CaptureFixture[str]) -> None:
    module = example("sql_database")
    database = module.books()
    database.execute('CREATE TABLE \'odd name\' ("the ""key""" TEXT)')
    tables, columns = module.names(database)
    assert tables == ["books", '"odd name"']
    assert columns == ["title", "author", "year", "pages", '"the ""key"""']
    model = Answering({"Question: How old is Emma?": "SELECT year FROM books WHERE title = 'Emma';"}, begun="SQL:")
    module.main(model, ["How old is Emma?"], database)
    assert capsys.readouterr().out.splitlines() == [
        "How old is Emma?",
        "  SELECT year FROM books WHERE title = 'Emma';",
        "   1815",
    ]
    index = guided.compile(module.spec_of(database), model.vocabulary)
    assert index.accepts('SELECT "the ""key""" FROM "odd name" LIMIT 3;')
    assert not index.accepts("SELECT year FROM authors;")
    assert not index.accepts("SELECT name FROM books;")
    database.close()
