"""Arrow batches as a worker gets them, sorted by key: gathered into chunks, of which each ends with a whole key.

Keys of a few rows share a chunk (one call of a kernel for thousands of them); a key that is larger than a chunk is
streamed through, so that no group has to fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from windrow import frames
from windrow.engine.grouping import factorize

#: rows and bytes of a chunk: enough to make a call's fixed cost small, little enough for a worker's memory
ROWS = 1 << 18
BYTES = 64 << 20


class Streamed(Protocol):
    """What takes in the rows of one key piece by piece."""

    def push(self, rows: pa.Table) -> pa.Table: ...

    def close(self) -> pa.Table: ...


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches as tables of about `ROWS` rows."""
    some: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        some.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS or size >= BYTES:
            yield pa.Table.from_batches(some)
            some, rows, size = [], 0, 0
    if some:
        yield pa.Table.from_batches(some)


def by_key(
    batches: Iterable[pa.RecordBatch],
    by: Sequence[str],
    whole: Callable[[pa.Table], pa.Table],
    streamed: Callable[[], Streamed] | None = None,
) -> Iterator[pa.Table]:
    """Results for rows sorted by key.

    Args:
        by: the key's columns.
        whole: what to do with rows of whole keys.
        streamed: makes what takes in one key that is larger than a chunk; None: such keys are gathered, too.
    """
    waiting: list[pa.Table] = []  # the beginning of a key
    giant: Streamed | None = None
    before: pa.Table | None = None  # the row before the chunk
    for chunk in gathered(batches):
        continued, begin = _borders(before, chunk, by)
        before = chunk.slice(chunk.num_rows - 1)
        if continued < chunk.num_rows:
            if giant is not None:
                yield giant.push(chunk.slice(0, continued))
                yield giant.close()
                giant, complete = None, [chunk.slice(continued, begin - continued)]
            else:
                complete = [*waiting, chunk.slice(0, begin)]
            if any(table.num_rows for table in complete):
                yield whole(pa.concat_tables(complete))
            waiting = [chunk.slice(begin)]
        elif giant is not None:
            yield giant.push(chunk)
        else:
            waiting.append(chunk)
        if giant is None and streamed is not None and sum(table.num_rows for table in waiting) >= ROWS:
            giant = streamed()
            yield giant.push(pa.concat_tables(waiting))
            waiting = []
    if giant is not None:
        yield giant.close()
    elif waiting:
        yield whole(pa.concat_tables(waiting))


def _borders(before: pa.Table | None, chunk: pa.Table, by: Sequence[str]) -> tuple[int, int]:
    """How many rows go on with the key before, and where the chunk's last key begins."""
    if not by:
        return (0 if before is None else chunk.num_rows), 0
    keys = chunk.select(list(by))
    if before is not None:
        keys = pa.concat_tables([before.select(list(by)), keys])
    codes, _ = factorize(frames.read(keys).keys(by))
    own = codes if before is None else codes[1:]
    continued = 0 if before is None else int(np.count_nonzero(own == codes[0]))
    return continued, len(own) - int(np.count_nonzero(own == own[-1]))


def conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table's columns by name, as the types that Spark was told."""
    return table.select(schema.names).cast(schema)
