"""Structured outputs of a vLLM server through three clients: openai, pydantic-ai and LangChain.

    vllm serve MODEL --structured-outputs-config '{"backend": "guided"}' --enable-auto-tool-choice --tool-call-parser hermes
    pip install 'pydantic-ai-slim[openai]' langchain-openai
    python docs/examples/served_clients.py http://localhost:8000/v1 MODEL "Tom, 41, is from Lyon."

Any client of the OpenAI API will do: the server enforces the schema, so an answer that ends (finish reason "stop") always validates and
no client ever needs to ask again. Tools must be strict, since vLLM leaves the arguments of other tools free.
"""

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import openai
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

QUESTIONS = ["Tom, 41, is from Lyon."]
ASK = "Give the person as JSON."


class Person(BaseModel):
    """Someone in the text."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(max_length=20)]
    age: Annotated[int, Field(ge=0, le=120)]
    city: Literal["London", "Lyon", "Rome"]


def get_weather(city: Literal["London", "Lyon", "Rome"], day: Literal["today", "tomorrow"]) -> str:
    """Weather of a city."""
    return f"{day} in {city}: sunny"


def find_train(start: Literal["London", "Lyon", "Rome"], end: Literal["London", "Lyon", "Rome"]) -> str:
    """Next train between two cities."""
    return f"{start} to {end}: 9:30"


def with_openai(url: str, model: str, text: str) -> tuple[Person, str]:
    """A person by the schema of the class, and a label of a list, which the API has no field for."""
    with openai.OpenAI(base_url=url, api_key="none") as client:
        found = client.chat.completions.parse(
            model=model, messages=[{"role": "user", "content": f"{text}\n{ASK}"}], response_format=Person, max_tokens=80
        )
        labels = {"structured_outputs": {"choice": ["adult", "child"]}}
        label = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": f"{text}\nAdult or child?"}], extra_body=labels
        )
    return found.choices[0].message.parsed, label.choices[0].message.content


async def with_pydantic_ai(url: str, model: str, text: str) -> Person:
    """A person by an agent. NativeOutput: by response_format, not by a call of a tool."""
    async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
        chat = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client))
        agent = Agent(chat, output_type=NativeOutput(Person, strict=True), model_settings={"max_tokens": 80})
        person: Person = (await agent.run(f"{text}\n{ASK}")).output
        return person


def with_langchain(url: str, model: str, text: str) -> tuple[Person, list[str]]:
    """A person, and the results of one of two tools, which the model must call."""
    chat = ChatOpenAI(model=model, base_url=url, api_key="none", max_completion_tokens=80)
    person = chat.with_structured_output(Person, method="json_schema").invoke(f"{text}\n{ASK}")
    tools = {tool.__name__: tool for tool in (get_weather, find_train)}
    answer = chat.bind_tools(list(tools.values()), tool_choice="required", strict=True).invoke(f"{text} Weather there?")
    return person, [f"{call['name']}: {tools[call['name']](**call['args'])}" for call in answer.tool_calls]


def main(url: str, model: str, texts: Sequence[str]) -> None:
    """Print what each client gets for each text."""
    for text in texts:
        print(text)
        print("    openai", *with_openai(url, model, text), sep=" | ")
        print("    pydantic-ai", asyncio.run(with_pydantic_ai(url, model, text)), sep=" | ")
        person, results = with_langchain(url, model, text)
        print("    langchain", person, *results, sep=" | ")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("Give the server's address and the name of its model: http://localhost:8000/v1 MODEL [TEXT ...]")
    main(sys.argv[1], sys.argv[2], sys.argv[3:] or QUESTIONS)
