"""A client for a REST API: its OpenAPI document says what can be called, and calls are sent over HTTP.

    python docs/examples/rest_client.py "How many copies of Emma are there?"

The document is `bookshop.json`; the server is a small one of its own, on this machine, so the example runs offline. For another API:
another document, another address, and examples for its operations.
"""

import json
import sys
import threading
import urllib.request
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import guided
from guided.calls.sources.rest import Request

DOCUMENT = Path(__file__).with_name("bookshop.json")
# Operation -> a question, the answer, the arguments of the call that answers it, and its result.
EXAMPLES = {
    "get_stock": guided.Example(
        "How many copies of Dracula are there?", "There are 2 copies.", {"title": "Dracula"}, {"copies": 2}
    ),
    "find_books": guided.Example(
        "Which books by Jane Austen do you have?", "We have Emma.", {"author": "Jane Austen"}, ["Emma"]
    ),
    "order_book": guided.Example(
        "Order 4 copies of Walden.",
        "4 copies of Walden are ordered.",
        {"body": {"title": "Walden", "copies": 4}},
        {"ordered": 4},
    ),
}
BOOKS = {"Moby-Dick": ("Herman Melville", 7), "Typee": ("Herman Melville", 1), "Emma": ("Jane Austen", 3)}
QUESTIONS = [
    "Which books by Herman Melville do you have?",
    "How many copies of Moby-Dick are there?",
    "Order 3 copies of Emma.",
]


def client(address: str) -> Callable[[Request], Any]:
    """A function that sends what a call asks for, and gives the JSON that comes back."""

    def send(request: Request) -> Any:
        url = address + request.path + ("?" + urlencode(request.query) if request.query else "")
        body = None if request.body is None else json.dumps(request.body).encode()
        sent = urllib.request.Request(
            url, body, {"Content-Type": request.media, **request.headers}, method=request.method
        )
        with urllib.request.urlopen(sent, timeout=5) as answer:
            return json.load(answer)

    return send


def main(model: guided.LanguageModel, questions: Sequence[str], address: str) -> None:
    """Print the calls, what came back, and the answers."""
    tools = guided.read_tools(DOCUMENT, send=client(address))
    shown = [guided.Tool(tool.schema, examples=[EXAMPLES[tool.name]]) for tool in tools]
    librarian = guided.tools(model, shown, format="tooldec", timeout=10)
    for question in questions:
        result = librarian(librarian.few_shot(question), max_tokens=60, stop="\nQ:")
        print(question)
        for call in result.calls:
            print("   ", call.name, call.arguments, "->", call.error or call.result)
        print("   ", result.text.strip())


class Bookshop(BaseHTTPRequestHandler):
    """The server of the example."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/books":
            (author,) = parse_qs(address.query)["author"]
            self.give([title for title, (name, _) in BOOKS.items() if name == author])
        else:
            title = unquote(address.path.split("/")[2])
            self.give({"copies": BOOKS.get(title, ("", 0))[1]})

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.give({"ordered": order["copies"]})

    def give(self, value: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Say nothing."""


def serve() -> str:
    """Start the server; its address."""
    server = HTTPServer(("127.0.0.1", 0), Bookshop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


if __name__ == "__main__":
    main(guided.load(), sys.argv[1:] or QUESTIONS, serve())
