"""`windrow bench`: what the papers measured, measured here. One experiment a file, `EXPERIMENTS` the one list."""

from windrow.bench import (
    all_ranges,
    break_even,
    coarse,
    combines,
    keys,
    latency,
    log_cost,
    memory,
    peers,
    resizing,
    start_up,
    throughput,
    tumbling,
)
from windrow.bench.base import Experiment, Measure, Settings
from windrow.bench.runner import Outcome, run

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
        start_up,
    )
}

__all__ = ["EXPERIMENTS", "Experiment", "Measure", "Outcome", "Settings", "run"]
