"""Calls the tools of an MCP server, which runs as a process of its own and talks over stdio. Needs the SDK: `pip install mcp`.

    python docs/examples/mcp_tools.py "On which shelf is Emma?"

The server's tool list is all that is known of it: each call names one of its tools, with arguments that fit its JSON Schema, and the server
runs it.
"""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.server import MCPServer

import guided

SHELVES = {"Emma": 3, "Ulysses": 7}
server = MCPServer("library")


@server.tool()
def find_book(title: str) -> str:
    """Find the shelf of a book."""
    return f"shelf {SHELVES[title]}" if title in SHELVES else "not in the library"


@server.tool()
def reserve_book(title: str, days: int) -> str:
    """Reserve a book for some days."""
    return f"{title} is reserved for {days} days"


QUESTIONS = ["On which shelf is Emma?", "Please reserve Ulysses for 14 days."]
SHOTS = """Q: On which shelf is Persuasion?
A: <tool_call>
{"name": "find_book", "arguments": {"title": "Persuasion"}}
</tool_call>

Q: Please reserve Dubliners for 7 days.
A: <tool_call>
{"name": "reserve_book", "arguments": {"title": "Dubliners", "days": 7}}
</tool_call>

"""


async def call(session: ClientSession, name: str, **arguments: Any) -> str:
    """Return the text that the server's tool gives."""
    result = await session.call_tool(name, arguments)
    return " ".join(part.text for part in result.content if part.type == "text")


async def answer(model: guided.LanguageModel, questions: Sequence[str]) -> None:
    """Print the call for each question, and its result."""
    parameters = StdioServerParameters(command=sys.executable, args=[__file__, "--serve"])
    async with stdio_client(parameters, sys.stderr) as streams, ClientSession(*streams) as session:
        await session.initialize()
        found = (await session.list_tools()).tools
        tools = [guided.Tool(tool, run=partial(call, session, tool.name)) for tool in found]
        assistant = guided.tools(model, tools, tool_choice="required", timeout=10)
        for question in questions:
            result = await assistant.generate_async(f"{SHOTS}Q: {question}\nA: <tool_call>\n", max_tokens=100)
            print(question)
            for made in result.calls:
                print(f"    {made.name} {made.arguments} -> {made.result}")


def main(model: guided.LanguageModel, questions: Sequence[str]) -> None:
    """Start the server, answer the questions, and end it."""
    asyncio.run(answer(model, questions))


if __name__ == "__main__":
    if "--serve" in sys.argv:
        server.run("stdio")
    else:
        main(guided.load(), sys.argv[1:] or QUESTIONS)
