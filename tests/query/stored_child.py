"""`stored_child.py FOLDER KILLS`: a live query over RocksDB whose process is killed (SIGKILL) again and again.

After each batch its results go to a file, then the snapshot. A process that comes after goes on from the snapshot. Some
are killed between the two, some while the snapshot is being made, some right after it.
"""

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path

import numpy as np

import windrow
from windrow import agg, stores, win
from windrow.step import shelf

ROWS, BATCH = 6000, 150
WINDOWS = {"long": win.trailing("400 seconds"), "rows": win.trailing(700, closed="left")}


def query(store=None):
    return windrow.Query(
        windows=WINDOWS,
        by="k",
        time="ts",
        aggregates={"s": agg.sum("x"), "c": agg.concat("w"), "b": agg.max_by("w", "x")},
        store=store,
    )


def batch(at: int) -> dict:
    i = np.arange(at, min(at + BATCH, ROWS))
    return {
        "ts": (i * 7 // 4).astype("M8[s]"),
        "k": i % 3 // 2,
        "x": i * 7919 % 1009,
        "w": np.array([f"{n % 100}." for n in i.tolist()], object),
    }


def listed(result: dict) -> list:
    return [np.ma.asarray(column).astype(object).tolist() for name, column in result.items() if name != "ts"]


def put(file: Path, data: bytes) -> None:
    new = file.with_suffix(".new")
    new.write_bytes(data)
    os.replace(new, file)


def work(folder: Path, report: int) -> None:
    q = query(stores.rocksdb(folder / "db", memory=1 << 20))
    saved = folder / "snapshot"
    live = q.resume(saved.read_bytes()) if saved.exists() else q.open()
    os.write(report, b"opened\n")
    while live.report.rows_in < ROWS:
        at = live.report.rows_in
        put(folder / f"{at}.json", json.dumps(listed(live.push(batch(at)))).encode())
        put(saved, live.snapshot())
    put(folder / "end.json", json.dumps(listed(live.close())).encode())
    os.write(report, b"done\n")
    os._exit(0)


def main(folder: Path, kills: int) -> None:
    shelf.CACHE = shelf.BUFFER = 16
    live = query().open()
    expected = [listed(live.push(batch(at))) for at in range(0, ROWS, BATCH)]
    expected.append(listed(live.close()))
    rng, errors, resumed, done = random.Random(1), [], 0, False
    for kill in range(kills + 1):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(read)
                work(folder, write)
            except BaseException as error:
                os.write(write, f"error {error!r}\n".encode())
                os._exit(1)
        os.close(write)
        select.select([read], [], [], 60)
        if kill < kills:
            time.sleep(0.3 * rng.random())
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(read) as pipe:
            said = pipe.read().split("\n")
        resumed += "opened" in said
        errors += [line for line in said if line.startswith("error")]
        done = done or "done" in said
        if done:
            break
    names = [f"{at}.json" for at in range(0, ROWS, BATCH)] + ["end.json"]
    got = [json.loads((folder / name).read_text()) for name in names if (folder / name).exists()]
    same = got == json.loads(json.dumps(expected))
    print(json.dumps({"opened": resumed, "errors": errors[:3], "done": done, "same": same}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
