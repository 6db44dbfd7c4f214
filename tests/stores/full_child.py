"""`full_child.py FOLDER [tmpfs]`: inserts until the disk (or the limit for the size of a file) is full."""

import json
import resource
import sys

from tests.stores.faults import order
from windrow import stores
from windrow.errors import StoreError
from windrow.swag import AMTA


def main(folder: str, limited: bool) -> None:
    if limited:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    store = stores.rocksdb(folder, memory=8 << 20)
    w = AMTA(order, store=store, cache=64, buffer=64)
    report = {}
    try:
        for i in range(2_000_000):
            w.insert(i % 1000)
            if i % 2000 == 1999:
                w.checkpoint()
                report = {"number": w.number, "rows": len(w), "hash": w.query()}
    except StoreError as error:
        print(json.dumps({**report, "error": type(error).__name__, "text": str(error)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], limited=len(sys.argv) == 2)
