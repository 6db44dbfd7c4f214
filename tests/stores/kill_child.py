"""`kill_child.py FOLDER TIMES`: a window over RocksDB in a process that is killed (SIGKILL) at a random moment, again
and again, each time another process. The input is a function of the position, so every process can tell what is right.
"""

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path

from tests.stores.faults import hashed, order
from windrow import stores
from windrow.swag import AMTA


def row(i: int) -> int:
    return i * 7919 % 1009


def oldest(i: int) -> int:
    """The window after i rows begins here: it grows, and now and then most of it goes at once."""
    return i // 700 * 650


def expected(i: int) -> list[int]:
    return [row(j) for j in range(oldest(i), i)]


def work(folder: Path, report: int, seed: int) -> None:
    """Goes on from the last checkpoint for as long as it is let."""
    rng, store = random.Random(seed), stores.rocksdb(folder / "db", memory=1 << 20)
    try:
        w = AMTA.open(order, store)
    except Exception:
        if (folder / "acknowledged").exists():
            raise
        w = AMTA(order, store=store, cache=16, buffer=16)
    rows = expected(w.inserted)
    right = len(w) == len(rows) and (w.query() or 0) == hashed(rows)
    os.write(report, json.dumps({"number": w.number, "inserted": w.inserted, "right": right}).encode() + b"\n")
    while True:
        i = w.inserted
        w.insert(row(i))
        if oldest(i + 1) > oldest(i):
            w.evict_many(oldest(i + 1) - oldest(i))
        if rng.random() < 0.01:
            w.checkpoint()
            (folder / "new").write_text(f"{w.number} {w.inserted}")
            os.replace(folder / "new", folder / "acknowledged")


def main(folder: Path, times: int) -> None:
    wrong, opened, rng, last = [], [], random.Random(7), 0
    kills = 0  # since a process was last seen to open the window
    for kill in range(times):
        before = (folder / "acknowledged").read_text().split() if (folder / "acknowledged").exists() else ["0", "0"]
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(read)
                work(folder, write, kill)
            except BaseException as error:
                os.write(write, json.dumps({"error": repr(error)}).encode() + b"\n")
                os._exit(1)
        os.close(write)
        if rng.random() < 0.9:  # most are let go on for a while, some are killed while they open the store
            select.select([read], [], [], 60)
        time.sleep(rng.choice([0.01, 0.1, 0.4]) * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(read) as pipe:
            said = [json.loads(line) for line in pipe]
        kills += 1
        for line in said:
            opened.append(line.get("number"))
            # never behind what was acknowledged or seen; ahead by the one checkpoint a kill may have caught before that
            last = max(last, int(before[0]))
            if "error" in line or not line["right"] or not last <= line["number"] <= last + kills:
                wrong.append({**line, "acknowledged": before, "last": last})
            else:
                last, kills = line["number"], 0
    went_on = len({number for number in opened if number})
    print(
        json.dumps({"kills": times, "opened": len(opened), "went_on": went_on, "wrong": len(wrong), "first": wrong[:2]})
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
