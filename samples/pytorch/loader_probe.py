#!/usr/bin/env python3
"""Times a DataLoader, or any other iterable of batches, as a training loop meets it, and writes what `iobench compare` reads.

Give it a function of your own that makes the loader; it may take `num_workers`:

    # my_loader.py
    def make_loader(num_workers):
        return torch.utils.data.DataLoader(my_dataset(), batch_size=256, num_workers=num_workers)

    python loader_probe.py my_loader.py:make_loader --num-workers 0,2,4,8 --step-time 0.2 --json probe.json

With --node RESULT.json of `iobench run` on the same data the first line says what this node could feed beside what the loader
gets. Needs Python 3.8 and what your loader needs, nothing else.

What is timed: the wait in next() for each batch, beside an emulated step of --step-time seconds that computes nothing. The first
batch is reported apart, since it holds the start of the workers. Several settings of num_workers take turns, forth and back, --turns
times, so that neither a cache that fills nor a machine that slows down favors those that come later; with --data each turn starts
from the same state of the page cache, which is checked, not believed.
"""

import argparse
import ctypes
import datetime
import importlib.util
import inspect
import json
import os
import platform
import signal
import statistics
import sys
import time
from dataclasses import dataclass, field

SCHEMA_VERSION = 1
EXIT_FAILED, EXIT_USAGE, EXIT_PERMANENT = 1, 2, 4


class ProbeError(Exception):
    """What ends the probe with one line of text."""

    def __init__(self, text, exit_code=EXIT_USAGE):
        super().__init__(text)
        self.exit_code = exit_code


class SystemClock:
    now = staticmethod(time.perf_counter)
    sleep = staticmethod(time.sleep)


@dataclass
class Turn:
    """One pass over a loader. Seconds; the first batch is in none but `first_batch`."""

    first_batch: float = 0.0
    waits: list = field(default_factory=list)
    samples: int = 0
    elapsed: float = 0.0
    computed: float = 0.0
    ended: bool = False  # the loader had no more batches

    @property
    def samples_per_second(self):
        return self.samples / self.elapsed if self.elapsed > 0 else 0.0


def samples_in(batch):
    """The number of samples of a batch: the length of its first tensor, array or list; of a mapping that of its first value."""
    if isinstance(batch, dict):
        batch = next(iter(batch.values()), ())
    elif isinstance(batch, (list, tuple)) and len(batch) > 0:
        first = batch[0]
        if hasattr(first, "shape") or isinstance(first, (list, tuple, dict)):
            return samples_in(first)
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) > 0 else 1
    try:
        return len(batch)
    except TypeError:
        return 1


def time_loader(loader, *, most_batches, most_seconds, step_time=0.0, batch_size=None, clock=SystemClock):
    """One turn: the first batch, then up to `most_batches` more or `most_seconds`."""
    turn = Turn()
    begin = clock.now()
    batches = iter(loader)
    try:
        next(batches)
    except StopIteration:
        raise ProbeError("the loader gave no batch at all") from None
    turn.first_batch = clock.now() - begin
    clock.sleep(step_time)
    begin = clock.now()
    while len(turn.waits) < most_batches and clock.now() - begin < most_seconds:
        asked = clock.now()
        try:
            batch = next(batches)
        except StopIteration:
            turn.ended = True
            break
        turn.waits.append(clock.now() - asked)
        turn.samples += batch_size or samples_in(batch)
        if step_time > 0:
            step_begin = clock.now()
            clock.sleep(step_time)
            turn.computed += clock.now() - step_begin
    turn.elapsed = clock.now() - begin
    del batches  # ends the workers before the next turn starts
    return turn


def small_values(batch):
    """The parts of a batch that have a few values for each sample, such as labels and names, each as a list by sample. Pictures are
    no such part: they differ in each epoch by their augmentation."""
    most = 64
    if isinstance(batch, dict):
        return [part for value in batch.values() for part in small_values(value)]
    shape = getattr(batch, "shape", None)
    if shape is not None:
        values = 1
        for size in shape[1:]:
            values *= int(size)
        return [batch.tolist()] if len(shape) > 0 and values <= most else []
    if isinstance(batch, (list, tuple)):
        if batch and all(isinstance(item, (str, bytes, int, float)) for item in batch):
            return [list(batch)]
        return [part for value in batch for part in small_values(value)]
    return []


def beginning(loader, least_samples=64, most_batches=16):
    """The small values of the first batches of an epoch, by part."""
    parts, samples = [], 0
    for _, batch in zip(range(most_batches), loader):
        found = small_values(batch)
        parts = parts or [[] for _ in found]
        for part, values in zip(parts, found):
            part += values
        samples += samples_in(batch)
        if samples >= least_samples:
            break
    return parts


def repeats_order(loader):
    """Whether two epochs of one loader begin with the same samples in the same order. None where labels and names cannot tell."""
    least = 32  # samples, so that no shuffle gives the same order by chance
    pairs = list(zip(beginning(loader), beginning(loader)))
    telling = [(a, b) for a, b in pairs if len(a) >= least and len(set(map(repr, a))) > 1]
    return any(a == b for a, b in telling) if telling else None


def quantile(values, share):
    """The smallest value that at least `share` of all do not pass."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]


def summary_of(num_workers, turns, step_time):
    """What the result says of one setting: medians over turns, waits of all of them together."""
    waits = [wait for turn in turns for wait in turn.waits]
    if not waits:
        raise ProbeError("the loader gave one batch alone: nothing can be timed after it; use more data or smaller batches",
                         EXIT_FAILED)
    rates = [turn.samples_per_second for turn in turns]
    elapsed = sum(turn.elapsed for turn in turns)
    waited = sum(waits)
    return {
        "num_workers": num_workers,
        "turns": len(turns),
        "batches": len(waits),
        "samples": sum(turn.samples for turn in turns),
        "batch_size": round(sum(turn.samples for turn in turns) / len(waits)),
        "samples_per_second": statistics.median(rates),
        "samples_per_second_by_turn": rates,
        "first_batch_seconds": statistics.median(turn.first_batch for turn in turns),
        "batch_latency_seconds": {
            "mean": statistics.fmean(waits),
            "p50": quantile(waits, 0.5),
            "p90": quantile(waits, 0.9),
            "p99": quantile(waits, 0.99),
            "max": max(waits),
        },
        "stall_ratio": waited / elapsed if elapsed > 0 else 0.0,
        "au_ratio": sum(turn.computed for turn in turns) / elapsed if step_time > 0 and elapsed > 0 else None,
        "loader_ended": any(turn.ended for turn in turns),
    }


# The page cache ---------------------------------------------------------------------------------------------------------------


def files_below(paths):
    """Every file named or below a folder named."""
    found = []
    for path in paths:
        if os.path.isdir(path):
            for folder, _, names in os.walk(path, followlinks=True):
                found += [os.path.join(folder, name) for name in names]
        elif os.path.isfile(path):
            found.append(path)
        else:
            raise ProbeError(f"--data: '{path}' is neither a file nor a folder", EXIT_PERMANENT)
    if not found:
        raise ProbeError(f"--data: there is no file below '{paths[0]}'", EXIT_PERMANENT)
    return sorted(found)


class _CachestatRange(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("length", ctypes.c_uint64)]


class _Cachestat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")]


def residency(files):
    """The share of the files' bytes in the page cache by cachestat(2) (Linux 6.5); None where the kernel does not tell."""
    cachestat, page = 451, os.sysconf("SC_PAGESIZE")
    libc = ctypes.CDLL(None, use_errno=True)
    cached = size = 0
    for path in files:
        with open(path, "rb") as file:
            whole, answer = _CachestatRange(0, 0), _Cachestat()
            if libc.syscall(cachestat, file.fileno(), ctypes.byref(whole), ctypes.byref(answer), 0) != 0:
                return None
            length = os.fstat(file.fileno()).st_size
        cached += min(answer.cached * page, length)
        size += length
    return cached / size if size else None


def prepare_cache(files, state):
    """Drops the files from the page cache or reads them into it; returns the residency reached. Refuses what was not reached."""
    for path in files:
        with open(path, "rb", buffering=0) as file:
            if state == "cold":
                os.fdatasync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            else:
                while file.read(1 << 20):
                    pass
    reached = residency(files)
    if reached is not None and (reached > 0.01 if state == "cold" else reached < 0.99):
        raise ProbeError(f"--cache {state}: {reached:.0%} of the data is in the page cache after all that was tried; "
                         "another process may use it, or memory is short", EXIT_PERMANENT)
    return reached


# Other processes --------------------------------------------------------------------------------------------------------------


def kernel_seconds():
    """CPU time of the kernel's threads, which work for all processes."""
    ticks = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                words = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(words[6]) & 0x200000:  # PF_KTHREAD
            ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Neighbors:
    """The cores that others used while turns ran, of those that this process may use; as `iobench` counts them."""

    def __init__(self):
        self.seconds = self.used = 0.0
        self.cores = len(os.sched_getaffinity(0))

    @staticmethod
    def others():
        """Seconds of all those CPUs together, and of these what others used."""
        mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        total = busy = 0
        with open("/proc/stat", encoding="utf-8") as file:
            for line in file:
                name, *ticks = line.split()
                if name in mine:
                    user, nice, system, idle, waiting, _, _, steal = map(int, ticks[:8])
                    busy += user + nice + system + steal
                    total += sum(map(int, ticks[:8]))
        own = sum(os.times()[:4])  # with workers that have ended
        tick = os.sysconf("SC_CLK_TCK")
        return total / tick, busy / tick - own - kernel_seconds()

    def during(self, turn):
        """What `turn` returns; counts what others use meanwhile."""
        before = self.others()
        result = turn()
        after = self.others()
        self.seconds += (after[0] - before[0]) / self.cores
        self.used += after[1] - before[1]
        return result

    def result(self):
        least = 0.5  # the clock of /proc/stat is too coarse for less
        used = max(self.used / self.seconds, 0.0) if self.seconds >= least else 0.0
        text = f"others used {used:.1f} of {self.cores} cores" if used > 0.1 * self.cores else ""
        return {"text": text, "cores_used": used, "cores": self.cores}


# The command ------------------------------------------------------------------------------------------------------------------


def find_maker(text):
    """The function that FILE.py:NAME or package.module:NAME names."""
    module_name, _, name = text.rpartition(":")
    if not module_name:
        raise ProbeError(f"'{text}': expected FILE.py:FUNCTION or module:FUNCTION")
    try:
        if module_name.endswith(".py"):
            spec = importlib.util.spec_from_file_location("loader_under_probe", module_name)
            module = importlib.util.module_from_spec(spec)
            sys.modules["loader_under_probe"] = module  # so that worker processes can be given its classes
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, os.getcwd())
            module = importlib.import_module(module_name)
    except (ImportError, FileNotFoundError) as error:
        raise ProbeError(f"'{module_name}' cannot be imported: {error}", EXIT_PERMANENT) from error
    maker = getattr(module, name, None)
    if not callable(maker):
        raise ProbeError(f"'{module_name}' has no function '{name}'")
    return maker


def make_loader(maker, num_workers):
    """Calls the user's function with num_workers where it takes that."""
    parameters = inspect.signature(maker).parameters.values()
    takes = any(p.name == "num_workers" or p.kind is p.VAR_KEYWORD for p in parameters)
    if takes and num_workers is not None:
        return maker(num_workers=num_workers)
    if num_workers is not None:
        raise ProbeError("--num-workers: the function does not take num_workers")
    return maker()


def turn_order(settings, turns):
    """Each setting once a turn, forth in even turns and back in odd ones."""
    return [setting for turn in range(turns) for setting in (settings if turn % 2 == 0 else settings[::-1])]


def probe(maker, options, clock=SystemClock):
    """Times the loaders that `maker` makes; returns the result object of the envelope."""
    files = files_below(options.data) if options.data else []
    settings = options.num_workers or [None]
    turns = {setting: [] for setting in settings}
    before = []
    neighbors = Neighbors()
    for setting in turn_order(settings, options.turns):
        if files and options.cache != "any":
            before.append(prepare_cache(files, options.cache))
        elif files:
            before.append(residency(files))
        loader = make_loader(maker, setting)
        turns[setting].append(neighbors.during(
            lambda loader=loader: time_loader(loader, most_batches=options.batches, most_seconds=options.seconds,
                                step_time=options.step_time, batch_size=options.batch_size, clock=clock)))
    one_order = repeats_order(loader)  # the last one
    rows = [summary_of(setting, turns[setting], options.step_time) for setting in settings]
    best = max(rows, key=lambda row: row["samples_per_second"])
    known = [ratio for ratio in before if ratio is not None]
    return {
        **best,
        "cache": {
            "requested": options.cache,
            "residency_before_ratio": statistics.fmean(known) if known else None,
            "residency_after_ratio": residency(files) if files else None,
        },
        "neighbors": neighbors.result(),
        "epochs_in_one_order": one_order,
        "sweep": rows,
    }


def host():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"hostname": platform.node(), "kernel": platform.release(), "os": platform.platform(),
            "cpus": len(os.sched_getaffinity(0)), "memory_bytes": memory}


def warnings_of(options, result):
    found = []
    if len(result["sweep"]) > 1 and not options.data:
        found.append({"code": "cache_unknown", "text": "without --data nothing is known of the page cache: settings took turns, but "
                                                       "the first turn may have been colder than the others"})
    if result["loader_ended"]:
        found.append({"code": "loader_ended", "text": "the loader ran out of batches before the time was over; a longer epoch gives "
                                                      "steadier figures"})
    if result["neighbors"]["text"]:
        found.append({"code": "disturbed", "text": f"{result['neighbors']['text']}: an idle machine would be faster; compare gives no "
                                                   "verdict on this result"})
    if result["epochs_in_one_order"]:
        found.append({"code": "one_order", "text": "two epochs came in one order: a loader for training must shuffle again in each "
                                                   "epoch; with a DistributedSampler call sampler.set_epoch(epoch) before each"})
    if any((row["num_workers"] or 0) > len(os.sched_getaffinity(0)) for row in result["sweep"]):
        found.append({"code": "workers_above_cores", "text": "more workers than this process may use cores"})
    return found


def node_line(path, result):
    """What the node could feed beside what the loader gets."""
    try:
        with open(path, encoding="utf-8") as file:
            node = json.load(file)
        feeds = node["result"]["predicted"]["samples_per_second"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProbeError(f"--node: '{path}' is no result of iobench run ({error!r})", EXIT_PERMANENT) from error
    return f"the node feeds {feeds:.0f}/s, your loader gets {result['samples_per_second']:.0f}/s"


def print_report(options, result):
    for warning in warnings_of(options, result):
        if warning["code"] == "one_order":
            print(f"loader_probe: warning: {warning['text']}", file=sys.stderr)
    if options.node:
        print(node_line(options.node, result))
    else:
        print(f"your loader gets {result['samples_per_second']:.0f} samples/s")
    print(f"{'workers':>8} {'samples/s':>10} {'wait p50':>10} {'p99':>10} {'first':>8} {'stalled':>8}")
    for row in result["sweep"]:
        wait = row["batch_latency_seconds"]
        workers = "-" if row["num_workers"] is None else row["num_workers"]
        print(f"{workers:>8} {row['samples_per_second']:>10.1f} {wait['p50'] * 1e3:>7.1f} ms {wait['p99'] * 1e3:>7.1f} ms "
              f"{row['first_batch_seconds']:>6.2f} s {row['stall_ratio']:>8.0%}")


def envelope(options, result, error, exit_code, started_at, elapsed):
    shown = {name: value for name, value in vars(options).items() if name != "json"}
    return {
        "schema": "shardkit/loader-probe",
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "loader_probe", "version": str(SCHEMA_VERSION), "commit": ""},
        "started_at": started_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "elapsed_seconds": elapsed,
        "host": host(),
        "options": shown,
        "result": result,
        "warnings": warnings_of(options, result) if result else [],
        "error": {"code": "failed", "text": error, "path": None, "offset": None} if error else None,
        "status": "failed" if error else "ok",
        "exit_code": exit_code,
    }


def write_json(path, value):
    """By a temporary name, so that nobody ever reads half of it."""
    text = json.dumps(value, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def check_writable(path):
    """Before anything is timed: a result that cannot be kept is not worth the wait."""
    if path in (None, "-"):
        return
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path) or not os.access(folder, os.W_OK | os.X_OK):
        raise ProbeError(f"--json: '{path}' cannot be written; name a file in a folder that you may write to", EXIT_PERMANENT)


def positive(kind):
    def parse(text):
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"expected more than 0, not {text}")
        return value
    parse.__name__ = kind.__name__
    return parse


def worker_list(text):
    numbers = [int(part) for part in text.split(",")]
    if any(number < 0 for number in numbers) or len(set(numbers)) != len(numbers):
        raise argparse.ArgumentTypeError("expected different numbers of at least 0, such as 0,2,4,8")
    return numbers


def seconds_from(text):
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 3600:
        raise argparse.ArgumentTypeError(f"expected seconds, 0 to 3600, such as 0.2, not '{text}'")
    return value


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="exit codes: 0 done, 1 failed, 2 usage, 4 permanent")
    parser.add_argument("loader", metavar="FILE.py:FUNCTION", help="makes the loader; may take num_workers")
    parser.add_argument("--num-workers", type=worker_list, metavar="N[,N...]", help="settings to try (default: the function's own)")
    parser.add_argument("--batches", type=positive(int), default=1_000_000, metavar="N", help="at most so many a turn, after the first")
    parser.add_argument("--seconds", type=positive(float), default=20.0, help="at most so long a turn (20)")
    parser.add_argument("--turns", type=positive(int), default=3, help="how often each setting is timed (3)")
    parser.add_argument("--step-time", type=seconds_from, default=0.0, metavar="SECONDS", help="step to emulate after each batch (0)")
    parser.add_argument("--batch-size", type=positive(int), metavar="N", help="samples in a batch (default: found out)")
    parser.add_argument("--data", nargs="+", metavar="PATH", help="files and folders that the loader reads, for --cache")
    parser.add_argument("--cache", choices=("cold", "warm", "any"), default="any", help="state of the page cache before each turn")
    parser.add_argument("--node", metavar="RESULT.json", help="of iobench run: what the node could feed")
    parser.add_argument("--json", metavar="FILE|-", help="write the result there")
    options = parser.parse_args(arguments)
    if options.cache != "any" and not options.data:
        parser.error(f"--cache {options.cache} needs --data: which files are to be {options.cache}")
    return options


def main(arguments=None):
    options = parse(arguments)
    try:
        check_writable(options.json)
    except ProbeError as failure:
        print(f"loader_probe: {failure}", file=sys.stderr)
        return failure.exit_code
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started_at, begin = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
    result, error, exit_code = None, None, 0
    try:
        result = probe(find_maker(options.loader), options)
        if options.json != "-":
            print_report(options, result)
    except ProbeError as failure:
        error, exit_code = str(failure), failure.exit_code
    except KeyboardInterrupt:
        error, exit_code = "stopped by SIGINT", 130
    except Exception as failure:  # the user's loader may raise anything
        error, exit_code = f"the loader failed: {failure!r}", EXIT_FAILED
    if error:
        print(f"loader_probe: {error}", file=sys.stderr)
    for path in {options.json, os.environ.get("SHARDKIT_RESULT")} - {None, ""}:
        write_json(path, envelope(options, result, error, exit_code, started_at, time.monotonic() - begin))
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
