"""What the tests of ranks share: nodes of several sizes, and which shards our --rank says that they need."""

import json
import os
import subprocess
import typing

from foreign_shards import IndexTest

RANKS = {2: ["0", "1", "0-1"], 3: ["1", "0-1", "1-2"], 4: ["0", "3", "1-2"]}  # of nodes, by all ranks there are


def shards_for(split, ranks, world, samples_per_shard):
    """(numbers of the shards, codes of the warnings); the text of the error where ranks cannot be served."""
    command = [os.environ["RANK_SHARDS_PROBE"], split, ranks, str(world), *map(str, samples_per_shard)]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout)
    return answer.get("error") or (answer["shards"], answer["warnings"])


def samples_per_shard(shards):
    return [shard["samples"] for shard in json.loads((shards / "manifest.json").read_text())["shards"]]


class Node(typing.NamedTuple):
    shards: list  # paths of the whole set
    ranks: range
    world: int
    staged: set  # numbers of the shards that we say it needs
    warnings: list

    @property
    def paths(self):
        return [str(shard) for shard in self.shards]

    def __str__(self):
        return f"{len(self.shards)} shards, ranks {self.ranks} of {self.world}"


class RanksTest(IndexTest):
    def nodes(self, split, *options, counts=(4, 7)):
        """Every node of RANKS with sets of that many shards."""
        source, _ = self.small_tree()
        for count in counts:
            whole = self.folder / f"whole-{count}"
            self.shardctl("convert", source, whole, "--shards", count, *options)
            for world, nodes in RANKS.items():
                for ranks in nodes:
                    staged, warnings = shards_for(split, ranks, world, samples_per_shard(whole))
                    first, _, last = ranks.partition("-")
                    yield Node(sorted(whole.glob("*.tar")), range(int(first), int(last or first) + 1), world, set(staged),
                               warnings)

    def stage(self, node, name):
        """Paths of a copy of the set that lacks all shards but the staged ones."""
        folder = self.folder / name
        folder.mkdir()
        for number in node.staged:
            os.link(node.shards[number], folder / node.shards[number].name)
        return [str(folder / shard.name) for shard in node.shards]
