"""What the papers measured, measured here: `python -m benchmarks`. One experiment a file, `EXPERIMENTS` lists them."""

from benchmarks import (
    all_ranges,
    analytics,
    break_even,
    bulk_eviction,
    calls,
    coarse,
    combines,
    constant_size,
    dimensions,
    footprint,
    keys,
    latency,
    log_cost,
    memory,
    peers,
    pushes,
    resizing,
    sessions,
    sharing,
    slices,
    spark_keys,
    spark_periodic,
    spark_rows,
    spark_stream,
    spark_udaf,
    spark_unkeyed,
    start_up,
    throughput,
    tumbling,
    windows,
)
from benchmarks.base import Experiment, Measure, Settings
from benchmarks.runner import Outcome, run

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        throughput,
        latency,
        combines,
        break_even,
        coarse,
        all_ranges,
        resizing,
        tumbling,
        log_cost,
        memory,
        peers,
        keys,
        pushes,
        start_up,
        sharing,
        sessions,
        slices,
        calls,
        windows,
        constant_size,
        bulk_eviction,
        analytics,
        footprint,
        dimensions,
        spark_rows,
        spark_periodic,
        spark_udaf,
        spark_keys,
        spark_unkeyed,
        spark_stream,
    )
}

__all__ = ["EXPERIMENTS", "Experiment", "Measure", "Outcome", "Settings", "run"]
