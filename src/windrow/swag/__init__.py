"""HOW one window is kept: every algorithm of the literature a file, all behind one interface.

`ALGORITHMS` is the one list; tests, benchmarks and the command line go through it.
"""

from windrow.swag.aba import ABA
from windrow.swag.amta import AMTA
from windrow.swag.b_int import BInt
from windrow.swag.base import Card, Swag
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

ALGORITHMS: dict[str, type[Swag]] = {
    "recalculate": Recalculate,
    "subtract_on_evict": SubtractOnEvict,
    "two_stacks": TwoStacks,
    "two_stacks_lite": TwoStacksLite,
    "aba": ABA,
    "daba": DABA,
    "daba_uncached": DABAUncached,
    "daba_lite": DABALite,
    "flat_fat": FlatFAT,
    "reactive_aggregator": ReactiveAggregator,
    "b_int": BInt,
    "flat_fit": FlatFIT,
    "log_mta": LogMTA,
    "amta": AMTA,
    "fiba": FiBA,
}
for _name, _algorithm in ALGORITHMS.items():
    _algorithm.name = _name

__all__ = ["ALGORITHMS", "Card", "Swag", "counting", *(algorithm.__name__ for algorithm in ALGORITHMS.values())]
