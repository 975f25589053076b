"""Decodes every JPEG of a tree to RGB with one library and prints the seconds: decode_peer.py LIBRARY TREE THREADS

The files are in memory before the clock starts. What a library cannot decode is passed over, as iobench does.
"""

import concurrent.futures
import io
import pathlib
import sys
import time


def simplejpeg_decoder():
    import simplejpeg

    return lambda data: simplejpeg.decode_jpeg(data, colorspace="RGB")


def opencv_decoder():
    import cv2
    import numpy

    cv2.setNumThreads(1)
    return lambda data: cv2.cvtColor(cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR),
                                     cv2.COLOR_BGR2RGB)


def pillow_decoder():
    from PIL import Image

    return lambda data: Image.open(io.BytesIO(data)).convert("RGB").load()


def torchvision_decoder():
    import numpy
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg

    torch.set_num_threads(1)
    return lambda data: decode_jpeg(torch.from_numpy(numpy.frombuffer(data, numpy.uint8).copy()), ImageReadMode.RGB)


def seconds_of_dali(files, threads):
    import numpy
    from nvidia.dali import fn, pipeline_def

    batch = 50
    jpegs = [numpy.frombuffer(data, numpy.uint8) for data in files]
    batches = [jpegs[first:first + batch] for first in range(0, len(jpegs) - batch + 1, batch)]

    @pipeline_def(batch_size=batch, num_threads=threads, device_id=None)
    def pipeline():
        return fn.decoders.image(fn.external_source(source=batches, device="cpu"), device="cpu")

    pipe = pipeline()
    pipe.build()
    start = time.perf_counter()
    for _ in batches:
        pipe.run()
    return time.perf_counter() - start


def seconds_of(decode, files, threads):
    def attempt(data):
        try:
            decode(data)
        except Exception:  # noqa: BLE001: every library has its own way to refuse an image
            pass

    start = time.perf_counter()
    if threads == 1:
        for data in files:
            attempt(data)
    else:
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(attempt, files, chunksize=16))
    return time.perf_counter() - start


DECODERS = {"simplejpeg": simplejpeg_decoder, "opencv": opencv_decoder, "pillow": pillow_decoder,
            "torchvision": torchvision_decoder}

if __name__ == "__main__":
    library, tree, threads = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    files = [path.read_bytes() for path in sorted(tree.glob("*/*.JPEG"))]
    seconds = seconds_of_dali(files, threads) if library == "dali" else seconds_of(DECODERS[library](), files, threads)
    print(seconds)
