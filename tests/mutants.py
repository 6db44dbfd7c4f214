"""Tests the tests: breaks the algorithms on purpose, one small change at a time, and sees the suite fail.

    python tests/mutants.py            # all mutants; exit code 1 where one survives
    python tests/mutants.py daba       # those of one file
    python tests/mutants.py --list

Each mutant is one line of a file of `src/windrow/swag` (or of the engine that drives it), replaced in a copy of the
package; the quick part of the suite then runs against the copy, in plain Python and compiled where the mutant is in the
compiled driver. A mutant that no test notices is printed, and is a hole in the suite.
"""

from __future__ import annotations

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "windrow"
SECONDS = 120


@dataclass(frozen=True)
class Mutant:
    """`old` (its n-th occurrence, from 1) becomes `new` in one file."""

    file: str
    old: str
    new: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()}  ->  {self.new.strip()}" + (f"  (#{self.nth})" if self.nth > 1 else "")


def m(file: str, *changes: tuple) -> list[Mutant]:
    return [Mutant(file, *change) for change in changes]


MUTANTS = [
    *m(
        "swag/recalculate.py",
        ("combine(agg, get(s.vals, i & s.mask))", "combine(get(s.vals, i & s.mask), agg)"),
        ("range(r.F, r.E)", "range(r.F + 1, r.E)"),
    ),
    *m(
        "swag/subtract_on_evict.py",
        ("combine(r.agg, v)", "combine(v, r.agg)"),
        ("get(s.vals, r.F & s.mask)", "get(s.vals, (r.F + 1) & s.mask)"),
        ("if aggregate.core_inverse is None:", "if False:"),
    ),
    *m(
        "swag/two_stacks.py",
        ("combine(below, v)", "combine(v, below)"),
        ("combine(v, agg)", "combine(agg, v)"),
        ("if r.back > 0:\n            below", "if r.back > 1:\n            below"),
        ("if front == 0:", "if front == 1:"),
        ("return combine(older, younger)", "return combine(younger, older)"),
        ("move(source, before + back, target, capacity + back)", "move(source, back, target, capacity + back)"),
    ),
    *m(
        "swag/two_stacks_lite.py",
        ("combine(r.back, v)", "combine(v, r.back)"),
        ("combine(get(s.vals, i & s.mask), acc)", "combine(acc, get(s.vals, i & s.mask))"),
        ("while i > F:", "while i > F + 2:"),  # F + 1 would be right: the row at F goes at once
        ("            back = identity\n", "            back = back\n"),
        ("            B = E\n", "            B = E - 1\n"),
        ("return Registers(F + 1, B, E, back)", "return Registers(F + 1, F + 1, E, back)"),
    ),
    *m(
        "swag/aba.py",
        ("combine(sigma_b, v)", "combine(v, sigma_b)"),
        ("combine(get(s.vals, i & s.mask), agg)", "combine(agg, get(s.vals, i & s.mask))"),
        ("if F == B and B != E:", "if False:"),
        ("return combine(sigma_f, sigma_b)", "return combine(sigma_b, sigma_f)"),
        ("while i != F:", "while i > F + 2:"),
    ),
    *m(
        "swag/daba.py",
        ("agg = combine(sigma_b, v)", "agg = combine(v, sigma_b)"),
        ("left = combine(get(s.aggs, L & s.mask), right)", "left = combine(right, get(s.aggs, L & s.mask))"),
        ("combine(get(s.vals, (A - 1) & s.mask), sigma_a)", "combine(sigma_a, get(s.vals, (A - 1) & s.mask))"),
        ("if L == B:", "if L > B:"),
        ("if L == R:", "if L + 1 == R:"),
        ("            L = F\n", "            L = F + 1\n"),
        ("answer = combine(sigma_f, sigma_b)", "answer = combine(sigma_b, sigma_f)"),
        ("        put_link(s.links, VALID, 0)\n        return fixup", "        return fixup"),
        ("            A -= 1\n", "            A -= 0\n"),
        ("get(s.aggs, (A - 1) & s.mask)  # Fig. 17", "get(s.aggs, A & s.mask)  # Fig. 17"),
    ),
    *m(
        "swag/daba_lite.py",
        ("combine(r.agg_b, v)", "combine(v, r.agg_b)"),
        ("left = combine(get(s.vals, L & s.mask), agg_ra)", "left = combine(agg_ra, get(s.vals, L & s.mask))"),
        ("agg_ra = agg_b", "agg_ra = identity"),
        ("            agg_b = identity\n", ""),
        ("return combine(sigma_f, r.agg_b)", "return combine(r.agg_b, sigma_f)"),
        (
            "return Registers(F, E, E, E, E, E, identity, identity)",
            "return Registers(F, E, E, E, E, E, identity, agg_b)",
        ),
    ),
    *m(
        "swag/flat_fat.py",
        ("a = combine(get(tree, n + i - 1), a)", "a = combine(a, get(tree, n + i - 1))"),
        ("a = combine(a, get(tree, n + j + 1))", "a = combine(get(tree, n + j + 1), a)"),
        ("if j & 1 == 0 and j < last:", "if j & 1 == 0:"),
        ("a = combine(get(s.vals, size + b - 1), a)", "a = combine(a, get(s.vals, size + b - 1))"),
        ("if b < f:  # §5.1.2", "if False:  # §5.1.2"),
        ("        elif F < r.E and f <= b:", "        elif False:"),
        ("if F < r.E and f == 0:", "if False:"),
    ),
    *m(
        "swag/reactive_aggregator.py",
        ("combine(get(s.vals, 2 * v), get(s.vals, 2 * v + 1))", "combine(get(s.vals, 2 * v + 1), get(s.vals, 2 * v))"),
        ("first = max(a2, last + 1)", "first = max(a2, last + 2)"),
        ("put(s.vals, s.mask + 1 + place, identity)", "pass"),
        ("if b < f:  # §5.1.2", "if b > f:  # §5.1.2"),
        ("while F < r.E and s.links[F & s.mask] == 0:", "while False:"),
    ),
    *m(
        "swag/b_int.py",
        (
            "a = combine(get(s.vals, size + ((i - 1) & (size - 1))), a)",
            "a = combine(a, get(s.vals, size + ((i - 1) & (size - 1))))",
        ),
        (
            "older = combine(older, get(s.vals, size + (i & (size - 1))))",
            "older = combine(get(s.vals, size + (i & (size - 1))), older)",
        ),
        ("                j -= 1\n", "                j -= 0\n"),
        ("return combine(older, newer)", "return combine(newer, older)"),
    ),
    *m(
        "swag/flat_fit.py",
        ("a = combine(get(s.vals, i & mask), a)", "a = combine(a, get(s.vals, i & mask))"),
        ("a = combine(get(s.vals, i & mask), a)", "a = combine(a, get(s.vals, i & mask))", 2),
        ("put_link(s.links, i & mask, E)  # line 40", "put_link(s.links, i & mask, E - 1)  # line 40"),
        ("put_link(s.links, i & mask, second)", "pass"),
        ("put_link(s.links, r.E & s.mask, r.E + 1)  # line 23", "put_link(s.links, r.E & s.mask, r.E)  # line 23"),
    ),
    *m(
        "swag/mta_levels.py",
        ("v = combine(v, get(s.vals, slot(s, l, last)))", "v = combine(get(s.vals, slot(s, l, last)), v)"),
        ("k = ((H + k) >> 1) - (H >> 1)", "k = k >> 1"),
        ("above = p - H\n", "above = max(p - H - 1, 0)\n"),
        ("sub = old\n", "sub = sub\n"),
    ),
    *m(
        "swag/log_mta.py",
        ("added = added and (T & 1) == 0", "added = added and (T & 1) == 1"),
        ("        refresh(s, h)\n", ""),
    ),
    *m(
        "swag/amta.py",
        ("R1 = combine(R1, v)", "R1 = combine(v, R1)"),
        ("top = combine(get(s.vals, slot(s, l, H + 1)), top)", "top = combine(top, get(s.vals, slot(s, l, H + 1)))"),
        (
            "R1 = combine(pair(s, l, s.links[2 * l + 1] - 1), R1)",
            "R1 = combine(R1, pair(s, l, s.links[2 * l + 1] - 1))",
        ),
        ("if left < h:", "if left > h:"),
        ("return combine(r.R0, r.R1)", "return combine(r.R1, r.R0)"),
        ("self.hk.levels.refresh(s, r.h)  # the values", "pass  # the values"),
        ("stack(s, S, l - 1)", "stack(s, S, l - 2)"),
    ),
    *m(
        "swag/fiba_tree.py",
        (
            "agg = self.combine(leaf.agg, row) if self.n else row",
            "agg = self.combine(row, leaf.agg) if self.n else row",
        ),
        ("at = bisect_right(leaf.times, time, at)", "at = max(at, bisect_right(leaf.times, time, at) - 1)"),
        ("if node.arity > 2 * self.mu:", "if node.arity > 2 * self.mu + 1:"),
        (
            "parent.times[0], parent.rows[0] = other.times[take - 1], other.rows[take - 1]",
            "parent.times[0] = other.times[take - 1]",
        ),
        ("                k -= size + 1\n", "                k -= size\n"),
    ),
    *m(
        "swag/fiba_node.py",
        ("total = self.combine(total, part)", "total = self.combine(part, total)"),
    ),
    *m(
        "engine/blocks.py",
        ("put(T, k, q)  # exclusive", "put(T, j, q)  # exclusive"),
        (
            "combine(p, lift_at(ahead, ahead_masks, j), done, 1.0)",
            "combine(lift_at(ahead, ahead_masks, j), p, 1.0, done)",
        ),
        ("            done += 1.0\n", ""),
        ("combine(get(S, j), get(P, j), n - nb, nb)", "combine(get(P, j), get(S, j), nb, n - nb)"),
        ("combine(get(S, j), get(P, j), n - nb, nb)", "combine(get(S, j), get(P, j), n, nb)"),
        ("            S, T = T, S\n", ""),
        ("widen(get(S, j - 1), float(w - j))", "widen(get(S, j), float(w - j))"),
        ("widen(get(S, j - 1), float(w - j))", "widen(get(S, j - 1), float(w))"),
        ("widen(p, float(rest))", "widen(identity, float(rest))"),
        ("widen(p, float(rest))", "widen(p, float(w))"),
        ("                p, rows = identity, 0.0\n                begin = i\n", "                begin = i\n"),
    ),
    *m(
        "engine/short_windows.py",
        ("put(S, j, get(T, panel - w + j))", "put(S, j, get(T, j))"),
        (
            "combine(get(P, i - ONE), lift_at(rows, row_masks, i), n, 1.0)",
            "combine(lift_at(rows, row_masks, i), get(P, i - ONE), 1.0, n)",
        ),
        ("by, n = np.uint64(span), float(span)", "by, n = np.uint64(span + 1), float(span)"),
        ("put(S, j, get(D, j + np.uint64(count)))", "pass"),
        ("return both if age >= shift else b", "return both"),
        ("min(rows, age + 1.0 - shift)", "rows"),
        ("keys = age + 1 < before or (", "keys = ("),
        ("                    kept += span\n", "                    kept = span\n"),
        ("min(n, ages[i + j] + 1.0))", "n)"),
    ),
    *m(
        "engine/driver.py",
        ("if lo[i] >= e:", "if lo[i] > e + 1:"),
        ("while f < lo[i]:", "while f + 1 < lo[i]:"),
    ),
    *m(
        "engine/bounds.py",
        ("max(begin, carried + i + 1 - w)", "max(begin, carried + i - w)"),
        ("(age == span and closed_left)", "(age == span and closed_right)"),
        ("while e < end and times[e] == now:", "while e < end and times[e] < now:"),
    ),
    *m(
        "windows/sliding.py",
        ("begins = number >= due", "begins = True"),
        ("begins = number >= due", "begins = number > due"),
        ("or now >= origin + (number + 1) * every", "or now > origin + (number + 1) * every"),
        ("(origin + due * every) + span <= now and", "(origin + due * every) + span < now and"),
    ),
    *m(
        "step/pending_slices.py",
        ("self.waiting.add(codes[1:][same], -1)", "pass"),
        ("        self.runs = before\n", "        pass\n"),
        ("        self.waiting.rollback()", "        pass"),
    ),
    *m(
        "step/chunks.py",
        ("if before is None or not content.same(before):", "if before is None:"),
        ("inserts = runs.end - runs.begin + 1", "inserts = 0 * runs.begin"),
        ("entries.remove(owner, chunk)", "pass"),
    ),
    *m(
        "step/sharing.py",
        ("        order = np.lexsort((all_lo, all_at))\n", "        order = np.lexsort((-all_lo, all_at))\n"),
        ("keep = np.minimum(keep, end)", "keep = end"),
        ("found[new] = mine[cuts[run[new]] + lo[new] - local[run[new]]]", "found[new] = mine[cuts[run[new]]]"),
    ),
    *m(
        "engine/keyed_loops.py",
        ("p = combine(p, lift(columns, masks, j))", "p = combine(lift(columns, masks, j), p)"),
        ("answer = combine(query(s, r), p)", "answer = combine(p, query(s, r))"),
        ("total = combine(total, p)", "total = combine(p, total)"),
        ("            while f < e and f < keep:\n", "            while f < e and f <= keep:\n"),
    ),
]


def tests_for(mutant: Mutant) -> list[str]:
    """The tests that look at this file: its own, and the comparisons of all algorithms narrowed to it."""
    stem = Path(mutant.file).stem
    if mutant.file == "step/pending_slices.py":
        return ["tests/step/test_pending_slices.py"]
    if mutant.file == "step/chunks.py":
        return ["tests/spark/test_chunks.py"]
    if mutant.file in ("windows/sliding.py", "step/sharing.py", "engine/keyed_loops.py"):
        return ["tests/sharing", "tests/step/test_sharing.py", "tests/step/test_combines.py"]
    common = ["tests/swag/test_slide.py"]
    if mutant.file.startswith("engine/"):
        return common
    stem = {"mta_levels": "amta", "fiba_tree": "fiba", "fiba_node": "fiba"}.get(stem, stem)
    own = [path for path in (f"tests/swag/test_{stem}.py",) if (ROOT / path).exists()]
    return [
        *(own or ["tests/swag/test_paper2.py"]),
        "tests/swag/test_equivalence.py",
        "-k",
        f"not compiled and ({stem}- or not equivalence)",
    ]


def mutated(mutant: Mutant, target: Path) -> None:
    shutil.copytree(PACKAGE, target / "windrow", ignore=shutil.ignore_patterns("__pycache__"))
    path = target / "windrow" / mutant.file
    pieces = path.read_text().split(mutant.old)
    if len(pieces) <= mutant.nth:
        raise SystemExit(f"{mutant}: not in the file any more; bring the list up to date")
    head, tail = mutant.old.join(pieces[: mutant.nth]), mutant.old.join(pieces[mutant.nth :])
    path.write_text(head + mutant.new + tail)


def fate(mutant: Mutant) -> str:
    """`caught` where the suite fails for the mutant; `hung` where it does not end, which a person would notice, too."""
    with tempfile.TemporaryDirectory() as folder:
        mutated(mutant, Path(folder))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            *tests_for(mutant),
        ]
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "hung"
        if done.returncode not in (0, 1, 2):
            raise SystemExit(f"{mutant}: pytest could not run\n{done.stdout}{done.stderr}")
        return "caught" if done.returncode else "SURVIVED"


def main(arguments: list[str]) -> int:
    chosen = [x for x in MUTANTS if not arguments or any(word in x.file for word in arguments)]
    if "--list" in arguments:
        print("\n".join(map(str, MUTANTS)), f"\n{len(MUTANTS)} mutants")
        return 0
    fates: Counter[str] = Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, what in zip(chosen, pool.map(fate, chosen), strict=True):
            print(f"{what:8}", mutant, flush=True)
            fates[what] += 1
    print(", ".join(f"{count} {what}" for what, count in fates.items()), f"of {len(chosen)} mutants")
    return 1 if fates["SURVIVED"] else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
