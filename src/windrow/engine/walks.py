"""What the kernels of windows share: sorted items walked edge by edge, and arrays made ready for compiled code.

Items are rows or slices, sorted within each segment (a key's stretch, `seg[k]` to `seg[k + 1]`). Walks never go item by
item where they can jump: to the first item of an edge by doubling steps (`seek`), to the next edge that matters by one
division (`next_edge`). So a long slice costs a few steps, and a billion empty windows none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from windrow.engine.compiler import whole
from windrow.errors import WindrowError

LOWEST, HIGHEST = -(2**63), 2**63 - 1
#: this or less as the smallest number of a window: there is none
ANY = -(2**62)
#: floats tell this many windows apart, with one bit to spare for finding them
FLOAT_WINDOWS = 2.0**52


class Windows(NamedTuple):
    """Windows as ranges of items: of segment `segment[w]`, items `lo[w]` to `hi[w]` (excluded), named [start, end)."""

    segment: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    start: np.ndarray
    end: np.ndarray


def new_windows(count: int, dtype: Any) -> Windows:
    """Room for `count` windows over a measure of this type."""
    segment, lo, hi = (np.empty(count, np.int64) for _ in range(3))
    return Windows(segment, lo, hi, np.empty(count, dtype), np.empty(count, dtype))


def ready(array: Any, dtype: Any = None) -> np.ndarray:
    """Contiguous, and always read-only, because a kernel is compiled anew for arrays that can be written."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


def measured(array: Any) -> np.ndarray:
    """A measure: int64 or float64."""
    array = np.asarray(array)
    return ready(array, np.float64 if array.dtype.kind == "f" else np.int64)


def python_numbers(measure: np.ndarray, *given: Any) -> list[Any]:
    """Lengths and origins over a measure as Python's own numbers, which do not overflow."""
    kind = float if measure.dtype == np.float64 else int
    return [kind(value) for value in given]


def extent(first: np.ndarray, last: np.ndarray, seg: np.ndarray) -> tuple[Any, Any]:
    """The least `first` and the greatest `last` of all items, from the ends of the sorted segments; None: no items."""
    filled = seg[:-1] < seg[1:]
    if not filled.any():
        return None, None
    return first[seg[:-1][filled]].min().item(), last[seg[1:][filled] - 1].max().item()


class Extent(NamedTuple):
    """How far items reach: over all segments (None: no items), and in each that is not empty, as floats."""

    low: Any
    high: Any
    reach: np.ndarray


def extent_of(first: np.ndarray, seg: np.ndarray) -> Extent:
    """The extent of items that are points."""
    seg = np.asarray(seg)
    filled = seg[:-1] < seg[1:]
    if not filled.any():
        return Extent(None, None, np.empty(0))
    low, high = first[seg[:-1][filled]], first[seg[1:][filled] - 1]
    with np.errstate(invalid="ignore"):  # infinity is refused further on
        far = high - low if high.dtype == np.float64 else high.view(np.uint64) - low.view(np.uint64)
    return Extent(low.min().item(), high.max().item(), far.astype(np.float64))


def check_room(least: int, most: int, what: str) -> None:
    """Raises where window edges would not fit into 64 bits."""
    if least < LOWEST or most > HIGHEST:
        raise WindrowError(
            f"{what} reach from {least} to {most}, beyond what 64-bit integers hold; "
            "shorter windows or values nearer to 0 are needed"
        )


@whole("numpy")
def seek(values, i, n, edge):
    """The first j from i on with values[j] >= edge, or n."""
    if i < n and values[i] < edge:
        ahead = np.int64(edge - values[i])  # numbers without gaps, as rows have: it is there
        if 0 < ahead < n - i and values[i + ahead] >= edge and values[i + ahead - 1] < edge:
            return i + ahead
    step = 1
    j = i
    while j < n and values[j] < edge:
        i = j + 1
        j += step
        step += step
    j = min(j, n)
    while i < j:
        middle = (i + j) >> 1
        if values[middle] < edge:
            i = middle + 1
        else:
            j = middle
    return i


@whole("numpy")
def next_edge(x, offset, every, origin):
    """The smallest k with origin + k * every + offset > x, for ints and (as rounded in that order) for floats."""
    k = np.int64((x - offset - origin) // every) + 1
    while (origin + k * every) + offset <= x:  # never true for ints
        k += 1
    while (origin + (k - 1) * every) + offset > x:
        k -= 1
    return k
