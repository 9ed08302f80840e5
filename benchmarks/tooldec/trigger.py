"""E8: one row of the model is tuned, that of the trigger ``<T>``, and nothing else; when does it fire?

The row w stands beside the rows of the vocabulary: with h what the model hands to its output layer, the trigger's logit is h·w. All else is
frozen, so h and the other logits are computed once, and to tune w is a convex problem of as many numbers as h has: at every place of the
answers, the likelihood of what stands there, the trigger where a call's result stands and the text's own token elsewhere (ToolkenGPT's
data and objective, with one row in place of one per tool). The trigger fires where its logit is the greatest.

Training texts are those of four tools. Places of held-out texts are judged one by one, the text before each as it stands.
"""

import random
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.tooldec.arithmetic import SEEN

__all__ = ["Places", "fired", "placed", "places_of", "tuned", "tuned_row"]

_Floats = npt.NDArray[np.float64]
_TOOL = re.compile(r"-?<(\w+)>")


@dataclass(frozen=True, slots=True)
class Places:
    """Places of texts.

    Attributes
    ----------
    hidden : ndarray[float64], shape (n_places, width)
        What the model hands to its output layer.
    total, greatest : ndarray[float64], shape (n_places,)
        Logarithm of the sum of the exponentials of the logits, and the greatest of them.
    is_call : ndarray[bool], shape (n_places,)
    """

    hidden: _Floats
    total: _Floats
    greatest: _Floats
    is_call: npt.NDArray[np.bool_]


def tuned(model: Any, items: list[dict[str, Any]], per_tool: int, seed: int) -> dict[str, Any]:
    """Tune on the texts of four tools, and count on held-out texts of them and on texts of the others."""
    known = [(text, place, tool) for item in items if (found := placed(item)) for text, place, tool in [found]]
    random.Random(seed).shuffle(known)
    by_tool: dict[str, list[tuple[str, int]]] = {}
    for text, place, tool in known:
        by_tool.setdefault(tool, []).append((text, place))
    training = [item for tool in SEEN for item in by_tool[tool][per_tool // 4 :][:per_tool]]
    seen = [item for tool in SEEN for item in by_tool[tool][: per_tool // 4]]
    unseen = [item for tool in sorted(by_tool) if tool not in SEEN for item in by_tool[tool][: per_tool // 4]]
    row = tuned_row(places_of(model, training))
    found: dict[str, Any] = {"texts": len(training), "numbers": len(row)}
    for label, texts in (("trained on", training), ("seen tools", seen), ("unseen tools", unseen)):
        # What stands right before a result tells much of when the row fires.
        behind = sum(text[:place].rstrip().endswith("=") for text, place in texts)
        found[label] = {**fired(row, places_of(model, texts)), "behind =": behind}
    return found


def placed(item: dict[str, Any]) -> tuple[str, int, str] | None:
    """A text, where in it a call's result stands, and the tool; None where that cannot be told."""
    question, _, answer = item["text"].partition("\nA:")
    if not item["tar_eq"] or not answer:
        return None
    number, match = item["tar_number"][0], _TOOL.match(item["tar_eq"][0])
    begin = len(question) + len("\nA:")
    found = list(re.finditer(rf"(?<![\d.]){re.escape(number)}(?![\d]|\.\d)", answer))
    if match is None or not found:
        return None
    # Why the blank belongs to it: tokens begin with their blank, and no text that is gone on with ends with one.
    place = found[-1].start()
    return item["text"], begin + place - (answer[place - 1 : place] == " "), match[1]


def places_of(model: Any, texts: list[tuple[str, int]]) -> Places:
    """The places of the answers of texts."""
    import torch

    hidden, total, greatest, calls = [], [], [], []
    for text, place in texts:
        before = model.encode(text[:place])
        tokens = before + model.encode(text[place:])
        begin = len(model.encode(text[: text.index("\nA:") + len("\nA:")]))
        with torch.inference_mode():
            output = model.hf_model(torch.tensor([tokens]), output_hidden_states=True)
        logits = output.logits[0, begin - 1 : -1].double()
        hidden.append(output.hidden_states[-1][0, begin - 1 : -1].double().numpy())
        total.append(torch.logsumexp(logits, dim=1).numpy())
        greatest.append(logits.max(dim=1).values.numpy())
        calls.append(np.arange(begin, len(tokens)) == len(before))
    return Places(np.concatenate(hidden), np.concatenate(total), np.concatenate(greatest), np.concatenate(calls))


def tuned_row(places: Places, penalty: float = 1e-3, steps: int = 200) -> _Floats:
    """The row: logistic regression with the other logits' sum as an offset, by Newton's method with damping.

    With s = h·w - total, the likelihood of the trigger is 1 / (1 + exp(-s)), and the others share the rest as they did.
    """
    hidden, wanted = places.hidden, places.is_call.astype(np.float64)
    # Why not from 0: logits are far from 0, so the trigger would be certain, or impossible, everywhere, and the loss flat.
    near = hidden.T @ hidden + 1e-3 * np.trace(hidden.T @ hidden) / hidden.shape[1] * np.eye(hidden.shape[1])
    row = np.linalg.solve(near, hidden.T @ (places.total - 4))
    loss = _loss(row, places, penalty)
    for _ in range(steps):
        likely = 1 / (1 + np.exp(-np.clip(hidden @ row - places.total, -60, 60)))
        gradient = hidden.T @ (likely - wanted) + penalty * row
        curvature = (hidden * (likely * (1 - likely))[:, None]).T @ hidden + penalty * np.eye(len(row))
        step, length = np.linalg.solve(curvature, gradient), 1.0
        while length > 1e-6 and _loss(row - length * step, places, penalty) > loss:
            length /= 2
        row = row - length * step
        found = _loss(row, places, penalty)
        if loss - found < 1e-9 * max(1.0, loss):
            break
        loss = found
    return row


def fired(row: _Floats, places: Places) -> dict[str, Any]:
    """Counts of where the trigger's logit is the greatest, with precision, recall and F1."""
    fires = places.hidden @ row > places.greatest
    right = int((fires & places.is_call).sum())
    precision = right / max(1, int(fires.sum()))
    recall = right / max(1, int(places.is_call.sum()))
    return {
        "places": len(fires),
        "calls": int(places.is_call.sum()),
        "fired": int(fires.sum()),
        "right": right,
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "F1": round(2 * precision * recall / max(1e-9, precision + recall), 4),
    }


def _loss(row: _Floats, places: Places, penalty: float) -> float:
    score = places.hidden @ row - places.total
    return float(np.logaddexp(0, score).sum() - score[places.is_call].sum() + penalty * row @ row / 2)
