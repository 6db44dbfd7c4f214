"""Writes the README's tables from the results of `python -m benchmarks`, and copies the picture of peers.

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
sys.path.insert(0, str(ROOT))  # the benchmarks are not installed

from benchmarks.results import figure  # noqa: E402

#: the experiments against Spark's own windows, and what their cases are cases of
ON_SPARK = {
    "spark-periodic": "sliding, ",
    "spark-rows": "trailing, ",
    "spark-udaf": "trailing, a user's own aggregate, ",
    "spark-keys": "trailing 5 rows, ",
    "spark-unkeyed": "trailing ",
    "spark-stream": "stream, sliding, ",
}


def against_spark(folder: Path) -> str:
    """Medians of all repetitions, a line for each case and each way of Spark's; ratios within a repetition."""
    lines = ["| rows, and what is asked | windrow | Spark's own way | its | windrow is |", "|---|---|---|---|---|"]
    for name, kind in ON_SPARK.items():
        costs: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
        given: dict[tuple[str, str], int] = {}
        with (folder / f"{name}.csv").open() as file:
            for row in csv.DictReader(file):
                costs[row["case"]][row["way"]][int(row["repetition"])] = float(row["us_a_row"])
                given[row["case"], row["way"]] = int(row["rows"])
        for case, ways in costs.items():
            ours = ways.pop("windrow")
            for way, theirs in ways.items():
                if way.startswith("windrow"):
                    continue
                ratios = [cost / ours[repetition] for repetition, cost in theirs.items()]
                mark = "‡" if given[case, way] < given[case, "windrow"] else ""
                cost, its, times = (
                    figure(statistics.median(some)) for some in (ours.values(), theirs.values(), ratios)
                )
                spread = f" ({figure(min(ratios))} – {figure(max(ratios))})" if len(ratios) > 1 else ""
                lines.append(
                    f"| {given[case, 'windrow'] / 1e6:g} M, {kind}{case} | **{cost}** | {way} | {its}{mark} "
                    f"| {times}x as fast{spread} |"
                )
    lines.append("")
    lines.append(
        "‡ from a part of the rows, since all would take too long. Medians of one run on a shared 2-core machine."
    )
    return "\n".join(lines)


def against_peers(path: Path) -> str:
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


def between(text: str, name: str, content: str) -> str:
    """The text with other content between the marks of that name."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def main(folder: str = "bench-results") -> None:
    results = ROOT / folder
    readme = ROOT / "README.md"
    text = between(readme.read_text(), "spark", against_spark(results))
    readme.write_text(between(text, "peers", against_peers(results / "peers.csv")))
    shutil.copy(results / "peers.png", ROOT / "docs" / "images" / "peers.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
