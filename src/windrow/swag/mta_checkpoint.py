"""Checkpoints: all of a stored window but its pages, in one sealed value that is written after them.

A page that was written after the checkpoint belongs to rows that are lost in a crash. The process that goes on will
write that page again, with other rows, and should its write be lost, the old one would still have a right checksum. So
every life of a window has an epoch, a random number, pages carry the epoch they were written in, and the checkpoint
says which pages are of which epoch.
"""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

from windrow.aggregates.base import Aggregate
from windrow.engine import snapshot
from windrow.engine.identity import Described, described
from windrow.errors import SnapshotError
from windrow.swag.mta_pages import Body

KIND, LAYOUT = "windrow tree", 2


class Checkpoint(NamedTuple):
    """What is needed beside the pages."""

    algorithm: str
    aggregate: Described
    window: str
    number: int  # of checkpoints of this window
    inserted: int  # rows, since the window was made
    cache: int
    epochs: list  # [epoch, first page of each level]
    marks: list  # H, T, A of each level
    registers: dict[str, int]
    partials: Body  # the registers that are partials, then the Stack
    tails: list[Body]  # [A, T) of each level
    note: Any  # the user's


def new_epoch() -> int:
    """A number that no other life of the window has."""
    return secrets.randbits(63)


def sealed(checkpoint: Checkpoint) -> bytes:
    """The checkpoint as a value for the store."""
    state = checkpoint._replace(
        aggregate=tuple(checkpoint.aggregate),  # type: ignore[arg-type]
        registers=list(map(list, checkpoint.registers.items())),  # type: ignore[arg-type]
        partials=list(checkpoint.partials),  # type: ignore[arg-type]
        tails=[list(tail) for tail in checkpoint.tails],  # type: ignore[misc]
    )
    return snapshot.sealed((KIND, LAYOUT, *state))


def opened(value: bytes | None, window: str, algorithm: str, aggregate: Aggregate) -> Checkpoint:
    """The checkpoint of this window; `SnapshotError`, which says what is different, where it is of another."""
    if value is None:
        raise SnapshotError(f"window {window!r} has no checkpoint in this store")
    try:
        kind, layout, *state = snapshot.opened(value)
    except SnapshotError as error:
        raise SnapshotError(f"the checkpoint of window {window!r}: {error}") from None
    if kind != KIND:
        raise SnapshotError(f"what the store holds for window {window!r} is no checkpoint")
    if layout != LAYOUT:
        raise SnapshotError(
            f"the checkpoint of window {window!r} has layout version {layout}, this windrow reads version {LAYOUT}"
        )
    raw = Checkpoint(*state)
    found = raw._replace(
        aggregate=Described(*raw.aggregate),
        registers=dict(raw.registers),
        partials=Body(*raw.partials),
        tails=[Body(*tail) for tail in raw.tails],
    )
    if found.window != window:
        raise SnapshotError(f"the checkpoint is of window {found.window!r}, and not of {window!r}")
    mine = described(aggregate)
    if (found.algorithm, found.aggregate.name) != (algorithm, mine.name):
        raise SnapshotError(
            f"the checkpoint of window {window!r} is of {found.algorithm} with {found.aggregate.name}, "
            f"and cannot go on as {algorithm} with {mine.name}"
        )
    refused = mine.refuses(found.aggregate)
    if refused:
        raise SnapshotError(f"the checkpoint of window {window!r} cannot go on: {refused}")
    return found
