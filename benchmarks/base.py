"""What an experiment is, and how big it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

T = TypeVar("T")
Row = dict[str, Any]
Level = Literal["smoke", "quick", "normal", "full"]
LEVELS: tuple[Level, ...] = ("smoke", "quick", "normal", "full")


def untracked(items: Iterable[T], label: str) -> Iterator[T]:
    """Progress that nobody watches."""
    yield from items


@dataclass(frozen=True)
class Settings:
    """How big a run is. `smoke` is for tests: everything is run once, nothing is big enough to be timed."""

    level: Level = "normal"
    seed: int = 2015
    track: Callable[[Iterable[Any], str], Iterable[Any]] = field(default=untracked, compare=False)

    def pick(self, smoke: T, quick: T, normal: T, full: T) -> T:
        """The value for this level."""
        return {"smoke": smoke, "quick": quick, "normal": normal, "full": full}[self.level]

    @property
    def repetitions(self) -> int:
        """How often each competitor is measured."""
        return self.pick(1, 3, 3, 7)


@dataclass(frozen=True)
class Measure:
    """How rows become a table: one line for each of `by`, competitors told apart by the last of them.

    `ratio` is the baseline's value divided by the competitor's where less is better (seconds), the other way round
    where more is: above 1 is always better than the baseline.
    """

    by: tuple[str, ...]
    value: str
    unit: str
    baseline: str | None = None  # a value of the last column of `by`; "median peer" style baselines go into notes
    less_is_better: bool = True
    kind: str | None = None  # only rows whose "kind" is this


#: what a verdict can be; the last where the level was too small to tell
AGREES = ("agrees", "agrees in part", "does not", "not measured")


class Verdict(NamedTuple):
    """Whether what was found is what the paper found, and what was found."""

    agrees: str
    sentence: str


@dataclass(frozen=True)
class Claim:
    """One thing that a paper says (or that was ours to set), and what the rows say to it."""

    said: str
    found: str
    holds: bool | None  # None: not measured at this level
    why: str = ""  # where it does not hold


def unmeasured(said: str, why: str = "not measured at this level") -> Claim:
    """A claim that the rows have nothing to say to."""
    return Claim(said, why, None)


@dataclass(frozen=True)
class Experiment:
    """One question of a paper, asked again here.

    `run(settings)` gives every repetition as a row, `draw(rows, figure)` fills a matplotlib figure from such rows (as
    they are read back from the CSV: numbers are numbers again), `notes(rows)` says in sentences what the rows show,
    `claims(rows)` puts what the paper says beside it, one by one. `asked` is the question in a sentence or two.
    """

    name: str
    title: str
    paper: str
    expected: str
    run: Callable[[Settings], list[Row]]
    draw: Callable[[Sequence[Row], Any], None]
    measure: Measure
    notes: Callable[[Sequence[Row]], list[str]] = lambda rows: []
    peers: tuple[str, ...] = ()  # packages whose versions belong to the result
    asked: str = ""
    claims: Callable[[Sequence[Row]], list[Claim]] = lambda rows: []

    def verdict(self, rows: Sequence[Row]) -> Verdict:
        """Whether the claims hold, and the figures for it, with the level they were taken at."""
        claims = self.claims(rows)
        told = [claim for claim in claims if claim.holds is not None]
        holding = sum(bool(claim.holds) for claim in told)
        agrees = AGREES[3] if not told else AGREES[0 if holding == len(told) else 1 if holding else 2]
        level = rows[0].get("level", "") if rows else ""
        found = "; ".join(claim.found for claim in told) or "nothing that a claim could be held against"
        return Verdict(agrees, found + (f" ({level})" if level else ""))
