"""Measures what a process of PyTorch's DataLoader needs for a sample. `iobench run --python` runs it with a JSON object as its
argument, and reads the JSON object that it prints. Times are CPU times in seconds, of data in memory.
"""
import itertools
import json
import resource
import sys
import time

request = json.loads(sys.argv[1])
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
    sys.exit("no " + " and no ".join(missing))

torch.set_num_threads(1)  # as in a worker
tensor = transforms.PILToTensor() if request["dtype"] == "u8" else transforms.ToTensor()
steps = [transforms.RandomResizedCrop(request["crop"]), transforms.RandomHorizontalFlip(), tensor]
if request["dtype"] == "f16":
    steps.append(transforms.ConvertImageDtype(torch.float16))
augment = transforms.Compose(steps)


def images():
    """The images of an epoch, decoded."""
    if not request["shard"]:
        return map(default_loader, request["files"])
    dataset = webdataset.WebDataset(request["shard"], shardshuffle=False).decode("pil", only=request["image_field"].split(";"))
    return (sample[0] for sample in dataset.to_tuple(request["image_field"]).slice(request["samples"]))


class Samples(torch.utils.data.IterableDataset):
    """`count` samples, as the printed code makes them."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        epochs = itertools.chain.from_iterable(images() for _ in itertools.count())
        return map(augment, itertools.islice(epochs, self.count))


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


def run_loader(count, workers=1):
    """CPU seconds of the worker and of this process for so many samples, and the worker's memory."""
    of_worker, own = cpu_of_children(), time.process_time()
    batches = iter(torch.utils.data.DataLoader(Samples(count), batch_size=request["batch"], num_workers=workers))
    next(batches)
    memory = private_bytes(batches._workers[0].pid) if workers else 0
    for _ in batches:
        pass
    del batches  # ends the worker
    return cpu_of_children() - of_worker, time.process_time() - own, memory


# First the loader: what this process decodes changes how memory is reused in its children. The difference of a long and a short run
# is free of the start of the worker.
trainer_bytes = private_bytes()
batch = request["batch"]
few, few_own, _ = run_loader(batch)
batches = min(max(int(request["seconds"] / 6 / max(few, 0.01)), 2), max(1600 // batch, 4))
many, many_own, worker_bytes = run_loader((1 + batches) * batch)
_, few_alone, _ = run_loader(batch, 0)
_, many_alone, _ = run_loader((1 + batches) * batch, 0)

for _ in images():  # imports what decoding needs
    pass
before, begin, decoded = kernel_reads(), time.process_time(), 0
for _ in images():
    decoded += 1
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
    "worker_seconds": (many - few) / (batches * batch),
    "alone_seconds": (many_alone - few_alone) / (batches * batch),
    "trainer_seconds": max(many_own - few_own, 0) / (batches * batch),
    "worker_bytes": worker_bytes,
    "trainer_bytes": trainer_bytes,
    "python": sys.version.split()[0],
    "torch": torch.__version__,
}))
