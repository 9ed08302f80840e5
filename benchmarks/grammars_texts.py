"""The grammars of the benchmarks: texts that people write in them, and the grammars themselves as Lark reads them."""

import importlib
import inspect
import json
from importlib.resources import files

from guided.resources import grammar_path

__all__ = ["GRAMMARS", "lark_source", "texts_of"]

GRAMMARS = ("json", "arithmetic", "sql", "graphql", "python")
MODULES = ("json.decoder", "textwrap", "argparse", "dataclasses", "heapq", "statistics")
SQL = """SELECT c.name, COUNT(*) AS orders, SUM(o.total) FROM customers AS c LEFT JOIN orders AS o ON o.customer_id = c.id
WHERE o.placed >= '2024-01-01' AND (c.country IN ('NO', 'SE') OR c.vip = TRUE) GROUP BY c.name HAVING COUNT(*) > 3 ORDER BY 2 DESC LIMIT 10;
INSERT INTO audit (id, what, at) VALUES (1, 'it''s done', NULL), (2, "col" || 'x', 3.5);
UPDATE items SET price = price * 1.1, name = UPPER(name) WHERE id BETWEEN 10 AND 20;
CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, total DECIMAL(10, 2) DEFAULT 0);
"""
GRAPHQL = """query Heroes($episode: Episode = JEDI, $ids: [ID!]!) @cached(ttl: 60) {
  hero(episode: $episode) { ...on Droid { primaryFunction } friends(first: 3, after: "a\\u00e9") { name, id } }
  nodes(ids: $ids) { __typename }
}
fragment Parts on Human { height(unit: FOOT) homePlanet }
"""


def lark_source(name: str) -> str:
    """The text of a grammar: of Python Lark's own, of the others those of this package."""
    path = files("lark") / "grammars" / "python.lark" if name == "python" else grammar_path(name)
    return path.read_text(encoding="utf-8")


def texts_of(name: str) -> list[str]:
    """Texts of a grammar."""
    if name == "json":
        value = {
            "name": "Ada",
            "born": 1815,
            "tags": ["x", [], {}],
            "notes": 'says "hi"\n',
            "score": -1.5e-7,
            "ok": [True, None],
        }
        return [json.dumps([value] * 8), json.dumps([value] * 8, indent=2)]
    if name == "arithmetic":
        return ["(1 + 2.5) * -x^2 / (y - 3e4) + 7 * (a + (b + (c + d)))" + " + 12 * (3 - k)" * 30]
    if name == "sql":
        return [SQL * 4]
    if name == "graphql":
        return [GRAPHQL * 4]
    return [inspect.getsource(importlib.import_module(module)) for module in MODULES]
