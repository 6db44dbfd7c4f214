"""variance and stddev, of samples and of populations.

The partial is (n, value, distance, M2), M2 the sum of squared distances from the mean, merged by Chan's formula. It
cannot turn negative, is exactly 0 where all values are equal, and does not cancel. The mean is kept as one of the
values and the distance from it: beside a spread of few steps of a float (1e8 ± 1e-7) the rounding of a plain mean would
be as large as the distances between means. Paper 1, Table 1 keeps (n, sum, sum of squares): the named variant
`form="paper"`, for the experiments only, since it loses every digit where the mean is large beside the spread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from windrow.aggregates.arithmetic import add_three
from windrow.aggregates.base import Aggregate, Builtin, Numeric, Sized
from windrow.aggregates.values import bind, one_of, real, where


def lift_moments(x):
    x = 1.0 * x
    return (1.0, x, 0.0, x - x)  # x - x: 0, but NaN for inf and NaN, which have no variance


def lift_moments_plain(x):
    return lift_moments(real(x))


def chan(a, b):
    n = a[0] + b[0]
    d = (b[1] - a[1]) + (b[2] - a[2])
    # Two identities meet as well: 0/0 would poison the mean. Of the guards tried this is the one without a price
    # (M rows/s, scan and pairwise: no guard 336 and 836, this 337 and 868, max(n, 1.0) 332 and 757,
    # n + (n == 0.0) 200 and 832).
    df = d * (b[0] / (n if n > 0.0 else 1.0))
    some = a[0] > 0.0  # the identity has no value
    # in this order: df * d may overflow where a[0] is 0, and inf * 0 is NaN
    return (n, a[1] if some else b[1], a[2] + df if some else b[2], a[3] + (b[3] + df * a[0] * d))


def several(p):
    return p[0] > 1.0


# Where n is 1 there is no sample variance (`several` says so), but the compiled loop divides all the same: by NaN.


def variance_of(p):
    return p[3] / (p[0] - 1.0 if p[0] > 1.0 else math.nan)


def var_pop_of(p):
    return p[3] / p[0]


def stddev_of(p):
    return math.sqrt(p[3] / (p[0] - 1.0 if p[0] > 1.0 else math.nan))


def stddev_pop_of(p):
    return math.sqrt(p[3] / p[0])


# The same without the count of rows (`Sized`).


def lift_sized(x):
    x = 1.0 * x
    return (x, 0.0, x - x)


def chan_sized(a, b, older_rows, newer_rows):
    d = (b[0] - a[0]) + (b[1] - a[1])
    df = d * (newer_rows * (1.0 / (older_rows + newer_rows)))  # one division for the scans of both directions
    some = older_rows > 0.0
    return (a[0] if some else b[0], a[1] + df if some else b[1], a[2] + (b[2] + df * older_rows * d))


def with_rows(p, rows):
    return (rows, p[0], p[1], p[2])


def without_rows(p):
    return (p[1], p[2], p[3])


def several_rows(p, rows):
    return rows > 1.0


def sized_variance(p, rows):
    return p[2] / (rows - 1.0 if rows > 1.0 else math.nan)


def sized_var_pop(p, rows):
    return p[2] / rows


def sized_stddev(p, rows):
    return math.sqrt(p[2] / (rows - 1.0 if rows > 1.0 else math.nan))


def sized_stddev_pop(p, rows):
    return math.sqrt(p[2] / rows)


def lift_squares(x):
    x = 1.0 * x
    return (1.0, x, x * x)


def lift_squares_plain(x):
    return lift_squares(real(x))


# Below 0 the paper's difference is cancellation's doing, and 0 is nearer. It is spelled out in each function: the
# compiler would have to be told of a helper.


def paper_variance(p):
    m2 = p[2] - p[1] * p[1] / p[0]
    return (0.0 if m2 < 0.0 else m2) / (p[0] - 1.0 if p[0] > 1.0 else math.nan)


def paper_var_pop(p):
    m2 = p[2] - p[1] * p[1] / p[0]
    return (0.0 if m2 < 0.0 else m2) / p[0]


def paper_stddev(p):
    m2 = p[2] - p[1] * p[1] / p[0]
    return math.sqrt((0.0 if m2 < 0.0 else m2) / (p[0] - 1.0 if p[0] > 1.0 else math.nan))


def paper_stddev_pop(p):
    m2 = p[2] - p[1] * p[1] / p[0]
    return math.sqrt((0.0 if m2 < 0.0 else m2) / p[0])


def build(
    name: str, value: Callable, sized_value: Callable, paper_value: Callable, defined: Callable | None = None
) -> dict[str, Builtin]:
    """Both forms of one statistic."""
    defined_sized = None if defined is None else several_rows
    sized = Sized(lift_sized, chan_sized, sized_value, (0.0, 0.0, 0.0), with_rows, without_rows, defined_sized)

    def form(
        lift: Callable,
        plain_lift: Callable,
        combine: Callable,
        lower: Callable,
        width: int,
        sized: Sized | None = None,
    ) -> Builtin:
        def numeric(dtypes: Sequence[str]) -> Numeric:
            return Numeric(lift, combine, lower, (0.0,) * width, defined=defined, sized=sized)

        plain_lower = lower if defined is None else where(defined, lower)
        return Builtin(name, plain_lift, combine, plain_lower, commutative=True, result="float64", numeric=numeric)

    return {
        "moments": form(lift_moments, lift_moments_plain, chan, value, 4, sized),
        "paper": form(lift_squares, lift_squares_plain, add_three, paper_value, 3),
    }


FORMS = {
    "variance": build("variance", variance_of, sized_variance, paper_variance, several),
    "var_pop": build("var_pop", var_pop_of, sized_var_pop, paper_var_pop),
    "stddev": build("stddev", stddev_of, sized_stddev, paper_stddev, several),
    "stddev_pop": build("stddev_pop", stddev_pop_of, sized_stddev_pop, paper_stddev_pop),
}


def choose(name: str, form: str, columns: Sequence[str], where: Any) -> Aggregate:
    forms = FORMS[name]
    return bind(forms[one_of(name, "form", form, tuple(forms))], columns, where)


def variance(*columns: str, form: str = "moments", where: Any = None) -> Aggregate:
    """The sample variance (Spark's variance and var_samp); null for one row, as in Spark since 3.1.

    The partial is four floats; commutative. Nulls are skipped; NaN and inf give NaN. Never negative, and exactly 0
    where all values are equal. For `form="paper"` see the module's text.

    >>> from windrow import agg
    >>> a = agg.variance(); a.lower(a.combine(a.lift(1), a.lift(5)))
    8.0
    """
    return choose("variance", form, columns, where)


def var_pop(*columns: str, form: str = "moments", where: Any = None) -> Aggregate:
    """The population variance; 0 for one row.

    The partial is four floats; commutative. Nulls are skipped; NaN and inf give NaN. Otherwise as `variance`.

    >>> from windrow import agg
    >>> a = agg.var_pop(); a.lower(a.combine(a.lift(1), a.lift(5)))
    4.0
    """
    return choose("var_pop", form, columns, where)


def stddev(*columns: str, form: str = "moments", where: Any = None) -> Aggregate:
    """The sample standard deviation, the square root of `variance`; null for one row.

    The partial is four floats; commutative. Nulls are skipped; NaN and inf give NaN. Otherwise as `variance`.

    >>> from windrow import agg
    >>> a = agg.stddev(); round(a.lower(a.combine(a.lift(1), a.lift(5))), 6)
    2.828427
    """
    return choose("stddev", form, columns, where)


def stddev_pop(*columns: str, form: str = "moments", where: Any = None) -> Aggregate:
    """The population standard deviation, the square root of `var_pop`; 0 for one row.

    The partial is four floats; commutative. Nulls are skipped; NaN and inf give NaN. Otherwise as `variance`.

    >>> from windrow import agg
    >>> a = agg.stddev_pop(); a.lower(a.combine(a.lift(1), a.lift(5)))
    2.0
    """
    return choose("stddev_pop", form, columns, where)
