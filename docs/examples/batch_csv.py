"""Extracts fields from each row of a CSV file, several rows at a time, with progress; writes a CSV file with the fields added.

python docs/examples/batch_csv.py                       # an example, to the standard output
python docs/examples/batch_csv.py in.csv out.csv        # in.csv has a column named text
"""

import csv
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, TextIO

from pydantic import BaseModel, Field

import guided


class Ticket(BaseModel):
    """What a message to the support is about."""

    product: Annotated[str, Field(min_length=1, max_length=20)]
    topic: Literal["delivery", "defect", "payment", "other"]
    is_urgent: bool


QUESTIONS = [
    "My new kettle leaks, please help at once!",
    "When will the blue lamp arrive?",
    "I was charged twice for the same desk.",
]
SHOTS = """Message: The green sofa came with a broken leg.
Product, topic and urgency as JSON: {"product": "green sofa", "topic": "defect", "is_urgent": false}

Message: Where is my mirror? I need it today!
Product, topic and urgency as JSON: {"product": "mirror", "topic": "delivery", "is_urgent": true}

Message: I paid for the rug, but got no receipt.
Product, topic and urgency as JSON: {"product": "rug", "topic": "payment", "is_urgent": false}

"""


def main(model: guided.LanguageModel, texts: Iterable[str], output: TextIO = sys.stdout) -> None:
    """Write each text with its fields as CSV; a text that failed has none."""
    extract = guided.json(model, Ticket)
    writer = csv.DictWriter(output, ["text", *Ticket.model_fields])
    writer.writeheader()
    texts = list(texts)
    prompts = (f"{SHOTS}Message: {text}\nProduct, topic and urgency as JSON:" for text in texts)
    for index, result in extract.map(prompts, ordered=True, max_tokens=60):
        if result.error is not None:
            print(f"row {index}: {result.error}", file=sys.stderr)
        writer.writerow({"text": texts[index], **(result.to_dict()["value"] or {})})


if __name__ == "__main__":
    if len(sys.argv) > 2:
        with (
            Path(sys.argv[1]).open(newline="", encoding="utf-8") as read,
            Path(sys.argv[2]).open("w", newline="") as written,
        ):
            main(guided.load(), [row["text"] for row in csv.DictReader(read)], written)
    else:
        main(guided.load(), QUESTIONS)
