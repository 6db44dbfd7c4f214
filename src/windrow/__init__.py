"""windrow: sliding-window aggregation, exact at constant cost per row."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow import aggregates as agg
    from windrow import errors, local, spark, stores, swag
    from windrow import windows as win
    from windrow.aggregates.base import Aggregate
    from windrow.local.warming import warm
    from windrow.query import Query
    from windrow.windows.expressions import expr

__version__ = "0.1.0"
__all__ = ["Aggregate", "Query", "agg", "errors", "expr", "local", "spark", "stores", "swag", "warm", "win"]

#: where each name is; imported when it is first asked for, so that nobody waits for what is not used
_HOMES = {
    "Aggregate": "windrow.aggregates.base",
    "Query": "windrow.query",
    "expr": "windrow.windows.expressions",
    "warm": "windrow.local.warming",
    "agg": "windrow.aggregates",
    "win": "windrow.windows",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'windrow' has no attribute {name!r}")
    module = import_module(_HOMES.get(name, f"windrow.{name}"))
    found = getattr(module, name, module)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
