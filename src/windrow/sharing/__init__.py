"""How many windows share work: discretizer, slicing, the store of partials, the shared plan.

Two forms of the same: `Aggregator` takes one row at a time, beside the papers' pseudocode, and counts what they count;
`slices`, `lane` and what they use do it for batches of rows and many keys. `Wheel` is the plan of periodic windows,
`Chain`, `Disordered` and `Sources` are arrangements of several structures for rows that are kept, not sliced.
"""

from windrow.sharing.aggregator import Aggregator, Result
from windrow.sharing.chain import Chain
from windrow.sharing.discretizer import Discretizer, Marked
from windrow.sharing.disorder import Disordered, Sources
from windrow.sharing.partials import STORES
from windrow.sharing.wheel import Rates, Wheel

__all__ = [
    "STORES",
    "Aggregator",
    "Chain",
    "Discretizer",
    "Disordered",
    "Marked",
    "Rates",
    "Result",
    "Sources",
    "Wheel",
]
