"""Writes the README's table of peers from the last `windrow bench peers`, and copies its picture.

python docs/update_readme.py [bench-results]
"""

from __future__ import annotations

import csv
import shutil
import statistics
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- peers:begin -->", "<!-- peers:end -->"


def table(path: Path) -> str:
    """Medians of all repetitions, a line for each aggregate and window."""
    rates: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    failed: dict[str, set[str]] = defaultdict(set)
    copies: list[float] = []
    rows = 0
    with path.open() as file:
        for row in csv.DictReader(file):
            if row["kind"] == "rate":
                rates[row["aggregate"], int(row["window"])][row["library"]].append(float(row["mrows"]))
                rows = max(rows, int(row["rows"]))
            elif row["kind"] == "history" and row["passed"] == "False":
                failed[row["aggregate"]].add(row["library"])
            elif row["kind"] == "copy":
                copies.append(float(row["mrows"]))
    peers = sorted({name for own in rates.values() for name in own} - {"windrow"})
    lines = [
        "| aggregate | window | windrow | " + " | ".join(peers) + " | against the fastest |",
        "|---" * (len(peers) + 4) + "|",
    ]
    for (aggregate, window), own in rates.items():
        medians = {name: statistics.median(values) for name, values in own.items()}
        ours = medians["windrow"]
        cells = [
            (f"{medians[name]:,.3g}" + ("†" if name in failed[aggregate] else "")) if name in medians else "–"
            for name in peers
        ]
        best = max((medians[name] for name in peers if name in medians), default=None)
        ratio = "no peer" if best is None else f"{ours / best:.2f}x"
        lines.append(f"| {aggregate} | {window:,} | **{ours:,.3g}** | " + " | ".join(cells) + f" | {ratio} |")
    lines.append("")
    lines.append(
        "† fails the history test: what has left the window (1e300, inf or NaN) is still in later answers. "
        f"A plain copy of the column: {statistics.median(copies):,.0f}. "
        f"{rows:,} rows, medians of one run on a shared 2-core machine."
    )
    return "\n".join(lines)


def main(folder: str = "bench-results") -> None:
    results = ROOT / folder
    readme = ROOT / "README.md"
    text = readme.read_text()
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    readme.write_text(f"{head}{BEGIN}\n{table(results / 'peers.csv')}\n{END}{tail}")
    (ROOT / "docs" / "images").mkdir(exist_ok=True)
    shutil.copy(results / "peers.png", ROOT / "docs" / "images" / "peers.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
