"""Classifies texts, with the probability of each class instead of the most likely one alone.

    python docs/examples/classification.py "The battery died after a week."

The probabilities are the model's own, over all ways to spell a class in tokens, given that it says one of them: they sum to 1. So a
threshold can send unclear texts to a person.
"""

import sys
from collections.abc import Sequence

import guided

CLASSES = [" positive", " negative", " neutral"]
UNCLEAR = 0.6
QUESTIONS = ["I love this phone, the camera is great.", "The battery died after a week.", "It arrived on Tuesday."]
SHOTS = """Review: The best film of the year!
Sentiment: positive

Review: A waste of time and money.
Sentiment: negative

Review: It lasts two hours.
Sentiment: neutral
"""


def main(model: guided.LanguageModel, reviews: Sequence[str]) -> None:
    """Print the classes of each review with their probabilities."""
    classify = guided.choice(model, CLASSES, probabilities=True)
    for review in reviews:
        result = classify(f"{SHOTS}\nReview: {review}\nSentiment:")
        print(review)
        for name, probability in sorted(result.probabilities.items(), key=lambda each: -each[1]):
            print(f"    {name.strip():10}{probability:6.1%}")
        best = max(result.probabilities.values())
        print(f"  {'unclear: ask a person' if best < UNCLEAR else result.value.strip()}")


if __name__ == "__main__":
    main(guided.load(), sys.argv[1:] or QUESTIONS)
