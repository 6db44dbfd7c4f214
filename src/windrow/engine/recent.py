"""A dict that keeps what was used last: for kernels of users' functions, of which there may be ever new ones."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """At most `most` entries; the one that was not used for longest goes.

    >>> kept = Recent(2)
    >>> kept["a"], kept["b"] = 1, 2
    >>> kept["a"]
    1
    >>> kept["c"] = 3
    >>> sorted(kept)
    ['a', 'c']
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __getitem__(self, key: K) -> V:
        self.move_to_end(key)
        return super().__getitem__(key)

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self.most:
            del self[next(iter(self))]
