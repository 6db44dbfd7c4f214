"""`python -m benchmarks`, from a checkout."""

import sys

try:
    from benchmarks.app import main
except ModuleNotFoundError as error:
    print(f"benchmarks: there is no package {error.name}: pip install '.[bench]'", file=sys.stderr)
    sys.exit(2)

sys.exit(main())
