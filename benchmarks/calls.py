"""What calls of tools cost in generation: ``python -m benchmarks.calls [--questions N] [--tokens N]``.

The default model answers questions from a few-shot prompt, greedily, in four arms: unguided; guided text with calls in it, which are run;
the same with names chosen by score; one required call in JSON. CPU time of the process, on one thread of torch, is split at the model: what
a forward pass takes, and all the rest (guide, masks, sampler, parser, tools) per token that was chosen. Forward passes are counted, and
those that were saved, since the token was the only one that could follow.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch

import guided
from guided.cli.demo_questions import QUESTIONS
from guided.cli.demo_tools import PLAIN, TOOLS

STOP = "\nQ:"


class Watch:
    """CPU seconds within the forward passes of a model, and their number."""

    def __init__(self, model: guided.Model) -> None:
        self.seconds, self.n_passes = 0.0, 0
        kind = type(model.session())
        inner: Callable[..., Any] = kind._forward

        def forward(session: Any, tokens: Any) -> Any:
            begin = time.process_time()
            try:
                return inner(session, tokens)
            finally:
                self.seconds += time.process_time() - begin
                self.n_passes += 1

        kind._forward = forward  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=40)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = guided.load()
    watch = Watch(model)
    few_shot = guided.tools(model, TOOLS, format="tooldec").few_shot
    arms = {
        "unguided": guided.generator(model, None),
        "guided": guided.tools(model, TOOLS, format="tooldec"),
        "by name": guided.tools(model, TOOLS, format="tooldec", select="probability"),
        "required": guided.tools(model, TOOLS, format="json", tool_choice="required"),
    }
    print(f"{'':10} {'tokens':>7} {'passes':>7} {'model':>10} {'the rest':>10} {'the rest':>9}")
    print(f"{'':10} {'':>7} {'':>7} {'ms/pass':>10} {'ms/token':>10} {'of all':>9}")
    for name, generator in arms.items():
        generator(few_shot("Who are you?", PLAIN), max_tokens=60, stop=STOP)
        tokens = passes = 0
        begin, watch.seconds, watch.n_passes = time.process_time(), 0.0, 0
        for question in QUESTIONS[: arguments.questions]:
            result = generator(few_shot(question.text, PLAIN), max_tokens=arguments.tokens, stop=STOP)
            tokens, passes = tokens + len(result.tokens), passes + result.forward_passes
        spent = time.process_time() - begin
        rest = spent - watch.seconds
        each = 1000 * watch.seconds / max(watch.n_passes, 1)
        print(f"{name:10} {tokens:7} {passes:7} {each:10.1f} {1000 * rest / tokens:10.2f} {100 * rest / spent:8.1f}%")


if __name__ == "__main__":
    main()
