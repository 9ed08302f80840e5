"""One server for all tests of a session; the backend is guided, or that of the environment variable SERVING_BACKEND."""

import os
from collections.abc import Callable, Iterator

import pytest

from benchmarks.serving_server import Server, is_installed, serving

BACKEND = os.environ.get("SERVING_BACKEND", "guided")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(os.path.dirname(__file__)):
            item.add_marker(pytest.mark.serving)
            if not is_installed():
                item.add_marker(pytest.mark.skip(reason="vLLM is not installed: run make test-serving"))


@pytest.fixture(scope="session")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Server]]:
    """The server of the session: a new one where the last one died, so that one death fails one test."""
    started = []

    def current() -> Server:
        if not started or not started[-1][1].is_alive():
            while started:
                started.pop()[0].__exit__(None, None, None)
            context = serving(BACKEND, tmp_path_factory.mktemp("serving") / "server.log")
            started.append((context, context.__enter__()))
            print(f"\nlog of the server: {started[-1][1].log}")
        return started[-1][1]

    yield current
    for context, _ in started:
        context.__exit__(None, None, None)


@pytest.fixture
def server(_running: Callable[[], Server]) -> Iterator[Server]:
    """A running server, which the test must not end."""
    server = _running()
    yield server
    assert server.is_alive(), "the engine died"


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Keep what a test found for ``--junit-xml``, from which `tests.serving.differences` makes a table."""
    return lambda outcome: request.node.user_properties.append(("outcome", outcome))
