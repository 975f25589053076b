"""Feeds training crops from shards with one loader and prints seconds: pipeline_peer.py dali|torch SHARDS THREADS BATCH SAMPLES

Each sample is read from a shard, decoded, cropped at random, resized to 224, flipped, normalized with ImageNet's mean and
deviation, and becomes part of a float32 NCHW batch. The first pass over the shards is not timed; the second is, and the
seconds are those that SAMPLES would take at its rate (the last, short batch is dropped).
"""

import pathlib
import sys
import time

SIDE = 224
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def shards_in(folder):
    return [str(path) for path in sorted(pathlib.Path(folder).glob("*.tar"))]


def dali_passes(folder, threads, batch):
    """A function that makes one pass and returns how many samples it gave."""
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=batch, num_threads=threads, device_id=None)
    def pipeline():
        jpegs = fn.readers.webdataset(paths=shards_in(folder), ext=["jpg"], name="reader", random_shuffle=False)
        images = fn.decoders.image_random_crop(jpegs, device="cpu", random_area=(0.08, 1.0))
        images = fn.resize(images, resize_x=SIDE, resize_y=SIDE, antialias=True)
        return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mirror=fn.random.coin_flip(),
                                        mean=[255 * value for value in MEAN], std=[255 * value for value in DEVIATION])

    pipe = pipeline()
    pipe.build()
    batches = pipe.epoch_size("reader") // batch

    def one_pass():
        for _ in range(batches):
            pipe.run()
        return batches * batch

    return one_pass


def torch_passes(folder, threads, batch):
    """The same; workers live on from pass to pass, so that their start is not timed."""
    import torch
    import webdataset
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2

    transform = v2.Compose([v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip(),
                            v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)])

    def decode(data):
        return transform(decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), ImageReadMode.RGB))

    def warn_not(_):
        return True  # an image that cannot be decoded is passed over, as iobench does

    dataset = webdataset.WebDataset(shards_in(folder), shardshuffle=False, empty_check=False)
    dataset = dataset.to_tuple("jpg", "cls").map_tuple(decode, int, handler=warn_not).batched(batch, partial=False)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=threads, prefetch_factor=2,
                                         persistent_workers=True)

    def one_pass():
        return sum(images.shape[0] for images, _ in loader)

    return one_pass


if __name__ == "__main__":
    name, folder, threads, batch, wanted = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    run_pass = {"dali": dali_passes, "torch": torch_passes}[name](folder, threads, batch)
    run_pass()
    start = time.perf_counter()
    samples = run_pass()
    print((time.perf_counter() - start) * wanted / samples)
