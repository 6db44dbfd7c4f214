"""variance and stddev, of samples and of populations.

The partial is (n, mean, M2), M2 the sum of squared distances from the mean, merged by Chan's formula. It cannot turn
negative, is exactly 0 where all values are equal, and does not cancel. Paper 1, Table 1 keeps (n, sum, sum of
squares): the named variant `form="paper"`, for the experiments only, since it loses every digit where the mean is
large beside the spread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from windrow.aggregates.arithmetic import add_three
from windrow.aggregates.base import Aggregate, Builtin, Numeric
from windrow.aggregates.values import bind, one_of, real, where


def lift_moments(x):
    x = 1.0 * x
    return (1.0, x, x - x)  # x - x: 0, but NaN for inf and NaN, which have no variance


def lift_moments_plain(x):
    return lift_moments(real(x))


def chan(a, b):
    n = a[0] + b[0]
    d = b[1] - a[1]
    # Two identities meet as well: 0/0 would poison the mean. Of the guards tried this is the one without a price
    # (M rows/s, scan and pairwise: no guard 336 and 836, this 337 and 868, max(n, 1.0) 332 and 757,
    # n + (n == 0.0) 200 and 832).
    df = d * (b[0] / (n if n > 0.0 else 1.0))
    return (n, a[1] + df, a[2] + (b[2] + df * d * a[0]))


def several(p):
    return p[0] > 1.0


# Where n is 1 there is no sample variance (`several` says so), but the compiled loop divides all the same: by NaN.


def variance_of(p):
    return p[2] / (p[0] - 1.0 if p[0] > 1.0 else math.nan)


def var_pop_of(p):
    return p[2] / p[0]


def stddev_of(p):
    return math.sqrt(p[2] / (p[0] - 1.0 if p[0] > 1.0 else math.nan))


def stddev_pop_of(p):
    return math.sqrt(p[2] / p[0])


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


def build(name: str, value: Callable, paper_value: Callable, defined: Callable | None = None) -> dict[str, Builtin]:
    """Both forms of one statistic."""

    def form(lift: Callable, plain_lift: Callable, combine: Callable, lower: Callable) -> Builtin:
        def numeric(dtypes: Sequence[str]) -> Numeric:
            return Numeric(lift, combine, lower, (0.0, 0.0, 0.0), defined=defined)

        plain_lower = lower if defined is None else where(defined, lower)
        return Builtin(name, plain_lift, combine, plain_lower, commutative=True, numeric=numeric)

    return {
        "moments": form(lift_moments, lift_moments_plain, chan, value),
        "paper": form(lift_squares, lift_squares_plain, add_three, paper_value),
    }


FORMS = {
    "variance": build("variance", variance_of, paper_variance, several),
    "var_pop": build("var_pop", var_pop_of, paper_var_pop),
    "stddev": build("stddev", stddev_of, paper_stddev, several),
    "stddev_pop": build("stddev_pop", stddev_pop_of, paper_stddev_pop),
}


def choose(name: str, form: str, columns: Sequence[str]) -> Aggregate:
    forms = FORMS[name]
    return bind(forms[one_of(name, "form", form, tuple(forms))], columns)


def variance(*columns: str, form: str = "moments") -> Aggregate:
    """The sample variance (Spark's variance and var_samp); null for one row, as in Spark since 3.1.

    The partial is three floats; commutative. Nulls are skipped; NaN and inf give NaN. Never negative, and exactly 0
    where all values are equal. For `form="paper"` see the module's text.

    >>> from windrow import agg
    >>> a = agg.variance(); a.lower(a.combine(a.lift(1), a.lift(5)))
    8.0
    """
    return choose("variance", form, columns)


def var_pop(*columns: str, form: str = "moments") -> Aggregate:
    """The population variance; 0 for one row.

    The partial is three floats; commutative. Nulls are skipped; NaN and inf give NaN. Otherwise as `variance`.

    >>> from windrow import agg
    >>> a = agg.var_pop(); a.lower(a.combine(a.lift(1), a.lift(5)))
    4.0
    """
    return choose("var_pop", form, columns)


def stddev(*columns: str, form: str = "moments") -> Aggregate:
    """The sample standard deviation, the square root of `variance`; null for one row.

    The partial is three floats; commutative. Nulls are skipped; NaN and inf give NaN. Otherwise as `variance`.

    >>> from windrow import agg
    >>> a = agg.stddev(); round(a.lower(a.combine(a.lift(1), a.lift(5))), 6)
    2.828427
    """
    return choose("stddev", form, columns)


def stddev_pop(*columns: str, form: str = "moments") -> Aggregate:
    """The population standard deviation, the square root of `var_pop`; 0 for one row.

    The partial is three floats; commutative. Nulls are skipped; NaN and inf give NaN. Otherwise as `variance`.

    >>> from windrow import agg
    >>> a = agg.stddev_pop(); a.lower(a.combine(a.lift(1), a.lift(5)))
    2.0
    """
    return choose("stddev_pop", form, columns)
