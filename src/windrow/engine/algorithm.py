"""A window algorithm as the engine takes it: a record of functions and facts, with nothing of a window object in it.

`kernel(monoid)` closes the algorithm over one aggregate: functions over a store (mutable slots) and registers (an
immutable namedtuple of pointers and running aggregates). Registers that are returned, not written, stay in machine
registers when compiled, and make it trivial to step back when a combine raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from windrow.engine.forms import Form

if TYPE_CHECKING:
    from windrow.engine.state import WindowState

#: what a kernel sees of a form: combine, identity, inverse, get, put, put_link, jit
Monoid = Form


#: the capacity of a window whose slots are pages (`engine.paged`): positions never come round
ENDLESS = 1 << 48


class Region(NamedTuple):
    """Entries of a window, from `first` to `stop`: entry i is in slot base + (i & mask)."""

    base: int
    mask: int
    first: int
    stop: int

    def slots(self, first: int, stop: int) -> np.ndarray:
        """The slots of the entries from `first` to `stop`."""
        return self.base + (np.arange(first, max(first, stop)) & self.mask)


Regions = tuple[list[Region], list[Region], list[Region]]


def ring(r: Any, capacity: int) -> Regions:
    """A ring from register F to register E, of vals, and of aggs where there are some."""
    entries = [Region(0, capacity - 1, r.F, r.E)]
    return entries, entries, []


def drop_from_ring(s: Any, before: Any, after: Any) -> None:
    """Lets go of the oldest rows of a ring of pages."""
    s.vals.forget_below(before.F, after.F)
    if s.aggs.books:
        s.aggs.forget_below(before.F, after.F)


#: stretches of a ring that a step can touch, for many windows at once
Stretches = list[tuple[np.ndarray, np.ndarray]]
Touches = Callable[[Callable[[str], np.ndarray], np.ndarray, np.ndarray], Stretches]


def in_order(*names: str) -> Callable[[Any, Any, Any], Any]:
    """`Algorithm.fits` of a ring: these registers are positions from the oldest row on to behind the newest."""

    def fits(r: Any, links: Any, capacity: Any) -> Any:
        found = (getattr(r, names[0]) >= 0) & (getattr(r, names[-1]) - getattr(r, names[0]) <= capacity)
        for older, newer in pairwise(names):
            found = found & (getattr(r, older) <= getattr(r, newer))
        return found

    return fits


class Operations(Protocol):
    """What every kernel has. `s` is the store, `r` the registers."""

    @property
    def clear(self) -> Callable:
        """(s) -> r"""

    @property
    def insert(self) -> Callable:
        """(s, r, partial) -> r"""

    @property
    def evict(self) -> Callable:
        """(s, r) -> r"""

    @property
    def query(self) -> Callable:
        """(s, r) -> partial"""

    @property
    def size(self) -> Callable:
        """(r) -> int"""


class Kernel(NamedTuple):
    """An algorithm closed over one aggregate: `Operations` and no more."""

    clear: Callable
    insert: Callable
    evict: Callable
    query: Callable
    size: Callable


@dataclass(frozen=True)
class Card:
    """What to know of an algorithm before choosing it.

    `insert`, `evict` and `query` are the most combines that an operation takes, whatever the window's size; None where
    that depends on the size, or nobody has stated it. An inverse counts as a combine.
    """

    order: str  # FIFO, or out of order
    requires: str  # of the aggregate
    time: str  # combines an operation
    space: str  # partials kept for n rows
    paper: str
    note: str = ""
    insert: int | None = None
    evict: int | None = None
    query: int | None = None
    amortised: tuple[str, ...] = ()  # the operations whose number holds on average, not for each

    @property
    def a_row(self) -> int | None:
        """Combines for one row in, one out and one query; None where they depend on the window's size."""
        if self.insert is None or self.evict is None or self.query is None:
            return None
        return self.insert + self.evict + self.query


@dataclass(frozen=True, eq=False)
class Algorithm:
    """One way to keep a window. Two records are never the same algorithm, so that kernels can be kept by record."""

    name: str
    kernel: Callable[[Monoid], Operations]
    registers: type[NamedTuple]
    layout: Callable[[int], tuple[int, int, int]]  # capacity -> slots for partials (vals, aggs) and ints (links)
    card: Card
    partial_registers: tuple[str, ...] = ()  # the registers that hold partials
    counted: bool = False  # plain partials are paired with their number of rows
    plain_only: bool = False  # its store is no array
    fused: bool = False  # whole arrays may go through `engine.blocks`
    #: an empty store; None: as `layout` says, with nothing in its slots
    new_store: Callable[[Form, int], object] | None = None
    #: (registers, capacity) -> where what the window holds lies: in vals, aggs and links
    regions: Callable[[Any, int], Regions] = ring
    #: (store of pages, registers before, registers after evictions): lets go of what went
    drop: Callable[[Any, Any, Any], None] = drop_from_ring
    #: the same window with room for this many rows, where it does not lie in `regions`
    grow: Callable[[WindowState, int], WindowState] | None = None
    #: (register by name, evictions, inserts) -> the stretches [low, high) of its ring, from F to E, that so many of
    #: them and queries in between can read or write; arrays, with an entry for each window. None: all of it
    touches: Touches | None = None
    #: (registers, links, capacity) -> whether a window can have these positions, so that no step with them leaves its
    #: slots. Asked of saved state. Registers and capacity may be arrays, with an entry for each window, where there are
    #: no links. None: nothing but its own code reads them
    fits: Callable[[Any, Any, Any], Any] | None = None
    #: recomputes what cannot be converted, partial by partial, into another form; None: there is no such thing
    rebuild: Callable[[WindowState], WindowState] | None = None

    @property
    def endless(self) -> bool:
        """Whether its entries keep their places while the window grows: then by hand its slots are pages."""
        return self.grow is None and self.new_store is None
