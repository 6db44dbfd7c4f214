"""The windows of many keys, each kept by one algorithm from step to step.

What an algorithm keeps of a key is its registers, one row of a table, and its slots, one block of an arena. A loop
(`engine.keyed_loops`) loads both where the rows of a key begin and puts the registers back where they end. Every write
to a slot is logged first, so that a step that fails is taken back at the price of what it wrote.

The same loops run plain: there a key's registers are a tuple, its slots are lists, and the form's journal logs.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from windrow.engine.arena import Blocks, Mark, grown, powers_of_two, stretches
from windrow.engine.columns import Store, allocate
from windrow.engine.forms import Form

#: a compiled state: slices [f, e) are in the algorithm, and the open one where `o`; then the algorithm's ints
Cells = namedtuple("Cells", "ints parts vals vals_base aggs aggs_base links links_base capacity")
OWN = 3  # f, e, o
#: a log: [entries, whether to log, the block's base]
LOG = 3


class Access(NamedTuple):
    """How a loop reaches the state of a key."""

    load: Callable  # (cells, k) -> (f, e, o, registers, the open slice)
    save: Callable  # (cells, k, f, e, o, registers, the open slice)
    store: Callable  # (cells, k) -> Store
    logged: Callable  # (cells) -> how many writes there is room for in the log


@cache
def _logged_slots(width: int) -> tuple[Callable, Callable]:
    """`put` and `view` for slots (columns, positions of the log, its columns, its head): generated for their width."""
    scope: dict[str, Any] = {}
    fields = range(width)
    log, head = width, 2 * width + 1
    source = (
        "def put(slots, i, partial):\n"
        f"    head = slots[{head}]\n"
        "    if head[1]:\n"
        "        n = head[0]\n"
        f"        slots[{log}][n] = head[2] + i\n"
        + "\n".join(f"        slots[{log + 1 + j}][n] = slots[{j}][i]" for j in fields)
        + "\n        head[0] = n + 1\n"
        + "\n".join(f"    slots[{j}][i] = partial[{j}]" for j in fields)
        + "\ndef view(slots, base, size):\n"
        f"    slots[{head}][2] = base\n"
        f"    return ({', '.join(f'slots[{j}][base:base + size]' for j in fields)}, "
        + ", ".join(f"slots[{j}]" for j in range(log, head + 1))
        + ")\n"
    )
    exec(source, scope)
    return scope["put"], scope["view"]


def _register_access(registers: Any, partials: tuple[str, ...], get: Callable, put: Callable) -> tuple:
    """`load` and `save` of an algorithm's registers, generated for their names."""
    ints = [name for name in registers._fields if name not in partials]
    width = 1 + len(partials)
    place = {name: f"ints[k, {OWN + j}]" for j, name in enumerate(ints)}
    place |= {name: f"get(parts, k * {width} + {1 + j})" for j, name in enumerate(partials)}
    lines = [f"    ints[k, {OWN + j}] = r.{name}" for j, name in enumerate(ints)]
    lines += [f"    put(parts, k * {width} + {1 + j}, r.{name})" for j, name in enumerate(partials)]
    scope: dict[str, Any] = {"Registers": registers, "get": get, "put": put}
    exec(
        f"def load(ints, parts, k):\n    return Registers({', '.join(place[name] for name in registers._fields)})\n"
        "def save(ints, parts, k, r):\n" + "\n".join(lines) + "\n",
        scope,
    )
    return scope["load"], scope["save"], width


def logging_form(form: Form) -> Form:
    """The form with a `put` and a `put_link` that log what they overwrite."""
    if not form.compiled:
        return form
    assert form.dtypes is not None
    put, _ = _logged_slots(len(form.dtypes))
    link, _ = _logged_slots(1)

    def put_link(links, i, value):
        link(links, i, (value,))

    def get_link(links, i):
        return links[0][i]

    jitted_link = form.jit(link)
    scope = {"link": jitted_link}
    exec("def put_link(links, i, value):\n    link(links, i, (value,))", scope)
    return replace(form, put=form.jit(put), put_link=form.jit(scope["put_link"]), get_link=form.jit(get_link))
