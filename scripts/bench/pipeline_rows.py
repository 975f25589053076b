"""The row of loaders: training crops from shards, ours beside DALI's and torch's."""

import json

from harness import HERE, Contender, warm

BATCH = 64
SAMPLES = 2000


def seconds_of_steady_epochs(printed):
    """Seconds for SAMPLES at the rate of the second epoch, its filling included, as the peers' second pass."""
    epoch = json.loads(printed)["result"]["epochs"][1]
    full = epoch["samples"] / epoch["samples_per_second"] + epoch["first_batch_seconds"]
    return SAMPLES * full / epoch["samples"]


def pipeline(bench):
    shards = bench.shards(SAMPLES)
    warm(shards)
    ours = [bench.programs / "iobench", "pipeline", shards, "--batch", BATCH, "--epochs", 2, "--workers", 2,
            "--json", "-", "--quiet"]
    contenders = [Contender("iobench pipeline", ours, seconds=seconds_of_steady_epochs)]
    if bench.options.all_peers:
        for name, peer in (("DALI on the CPU", "dali"), ("torch DataLoader + webdataset", "torch")):
            contenders.append(Contender(name, [bench.python(), HERE / "pipeline_peer.py", peer, shards, 2, BATCH, SAMPLES],
                                        seconds=lambda printed: float(printed.split()[-1])))
    bench.compare(f"pipeline, {SAMPLES} samples from a shard, 2 workers, batches of {BATCH} float32 crops of 224", contenders,
                  note="Shards in the page cache; random resized crop, flip, normalize, NCHW; the second pass over the data is timed. "
                       "CPU time is of the whole process with both passes.")


ROWS = {"pipeline": pipeline}
