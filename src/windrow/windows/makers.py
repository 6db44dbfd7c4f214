"""The functions of `windrow.win`: what a user gives, checked, becomes a window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.aggregates.values import without_condition
from windrow.engine.window_classes import ends_by_time, evicts
from windrow.errors import WindrowError
from windrow.windows.base import ROWS, TIME, Measure, length, same_measure
from windrow.windows.durations import instant, is_duration
from windrow.windows.kinds import (
    Evicting,
    Landmark,
    Last,
    Periodic,
    Policy,
    Punctuated,
    Session,
    Trailing,
    UserDefined,
)
from windrow.windows.predicates import Predicate

__all__ = [
    "landmark",
    "last",
    "policy",
    "punctuated",
    "session",
    "sliding",
    "trailing",
    "tumbling",
    "user_defined",
]


def sliding(range: Any, every: Any, origin: Any = None, *, on: str | None = None) -> Periodic:
    """Windows [start, start + range), one begins at every multiple of `every` from `origin`.

    Args:
        range: how long: a duration ("24 hours", a timedelta) by event time, a number of rows, or a number with `on`.
        every: how far apart, in the same measure.
        origin: where the multiples are counted from; the epoch (1970-01-01 UTC), row 0, or 0 where it is not given.
        on: an ordered numeric column to measure along.

    >>> str(sliding("24 hours", every="1 minute"))
    'sliding, 1 day every 1 minute'
    """
    size, measure = length("sliding", "range", range, on)
    step, other = length("sliding", "every", every, on)
    same_measure("sliding", "range", "every", measure, other)
    return Periodic(size, step, _origin(origin, measure), measure)


def tumbling(size: Any, origin: Any = None, *, on: str | None = None) -> Periodic:
    """Windows side by side: `sliding(size, every=size)`.

    >>> str(tumbling(100))
    'tumbling, 100 rows'
    """
    span, measure = length("tumbling", "size", size, on)
    return Periodic(span, span, _origin(origin, measure), measure)


def trailing(range: Any, closed: str = "right", *, on: str | None = None) -> Trailing:
    """For each row, the window that ends with it: one result a row.

    Args:
        range: how far back: a duration, a number of rows (the row itself counts), or a number with `on`.
        closed: which ends belong to it: right, left, both or none. Rows of an equal measure are in together.
        on: a numeric column to measure along.

    >>> str(trailing("1 hour", closed="both"))
    'trailing, 1 hour, closed both'
    """
    size, measure = length("trailing", "range", range, on, least=0 if is_duration(range) or on is not None else 1)
    if closed not in ("right", "left", "both", "none"):
        raise WindrowError(f"win.trailing: closed is right, left, both or none, not {closed!r}")
    return Trailing(size, closed, measure)


def session(gap: Any, *, on: str | None = None) -> Session:
    """A window that ends when nothing came for `gap`: [first, last + gap). A row at exactly last + gap joins it.

    >>> str(session("30 minutes"))
    'session, gap 30 minutes'
    """
    size, measure = length("session", "gap", gap, on)
    if measure == ROWS:
        raise WindrowError(f"win.session: gap is a duration, or a number with on='column', not {gap!r}")
    return Session(size, measure)


def punctuated(predicate: Any) -> Punctuated:
    """A new window begins at each row where the predicate holds.

    Args:
        predicate: a column of true and false, an expression such as "price < 10", or a function of the row.

    >>> str(punctuated("price < 10"))
    'punctuated, price < 10'
    """
    return Punctuated(Predicate.parse(predicate), ROWS)


def landmark(begin: Any, every: Any) -> Landmark:
    """From a landmark row on, reported every so often, until the next landmark.

    Args:
        begin: a predicate: where it holds, a landmark is.
        every: a duration or a number of rows: the report at start + k·every covers all since the landmark. Steps
            without a row are not reported.

    >>> str(landmark("opening", every="5 minutes"))
    'landmark, opening, every 5 minutes'
    """
    step, measure = length("landmark", "every", every, None)
    return Landmark(Predicate.parse(begin), step, measure)


def last(n: Any, every: Any, origin: Any = None, *, on: str | None = None, every_on: str | None = None) -> Last:
    """Every so often the last rows: which those are is not known when they come (paper 3 §3.2).

    What stays in the window and when it is reported are measured each by itself (paper 1 §2.2): in rows, in time, or
    along a column. Where both are of one measure, use `sliding`.

    Args:
        n: what stays: a number of rows, a duration, or a number with `on`. Rows leave that are a duration (or as far
            along the column) behind the newest one.
        every: when it is reported: at each multiple of a duration, after each so many rows, or with `every_on` where
            the column comes to a multiple of a number; if a row has come since the report before.
        origin: where the multiples are counted from.
        on: the column that `n` is measured along.
        every_on: the column that `every` is measured along.

    Columns are taken as the rows come, by time. A row without a value there stands where the row before it stands.

    >>> str(last(10, every="5 seconds"))
    'last 10 rows every 5 seconds'
    >>> str(last("10 minutes", every=100))
    'last 10 minutes every 100 rows'
    >>> str(last(2.5, every="1 minute", on="km"))
    'last 2.5 of km every 1 minute'
    """
    size, within = length("last", "n", n, on)
    step, trigger = length("last", "every", every, every_on)
    if within == trigger:
        meant = f"win.sliding({n!r}, every={every!r}{'' if on is None else f', on={on!r}'})"
        raise WindrowError(f"win.last: every is measured in {within}, as n is; that is {meant}")
    return Last(size, step, _origin(origin, trigger), trigger, within)


def policy(evict: Callable[[Any, Any], bool], over: Mapping[str, Aggregate]) -> Policy:
    """After each row, `evict(total, old)` says of the oldest part whether it goes (paper 4 §4.1.3): one result a row.

    Args:
        evict: a function of two tuples with the fields of `over`: `total` for the whole window, `old` for its oldest
            part. It must hold for every shorter part of a part that it holds for.
        over: the aggregates that it decides by, bound to columns.

    >>> from windrow import agg
    >>> str(policy(lambda total, old: total.n - old.n >= 100, over={"n": agg.count()}))
    'policy over n=count()'
    """
    if not callable(evict):
        raise WindrowError(f"win.policy: evict is a function of (total, old), not {evict!r}")
    if not isinstance(over, Mapping) or not over:
        raise WindrowError("win.policy: over names the aggregates that evict sees, such as {'n': agg.count()}")
    for name, aggregate in over.items():
        if not isinstance(aggregate, Aggregate):
            raise WindrowError(f"win.policy: over['{name}'] is an aggregate such as agg.max('ts'), not {aggregate!r}")
        without_condition(aggregate, "win.policy's over")
        if not str(name).isidentifier():
            raise WindrowError(f"win.policy: evict reads its fields by name, and {name!r} is no name")
        if not aggregate.columns and aggregate.arity[0] > 0:
            raise WindrowError(f"win.policy: over['{name}'] names no column; write, for example, agg.max('ts')")
    return Policy(evict, tuple(over.items()), ROWS)


def user_defined(discretize: Any) -> UserDefined:
    """Cutty's windows: a class whose `discretize(self, row)` gives (begins, ends) for each row.

    `begins` windows begin with the row; before that, the `ends` oldest open ones close. Instances hold plain state
    (a dataclass of numbers, texts and lists), one for each key, so that it can be saved.

    Methods that a class may have beside it:

    * `ends_at(self)`: the event time at which the oldest open window ends, unless a row ends it before; None: no time
      does. In microseconds since 1970, as times are in rows. It is asked while a window is open.
    * `ended(self, time)`: the oldest window has ended by event time.
    * `evict(self, row)`: how many of the oldest rows leave before this one comes. Rows are held until they leave, and a
      window has all rows that are held when it ends. After `discretize`.

    >>> class Triples:
    ...     seen: int = 0
    ...     def discretize(self, row):
    ...         self.seen += 1
    ...         begins = self.seen % 3 == 1
    ...         return int(begins), int(begins and self.seen > 1)
    >>> str(user_defined(Triples))
    'user-defined, Triples'
    """
    made = discretize if isinstance(discretize, type) else type(discretize)
    if not callable(getattr(made, "discretize", None)):
        raise WindrowError(f"win.user_defined takes a class with discretize(self, row), and {made.__name__} has none")
    if ends_by_time(made) and not callable(getattr(made, "ended", None)):
        raise WindrowError(f"win.user_defined: {made.__name__} has ends_at(self), so it needs ended(self, time), too")
    if isinstance(discretize, type):
        try:
            discretize()
        except TypeError as error:
            raise WindrowError(
                f"win.user_defined: {made.__name__}() must work without arguments ({error}); or give an instance"
            ) from error
    kind = Evicting if evicts(made) else UserDefined
    return kind(discretize, TIME if ends_by_time(made) else ROWS)


def _origin(given: Any, measure: Measure) -> Any:
    """The origin on the measure; times as microseconds since the epoch."""
    if given is None:
        return 0
    if measure == ROWS:
        if isinstance(given, bool) or not hasattr(given, "__index__"):
            raise WindrowError(f"origin is a row's position here, not {given!r}")
        if given < 0:
            raise WindrowError(f"rows are counted from 0; an origin of {given} is before the first")
        return int(given)
    if measure == TIME:
        return instant(given)
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise WindrowError(f"origin is a value of {measure.column} here, not {given!r}")
    return given
