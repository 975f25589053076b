"""The scenarios of check-verdicts: a machine in which one stage was made short on purpose, and what iobench has to say of it."""

from dataclasses import dataclass, field


@dataclass
class Scenario:
    name: str
    setup: str  # in words, for the table
    # shards, bare (shards without indexes), gzip (compressed ones), photos (an ImageFolder) or large (shards of 12-megapixel
    # images), folder (where checkpoints go)
    data: str = "shards"
    verb: str = "run"
    options: list = field(default_factory=list)  # of the verb; {free} is a folder on a disk that is not slowed down
    # What slows the machine down: read_delay (seconds for each read of 1 MiB or less), metadata_delay (seconds for each
    # open and stat), read_limit and write_limit (bytes per second of the disk), cpus (of the control group).
    limits: dict = field(default_factory=dict)
    neighbor: str = ""  # a shell command that runs beside it; {disk} is the disk of the data
    times: int = 1  # how often the command runs, at once after itself; the last result counts
    budget: float = 0  # seconds, if not that of the command line
    read_rate: float = 0  # bytes per second that reading has to report, give or take 10 %
    stage: str = ""  # that the verdict names; several with | between them
    advice: str = ""  # a word of the remedy or of an advice
    exit_code: int = 0


FAST_JOB = ["--gpus", 1, "--batch", 64, "--step-time", "0.02s"]  # 3200 samples/s, more than two cores decode

SCENARIOS = [
    Scenario("storage with latency", "each read of a shard takes 200 ms longer", options=["--gpus", 1, "--batch", 512, "--step-time", "0.5s", "--cache", "cold"],
             limits={"read_delay": 0.2}, stage="read", advice="storage", exit_code=3),
    Scenario("storage with little bandwidth", "the disk gives 10 MB/s", options=[*FAST_JOB, "--cache", "cold"],
             limits={"read_limit": 10_000_000}, stage="read", advice="storage", exit_code=3),
    Scenario("the same, warm", "the disk gives 10 MB/s, the data is in memory", options=[*FAST_JOB, "--cache", "warm"],
             limits={"read_limit": 10_000_000}, stage="decode", advice="cores", exit_code=3),
    Scenario("one decode thread", "two cores, --threads 1", options=[*FAST_JOB, "--threads", 1, "--cache", "warm"],
             stage="decode", advice="cores", exit_code=3),
    Scenario("CPU quota", "a control group of 0.5 CPUs", options=[*FAST_JOB, "--cache", "warm"], limits={"cpus": 0.5},
             stage="decode", advice="CPU limit", exit_code=3),
    Scenario("no prefetching", "decoding is fast enough, but --prefetch 0 leaves the step waiting for it", verb="pipeline",
             options=["--batch", 64, "--step-time", "0.2s", "--prefetch", 0, "--cache", "warm", "--epochs", 1],
             stage="compute", advice="prefetch"),
    Scenario("slow checkpoint disk", "checkpoints go to a disk that takes 10 MB/s", verb="checkpoint", data="folder",
             options=["--bytes", "20MB", "--mode", "background", "--step-time", "0.2s", "--checkpoint-every", 5],
             limits={"write_limit": 10_000_000}, stage="checkpoint", exit_code=3),
    Scenario("oversized images", "12-megapixel images, 224 pixels are wanted", data="large",
             options=["--gpus", 1, "--batch", 64, "--step-time", "0.2s", "--cache", "warm"],
             stage="decode", advice="resize", exit_code=3),
    Scenario("ImageFolder with latency", "each open, stat and read takes 10 ms longer", data="photos",
             options=["--gpus", 1, "--batch", 512, "--step-time", "0.5s", "--cache", "cold"],
             limits={"read_delay": 0.02, "metadata_delay": 0.02}, stage="read", advice="shardctl convert", exit_code=3),
    Scenario("steps shorter than everything", "a step of 1 ms, data in memory",
             options=["--gpus", 1, "--batch", 64, "--step-time", "0.001s", "--cache", "warm"], stage="decode", advice="cores",
             exit_code=3),
    Scenario("steps longer than everything", "a step of 10 s, data in memory",
             options=["--gpus", 1, "--batch", 64, "--step-time", "10s", "--cache", "warm"], stage="compute"),
    Scenario("a neighbor on a slow disk", "the disk delivers 10 MB/s, and another process reads it without this limit",
             options=[*FAST_JOB, "--cache", "cold"], limits={"read_limit": 10_000_000},
             neighbor="while :; do dd if={disk} of=/dev/null bs=1M count=2000 iflag=direct; done", stage="read", exit_code=1),
    Scenario("CPU stolen", "two other processes compute, the data is in memory", options=[*FAST_JOB, "--cache", "warm"],
             neighbor="(while :; do :; done) & while :; do :; done", stage="decode", exit_code=1),
    Scenario("CPU stolen beside FUSE", "two other processes compute; each read of a shard passes through a FUSE process",
             options=[*FAST_JOB, "--cache", "cold"], limits={"read_delay": 0.001},
             neighbor="(while :; do :; done) & while :; do :; done", stage="read|decode", exit_code=1),
    Scenario("a quiet FUSE mount", "each read of a shard passes through a FUSE process, nothing else runs",
             options=[*FAST_JOB, "--cache", "cold"], limits={"read_delay": 0.001}, stage="read|decode", exit_code=3),
    Scenario("20 MB/s, repeated at once", "the disk gives 20 MB/s, and the command runs twice",
             options=[*FAST_JOB, "--cache", "cold"], limits={"read_limit": 20_000_000}, times=2, read_rate=20e6, stage="read",
             advice="storage", exit_code=3),
    *[Scenario(f"a budget of {seconds} s on slow FUSE", "each read takes 80 ms longer, each open and stat 30 ms", data=data,
               options=[*FAST_JOB], limits={"read_delay": 0.08, "metadata_delay": 0.03}, budget=seconds, stage="read|decode",
               exit_code=3)
      for seconds in (5, 10, 15) for data in ("photos", "shards")],
    Scenario("slow shards without indexes", "each read of a shard takes 200 ms longer, and no index lists its samples", data="bare",
             options=["--gpus", 1, "--batch", 512, "--step-time", "0.5s", "--cache", "cold"], limits={"read_delay": 0.2},
             stage="read", advice="storage", exit_code=3),
    Scenario("gzip shards in memory", "shards are compressed", data="gzip", options=[*FAST_JOB, "--cache", "warm"],
             stage="decode|unpack", advice="shardctl reshard", exit_code=3),
    Scenario("gzip shards on little bandwidth", "shards are compressed, and the disk gives 10 MB/s", data="gzip",
             options=[*FAST_JOB, "--cache", "cold"], limits={"read_limit": 10_000_000}, read_rate=10e6, stage="read",
             advice="storage", exit_code=3),
    Scenario("gzip shards under a pipeline", "shards are compressed, a step of 20 ms, data in memory", verb="pipeline", data="gzip",
             options=["--batch", 64, "--step-time", "0.02s", "--cache", "warm", "--epochs", 1], stage="decode|unpack",
             advice="cores"),
    Scenario("64 workers", "each open, stat and read takes 20 ms longer; 64 loader processes hide that", data="photos",
             options=["--gpus", 8, "--workers", 8, "--batch", 8, "--step-time", "0.4s", "--cache", "cold"],
             limits={"read_delay": 0.02, "metadata_delay": 0.02}, stage="compute"),
    Scenario("two stages equally short", "half a core decodes as much as a disk of 48 MB/s delivers",
             options=[*FAST_JOB, "--cache", "cold"], limits={"cpus": 0.5, "read_limit": 48_000_000}, stage="read|decode",
             exit_code=3),
    Scenario("slow storage under a pipeline", "the disk gives 10 MB/s", verb="pipeline",
             options=["--batch", 64, "--step-time", "0.02s", "--cache", "cold", "--epochs", 1],
             limits={"read_limit": 10_000_000}, stage="read", advice="storage"),
    Scenario("decoding under a pipeline", "two cores, a step of 20 ms, data in memory", verb="pipeline",
             options=["--batch", 64, "--step-time", "0.02s", "--cache", "warm", "--epochs", 1], stage="decode", advice="cores"),
]


def table():
    """The scenarios as docs/dev/verdicts.md shows them."""
    lines = ["| scenario | made so by | command | stage | advice | exit |", "|---|---|---|---|---|---|"]
    for one in SCENARIOS:
        command = " ".join(["iobench", one.verb, one.data.upper(), *map(str, one.options)])
        lines.append(f"| {one.name} | {one.setup} | `{command}` | {one.stage} | {one.advice or '-'} | {one.exit_code} |")
    return "\n".join(lines)
