"""Hashes overflow on purpose; where kernels run as plain Python, NumPy must not warn of it."""

import os

import numpy as np

if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    np.seterr(over="ignore")
