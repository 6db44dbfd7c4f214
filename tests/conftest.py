"""Settings for all tests: the same random cases in every run, and compiled code wherever there is some.

By default few rows run plain, so that the tests would hardly see compiled code. Tests of the plain form say so.
"""

import os

from hypothesis import settings

os.environ.setdefault("WINDROW_COMPILE", "always")  # also of processes that tests start

settings.register_profile("windrow", derandomize=True, deadline=None, max_examples=50, print_blob=True)
settings.load_profile("windrow")
