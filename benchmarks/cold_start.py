"""The first regex, schema and grammar of a process, with imports: CPU time.

    python -m benchmarks.cold_start

Measures this process, with the kernels that it finds: with an empty NUMBA_CACHE_DIR a fresh install; after ``guided warmup``, or from a
wheel of ``make wheel``, one with compiled kernels. GUIDED_COMPILED_KERNELS=0 measures numba's cache.
"""

import sys
import time

__all__ = ["main"]

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}


def main() -> None:
    begin = time.process_time()
    from guided import Grammar, JsonSchema, Regex, Vocabulary
    from guided import compile as compile_spec

    pairs = [bytes([first, second]) for first in range(97, 123) for second in range(97, 123)]
    vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), *pairs, None], eos=[256 + len(pairs)])
    print(f"imports and vocabulary: {time.process_time() - begin:.3f} s")
    specs = {
        "regex": (lambda: Regex(r"[a-z]+(,[a-z]+){0,30}"), b"ab,cd"),
        "schema": (lambda: JsonSchema(SCHEMA), b'{"name": "ab", "age": 31}'),
        "grammar": (lambda: Grammar("json"), b'{"a": [1, true]}'),
    }
    for name, (spec, text) in specs.items():
        begin = time.process_time()
        guide = compile_spec(spec(), vocabulary).guide()
        for token in text:
            guide.mask()
            guide.mask_within(guide.remaining + 2)
            guide.advance(token)
        print(f"{name}: {time.process_time() - begin:.3f} s")
    print(f"in all {time.process_time():.3f} s; numba was {'' if 'numba' in sys.modules else 'not '}imported")


if __name__ == "__main__":
    main()
