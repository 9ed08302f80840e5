"""What a wheel with compiled kernels must do, in the environment where it is installed: compile and mask without numba."""

import sys

import guided

vocabulary = guided.Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=[256])
for spec in (guided.Regex("[0-9]{4}"), guided.JsonSchema({"type": "array"}), guided.Grammar("json")):
    guide = guided.compile(spec, vocabulary).guide()
    if not guide.mask().any():
        sys.exit(f"{spec}: no token is allowed")
if "numba" in sys.modules:
    sys.exit("numba was imported: the wheel has no compiled kernels, or they are not of its sources")
print(f"guided {guided.__version__}: kernels are compiled")
