"""All ``@njit`` functions, and what they share. Imports numba and numpy only.

Contract: arguments are C-contiguous arrays of fixed dtype and integers; the caller passes buffers; a kernel returns a count,
or a negative status that its wrapper turns into a typed error. It raises nothing and allocates nothing.

Kernels may import constants and kernels from each other and from `guided.arrays`: the folder of compiled code is named by a hash of all
these sources (`guided.kernels.jit`). Shared are `hashing` (hash tables), `masks` (bits of tokens) and `tables` (pushdown automata).
"""
