"""How much memory a Python worker takes at its peak: with many keys, and with one that is far larger than a chunk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.spark.processes import SOURCE, environment

SHAPES = {"many keys": (10_000_000, "id % 1000000"), "one key": (20_000_000, "cast(1 as long)")}
MOST = 500  # MB


def main(shape: str, out: str) -> None:
    """Runs a query over so many rows, whose workers tell their peaks."""
    import windrow
    from windrow import agg, win
    from windrow.spark import planning

    number, key = SHAPES[shape]

    def measured(work):
        def wrapped(arrays):
            import json
            import os
            import resource

            rows = 0
            for answers in work(arrays):
                rows += len(answers)
                yield answers
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            with open(os.path.join(out, f"{os.getpid()}-{id(work)}-{rows}.json"), "w") as file:
                json.dump({"pid": os.getpid(), "peak": peak, "rows": rows}, file)

        return wrapped

    passes = planning.Beside
    planning.Beside = lambda *arguments: measured(passes(*arguments))
    spark = windrow.spark.session("local[2]", spark__sql__shuffle__partitions=4, memory="3g")
    frame = spark.range(number).selectExpr(
        f"{key} as k", "timestamp_micros(id * 1000) as ts", "id * 7919 % 1000 as x", "cast(id % 97 as string) as w"
    )
    query = windrow.Query(
        time="ts", by="k", windows=win.trailing(1000), aggregates={"n": agg.sum("x"), "most": agg.max("x")}
    )
    begun = time.perf_counter()
    query.run(frame).write.format("noop").mode("overwrite").save()
    print("seconds:", round(time.perf_counter() - begun, 1))
    spark.stop()


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_memory_of_a_worker(shape, tmp_path):
    settings = environment(PYTHONPATH=os.pathsep.join([str(SOURCE.parent), str(Path(__file__).parents[2])]))
    code = f"from tests.spark.test_memory import main; main({shape!r}, {str(tmp_path)!r})"
    ran = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, timeout=1200)
    assert ran.returncode == 0, ran.stderr[-5000:]
    found = [json.loads(file.read_text()) for file in tmp_path.glob("*.json")]
    print(shape, ran.stdout, sorted(worker["peak"] for worker in found))
    assert sum(worker["rows"] for worker in found) == SHAPES[shape][0]
    assert max(worker["peak"] for worker in found) < MOST, found
