"""The functions of `windrow.win`: what a user gives, checked, becomes a window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.aggregates.values import without_condition
from windrow.engine.window_classes import ends_by_time, evicts
from windrow.errors import WindrowError
from windrow.windows import zoned
from windrow.windows.base import ROWS, TIME, Measure, length, same_measure
from windrow.windows.calendar import Calendar, Shift, Step, local_day, step
from windrow.windows.durations import instant, is_duration
from windrow.windows.kinds import (
    Evicting,
    Landmark,
    Last,
    LimitedSession,
    Periodic,
    Policy,
    Punctuated,
    RightClosed,
    Session,
    Trailing,
    UserDefined,
)
from windrow.windows.predicates import Predicate
from windrow.windows.zones import zone

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


def sliding(
    range: Any, every: Any, origin: Any = None, *, on: str | None = None, tz: str | None = None, closed: str = "left"
) -> Periodic:
    """Windows [start, start + range). A new one starts at every multiple of `every` from `origin`.

    Args:
        range: how long: a duration ("24 hours", a timedelta) by event time, a number of rows, or a number with `on`.
        every: how far apart, in the same measure.
        origin: where the multiples are counted from; the epoch (1970-01-01 UTC), row 0, or 0 where it is not given.
        on: an ordered numeric column to measure along.
        tz: a time zone such as "Europe/Berlin": `every` is a number of its days, weeks (from Monday), months, quarters
            or years, `range` one of these or an exact duration, and `origin` a day. A local day has 23 to 25 hours.
        closed: which end belongs to a window by time: left, or right for (start, end].

    >>> str(sliding("24 hours", every="1 minute"))
    'sliding, 1 day every 1 minute'
    >>> str(sliding("1 month", every="1 day", tz="Europe/Berlin"))
    'sliding, 1 month every 1 day of Europe/Berlin'
    """
    if tz is not None:
        return _by_calendar("sliding", ("range", range), ("every", every), origin, on, tz, closed)
    size, measure = length("sliding", "range", range, on)
    apart, other = length("sliding", "every", every, on)
    same_measure("sliding", "range", "every", measure, other)
    return _closed("sliding", closed, measure)(size, apart, _origin(origin, measure), measure)


def tumbling(
    size: Any, origin: Any = None, *, on: str | None = None, tz: str | None = None, closed: str = "left"
) -> Periodic:
    """Windows side by side: `sliding(size, every=size)`.

    >>> str(tumbling(100))
    'tumbling, 100 rows'
    >>> str(tumbling("1 month", tz="Europe/Berlin"))
    'tumbling, 1 month of Europe/Berlin'
    """
    if tz is not None:
        return _by_calendar("tumbling", ("size", size), ("size", size), origin, on, tz, closed)
    span, measure = length("tumbling", "size", size, on)
    return _closed("tumbling", closed, measure)(span, span, _origin(origin, measure), measure)


def trailing(range: Any, closed: str = "right", *, on: str | None = None, tz: str | None = None) -> Trailing:
    """For each row, the window that ends at it: one result per row.

    Args:
        range: how far back: a duration, a number of rows (the row itself counts), or a number with `on`.
        closed: which ends belong to the window: right, left, both or none. Rows with equal positions are in together.
        on: a numeric column to measure along.
        tz: a time zone: `range` is a number of its days, weeks, months, quarters or years.

    >>> str(trailing("1 hour", closed="both"))
    'trailing, 1 hour, closed both'
    >>> str(trailing("1 month", tz="Europe/Berlin"))
    'trailing, 1 month of Europe/Berlin, closed right'
    """
    if closed not in ("right", "left", "both", "none"):
        raise WindrowError(f"win.trailing: closed is right, left, both or none, not {closed!r}")
    if tz is not None:
        _only_time("trailing", ("range", range), on)
        return zoned.trailing(Shift(_steps("trailing", "range", range), zone(tz).name), closed)
    size, measure = length("trailing", "range", range, on, least=0 if is_duration(range) or on is not None else 1)
    return Trailing(size, closed, measure)


def session(gap: Any, *, on: str | None = None, at_most: Any = None, tz: str | None = None) -> Session:
    """A window that ends after a gap without rows: [first, last + gap). A row exactly at last + gap joins it.

    Args:
        gap: a duration, or a number with `on`.
        on: an ordered numeric column to measure along.
        at_most: how long a session may be, in the same measure: [first, first + at_most) at most. The next row begins
            another one, however close it is.
        tz: a time zone: `gap` is a number of its days, weeks, months, quarters or years.

    >>> str(session("30 minutes"))
    'session, gap 30 minutes'
    >>> str(session("30 minutes", at_most="8 hours"))
    'session, gap 30 minutes, at most 8 hours'
    """
    if tz is not None:
        _only_time("session", ("gap", gap), on)
        if at_most is not None:
            raise WindrowError("win.session: at_most= is for gaps of a fixed length, without tz=")
        return zoned.session(Shift(_steps("session", "gap", gap), zone(tz).name, ahead=True))
    size, measure = length("session", "gap", gap, on)
    if measure == ROWS:
        raise WindrowError(f"win.session: gap is a duration, or a number with on='column', not {gap!r}")
    if at_most is None:
        return Session(size, measure)
    most, other = length("session", "at_most", at_most, on)
    same_measure("session", "gap", "at_most", measure, other)
    return LimitedSession(size, measure, most)


def punctuated(predicate: Any) -> Punctuated:
    """A new window starts at each row that meets the predicate.

    Args:
        predicate: a boolean column, an expression such as "price < 10", or a function of the row.

    >>> str(punctuated("price < 10"))
    'punctuated, price < 10'
    """
    return Punctuated(Predicate.parse(predicate), ROWS)


def landmark(begin: Any, every: Any, *, tz: str | None = None) -> Landmark:
    """All rows since a landmark row, reported at an interval, until the next landmark.

    Args:
        begin: a predicate; each row that meets it is a landmark.
        every: a duration or a number of rows: the report at start + k·every covers all since the landmark. Steps
            without a row are not reported.
        tz: a time zone: it is reported where so many of its days, weeks, months, quarters or years end, counted from
            1970 on, whenever the landmark was.

    >>> str(landmark("opening", every="5 minutes"))
    'landmark, opening, every 5 minutes'
    >>> str(landmark("opening", every="1 day", tz="Europe/Berlin"))
    'landmark, opening, every 1 day of Europe/Berlin'
    """
    if tz is not None:
        _only_time("landmark", ("every", every), None)
        steps = _steps("landmark", "every", every)
        return zoned.landmark(Predicate.parse(begin), Calendar(steps, steps, zone(tz).name))
    size, measure = length("landmark", "every", every, None)
    return Landmark(Predicate.parse(begin), size, measure)


def last(n: Any, every: Any, origin: Any = None, *, on: str | None = None, every_on: str | None = None) -> Last:
    """The last rows, reported at an interval: whether a row is in depends on the rows after it (paper 3 §3.2).

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
    apart, trigger = length("last", "every", every, every_on)
    if within == trigger:
        meant = f"win.sliding({n!r}, every={every!r}{'' if on is None else f', on={on!r}'})"
        raise WindrowError(f"win.last: every is measured in {within}, as n is; that is {meant}")
    return Last(size, apart, _origin(origin, trigger), trigger, within)


def policy(evict: Callable[[Any, Any], bool], over: Mapping[str, Aggregate]) -> Policy:
    """After each row, `evict(total, old)` decides which of the oldest rows leave (paper 4 §4.1.3). One result per row.

    Args:
        evict: a function of two tuples with the fields of `over`: `total` for the whole window, `old` for its oldest
            part. If it is true for a part, it must be true for every shorter part.
        over: the aggregates that `evict` sees, bound to columns.

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


def _by_calendar(
    kind: str, span: tuple[str, Any], every: tuple[str, Any], origin: Any, on: str | None, tz: str, closed: str
) -> Periodic:
    """Windows of a time zone's calendar."""
    for named in (span, every):
        _only_time(kind, named, on)
    steps, length = _steps(kind, *every), step(kind, *span)
    if not isinstance(length, Step) and not 0 < length < 2**62:
        raise WindrowError(f"win.{kind}: range must be more than 0, and less than 2^62 microseconds, not {span[1]!r}")
    first = None if origin is None else local_day(origin)
    shift = int(_closed(kind, closed, TIME) is RightClosed)
    return zoned.periodic(Calendar(length, steps, zone(tz).name, first, shift=shift))


def _closed(kind: str, closed: str, measure: Measure) -> type[Periodic]:
    if closed not in ("left", "right"):
        raise WindrowError(f"win.{kind}: closed is left or right, not {closed!r}")
    if closed == "right" and measure != TIME:
        raise WindrowError(f"win.{kind}: closed='right' is for windows by time, and these are along {measure}")
    return RightClosed if closed == "right" else Periodic


def _only_time(kind: str, named: tuple[str, Any], on: str | None) -> None:
    what, given = named
    if on is not None:
        raise WindrowError(f"win.{kind}: tz= is for windows by time, and on={on!r} is a column")
    if not is_duration(given):
        raise WindrowError(f"win.{kind}: with tz=, {what} is a length such as '1 day' or '1 month', not {given!r}")


def _steps(kind: str, what: str, given: Any) -> Step:
    """Days or longer: shorter durations are the same in every zone."""
    found = step(kind, what, given)
    if isinstance(found, Step):
        return found
    raise WindrowError(
        f"win.{kind}: with tz=, {what} is a number of days, weeks, months, quarters or years, such as '1 day', not "
        f"{given!r}, which is as long in every time zone"
    )


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
