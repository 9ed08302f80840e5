"""Extracts an order from a letter into nested pydantic models, and prints each part as soon as it is complete.

    python docs/examples/extraction.py "Three chairs at 40 euros, to Ada Byron in London."

The form is guaranteed: every field is there, prices are not negative, a country is one of the list. What the model writes into the
fields is its own: a small model makes mistakes.
"""

import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import guided

Text = Annotated[str, Field(min_length=1, max_length=40)]


class Item(BaseModel):
    """A line of an order."""

    product: Text
    quantity: Annotated[int, Field(ge=1, le=1000)]
    price: Annotated[Decimal, Field(ge=0, max_digits=6, decimal_places=2)]


class Customer(BaseModel):
    """Whom the goods are sent to."""

    name: Text
    city: Text
    country: Literal["France", "Germany", "United Kingdom"]


class Order(BaseModel):
    """What is bought, and by whom."""

    customer: Customer
    items: Annotated[list[Item], Field(min_length=1, max_length=3)]


QUESTIONS = ["Please send 2 lamps at 30.50 euros each and 1 table at 120 euros to Jeanne Martin in Lyon, France."]


SHOT = """Letter: Please send 3 chairs at 45 euros each to Ada Byron in London, United Kingdom.
The order in JSON:
{"customer": {"name": "Ada Byron", "city": "London", "country": "United Kingdom"}, \
"items": [{"product": "chair", "quantity": 3, "price": 45}]}

"""


def main(model: guided.LanguageModel, letters: Sequence[str]) -> None:
    """Print the order of each letter."""
    extract = guided.json(model, Order)
    for letter in letters:
        print(letter)
        for event in extract.stream(f"{SHOT}Letter: {letter}\nThe order in JSON:\n", max_tokens=200):
            match event:
                case guided.events.ValueCompleted(pointer, value) if pointer.count("/") == 2:
                    print(f"    {pointer}: {value!r}")
                case guided.events.Done(result):
                    total = sum(item.quantity * item.price for item in result.value.items)
                    print(f"  {len(result.value.items)} items for {result.value.customer.name}, {total} euros in all")


if __name__ == "__main__":
    main(guided.load(), sys.argv[1:] or QUESTIONS)
