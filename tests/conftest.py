"""Settings of all tests."""

import os

from hypothesis import settings

# Why before anything imports torch: see guided.integrations.load, which does the same for programs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Why no deadline: the first example of a test may compile a kernel, and machines differ.
# Why derandomized: the same commit has the same verdict everywhere. GUIDED_RANDOM=1 looks for what the fixed examples miss.
settings.register_profile("guided", deadline=None, derandomize="GUIDED_RANDOM" not in os.environ)
settings.register_profile("brief", deadline=None, max_examples=15)
settings.load_profile("guided")
