"""The image of a release: small, with nothing but the C library beside the programs, and run like that of image_test.py.

Only with SHARDKIT_SOAK."""

import os
import unittest

import image_test
from image_test import CHECKOUT, VERSION
from installed import made_by

MOST_BYTES = 15_000_000


@unittest.skipUnless(os.environ.get("SHARDKIT_SOAK"), "SKIPPED: builds the portable programs, which scripts/test --soak does")
class Release(image_test.Restricted):
    @classmethod
    def make_archive(cls, dist):
        made_by("release", "image")
        cls.archive = CHECKOUT / f"dist/shardkit-{VERSION}-oci.tar"
        return cls.archive

    def test_its_archive_is_small(self):
        self.assertLessEqual(self.archive.stat().st_size, MOST_BYTES)

    def test_it_contains_no_other_libraries_than_the_c_library(self):
        packages = {entry.rpartition("/")[2] for entry in self.image.entries(self.folder) if "/status.d/" in entry}
        self.assertEqual(packages, {"base-files", "ca-certificates", "libc6"})


if __name__ == "__main__":
    unittest.main()
