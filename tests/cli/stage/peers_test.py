"""shardctl stage --peer: nodes that take a set from each other, with the nginx configurations of samples/."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from nginx import Nginx  # noqa: E402
from program import result_of, tree  # noqa: E402
from staging import StageTest, staged  # noqa: E402

SAMPLES = pathlib.Path(__file__).parents[3] / "samples/nginx"
NODES = 8


def sample(name, folder, **changes):
    """A configuration of samples/ for this machine: its folders below `folder`, and what a user is told to change."""
    text = (SAMPLES / name).read_text()
    user = "user root;\n" if os.geteuid() == 0 else ""
    for old, new in {"/tmp/": f"{folder}/", "/var/cache/shardkit": str(folder), **changes}.items():
        assert old in text or old in ("/tmp/", "/var/cache/shardkit"), f"{name} has no {old}"
        text = text.replace(old, new)
    return user + text


class PeersTest(StageTest):
    def setUp(self):
        super().setUp()
        self.shards = self.make_shards()
        self.store = self.serve(self.folder)
        self.source = f"{self.store.url}/shards"
        self.whole = tree(self.shards)
        self.manifest = (self.shards / "manifest.json").stat().st_size
        self.bytes = sum(path.stat().st_size for path in self.shards.rglob("*") if path.is_file())

    def serve(self, root, lines="", **more):
        server = Nginx(self.folder / f"nginx-{len(list(self.folder.glob('nginx-*')))}", root, lines, **more)
        self.addCleanup(server.stop)
        return server

    def stage_node(self, number, *options):
        cache = self.folder / f"node-{number}"
        return self.stage_result(self.source, cache / "train", "--cache", cache, *options)

    def warnings_of(self, *options, node="x"):
        """Codes and texts of the warnings of a stage that ends with the whole set."""
        finished = self.stage(self.source, self.folder / node, *options)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(staged(self.folder / node), self.whole)
        return [(warning["code"], warning["text"]) for warning in result_of(finished)["warnings"]]

    def assert_dropped(self, warnings, reason):
        self.assertEqual([code for code, _ in warnings], ["peer_dropped"])
        self.assertRegex(warnings[0][1], reason)


class Neighbours(PeersTest):
    def test_one_node_fills_from_the_store_and_seven_others_from_it(self):
        self.stage_node(0)
        text = sample("serve-cache.conf", self.folder / "neighbour", **{"/nvme/cache": str(self.folder / "node-0")})
        neighbour = Nginx(self.folder / "neighbour", None, sample=text)
        self.addCleanup(neighbour.stop)
        for node in range(1, NODES):
            result = self.stage_node(node, "--peer", f"{neighbour.url}/train")
            self.assertEqual(result["bytes_from_peers"], self.bytes - self.manifest)
            self.assertEqual((result["verified"], staged(self.folder / f"node-{node}/train")), ("checksum", self.whole))
        look_ups = sum(1 for _, path in self.store.answers())  # a look-up reads one byte, or a page that says 404
        sent_once = self.bytes + (NODES - 1) * self.manifest
        self.assertLess(self.store.bytes_sent(), sent_once + 300 * look_ups)
        # Before the first byte, each node looks up whether the store has the shards. Only the first reads them there.
        shards_read = [path for status, path in self.store.answers() if path.endswith(".tar")]
        self.assertLessEqual(len(shards_read), (NODES + 1) * len([name for name in self.whole if name.endswith(".tar")]))

    def test_a_pattern_names_several_and_they_share_the_work(self):
        nodes = self.folder / "nodes"
        for node in (1, 2):
            shutil.copytree(self.shards, nodes / f"n{node}")
        peers = self.serve(nodes)
        self.assertEqual(self.warnings_of("--peer", f"{peers.url}/n{{1..2}}"), [])
        read = {path.split("/")[1] for _, path in peers.answers()}
        self.assertEqual(read, {"n1", "n2"})

    def test_a_sample_proxy_reads_each_piece_of_the_store_once_for_nodes_that_start_together(self):
        folder = self.folder / "proxy"
        text = sample("shared-proxy.conf", folder, **{"http://store:80": self.store.url})
        proxy = Nginx(folder, None, sample=text)
        self.addCleanup(proxy.stop)

        def stage(node):
            return self.stage_result(f"{proxy.url}/shards", self.folder / f"together-{node}")

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(stage, range(4)))
        for node in range(4):
            self.assertEqual(staged(self.folder / f"together-{node}"), self.whole)
        manifests = 8 * (self.shards / "manifest.json").stat().st_size  # not cached, read twice by each
        self.assertLess(self.store.bytes_sent(), self.bytes + manifests + 300 * len(self.store.answers()))

    def test_a_sample_proxy_serves_the_new_set_after_it_was_replaced_under_the_same_names(self):
        folder = self.folder / "proxy"
        proxy = Nginx(folder, None, sample=sample("shared-proxy.conf", folder, **{"http://store:80": self.store.url}))
        self.addCleanup(proxy.stop)
        self.stage_result(f"{proxy.url}/shards", self.folder / "old")
        for name in ("shards", "src"):
            shutil.rmtree(self.folder / name)
        self.make_shards(per_class=50)
        for path in (folder / "files").rglob("*"):  # as the sample says
            if path.is_file():
                path.unlink()
        result = self.stage_result(f"{proxy.url}/shards", self.folder / "new")
        self.assertEqual((result["verified"], staged(self.folder / "new")), ("checksum", tree(self.shards)))


class BadPeers(PeersTest):
    def test_a_peer_with_wrong_bytes_is_dropped_and_the_store_delivers(self):
        copy = self.folder / "liar"
        shutil.copytree(self.shards, copy)
        for path in copy.glob("*.tar"):
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.chmod(0o644)
            path.write_bytes(content)
        warnings = self.warnings_of("--peer", f"{self.serve(self.folder).url}/liar")
        self.assert_dropped(warnings, r"it sent wrong bytes of 'shard-\d+\.tar'")

    def test_a_peer_that_is_too_slow_is_dropped(self):
        warnings = self.warnings_of("--peer", f"{self.serve(self.folder, 'limit_rate 20k;').url}/shards")
        self.assert_dropped(warnings, "too slow: less than")

    def test_a_peer_that_never_answers_is_dropped(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            warnings = self.warnings_of("--peer", f"http://127.0.0.1:{silent.getsockname()[1]}/shards")
        self.assert_dropped(warnings, "almost no data arrived for 5 s")

    def test_a_peer_that_has_only_some_shards_delivers_those(self):
        copy = self.folder / "part"
        shutil.copytree(self.shards, copy)
        (copy / "shard-000001.tar").unlink()
        self.assertEqual(self.warnings_of("--peer", f"{self.serve(self.folder).url}/part"), [])

    def test_a_peer_with_nothing_of_it_is_named(self):
        warnings = self.warnings_of("--peer", f"{self.serve(self.folder).url}/elsewhere")
        self.assertEqual([code for code, _ in warnings], ["peer_useless"])

    def test_what_is_no_address_is_refused(self):
        finished = self.stage(self.source, self.folder / "x", "--peer", "/nvme/other")
        self.assertEqual(finished.returncode, 2)
        self.assertTrue(re.search("--peer /nvme/other is not an address", finished.stderr), finished.stderr)


if __name__ == "__main__":
    unittest.main()
