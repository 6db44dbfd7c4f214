"""Slide policies on every window by hand: which of the oldest rows go, by what the rows aggregate to (paper 4 §3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from windrow.errors import Unsupported, WindrowError


class Enforcing:
    """`enforce`, row by row, and the guard of a window that a policy is being asked about."""

    #: where the rows' own partials are not kept, and so no policy can be asked: what keeps them
    rows_kept_by: ClassVar[str] = ""
    _asking = False  # a policy is being asked about this window

    def enforce(self: Any, policy: Callable[[Any, Any], bool]) -> int:
        """The window slide policy (paper 4 §4.1.3): drops the longest oldest part that must go; how many rows went.

        The Monoid Trees (AMTA, LogMTA) find that part in O(log n). All others ask about one row more at a time, until
        the policy says no: one combine for each row that goes, and its eviction. `Unsupported` where the rows' own
        partials are not kept (TwoStacksLite, DABALite, FlatFIT without `updates=True`). A policy that raises leaves
        the window as it was.

        Args:
            policy: `policy(total, old)`, from the aggregate of the whole window as it was at the call and that of an
                oldest part of it: whether (at least) that part goes. Both as `query` gives them. It must hold for
                every shorter part of a part it holds for. It may hold for the window itself: then nothing is left.
                It must not use this window, which refuses it.

        >>> from windrow import agg, swag
        >>> w = swag.DABA(agg.concat())
        >>> w.insert_many("abcde")
        >>> w.enforce(lambda total, old: len(total) - len(old) >= 2), w.query()
        (3, 'de')
        """
        self._become(None)
        if self.rows_kept_by:
            raise Unsupported(
                f"{type(self).__name__} does not keep each row's own partial, which a policy is asked about;"
                f" {self.rows_kept_by} does"
            )
        count = 0
        if len(self):
            goes, old = self._goes(policy, self.query()), self.form.identity
            for partial in self._oldest_first():
                old = self.form.combine(old, partial)
                if not goes(old):
                    break
                count += 1
            self.evict_many(count)
        return count

    def _oldest_first(self: Any) -> Iterator[Any]:
        """The rows' own partials. A window that keeps them elsewhere than in a ring of `vals` says where."""
        get, s = self.form.get, self.s
        return (get(s.vals, i & s.mask) for i in range(self.r.F, self.r.E))

    def _shown(self: Any, partial: Any) -> Any:
        """A partial as `query` gives it."""
        return self._answer(partial)

    def _goes(self, policy: Callable[[Any, Any], bool], total: Any) -> Callable[[Any], bool]:
        """Whether an oldest part goes, by a policy, which must leave the window alone meanwhile."""

        def goes(old: Any) -> bool:
            shown, self._asking = self._shown(old), True
            try:
                return bool(policy(total, shown))
            finally:
                self._asking = False

        return goes

    def _check_not_asking(self) -> None:
        if self._asking:
            raise WindrowError(
                "a policy cannot use the window that it decides about, which is changing: it is told total and old"
            )
