"""Rows that ask a live query: they are answered from its state, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.engine.asking import LiveAsks, Refused
from windrow.engine.keyed_asks import AskRuns
from windrow.engine.walks import LOWEST
from windrow.step.groups import Answer
from windrow.step.state import State
from windrow.step.step import Taken, given_arrays, looped
from windrow.windows.base import TIME, Measure


class AskedTooEarly(Exception):
    """An ask that cannot be answered any more: which, of which window, and from where on it can be asked."""

    def __init__(self, window: str, refused: Refused) -> None:
        super().__init__(window)
        self.window, self.ask, self.oldest = window, refused.ask, refused.oldest


def ask(
    state: State, along: Measure | None, key: np.ndarray, now: np.ndarray, waiting: Callable[[Measure], Taken]
) -> dict[str, dict[str, Answer]]:
    """For each window that rows ask along a measure an answer for each ask. The state is as before when this ends.

    Args:
        along: None: rows ask after all rows that have come.
        key: of the asks, sorted.
        now: where they are on the measure, in order within a key.
        waiting: the rows that wait, as windows along a measure of their own take them. They are in order.
    """
    plan = state.plan
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.empty(0, np.int64)
    keys, last = key[first], np.append(first[1:], len(key))
    state.begin(keys)
    found: dict[str, dict[str, Answer]] = {}
    try:
        for name, window in plan.windows.items():
            ring = plan.ring(name)
            if name == ring[0] and (along is None or window.asked_along == along):
                taken = waiting(window.measure)
                begin = np.searchsorted(taken.rows.key, keys, "left")
                end = np.searchsorted(taken.rows.key, keys, "right")
                values = np.zeros(len(taken.rows), np.int64) if along is None else taken.rows.measures[along]
                until = state.until if along == TIME else LOWEST
                asks = LiveAsks(keys, first, last, begin, end, now, values, until)
                found |= _ring(state, ring, asks, taken)
    finally:
        state.rollback()
    return found


def _ring(state: State, ring: tuple[str, ...], asks: LiveAsks, taken: Taken) -> dict[str, dict[str, Answer]]:
    """The windows of one ring."""
    plan = state.plan
    count = plan.windows[ring[0]].slices(state.walks[ring[0]], asks.key)[1]
    lows = []
    for name in ring:
        bounds = plan.windows[name].asked_live(state.walks[name], asks, taken.rows)
        if isinstance(bounds, Refused):
            raise AskedTooEarly(name, bounds)
        lows.append(bounds[0])
        hi = bounds[1]  # the same for all
    lo = lows[0] if len(ring) == 1 else np.concatenate(lows)
    runs = AskRuns(asks.key, asks.first, asks.last, count, asks.begin)
    peak = np.maximum.reduceat(hi - lows[0], asks.first) if len(asks.first) else asks.first
    n, answers = len(hi), {}
    for g, (group, kept) in enumerate(zip(plan.arrangement.groups, state.groups[ring], strict=True)):
        kept.windows.begin(asks.key, peak)
        if kept.queue is not None:
            kept.queue.begin(asks.key, np.ones(len(asks.key), np.int64))
        out, valid = group.room(len(lo))
        given = (*given_arrays(kept.windows, runs, lo, hi), *taken.given.data(kept.windows, group, g), out, valid)
        looped(kept, kept.asks(), given, np.array([0, -1]), lambda i: f"an ask of window '{ring[0]}'", group)
        answers.update(group.answers(out, valid))
    if len(ring) == 1:
        return {ring[0]: plan.arrangement.finished(answers)}
    return {
        name: plan.arrangement.finished({a: answer.at(slice(j * n, (j + 1) * n)) for a, answer in answers.items()})
        for j, name in enumerate(ring)
    }
