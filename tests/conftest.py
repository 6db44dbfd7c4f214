"""Settings for all tests: the same random cases in every run."""

from hypothesis import settings

settings.register_profile("windrow", derandomize=True, deadline=None, max_examples=50, print_blob=True)
settings.load_profile("windrow")
