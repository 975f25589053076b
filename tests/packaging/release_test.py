"""scripts/release: the files of a release, their sizes, and the same bytes from another folder. Only with SHARDKIT_SOAK."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from installed import made_by  # noqa: E402
from program import CHECKOUT, FolderTest, run  # noqa: E402

VERSION = run("shardctl", "--version").stdout.split()[1]
MOST_BYTES = {f"shardkit-{VERSION.replace('-', '')}-py3-none-manylinux_2_28_x86_64.whl": 12_000_000, f"shardkit-{VERSION}-x86_64.tar.gz": 15_000_000}


def release(checkout, **environment):
    made_by("release", "wheel", "tarball", checkout=checkout, **environment)
    return checkout / "dist"


@unittest.skipUnless(os.environ.get("SHARDKIT_SOAK"), "SKIPPED: builds the programs again, which scripts/test --soak does")
class Release(FolderTest):
    def setUp(self):
        super().setUp()
        if subprocess.check_output(["git", "-C", CHECKOUT, "status", "--porcelain"]):
            self.skipTest("SKIPPED: a clone has none of the changes here that are not committed")

    def test_its_files_are_small_and_the_same_from_another_folder(self):
        dist = release(CHECKOUT)
        sums = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())
        for name, most in MOST_BYTES.items():
            data = (dist / name).read_bytes()
            self.assertLessEqual(len(data), most)
            self.assertEqual(sums[name], hashlib.sha256(data).hexdigest())
        parts = {part["name"] for part in json.loads((dist / f"shardkit-{VERSION}.spdx.json").read_text())["packages"]}
        self.assertLessEqual({"shardkit", "curl", "libssl-dev", "libarchive", "ziglang"}, parts)

        clone = self.folder / "elsewhere/clone"
        subprocess.run(["git", "clone", "-q", CHECKOUT, clone], check=True)
        again = release(clone, CCACHE_DISABLE="1")
        for name in (*MOST_BYTES, f"shardkit-{VERSION}.spdx.json"):
            self.assertTrue((again / name).read_bytes() == (dist / name).read_bytes(), name)


if __name__ == "__main__":
    unittest.main()
