"""What the tests of shardctl stage share."""

import pathlib

from program import FolderTest, result_of, run, tree

OWN_RECORDS = {".shardkit/staged.json", ".shardkit/staged.lock", ".shardkit/stage.journal", ".shardkit/stage.lock"}


def staged(folder):
    return {name: content for name, content in tree(folder).items()
            if name not in OWN_RECORDS and not name.startswith(".shardkit/leases/")}


class StageTest(FolderTest):
    def make_shards(self, per_class=60, size=60_000, samples=30):
        src = self.make_tree(classes=3, per_class=per_class, size=size)
        shards = self.folder / "shards"
        self.assertEqual(run("shardctl", "convert", src, shards, "--samples", samples).returncode, 0)
        (shards / ".shardkit/plan").unlink()  # not part of what is staged
        return shards

    def stage(self, *args, **options):
        return run("shardctl", "stage", *args, "--json", "-", **options)

    def stage_result(self, *args, **options):
        """The result of a stage that has to succeed."""
        finished = self.stage(*args, **options)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)["result"]

    def assert_nowhere(self, secret, finished, *targets):
        """That what a program wrote, and the targets' own records, do not hold the secret."""
        self.assertNotIn(secret, finished.stderr or "")
        self.assertNotIn(secret, finished.stdout or "")
        for target in targets:
            for path in pathlib.Path(target).glob(".shardkit/**/*"):
                if path.is_file():
                    self.assertNotIn(secret.encode(), path.read_bytes(), path)
