"""What numba must be told about rows. Imported where something is compiled."""

from __future__ import annotations

import operator

from numba import types
from numba.extending import overload


@overload(operator.getitem, prefer_literal=True)
def _item_by_name(row, name):
    """row["price"] in compiled code."""
    names = getattr(getattr(row, "instance_class", None), "names", None)
    if isinstance(row, types.BaseNamedTuple) and isinstance(name, types.StringLiteral) and names is not None:
        place = names.index(name.literal_value)
        return lambda row, name: row[place]
    return None
