"""Users' code, compiled, with Python's errors: the error model "checked".

numba lets an int wrap at 64 bits, and gives nan or some int where Python raises. Code that is compiled with this error
model raises there. Who compiles a user's function then runs it in plain Python, which has larger ints and says what is
wrong; an aggregate gives the error.

numba asks for machine code of an operation by its types, and takes what was registered last. What is registered here
asks for the error model, and does what numba does under any other one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import callconv
from numba.core.compiler import Flags
from numba.cpython import builtins, mathimpl, numbers
from numba.extending import lower_builtin, lower_cast

#: part of the name of every kernel on disk, because no fingerprint sees what is registered here: to be counted up with
#: each change of what it does
VERSION = 1
OVERFLOW = "an int leaves 64 bits"
DOMAIN = "a number has no such function, or the result is too large"


class CheckedErrorModel(callconv.PythonErrorModel):
    """Python's own, and ints do not wrap."""


callconv.error_models["checked"] = CheckedErrorModel


def _checks(context: Any) -> bool:
    return isinstance(context.error_model, CheckedErrorModel)


def _fail_if(context: Any, builder: Any, wrong: Any, error: type[Exception], text: str) -> None:
    with builder.if_then(wrong, likely=False):
        context.call_conv.return_user_exc(builder, error, (text,))


def _number(value: float) -> ir.Constant:
    return ir.Constant(ir.DoubleType(), value)


# Ints.


def _checked_int(operations: tuple, usual: Callable, intrinsic: str) -> None:
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if not _checks(context):
            return usual(context, builder, sig, args)
        found = getattr(builder, intrinsic)(*args)
        _fail_if(context, builder, builder.extract_value(found, 1), OverflowError, OVERFLOW)
        return builder.extract_value(found, 0)

    for operation in operations:
        lower_builtin(operation, types.int64, types.int64)(lower)


_checked_int((operator.add, operator.iadd), numbers.int_add_impl, "sadd_with_overflow")
_checked_int((operator.sub, operator.isub), numbers.int_sub_impl, "ssub_with_overflow")
_checked_int((operator.mul, operator.imul), numbers.int_mul_impl, "smul_with_overflow")


def _checked_lowest(operation: Any, usual: Callable, *kinds: Any) -> None:
    """-2**63 is the one int whose negative, absolute value and quotient by -1 are none."""

    @lower_builtin(operation, *kinds)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if _checks(context):
            wrong = builder.icmp_signed("==", args[0], ir.Constant(args[0].type, -(2**63)))
            for divisor in args[1:]:
                wrong = builder.and_(wrong, builder.icmp_signed("==", divisor, ir.Constant(divisor.type, -1)))
            _fail_if(context, builder, wrong, OverflowError, OVERFLOW)
        return usual(context, builder, sig, args)


_checked_lowest(operator.neg, numbers.int_negate_impl, types.int64)
_checked_lowest(abs, numbers.int_abs_impl, types.int64)
for _division in (operator.floordiv, operator.ifloordiv):
    _checked_lowest(_division, numbers.int_floordiv_impl, types.int64, types.int64)


@lower_builtin(operator.pow, types.int64, types.int64)
@lower_builtin(operator.ipow, types.int64, types.int64)
@lower_builtin(pow, types.int64, types.int64)
def _int_power(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    if not _checks(context):
        return numbers.int_power_impl(context, builder, sig, args)

    def power(a, b):
        if b < 0:  # Python gives a float
            raise OverflowError(OVERFLOW)
        result = 1
        while b > 0:
            if b & 1:
                result = result * a
            b >>= 1
            if b > 0:
                a = a * a
        return result

    flags: Any = Flags()
    flags.error_model = "checked"
    found = context.compile_subroutine(builder, power, sig, flags=flags)
    return context.call_internal(builder, found.fndesc, sig, args)


@lower_builtin(operator.pow, types.int64, types.IntegerLiteral)
@lower_builtin(operator.ipow, types.int64, types.IntegerLiteral)
def _int_power_of_a_constant(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    if not _checks(context):
        return numbers.static_power_impl(context, builder, sig, args)
    exponent = context.get_constant(types.int64, sig.args[1].literal_value)
    plain = types.int64(types.int64, types.int64)
    return _int_power(context, builder, plain, (args[0], exponent))


@lower_builtin(operator.lshift, types.int64, types.int64)
@lower_builtin(operator.ilshift, types.int64, types.int64)
def _shifted(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    usual = numbers.int_shl_impl(context, builder, sig, args)
    if _checks(context):
        value, by = args
        _fail_if(context, builder, builder.icmp_unsigned(">", by, ir.Constant(by.type, 62)), OverflowError, OVERFLOW)
        _fail_if(context, builder, builder.icmp_signed("!=", builder.ashr(usual, by), value), OverflowError, OVERFLOW)
    return usual


@lower_builtin(operator.rshift, types.int64, types.int64)
@lower_builtin(operator.irshift, types.int64, types.int64)
def _shifted_back(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    if _checks(context):
        by = args[1]
        _fail_if(context, builder, builder.icmp_unsigned(">", by, ir.Constant(by.type, 63)), OverflowError, OVERFLOW)
    return numbers.int_shr_impl(context, builder, sig, args)


# From floats to ints.


def _fits(context: Any, builder: Any, value: Any) -> None:
    low = builder.fcmp_ordered(">=", value, _number(-(2.0**63)))
    high = builder.fcmp_ordered("<", value, _number(2.0**63))
    _fail_if(context, builder, builder.not_(builder.and_(low, high)), OverflowError, OVERFLOW)  # nan, too


@lower_cast(types.float64, types.int64)
def _to_int(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    if _checks(context):
        _fits(context, builder, value)
    return numbers.float_to_integer(context, builder, source, target, value)


def _checked_rounding(function: Any, usual: Callable) -> None:
    @lower_builtin(function, types.float64)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if _checks(context) and isinstance(sig.return_type, types.Integer):
            _fits(context, builder, args[0])
        return usual(context, builder, sig, args)


_checked_rounding(math.floor, mathimpl.floor_impl)
_checked_rounding(math.ceil, mathimpl.ceil_impl)
_checked_rounding(math.trunc, mathimpl.trunc_impl)
_checked_rounding(round, builtins.round_impl_unary)


# Floats: what is nan of numbers, or infinite of finite ones, is an error in Python.


def _checked_float(function: Any, usual: Callable, *kinds: Any) -> None:
    @lower_builtin(function, *kinds)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        result = usual(context, builder, sig, args)
        if _checks(context) and result.type == ir.DoubleType():
            given = [context.cast(builder, v, kind, types.float64) for v, kind in zip(args, sig.args, strict=True)]
            became_nan, became_infinite = mathimpl.is_nan(builder, result), mathimpl.is_inf(builder, result)
            for value in given:
                became_nan = builder.and_(became_nan, builder.not_(mathimpl.is_nan(builder, value)))
                became_infinite = builder.and_(became_infinite, mathimpl.is_finite(builder, value))
            _fail_if(context, builder, builder.or_(became_nan, became_infinite), ValueError, DOMAIN)
        return result


_NAMES = "exp expm1 log log10 log2 log1p sin cos tan asin acos acosh atanh sinh cosh gamma lgamma sqrt"
for _name in _NAMES.split():
    _usual = getattr(mathimpl, f"{_name}_impl")
    _checked_float(getattr(math, _name), _usual, types.float64)
    _checked_float(getattr(math, _name), mathimpl._unary_int_input_wrapper_impl(_usual), types.int64)
_checked_float(math.pow, mathimpl.pow_impl, types.float64, types.float64)
for _power in (operator.pow, operator.ipow, pow):
    _checked_float(_power, numbers.real_power_impl, types.float64, types.float64)
    _checked_float(_power, numbers.int_power_impl, types.float64, types.int64)
    _checked_float(_power, numbers.static_power_impl, types.float64, types.IntegerLiteral)
