"""Writes the tables of README.md and docs/speed.md from the results of `python -m benchmarks`; copies a picture.

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
#: the cases that the README shows; docs/speed.md has all
IN_README = (
    ("spark-periodic", "10 min every minute"),
    ("spark-periodic", "1440 min every minute"),
    ("spark-rows", "max, 1,000 rows"),
    ("spark-udaf", "1,000 rows"),
    ("spark-keys", "1,000,000 keys of 10 rows"),
    ("spark-unkeyed", "24 h, no key"),
    ("spark-stream", "60 min every minute, 10 keys"),
    ("spark-stream", "1440 min every minute, 10 keys"),
)


def against_spark(folder: Path, only: tuple[tuple[str, str], ...] | None = None) -> str:
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
            if only is not None and (name, case) not in only:
                continue
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
    lines += PART
    return "\n".join(lines)


#: what is said below a table
PART = (
    "‡ measured on a part of the rows, because all of them would take too long.",
    "Medians of one run on a shared 2-core machine.",
)


def as_users_call_them(path: Path) -> str:
    """Medians of all repetitions, a line for each case of the experiment `queries`, a column for each library."""
    taken: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    parts: set[tuple[str, str]] = set()
    with path.open() as file:
        found = list(csv.DictReader(file))
    most = max(int(row["rows"]) for row in found)
    for row in found:
        taken[row["case"]][row["library"]].append(float(row["seconds"]))
        if int(row["rows"]) < most:
            parts.add((row["case"], row["library"]))
    peers = [name for name in dict.fromkeys(row["library"] for row in found) if name != "windrow"]
    names = {"polars": "Polars", "duckdb": "DuckDB"}
    lines = ["| seconds per million rows | windrow | " + " | ".join(names.get(p, p) for p in peers) + " |"]
    lines.append("|---" * (len(peers) + 2) + "|")
    for case, own in taken.items():
        medians = {name: statistics.median(values) for name, values in own.items()}
        cells = [
            figure(medians[name]) + ("‡" if (case, name) in parts else "") if name in medians else "–" for name in peers
        ]
        lines.append(f"| {case} | **{figure(medians['windrow'])}** | " + " | ".join(cells) + " |")
    version, versions = found[0]["windrow"], found[0]["peers"].replace("; ", ", ")
    return "\n".join(
        [
            *lines,
            "",
            f"{most:,} rows in time order, 100 keys, all cores; sum and max, or a Python function of the window.",
            f"Medians of one run of `python -m benchmarks queries` on a shared 2-core machine: windrow {version},",
            f"{versions}.",
            "‡ measured on a part of the rows. –: no such call.",
        ]
    )


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
    lines += (
        "† fails the history test: a value that has left the window (1e300, inf or NaN) is still in later answers.",
        f"A plain copy of the column: {statistics.median(copies):,.0f}.",
        f"{rows:,} rows, medians of one run on a shared 2-core machine.",
    )
    return "\n".join(lines)


def between(text: str, name: str, content: str) -> str:
    """The text with other content between the marks of that name."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def main(folder: str = "bench-results") -> None:
    results = ROOT / folder
    readme, speed = ROOT / "README.md", ROOT / "docs" / "speed.md"
    queries = as_users_call_them(results / "queries.csv")
    text = between(readme.read_text(), "spark", against_spark(results, IN_README))
    readme.write_text(between(text, "queries", queries))
    text = between(speed.read_text(), "spark", against_spark(results))
    text = between(text, "peers", against_peers(results / "peers.csv"))
    speed.write_text(between(text, "queries", queries))
    shutil.copy(results / "peers.png", ROOT / "docs" / "images" / "peers.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
