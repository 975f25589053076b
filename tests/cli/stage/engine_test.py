"""What shardctl stage does with slow servers and slow disks, and what it says meanwhile."""

import functools
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAMS, result_of, run, strace, wait_until  # noqa: E402
from staging import StageTest, staged  # noqa: E402

CLEAN = {name: value for name, value in os.environ.items()
         if not name.lower().endswith("_proxy") and not name.startswith(("SSL_", "CURL_", "AWS_"))}
PIECE = 8192


class Server:
    """Serves ranges of one content at every path. `before` may answer a request itself, `paced` is called before each piece."""

    def __init__(self, content, before=lambda request: False, paced=lambda: None):
        self.sent = []  # (time, bytes)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
                super().setup()

            def do_GET(self):
                first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
                self.is_data = "x-0.bin" in self.path and last > 0
                if "manifest" in self.path:
                    self.send_response(404)
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                if before(self):
                    return
                body = content[first:last + 1]
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{len(content)}")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("ETag", '"v1"')
                self.end_headers()
                for at in range(0, len(body), PIECE):
                    paced()
                    self.wfile.write(body[at:at + PIECE])
                    outer.sent.append((time.monotonic(), len(body[at:at + PIECE])))

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/x-{{0..0}}.bin"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class EngineTest(StageTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def serve(self, *args, **more):
        server = Server(*args, **more)
        self.addCleanup(server.stop)
        return server

    def start(self, *args, prefix=()):
        command = [*prefix, str(PROGRAMS / "shardctl"), "stage", *map(str, args)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=CLEAN,
                                   start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.stderr.close)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        return process

    def line_with(self, process, text):
        """The first line of the running process with that text; it is not at its end then."""
        seen = []
        for line in process.stderr:
            seen.append(line)
            if text in line:
                return line
        self.fail(f"'{text}' did not come: {''.join(seen)}")


class OtherVersions(EngineTest):
    def test_a_server_with_another_etag_in_each_answer_serves_shards_and_indexes(self):
        self.make_tree("photos", classes=2, per_class=5)
        source = self.folder / "source"
        self.assertEqual(run("shardctl", "convert", self.folder / "photos", source, "--index", "wids").returncode, 0)

        class Handler(http.server.SimpleHTTPRequestHandler):
            def end_headers(self):
                self.send_header("ETag", f'"{os.urandom(8).hex()}"')
                super().end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=source))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        for _ in range(2):
            finished = run("shardctl", "stage", f"http://127.0.0.1:{server.server_port}/", self.out, env=CLEAN)
            self.assertEqual(finished.returncode, 0, finished.stderr)
        for index in source.glob(".shardkit/*.index"):
            self.assertEqual((self.out / ".shardkit" / index.name).read_bytes(), index.read_bytes())
        self.assertEqual(run("shardctl", "verify", self.out, "--strict").returncode, 0)


class Messages(EngineTest):
    def test_each_line_of_a_json_log_is_an_object_and_the_last_has_what_a_scheduler_records(self):
        source = self.make_shards(per_class=4)
        for options, code in ((("--dry-run",), 0), ((), 0), (("--include", "nothing"), 4)):
            with self.subTest(options):
                finished = run("shardctl", "stage", source, self.out, "--log", "json", "--lease-id", "job 7", *options)
                self.assertEqual(finished.returncode, code, finished.stderr)
                lines = [json.loads(line) for line in finished.stderr.splitlines()]
                self.assertTrue(all({"time", "level", "event"} <= set(line) for line in lines))
                last = lines[-1]
                self.assertEqual((last["event"], last["exit_code"]), ("done", code))
                self.assertEqual(last["operands"], {"src": [str(source)], "dst": str(self.out)})
                if code == 0:
                    result = last["result"]
                    self.assertEqual(result["bytes"], sum(path.stat().st_size for path in source.rglob("*") if path.is_file()))
                    self.assertEqual((result["verified"], result["lease_id"]), ("", None) if options else ("checksum", "job 7"))
                    self.assertEqual(result["lease_expires_at"] is None, bool(options))

    def test_a_retry_is_a_line_when_it_happens_with_address_attempt_and_the_wait_that_the_server_asks_for(self):
        def refuse(request):
            if not request.is_data:
                return False
            request.send_response(503)
            request.send_header("Retry-After", "30")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return True
        server = self.serve(b"x" * 100_000, before=refuse)
        process = self.start(server.url, self.out, "--manifest", "none")
        line = self.line_with(process, "retry:")
        self.assertIn("x-0.bin", line)
        self.assertIn("status 503", line)
        self.assertIn("(attempt 1 of 10; the server asks to wait 30 s)", line)
        process.terminate()
        self.assertEqual(process.wait(60), 143)
        process = self.start(server.url, self.out, "--manifest", "none", "--log", "json")
        event = json.loads(self.line_with(process, '"event":"retry"'))
        self.assertEqual([event["attempt"], event["attempts"], event["wait_seconds"], event["asked_to_wait"]],
                         [1, 10, 30, True])
        self.assertTrue(event["address"].endswith("/x-0.bin"))

    def test_a_refused_connection_is_visible_while_it_is_repeated(self):
        closed = socket.socket()
        closed.bind(("127.0.0.1", 0))
        self.addCleanup(closed.close)
        process = self.start(f"http://127.0.0.1:{closed.getsockname()[1]}/x-{{0..1}}.bin", self.out)
        self.assertIn("connection refused", self.line_with(process, "retry:"))

    def test_a_warning_comes_when_it_happens_and_progress_while_nothing_moves(self):
        seen = threading.Event()

        def wait(request):
            if request.is_data:
                seen.wait(60)
            return False
        process = self.start(self.serve(b"x" * 100_000, before=wait).url, self.out)
        self.line_with(process, "warning:")
        self.line_with(process, "copy 0 %")
        seen.set()
        self.assertEqual(process.wait(60), 0)


class Rates(EngineTest):
    def test_bwlimit_holds_over_two_seconds_for_what_the_server_sends(self):
        limit = 2_000_000
        server = self.serve(os.urandom(10_000_000))
        self.assertEqual(run("shardctl", "stage", server.url, self.out, "--bwlimit", limit, env=CLEAN).returncode, 0)
        for start, _ in server.sent[::20]:
            window = sum(size for at, size in server.sent if start <= at < start + 2)
            self.assertLess(window, 2 * 2 * limit)

    def test_repeated_kills_of_a_slow_copy_converge(self):
        content = os.urandom(3_000_000)
        server = self.serve(content, paced=lambda: time.sleep(0.02))  # 400 kB/s
        for _ in range(20):
            process = self.start(server.url, self.out, "--manifest", "none", "--concurrency", 1)
            try:
                if process.wait(5) == 0:
                    break
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        else:
            self.fail("no progress")
        self.assertEqual((self.out / "x-0.bin").read_bytes(), content)


class Disks(EngineTest):
    def make_files(self, count, size):
        source = self.folder / "files"
        source.mkdir()
        for i in range(count):
            (source / f"x-{i}.bin").write_bytes(os.urandom(size))
        return source

    def test_after_sigterm_no_write_or_sync_begins(self):
        source = self.make_files(4, 60_000_000)
        trace = self.folder / "trace"
        calls = "pwrite64,fdatasync,fsync,syncfs,sync,sync_file_range"
        prefix = strace("-o", str(trace), "-e", f"trace={calls}", "-e", "inject=pwrite64:delay_enter=3000000")
        process = self.start(source, self.out, "--manifest", "none", "--concurrency", 2, prefix=prefix)
        begun = lambda: re.findall(r"(?m)^\d+ +(\w+)\(", trace.read_text())  # noqa: E731
        wait_until(lambda: trace.exists() and begun().count("pwrite64") == 3, process)  # the journal, then both files; each takes 3 s
        before = begun()
        os.killpg(process.pid, signal.SIGTERM)
        self.assertEqual(process.wait(60), 143)
        self.assertEqual(begun(), before)

    def test_small_files_are_synced_without_the_rest_of_the_file_system(self):
        source = self.make_files(20, 1000)
        trace = self.folder / "trace"
        prefix = strace("-o", str(trace), "-e", "trace=fdatasync,syncfs,sync")
        self.assertEqual(self.start(source, self.out, "--manifest", "none", prefix=prefix).wait(60), 0)
        self.assertNotRegex(trace.read_text(), r"\b(syncfs|sync)\(")
        self.assertGreaterEqual(trace.read_text().count("fdatasync("), 20)


class Failures(EngineTest):
    def test_one_corrupt_object_leaves_the_others_staged_and_is_listed(self):
        shards = self.make_shards(samples=10)
        names = sorted(path.name for path in shards.glob("*.tar"))
        self.assertGreater(len(names), 10)
        bad = shards / names[3]
        sound = bad.read_bytes()
        bad.write_bytes(sound[:5000] + bytes([sound[5000] ^ 1]) + sound[5001:])
        finished = self.stage(shards, self.out)
        self.assert_error(finished, 4, names[3], "1 of ", "the others are staged")
        result = result_of(finished)["result"]
        self.assertEqual([(file["path"], file["code"]) for file in result["failed_files"]], [(names[3], "corrupt")])
        self.assertEqual(result["failed"], 1)
        self.assertEqual(sorted(path.name for path in self.out.glob("*.tar")), names[:3] + names[4:])
        self.assertFalse((self.out / ".shardkit/staged.json").exists())
        bad.write_bytes(sound)
        result = self.stage_result(shards, self.out)
        self.assertEqual(result["failed"], 0)
        self.assertLess(result["bytes_fetched"], 2 * len(sound) + 100_000)
        self.assertTrue((self.out / ".shardkit/staged.json").exists())
        self.assertEqual(sorted(name for name in staged(self.out) if name.endswith(".tar")), names)


if __name__ == "__main__":
    unittest.main()
