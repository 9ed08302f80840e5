"""Strings: from formulas over string atoms to automata over the bytes between the quotes.

`languages` gives the automaton of one atom (a pattern, a format, a length) over classes of characters; `ecma` and its parts parse
patterns. `combination` combines the atoms of a formula, `overlay` adds listed strings, and `bodies` and `spelling` map characters to
their JSON spellings in bytes. `automaton` is the entry point: formulas in, a `labeled.Labeled` out. `lengths` and `measure` handle maximum
lengths, which a register counts. `counting` counts and lists the strings of a formula.
"""
