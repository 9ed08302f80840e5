"""Questions about a SQLite database: the model writes SQL that names only its tables and columns, and the query runs.

    python docs/examples/sql_database.py            # a database of books, made in memory
    python docs/examples/sql_database.py my.sqlite "How many orders are there?"

The grammar is fixed; the names in it are read from the database. So a query always parses and never names a table or a column that does
not exist. Whether a column belongs to the table is SQLite's to say, and whether the query answers the question is the model's.
"""

import sqlite3
import sys
from contextlib import closing

import guided

GRAMMAR = r"""
start: "SELECT " columns " FROM " TABLE where? order? limit? ";"
columns: "COUNT(*)" | COLUMN (", " COLUMN)*
where: " WHERE " condition (" AND " condition)*
condition: COLUMN " " OPERATOR " " value
value: NUMBER | STRING
order: " ORDER BY " COLUMN " DESC"?
limit: " LIMIT " NUMBER
OPERATOR: "=" | "<" | ">" | "<=" | ">=" | "<>" | "LIKE"
NUMBER: /[0-9]{1,9}/
STRING: /'[^'\n]{0,40}'/
TABLE: "table"
COLUMN: "column"
"""

BOOKS = """
CREATE TABLE books (title TEXT, author TEXT, year INTEGER, pages INTEGER);
INSERT INTO books VALUES
    ('Emma', 'Jane Austen', 1815, 474),
    ('Persuasion', 'Jane Austen', 1817, 249),
    ('Ulysses', 'James Joyce', 1922, 730),
    ('Dubliners', 'James Joyce', 1914, 152);
"""


QUESTIONS = ["How many books are there?", "Which books did Jane Austen write?"]


def books() -> sqlite3.Connection:
    """Return the database of books."""
    database = sqlite3.connect(":memory:")
    database.executescript(BOOKS)
    return database


def names(database: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """Return the tables of a database, and their columns."""
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    columns = dict.fromkeys(row[1] for table in tables for row in database.execute(f'PRAGMA table_info("{table}")'))
    return [_quoted(table) for table in tables], [_quoted(column) for column in columns]


def _quoted(name: str) -> str:
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def spec_of(database: sqlite3.Connection) -> guided.Grammar:
    """Return the grammar of the queries of a database."""
    tables, columns = names(database)
    return guided.Grammar(GRAMMAR, terminals={"TABLE": tables, "COLUMN": columns})


def main(model: guided.LanguageModel, questions: list[str], database: sqlite3.Connection | None = None) -> None:
    """Print a query for each question, and its rows."""
    if database is None:
        with closing(books()) as ours:
            main(model, questions, ours)
        return
    tables, columns = names(database)
    write = guided.grammar(model, spec_of(database))
    for question in questions:
        prompt = f"SQLite tables: {', '.join(tables)}. Columns: {', '.join(columns)}.\nQuestion: {question}\nSQL:"
        query = write(prompt, max_tokens=60).text
        print(question)
        print(f"  {query}")
        for row in database.execute(query).fetchmany(10):
            print("  ", *row)


if __name__ == "__main__":
    opened = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True) if len(sys.argv) > 1 else None
    main(guided.load(), sys.argv[2:] or QUESTIONS, opened)
