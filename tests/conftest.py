"""Settings of all tests."""

from hypothesis import settings

# Why no deadline: the first example of a test may compile a kernel, and machines differ.
settings.register_profile("guided", deadline=None)
settings.load_profile("guided")
