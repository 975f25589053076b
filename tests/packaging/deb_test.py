"""scripts/packaging/debian-package: what the package contains, of the developer's build."""

import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from installed import install_tree, made_by, need_build, packed  # noqa: E402
from program import FolderTest, run  # noqa: E402


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True).stdout.strip()


class Package(FolderTest):
    def test_it_has_debians_places_and_the_libraries_that_the_programs_need(self):
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

    def test_that_for_arm64_has_the_portable_programs_and_needs_the_c_library_only(self):
        build = self.folder / "build"
        shutil.copytree(install_tree(self), build / "install")
        package = pathlib.Path(made_by("packaging/debian-package", build, self.folder, SHARDKIT_ARCH="aarch64").splitlines()[-1])
        version = run("shardctl", "--version").stdout.split()[1].replace("-", "~")
        self.assertEqual(package.name, f"shardkit_{version}-1_arm64.deb")
        self.assertEqual([field(package, name) for name in ("Version", "Architecture", "Depends")],
                         [f"{version}-1", "arm64", "libc6 (>= 2.28)"])
        tree = self.folder / "tree"
        subprocess.run(["dpkg-deb", "--extract", package, tree], check=True)
        for path in ("bin/shardctl", "bin/iobench", "share/zsh/vendor-completions/_shardctl", "share/doc/shardkit/changelog.Debian.gz"):
            self.assertTrue((tree / "usr" / path).is_file(), path)
        self.assertEqual((tree / "usr/bin/shardctl").read_bytes(), (build / "install/bin/shardctl").read_bytes())


if __name__ == "__main__":
    unittest.main()
