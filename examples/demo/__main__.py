"""`python -m examples.demo`, from a checkout."""

import sys

try:
    from examples.demo.app import main
except ModuleNotFoundError as error:
    print(f"demo: there is no package {error.name}: pip install '.[demo]'", file=sys.stderr)
    sys.exit(2)

sys.exit(main())
