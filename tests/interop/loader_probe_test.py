"""samples/pytorch/loader_probe.py on a real torch DataLoader that reads our shards by webdataset."""

import json
import subprocess
import sys
import unittest

from foreign_shards import IndexTest
from program import CHECKOUT, need

need("torch", "torch")

IMAGES = 60
LOADER = '''
import io
import torch
import webdataset
from PIL import Image
import numpy

def tensor(data):
    image = Image.open(io.BytesIO(data)).convert("RGB").resize((64, 64))
    return torch.from_numpy(numpy.asarray(image).copy())

def make_loader(num_workers):
    dataset = webdataset.WebDataset({urls!r}, shardshuffle=False, empty_check=False)
    dataset = dataset.to_tuple("jpg", "cls").map_tuple(tensor, lambda text: int(text)).batched(5)
    return torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=num_workers)
'''


class LoaderProbe(IndexTest):
    def setUp(self):
        super().setUp()
        source = self.folder / "photos"
        self.shardctl("synth", source, "--classes", 3, "--per-class", IMAGES // 3)
        self.shards = self.folder / "shards"
        self.shardctl("convert", source, self.shards, "--shards", 4)
        self.loader = self.folder / "my_loader.py"
        self.loader.write_text(LOADER.format(urls=sorted(str(path) for path in self.shards.glob("*.tar"))))

    def test_each_number_of_workers_is_timed_over_all_samples(self):
        json_file = self.folder / "probe.json"
        done = subprocess.run(
            [sys.executable, CHECKOUT / "samples/pytorch/loader_probe.py", f"{self.loader}:make_loader", "--num-workers", "0,2",
             "--turns", "2", "--data", str(self.shards), "--cache", "warm", "--json", str(json_file)],
            capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(json_file.read_text())["result"]
        for row in result["sweep"]:
            self.assertEqual(row["batch_size"], 5)
            self.assertEqual(row["samples"], 2 * (IMAGES - 5))  # two turns, each without its first batch
            self.assertGreater(row["samples_per_second"], 0)
        self.assertEqual([row["num_workers"] for row in result["sweep"]], [0, 2])
        self.assertEqual(result["cache"]["requested"], "warm")


if __name__ == "__main__":
    unittest.main()
