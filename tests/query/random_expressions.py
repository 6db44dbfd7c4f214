"""Random expressions that mean the same here and in DuckDB, and rows to work them out over."""

from __future__ import annotations

import random
from typing import Any

COLUMNS = {"x": "BIGINT", "y": "BIGINT", "f": "DOUBLE", "s": "VARCHAR", "b": "BOOLEAN"}
WORDS = ["a", "B", "ab", "", "Zebra", "it's"]


def rows(rnd: random.Random, n: int) -> dict[str, list[Any]]:
    make = {
        "x": lambda: rnd.randint(-5, 5),
        "y": lambda: rnd.randint(0, 9),
        "f": lambda: rnd.choice([-1.5, 0.0, 0.25, 2.0, 7.5, float("inf"), float("nan")]),
        "s": lambda: rnd.choice(WORDS),
        "b": lambda: rnd.random() < 0.5,
    }
    return {name: [None if rnd.random() < 0.2 else value() for _ in range(n)] for name, value in make.items()}


def number(rnd: random.Random, depth: int) -> str:
    if depth <= 0 or rnd.random() < 0.2:
        return rnd.choice(["x", "y", "f", "`x`", str(rnd.randint(0, 4)), "0.5", "1.5"])
    a, b = number(rnd, depth - 1), number(rnd, depth - 1)
    whole = rnd.choice(["y", "x"]), rnd.randint(1, 4)
    return rnd.choice(
        [
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"({a} / {whole[1]})",  # x / 0 is null here, as in Spark
            f"(abs({whole[0]}) // {whole[1]})",  # DuckDB rounds towards 0, we down
            f"(abs({whole[0]}) % {whole[1]})",
            f"-({a})",
            f"abs({a})",
            f"coalesce({a}, {b}, 1)",
            f"least({a}, {b})",
            f"greatest({a}, {b}, 2)",
            f"length({text(rnd, depth - 1)})",
            f"(CASE WHEN {truth(rnd, depth - 1)} THEN {a} WHEN {truth(rnd, depth - 1)} THEN {b} ELSE 3 END)",
            f"(case when {truth(rnd, depth - 1)} then {a} end)",
        ]
    )


def text(rnd: random.Random, depth: int) -> str:
    if depth <= 0 or rnd.random() < 0.3:
        return rnd.choice(["s", "'ab'", "'it''s'", "''"])
    a, b = text(rnd, depth - 1), text(rnd, depth - 1)
    return rnd.choice(
        [
            f"lower({a})",
            f"upper({a})",
            f"coalesce({a}, {b})",
            f"least({a}, {b})",
            f"greatest({a}, {b})",
            f"(case when {truth(rnd, depth - 1)} then {a} else {b} end)",
        ]
    )


def truth(rnd: random.Random, depth: int) -> str:
    if depth <= 0:
        return rnd.choice(["b", "x > 0", "s = 'ab'", "f is null", "true", "NULL"])
    a, b = number(rnd, depth - 1), number(rnd, depth - 1)
    op = rnd.choice(["<", "<=", ">", ">=", "=", "<>", "!="])
    maybe = rnd.choice(["", "not "])
    return rnd.choice(
        [
            f"({a} {op} {b})",
            f"({text(rnd, depth - 1)} {op} {text(rnd, depth - 1)})",
            f"({truth(rnd, depth - 1)} and {truth(rnd, depth - 1)})",
            f"({truth(rnd, depth - 1)} OR {truth(rnd, depth - 1)})",
            f"(not {truth(rnd, depth - 1)})",
            f"({a} {maybe}between {b} and {number(rnd, depth - 1)})",
            f"(x {maybe}in (1, 2, -3{rnd.choice(['', ', null'])}))",
            f"(s {maybe}IN ('ab', 'B'))",
            f"({a} is {maybe}null)",
            "b",
        ]
    )
