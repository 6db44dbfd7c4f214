"""Mutants of the stored windows, for `tests/mutants.py`: the same format, with the tests that look at them.

python tests/mutants_stores.py [WORD...]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import mutants
from tests.mutants import m

WINDOW = ["tests/swag/stored", "-k", "not compiled and not papers"]
FAULTS = ["tests/stores/test_faults.py", "-k", "not full and not files"]
QUERY = [
    "tests/query/test_stored.py",
    "tests/query/test_stored_recovery.py",
    "-k",
    "not killed and not rocksdb and not damage",
]
TESTS = {
    "swag/mta_levels.py": ["tests/swag/test_log_mta.py"],
    "swag/mta_hand.py": ["tests/swag/stored", "-k", "over_compiled"],
    "swag/mta_batch.py": ["tests/swag/stored", "-k", "compiled or papers or python"],
    "swag/mta_checkpoint.py": WINDOW,
    "swag/mta_io.py": [
        "tests/swag/stored",
        "-k",
        "gone or buffer or needs or evicted or threads or cut_that or text_and or recalculated",
    ],
    "swag/mta_layers.py": WINDOW,
    "swag/mta_paging.py": WINDOW,
    "swag/mta_ranges.py": QUERY,
    "step/stored.py": QUERY,
    "step/shelf.py": QUERY,
    "windows/sliding.py": QUERY,
    "windows/trailing.py": QUERY,
    "windows/policy.py": QUERY,
    "engine/walking.py": QUERY,
    "local/snapshots.py": QUERY,
    "swag/mta_store.py": ["tests/stores/test_faults.py", *WINDOW[:1], "-k", "not compiled and not papers and not full"],
    "swag/mta_pages.py": [*FAULTS[:1], *WINDOW[:1], "-k", "not compiled and not papers and not full"],
    "swag/policies.py": [*WINDOW[:1], "-k", "polic or run"],
    "stores/redis.py": ["tests/stores/test_stores.py", "tests/stores/test_redis_faults.py"],
    "stores/rocksdb.py": ["tests/stores/test_stores.py"],
    "stores/memory.py": ["tests/stores/test_stores.py"],
    "stores/keys.py": ["tests/stores/test_stores.py"],
    "stores/mark.py": ["tests/stores/test_stores.py", "tests/stores/test_faults.py", "-k", "durable or files"],
}

MUTANTS = [
    *m("swag/mta_levels.py", ("put_link(s.links, 2 * l + 1, p + T - H)", "put_link(s.links, 2 * l + 1, p + 2)")),
    *m(
        "swag/mta_hand.py",
        ("write(slots, i, before)", "pass"),
    ),
    *m(
        "swag/mta_layers.py",
        ("for p in (H + count, H + count + 1):", "for p in (H + count + 1,):"),
        ("if e <= p < a:", "if e < p < a:"),
        ("journal.rollback(mark)  # first", "pass  # first"),
    ),
    *m(
        "swag/mta_paging.py",
        ("while a + P <= T - 2:", "while a + P <= T:"),
        ("if a + P > H:\n", "if a > H:\n"),
        ("elif e == a and a + P - H // P * P <= C:", "elif e == a:"),
        ("e, copies = (e if a > H else a)", "e, copies = e"),
        ("spare = min(spare, max(e - 2 - H, 0) << l)", "spare = min(spare, max(e + 2 - H, 0) << l)"),
        ("end = min(end, self.kept[l] if l < len(self.kept) else 0)", "pass"),
        ("            self.s.links[:] = before\n", "            pass\n"),
    ),
    *m(
        "swag/mta_ranges.py",
        ("if e < hi[i] or lo[i] - f > spare:", "if e < hi[i]:"),
        ("        w.inserted += e_now - e\n", ""),
        ("                w.evict_many(int(lo[i]) - f)\n", ""),
        ('"left" if inclusive else "right"))', '"right"))'),
        ('"right" if inclusive else "left")', '"left")'),
    ),
    *m(
        "step/stored.py",
        ("len(stops) + of_win,", "len(stops),"),
        ("hi - first[of_win] - inside", "hi - first[of_win]"),
        ("begin[begin < stop], ", ""),
        ("first = last - new - items.left", "first = last - new"),
        ("inside = (hi == last[of_win]) | (cuts[hi] != end)", "inside = cuts[hi] != end"),
        ("enter = np.where(none, count, enter)", "pass"),
        ("filled | (none & (before + count > 0))", "filled"),
        ("                    self.left[g].pop(key, None)\n        return", "                    pass\n        return"),
        ("                    left.pop(key, None)\n", "                    pass\n"),
        ("                    left[key] = slots\n", "                    pass\n"),
        ("np.append(ranges.lo[a:z], ranges.keep[u])", "np.append(ranges.lo[a:z], -(2**62))"),
    ),
    *m(
        "step/shelf.py",
        (
            "            self.trees[at].begin()\n",
            "            self.trees[at].begin() if self.trees[at].window[-1] != '0' else 0\n",
        ),
        ("self._touched[at] = self._marks.pop(at, None)", "self._touched[at] = self._marks.get(at)"),
        ("                self._marks[at] = mark\n        self", "                pass\n        self"),
        ("            AMTA.forget(self.store, name)\n        self.trees", "            pass\n        self.trees"),
        ("            tree.confirm()\n            self._names", "            self._names"),
        ("        if not self.referred:\n", "        if True:\n"),
    ),
    *m(
        "windows/sliding.py",
        ("open_from[u]), inclusive=False)", "open_from[u]), inclusive=True)"),
        ("np.maximum(first, end - 1)", "end"),
    ),
    *m(
        "windows/trailing.py",
        ("np.minimum(state.word(runs.key, HI), end - 1)", "state.word(runs.key, HI)"),
        ("np.minimum(state.word(runs.key, HI), end - 1)", "end - 1"),
        ('self.closed in ("right", "none")', "True"),
        ("                clock.clear()\n", "                pass\n"),
    ),
    *m("windows/policy.py", ("first[u], keep[u] = number[mine.start]", "first[u], keep[u] = number[mine.start] + 1")),
    *m("engine/walking.py", ("self._move(keys[large], first[large], wanted[large])", "pass")),
    *m("local/snapshots.py", ("        live.state.confirm()\n", "        pass\n")),
    *m(
        "swag/mta_io.py",
        ("value = self.waiting.get(of_page(self.name, *place))", "value = None"),
        ("len(self.queue) > BACKLOG", "len(self.queue) > 10**9"),
        ("self.error, self.thread = error, None", "self.thread = None"),
        ("del self.queue[: taken[0]]", "del self.queue[: taken[0] + 1]"),
        ("while count < len(self.queue) and not self.queue[count].ranges:", "while count < len(self.queue):"),
    ),
    *m(
        "swag/mta_pages.py",
        ("if found != epoch:", "if False:"),
        ("hashlib.sha256(key, ", "hashlib.sha256(b'', "),
        ("    digest.update(body)\n", ""),
        ("[None if null else next(rows)", "[next(rows)"),
        ("if value is None:", "if not value and False:"),
    ),
    *m(
        "swag/mta_checkpoint.py",
        ("if layout != LAYOUT:", "if False:"),
        ("if found.window != window:", "if False:"),
        ("if (found.algorithm, found.aggregate.name) != (algorithm, mine.name):", "if False:"),
        ("    if refused:", "    if False:"),
    ),
    *m(
        "swag/mta_store.py",
        ("self.kept = [H // self.page for H, _, _ in marks]", "self.kept = [a // self.page for _, _, a in marks]"),
        ("        self._refresh_heads()\n        self._measure()", "        self._measure()"),
        ("w.epochs.append((new_epoch()", "[].append((new_epoch()"),
        ("            self._restore(saved)\n            raise", "            raise"),
        ("        self._flush()\n        self._drop_epochs()", "        self._drop_epochs()"),
        ("return max(free - 4, 0) // 4", "return max(free - 4, 0)"),
        ("return max(free - 2, 0) << l", "return max(free + 2, 0) << l"),
        ('doomed = [(keys[1], keys[1] + b"\\0")]', "doomed = []"),
        ("if found.note == note:", "if True:"),
        ("self.kept = [min(pair) for pair", "_ = [min(pair) for pair"),
    ),
    *m(
        "swag/mta_batch.py",
        ("while size(r) >= window:", "while size(r) > window:"),
        ("                    sub = older\n", "                    sub = sub\n"),
        ("        z = min(z, a + w.spare_evictions)\n", ""),
        ("end = at + 1 if more else at", "end = at"),
    ),
    *m("swag/policies.py", ("longest, before = across, a[0] - a[4]", "longest, before = across, a[0]")),
    *m(
        "stores/redis.py",
        ("refuse(batch.guard, pipe.get(PREFIX + batch.guard[0]))", "pass"),
        ("pipe.zrem(INDEX, *doomed[i : i + SCAN])", "pass"),
        ('after = b"(" + keys[-1]', 'after = b"[" + start'),
        ('options["password"] = os.environ[PASSWORD]', "pass"),
    ),
    *m(
        "stores/rocksdb.py",
        ("refuse(batch.guard, self.get(batch.guard[0]))", "pass"),
        ("pair[0] >= end", "pair[0] > end"),
    ),
    *m("stores/memory.py", ("refuse(batch.guard, self._held.get(batch.guard[0]))", "pass")),
    *m("stores/mark.py", ("number < max(known)", "False"), ("os.fstat(self.file).st_size and not known", "False")),
    *m("stores/keys.py", ("(number + 2**63)", "(number % 2**64)")),
]


if __name__ == "__main__":
    mutants.MUTANTS = MUTANTS
    mutants.tests_for = lambda mutant: TESTS[mutant.file]
    mutants.SECONDS = 100
    raise SystemExit(mutants.main(sys.argv[1:]))
