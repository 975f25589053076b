"""Our shards through webdataset in the worker processes of a real torch DataLoader, held against torchvision's ImageFolder."""

import collections
import pathlib
import unittest

from foreign_shards import IndexTest
from program import need, result_of

need("torchvision", "torch")
import torch  # noqa: E402
import webdataset  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.transforms.functional import to_tensor  # noqa: E402

SHARDS = 5


class DataLoader(IndexTest):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "photos"
        self.shardctl("synth", self.source, "--classes", 3, "--per-class", 20)
        self.shards = self.folder / "shards"
        self.shardctl("convert", self.source, self.shards, "--shards", SHARDS)
        self.imagefolder = ImageFolder(self.source, transform=to_tensor)
        self.samples = collections.Counter(
            (pathlib.Path(path).read_bytes(), label) for path, label in self.imagefolder.samples)

    def dataset(self, shuffle=False):
        urls = sorted(str(path) for path in self.shards.glob("*.tar"))
        dataset = webdataset.WebDataset(urls, shardshuffle=SHARDS if shuffle else False)
        return dataset.shuffle(10) if shuffle else dataset

    def load(self, workers, shuffle=False):
        dataset = self.dataset(shuffle).to_tuple("jpg", "cls")
        return torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers)

    def test_any_number_of_workers_gives_every_sample_once_an_epoch(self):
        for workers in (0, 1, 2, 3):
            for shuffle in (False, True):
                with self.subTest(workers=workers, shuffle=shuffle):
                    loader = self.load(workers, shuffle)
                    for _ in range(2):
                        self.assertEqual(collections.Counter((image, int(label)) for image, label in loader), self.samples)

    def test_two_workers_decode_different_samples_to_the_tensors_that_imagefolder_gives(self):
        def with_worker(sample):
            return (*sample, torch.utils.data.get_worker_info().id)

        expected = {f"{pathlib.Path(path).parent.name}/{pathlib.Path(path).stem}": number
                    for number, (path, _) in enumerate(self.imagefolder.samples)}
        by_worker = collections.Counter()
        dataset = self.dataset().decode("torchrgb").to_tuple("__key__", "jpg", "cls").map(with_worker)
        for key, image, label, worker in torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2):
            pixels, target = self.imagefolder[expected.pop(key)]
            self.assertEqual(label, target)
            self.assertTrue(torch.equal(image, pixels), key)
            by_worker[worker] += 1
        self.assertEqual(expected, {})
        self.assertEqual(by_worker, {0: 36, 1: 24})  # three shards and two

    def test_a_worker_without_a_shard_stops_the_job_and_plan_warns_of_it(self):
        workers = SHARDS + 1
        planned = result_of(self.shardctl("plan", self.source, "-o", self.folder / "plan", "--shards", SHARDS,
                                          "--workers", workers, "--json", "-"))
        self.assertEqual(len(planned["warnings"]), 1, planned["warnings"])
        with self.assertRaisesRegex(ValueError, "No samples found"):
            list(self.load(workers))


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # webdataset leaves files open
