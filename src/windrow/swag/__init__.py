"""HOW one window is kept: every algorithm of the literature a file, all behind one interface.

`ALGORITHMS` is the one list; tests, benchmarks and the command line go through it.
"""

from windrow.swag.aba import ABA
from windrow.swag.amta import AMTA
from windrow.swag.b_int import BInt
from windrow.swag.base import Algorithm, Card, Swag
from windrow.swag.counting import counting
from windrow.swag.daba import DABA, DABAUncached
from windrow.swag.daba_lite import DABALite
from windrow.swag.fiba import FiBA
from windrow.swag.flat_fat import FlatFAT
from windrow.swag.flat_fit import FlatFIT
from windrow.swag.log_mta import LogMTA
from windrow.swag.reactive_aggregator import ReactiveAggregator
from windrow.swag.recalculate import Recalculate
from windrow.swag.subtract_on_evict import SubtractOnEvict
from windrow.swag.two_stacks import TwoStacks
from windrow.swag.two_stacks_lite import TwoStacksLite

_CLASSES: tuple[type[Swag], ...] = (
    Recalculate,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
    ABA,
    DABA,
    DABAUncached,
    DABALite,
    FlatFAT,
    ReactiveAggregator,
    BInt,
    FlatFIT,
    LogMTA,
    AMTA,
    FiBA,
)
ALGORITHMS: dict[str, type[Swag]] = {each.algorithm.name: each for each in _CLASSES}

__all__ = ["ALGORITHMS", "Algorithm", "Card", "Swag", "counting", *(each.__name__ for each in _CLASSES)]
