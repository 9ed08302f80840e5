"""Every ``@njit`` function. Imports numba and numpy only; a file is closed under calls.

Contract: arguments are C-contiguous arrays of fixed dtype and integers; the caller passes buffers; a kernel returns a count,
or a negative status that its wrapper turns into a typed error. It raises nothing and allocates nothing in its loops.
Why one file per family: numba's cache does not notice an edit in another file, so functions that call each other live together.
"""
