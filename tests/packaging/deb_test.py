"""scripts/packaging/debian-package: what the package contains, of the developer's build."""

import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from installed import need_build, packed  # noqa: E402
from program import FolderTest, run  # noqa: E402


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True).stdout.strip()


class Package(FolderTest):
    def test_it_has_debians_places_and_the_libraries_that_the_programs_need(self):
        if shutil.which("dpkg-shlibdeps") is None:
            self.skipTest("SKIPPED: dpkg-dev is not installed")
        package = pathlib.Path(packed("debian-package", need_build(), self.folder).splitlines()[-1])
        version = run("shardctl", "--version").stdout.split()[1].replace("-", "~")
        self.assertRegex(field(package, "Version"), rf"^{version}-1\+deb\d+$")
        self.assertIn("libcurl4", field(package, "Depends"))
        self.assertIn("libc6 (>= ", field(package, "Depends"))
        tree = self.folder / "tree"
        subprocess.run(["dpkg-deb", "--extract", package, tree], check=True)
        for path in ("bin/shardctl", "bin/iobench", "share/man/man1/shardctl-convert.1.gz",
                     "share/zsh/vendor-completions/_shardctl", "share/bash-completion/completions/shardctl",
                     "share/doc/shardkit/copyright", "share/doc/shardkit/changelog.gz",
                     "share/doc/shardkit/changelog.Debian.gz", "share/doc/shardkit/docs/tutorial.md"):
            self.assertTrue((tree / "usr" / path).is_file(), path)
        self.assertEqual(sorted(path.name for path in [*tree.iterdir(), *(tree / "usr").iterdir()]), ["bin", "share", "usr"])
        installed = subprocess.run([tree / "usr/bin/shardctl", "--version"], capture_output=True, text=True)
        self.assertEqual(installed.stdout, run("shardctl", "--version").stdout)


if __name__ == "__main__":
    unittest.main()
