"""Numbers: from formulas over number atoms to automata over their text.

`automaton` is the entry point. `explore` runs these components in parallel over a number's text: `line` compares digits with bounds,
`divisor` tracks remainders, `exponent` determines the effect of an exponent on a mantissa. `condition` evaluates formulas for many
numbers at once, and `verdicts` and `side` determine which bounds distinguish numbers. `counting` counts and lists the numbers of a formula.
"""
