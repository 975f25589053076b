"""Measures what a process of PyTorch's DataLoader needs for a sample. `iobench run --python` runs it with a JSON object as its
argument, and reads the JSON object that it prints.

Times are CPU times of warm data, in seconds. The files are those that `iobench` loads too, so they are in memory.
"""
import json
import sys
import time

request = json.loads(sys.argv[1])
deadline = time.monotonic() + request["seconds"]
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


def cpu_seconds(items):
    """Median CPU time per item, over passes in the available time; the first pass warms up."""
    times = []
    end = min(time.monotonic() + request["seconds"] / 8, deadline)
    while not times or (len(times) < 6 and time.monotonic() < end):
        begin = time.process_time()
        count = sum(1 for _ in items())
        times.append((time.process_time() - begin) / max(count, 1))
    times = sorted(times[1:] or times)
    return times[len(times) // 2]


def private_bytes():
    """Memory that this process shares with no other."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        return 1024 * sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


def kernel_reads():
    with open("/proc/self/io", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("syscr"))


def samples():
    """Decoded and augmented samples, as the printed code makes them."""
    if not request["shard"]:
        return (augment(default_loader(path)) for path in request["files"])
    dataset = webdataset.WebDataset(request["shard"], shardshuffle=False).decode("pil")
    return dataset.to_tuple(request["image_field"]).map_tuple(augment).slice(request["samples"])


class Batches(torch.utils.data.IterableDataset):
    """Batches that cost nothing but their way to the training process, and what memory the worker needs."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        sample = [augment(image) for image in images[:4]][0]
        memory = private_bytes()
        for _ in range(self.batches):
            begin = time.process_time()
            batch = torch.utils.data.default_collate([sample] * request["batch"])
            yield batch, memory, time.process_time() - begin


def passed_on(batches):
    """CPU seconds per batch in the worker, and in the training process; private bytes of the worker."""
    begin = time.process_time()
    collating, most = 0.0, 0
    loader = torch.utils.data.DataLoader(Batches(batches), batch_size=None, num_workers=1, prefetch_factor=2)
    for _, worker_bytes, seconds in loader:
        most = max(most, int(worker_bytes))
        collating += float(seconds)
    del loader
    return collating, time.process_time() - begin, most


if request["shard"]:
    images = [sample[0] for sample in webdataset.WebDataset(request["shard"], shardshuffle=False).decode("pil")
              .to_tuple(request["image_field"]).slice(request["samples"])]
    reads = 0
else:
    before = kernel_reads()
    images = [default_loader(path) for path in request["files"]]
    reads = (kernel_reads() - before) / len(images)

result = {
    "sample_seconds": cpu_seconds(samples),
    "augment_seconds": cpu_seconds(lambda: map(augment, images)),
    "reads": reads,
    "trainer_bytes": private_bytes(),
    "python": sys.version.split()[0],
    "torch": torch.__version__,
}
_, few, _ = passed_on(2)
collating, many, worker_bytes = passed_on(6)
result["collate_seconds"] = collating / 6 / request["batch"]
result["trainer_seconds"] = max(many - few, 0) / 4 / request["batch"]
result["worker_bytes"] = worker_bytes
print(json.dumps(result))
