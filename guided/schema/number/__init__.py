"""Parts of `guided.schema.numbers`: each follows one property of a number while its text is read.

`condition` evaluates formulas for many numbers at once, `line` compares digits with bounds, `divisor` keeps remainders, `exponent` says
what every exponent would make of a mantissa, and `explore` runs them side by side.
"""
