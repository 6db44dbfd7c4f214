"""WHERE partials live: this process's memory, RocksDB (embedded), or a Redis server.

    from windrow import agg, stores, swag
    w = swag.AMTA(agg.max(), store=stores.rocksdb("/var/lib/windrow"), name="load")

A store knows nothing of windows. It maps bytes to bytes, in the order of the keys, and writes a batch wholly or not
at all (`windrow.stores.base`). Drivers are imported only when a store of their kind is opened: the extras `rocksdb`
and `redis` install them.
"""

from windrow.stores.base import Batch, Store, refuse
from windrow.stores.memory import memory
from windrow.stores.redis import redis
from windrow.stores.rocksdb import rocksdb

__all__ = ["Batch", "Store", "memory", "redis", "refuse", "rocksdb"]
