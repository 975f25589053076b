"""Measures what a process of PyTorch's DataLoader needs for a sample. `iobench run --python` runs it with a JSON object as its
argument, and reads the JSON object that it prints. Times are CPU times in seconds, of data that is copied into memory before.
"""
import itertools
import json
import multiprocessing.pool
import os
import resource
import sys
import time

request = json.loads(sys.argv[1])
begin = time.monotonic()
missing = []
try:
    import torch
except ImportError:
    missing.append("torch")
try:
    from torchvision import transforms
    from torchvision.datasets.folder import default_loader
except ImportError:
    missing.append("torchvision")
if request["shard"]:
    try:
        import webdataset
    except ImportError:
        missing.append("webdataset")
if missing:
    sys.exit("it has no " + " and no ".join(missing))

torch.set_num_threads(1)  # as in a worker
tensor = transforms.PILToTensor() if request["dtype"] == "u8" else transforms.ToTensor()
steps = [transforms.RandomResizedCrop(request["crop"]), transforms.RandomHorizontalFlip(), tensor]
if request["dtype"] == "f16":
    steps.append(transforms.ConvertImageDtype(torch.float16))
augment = transforms.Compose(steps)


def in_memory(path):
    """The path of a copy of the file, which ends with this process. A shard is cut off if reading it takes long."""
    copy = os.memfd_create("sample")
    end = time.monotonic() + 1
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            os.write(copy, part)
            written = os.lseek(copy, 0, os.SEEK_CUR)
            if path == request["shard"] and written >= 4 << 20 and (written >= 16 << 20 or time.monotonic() > end):
                break
    return f"/proc/self/fd/{copy}"


with multiprocessing.pool.ThreadPool(16) as threads:
    files = threads.map(in_memory, request["files"] or [request["shard"]])


def images():
    """The images of an epoch, decoded."""
    if not request["shard"]:
        return map(default_loader, files)
    shard = webdataset.WebDataset(files, shardshuffle=False, handler=webdataset.ignore_and_stop)
    samples = shard.decode("pil", only=request["image_field"].split(";")).to_tuple(request["image_field"])
    return (sample[0] for sample in samples.slice(request["samples"]))


class Samples(torch.utils.data.IterableDataset):
    """Whole batches, as the printed code makes them: one, and more of them for some seconds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __iter__(self):
        end = time.monotonic() + self.seconds
        epochs = itertools.chain.from_iterable(images() for _ in itertools.count())
        for number, sample in enumerate(map(augment, epochs), 1):  # no image is kept longer than in a real loader
            yield sample
            if number % request["batch"] == 0 and time.monotonic() >= end:
                return


def kernel_reads():
    with open("/proc/self/io", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("syscr"))


def private_bytes(process="self"):
    """Memory that a process shares with no other."""
    with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
        return 1024 * sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_loader(seconds, workers=1):
    """(samples, CPU seconds of the worker, of this process, memory of the worker)"""
    of_worker, own = cpu_of_children(), time.process_time()
    batches = iter(torch.utils.data.DataLoader(Samples(seconds), batch_size=request["batch"], num_workers=workers))
    samples = len(next(batches))
    memory = private_bytes(batches._workers[0].pid) if workers else 0
    samples += sum(len(batch) for batch in batches)
    del batches  # ends the worker
    return samples, cpu_of_children() - of_worker, time.process_time() - own, memory


def difference(few, many, index):
    """CPU seconds of a sample, without those of the start, which both runs have."""
    return (many[index] - few[index]) / max(many[0] - few[0], 1)


# First the loader: what this process decodes changes how memory is reused in its children.
trainer_bytes = private_bytes()
left = request["seconds"] - (time.monotonic() - begin)  # importing took an unknown share of the time
part = min(max(left / 8, 0.1), 2)
few, many = run_loader(0), run_loader(part)
run_loader(0, workers=0)  # imports what decoding needs
few_alone, many_alone = run_loader(0, workers=0), run_loader(part, workers=0)

before, begin, decoded, end = kernel_reads(), time.process_time(), 0, time.monotonic() + part
for _ in images():
    decoded += 1
    if time.monotonic() > end:
        break
load_seconds = (time.process_time() - begin) / decoded
reads = (kernel_reads() - before) / decoded
some = list(itertools.islice(images(), 4))
begin = time.process_time()
for image in some * 5:
    augment(image)
augment_seconds = (time.process_time() - begin) / (5 * len(some))

print(json.dumps({
    "load_seconds": load_seconds,
    "augment_seconds": augment_seconds,
    "reads": reads,
    "worker_seconds": max(difference(few, many, 1), load_seconds + augment_seconds),
    "alone_seconds": max(difference(few_alone, many_alone, 2), load_seconds + augment_seconds),
    "trainer_seconds": max(difference(few, many, 2), 0),
    "worker_bytes": many[3],
    "trainer_bytes": trainer_bytes,
    "python": sys.version.split()[0],
    "torch": torch.__version__,
}))
