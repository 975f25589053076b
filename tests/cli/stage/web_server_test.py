"""shardctl stage from a real nginx, set up in the ways that web servers are, and changed while it is read."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from nginx import Nginx  # noqa: E402
from program import PROGRAMS, result_of, run, tree, wait_until  # noqa: E402
from staging import StageTest, staged  # noqa: E402

CLEAN = {name: value for name, value in os.environ.items()
         if not name.lower().endswith("_proxy") and not name.startswith(("SSL_", "CURL_", "AWS_"))}


LARGE = 40_000_000  # several ranges, and more than what buffers on the way hold
ONE_BY_ONE = ("--concurrency", 1, "--bwlimit", "40MB")  # so that ranges are asked for one after the other


class WebTest(StageTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def serve(self, lines="", **more):
        server = Nginx(self.folder / f"nginx-{len(list(self.folder.glob('nginx-*')))}", self.folder, lines, **more)
        self.addCleanup(server.stop)
        return server

    def stage(self, *args, **options):
        return super().stage(*args, **{"env": CLEAN, **options})

    def start_stage(self, *args):
        """A stage that is under way: bytes have come."""
        command = [str(PROGRAMS / "shardctl"), "stage", *map(str, args), "--json", "-"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN)
        self.addCleanup(process.kill)
        wait_until(lambda: any(path.stat().st_size > 0 for path in self.out.glob(".shardkit/staging/*.partial")), process)
        return process

    def ended(self, process):
        stdout, stderr = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def make_files(self, count=3, size=3_000_000):
        source = self.folder / "files"
        source.mkdir()
        for i in range(count):
            (source / f"x-{i}.bin").write_bytes(os.urandom(size + i))
        return source


class Setups(WebTest):
    def test_a_set_with_its_manifest_comes_by_ranges_and_a_second_stage_fetches_nothing(self):
        shards = self.make_shards()
        server = self.serve()
        for address in (f"{server.url}/shards", f"{server.url}/shards/", f"{server.url}/shards/manifest.json"):
            result = self.stage_result(address, self.out)
            self.assertEqual(result["verified"], "checksum")
            self.assertEqual(staged(self.out), tree(shards))
        self.assertEqual(result["bytes_fetched"], 0)
        self.assertIn((206, "/shards/shard-000003.tar"), server.answers())
        self.assertEqual(run("shardctl", "verify", self.out, "--depth", "checksum").returncode, 0)

    def test_a_server_without_ranges_gives_each_file_in_one_stream(self):
        shards = self.make_shards()
        server = self.serve("max_ranges 0;")
        result = self.stage_result(f"{server.url}/shards", self.out)
        self.assertEqual((staged(self.out), result["bytes_fetched"]), (tree(shards), result["bytes"]))

    def test_a_file_without_etag_and_date_is_fetched_by_one_request_and_not_continued(self):
        source = self.make_files(1, LARGE)
        server = self.serve("etag off; add_header Last-Modified ''; limit_rate 20m;")
        address = f"{server.url}/files/x-{{0..0}}.bin"
        process = self.start_stage(address, self.out)
        process.terminate()
        self.assertEqual(self.ended(process).returncode, 143)
        (source / "x-0.bin").write_bytes(os.urandom(LARGE))
        server.answers()
        result = self.stage_result(address, self.out)
        self.assertEqual((self.out / "x-0.bin").read_bytes(), (source / "x-0.bin").read_bytes())
        self.assertEqual((result["verified"], result["bytes_reused"]), ("size", 0))
        self.assertIn((200, "/files/x-0.bin"), server.answers())

    def test_compression_on_the_way_is_not_asked_for(self):
        shards = self.make_shards()
        source = self.make_files()
        for name in ("x-0.bin", "x-1.bin"):
            (source / f"{name}.gz").write_bytes(b"what a server may send in its place")
        for setup in ("gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;", "gzip_static on;"):
            server = self.serve(setup)
            self.stage_result(f"{server.url}/shards", self.out / "shards")
            self.stage_result(f"{server.url}/files/x-{{0..2}}.bin", self.out / "files")
            self.assertEqual(staged(self.out / "shards"), tree(shards))
            self.assertEqual((self.out / "files/x-0.bin").read_bytes(), (source / "x-0.bin").read_bytes())
            shutil.rmtree(self.out)

    def test_compressed_bytes_that_come_unasked_are_refused_not_stored(self):
        source = self.make_files(1)
        (source / "x-0.bin.gz").write_bytes(b"\x1f\x8b" + os.urandom(1000))
        for setup in ("gzip_static always;", "gzip_static always; max_ranges 0;"):
            server = self.serve(setup)
            self.assert_error(self.stage(f"{server.url}/files/x-{{0..0}}.bin", self.out), 4, "x-0.bin", "gzip")
            self.assertFalse((self.out / "x-0.bin").exists())

    def test_a_compressed_file_that_is_announced_as_such_is_brought_as_it_is(self):
        source = self.make_files(1)
        (source / "x.tar.gz").write_bytes(b"\x1f\x8b" + os.urandom(100_000))
        server = self.serve("location ~ [.]gz$ { add_header Content-Encoding x-gzip; }")
        self.stage_result(f"{server.url}/files/x.tar.gz", self.out)
        self.assertEqual((self.out / "x.tar.gz").read_bytes(), (source / "x.tar.gz").read_bytes())

    def test_a_rate_that_the_server_keeps_to_and_one_of_our_own(self):
        shards = self.make_shards(per_class=20, samples=20)
        server = self.serve("limit_rate 1m;")
        self.stage_result(f"{server.url}/shards", self.out, "--bwlimit", "3MB", "--concurrency", 8)
        self.assertEqual(staged(self.out), tree(shards))

    def test_what_is_missing_or_forbidden_is_named_and_final(self):
        shards = self.make_shards()
        forbidding = self.serve("location = /shards/shard-000002.tar { return 403; }")
        self.assert_error(self.stage(f"{forbidding.url}/shards", self.out), 4, "shard-000002.tar", "403")
        server = self.serve()
        (shards / "shard-000001.tar").unlink()
        self.assert_error(self.stage(f"{server.url}/shards", self.folder / "other"), 4, "shard-000001.tar", "missing")
        self.assert_error(self.stage(f"{server.url}/absent", self.folder / "third"), 4, "manifest.json")


class Trust(WebTest):
    def make_certificates(self):
        """ca.pem, and server.pem with server.key that it vouches for, for 127.0.0.1 alone."""
        (self.folder / "names").write_text("subjectAltName=IP:127.0.0.1")
        for arguments in ("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=authority -days 2",
                          "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server",
                          "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names "
                          "-out server.pem -days 2"):
            subprocess.run(["openssl", *arguments.split()], cwd=self.folder, check=True, capture_output=True)

    def test_over_tls_with_an_authority_of_ones_own(self):
        self.make_certificates()
        shards = self.make_shards()
        server = self.serve(f"ssl_certificate {self.folder}/server.pem; ssl_certificate_key {self.folder}/server.key;",
                            tls=True)
        self.assert_error(self.stage(f"{server.url}/shards", self.out), 4, "SSL_CERT_FILE")
        self.assertFalse(self.out.exists())
        self.stage_result(f"{server.url}/shards", self.out,
                          env={**CLEAN, "SSL_CERT_FILE": str(self.folder / "ca.pem")})
        self.assertEqual(staged(self.out), tree(shards))

    def test_a_login_in_the_url_is_used_and_shown_nowhere(self):
        shards = self.make_shards()
        hashed = subprocess.run(["openssl", "passwd", "-apr1", "open-sesame"], capture_output=True, text=True).stdout
        (self.folder / "logins").write_text(f"ali:{hashed}")
        server = self.serve(f"auth_basic x; auth_basic_user_file {self.folder}/logins;")
        address = f"{server.url_with_login('ali:open-sesame')}/shards"
        process = self.start_stage(address, self.out, "--bwlimit", "1MB")
        self.assert_nowhere("open-sesame", subprocess.CompletedProcess([], 0), self.out)
        process.terminate()
        stopped = self.ended(process)
        self.assertEqual(stopped.returncode, 143)
        self.assert_nowhere("open-sesame", stopped, self.out)
        finished = self.stage(address, self.out)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(staged(self.out), tree(shards))
        self.assert_nowhere("open-sesame", finished, self.out)
        for wrong in (server.url_with_login("ali:wrong-word"), server.url):
            finished = self.stage(f"{wrong}/shards", self.folder / "other")
            self.assert_error(finished, 4, "401")
            self.assert_nowhere("wrong-word", finished, self.folder / "other")


class Operands(WebTest):
    def test_a_pattern_a_list_and_a_wids_index_name_files_of_the_server(self):
        source = self.make_files()
        expected = tree(source)
        server = self.serve()
        (self.folder / "files.txt").write_text("".join(f"{server.url}/files/{name}\n" for name in expected))
        (source / "relative.txt").write_text("\r\n".join(expected))
        (source / "index.json").write_text(json.dumps(
            {"__kind__": "wids-shard-index-v1", "wids_version": 1, "name": "x",
             "shardlist": [{"url": name, "nsamples": 1} for name in expected]}))
        operands = {"pattern": f"{server.url}/files/x-{{0..2}}.bin", "list": self.folder / "files.txt",
                    "list of the server": f"{server.url}/files/relative.txt", "wids": f"{server.url}/files/index.json"}
        for what, operand in operands.items():
            with self.subTest(what):
                target = self.out / what
                result = self.stage_result(operand, target)
                self.assertEqual((staged(target), result["verified"]), (expected, "size"))
                self.assertEqual(self.stage_result(operand, target)["bytes_fetched"], 0)

    def test_names_that_a_url_has_to_encode(self):
        source = self.folder / "files"
        source.mkdir()
        names = ["a b.bin", "plus+x.bin", "100%.bin", "hash#x.bin", "what?.bin", "ünï.bin", "a&b=c.bin", "semi;colon.bin"]
        for name in names:
            (source / name).write_bytes(name.encode() * 100)
        server = self.serve()
        encoded = [name.replace("%", "%25").replace("#", "%23").replace("?", "%3F").replace(" ", "%20") for name in names]
        (source / "all.txt").write_text("\n".join(encoded))
        self.stage_result(f"{server.url}/files/all.txt", self.out)
        self.assertEqual(staged(self.out), {name: digest for name, digest in tree(source).items() if name != "all.txt"})


class Changes(WebTest):
    @contextlib.contextmanager
    def stopped(self, process):
        process.send_signal(signal.SIGSTOP)
        yield
        process.send_signal(signal.SIGCONT)

    def replace(self, path, content):
        """As publishing tools do: by mv."""
        new = path.with_name("new")
        new.write_bytes(content)
        os.utime(new, (1_000_000_000, 1_000_000_000 + time.monotonic_ns() % 1_000_000))
        new.rename(path)

    def test_a_file_that_is_replaced_meanwhile_is_the_new_one_whole(self):
        source = self.make_files(2, LARGE)
        server = self.serve()
        process = self.start_stage(f"{server.url}/files/x-{{0..1}}.bin", self.out, *ONE_BY_ONE)
        with self.stopped(process):
            for path in sorted(source.iterdir()):
                self.replace(path, os.urandom(LARGE))
        finished = self.ended(process)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(staged(self.out), tree(source))
        self.assertGreater(result_of(finished)["result"]["retries"], 0)
        again = self.stage_result(f"{server.url}/files/x-{{0..1}}.bin", self.out)
        self.assertEqual((staged(self.out), again["bytes_fetched"]), (tree(source), 0))

    def test_a_shard_that_is_replaced_meanwhile_is_never_a_mix(self):
        shards = self.make_shards(per_class=20, size=1_600_000, samples=60)
        before = tree(shards)
        server = self.serve()
        process = self.start_stage(f"{server.url}/shards", self.out, *ONE_BY_ONE)
        with self.stopped(process):
            for path in sorted(shards.glob("*.tar")):
                self.replace(path, os.urandom(path.stat().st_size))
        finished = self.ended(process)
        self.assertIn(finished.returncode, (1, 4))  # 1: the first read had old and new bytes, the second only new ones
        self.assertIn("has wrong content, ", finished.stderr)
        for name, digest in staged(self.out).items():
            if not name.startswith(".shardkit/staging/"):
                self.assertEqual(digest, before[name], name)
        self.assertFalse((self.out / ".shardkit/staged.json").exists())


class Restarts(WebTest):
    def test_a_server_that_is_restarted_in_the_middle(self):
        self.source = self.make_files(2, LARGE)
        for setup in ("", "max_ranges 0;"):
            with self.subTest(setup):
                shutil.rmtree(self.out, ignore_errors=True)
                server = self.serve(setup)
                process = self.start_stage(f"{server.url}/files/x-{{0..1}}.bin", self.out, "--bwlimit", "40MB")
                server.stop()
                time.sleep(0.5)
                server.start()
                finished = self.ended(process)
                self.assertEqual(finished.returncode, 0, finished.stderr)
                self.assertEqual(staged(self.out), tree(self.source))
                self.assertGreater(result_of(finished)["result"]["retries"], 0)

    def test_a_server_that_is_reloaded_in_the_middle(self):
        source = self.make_files(2, LARGE)
        server = self.serve()
        process = self.start_stage(f"{server.url}/files/x-{{0..1}}.bin", self.out, "--bwlimit", "60MB")
        for _ in range(3):
            server.reload()
            time.sleep(0.1)
        finished = self.ended(process)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(staged(self.out), tree(source))

    def test_a_stage_that_is_stopped_goes_on_inside_its_files(self):
        source = self.make_files(2, 8_000_000)
        server = self.serve()
        address = f"{server.url}/files/x-{{0..1}}.bin"
        process = self.start_stage(address, self.out, "--bwlimit", "2MB")
        wait_until(lambda: list(self.out.glob(".shardkit/staging/*.parts")), process)  # what came is saved every 3 s
        process.terminate()
        self.assertEqual(self.ended(process).returncode, 143)
        result = self.stage_result(address, self.out)
        self.assertEqual(staged(self.out), tree(source))
        self.assertGreater(result["bytes_reused"], 0)
        self.assertEqual(result["bytes_reused"] + result["bytes_fetched"], result["bytes"])


if __name__ == "__main__":
    unittest.main()
