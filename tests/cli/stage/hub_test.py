"""shardctl stage from a model hub: a server that wants a token and redirects to another that must not see it."""

import http.server
import json
import os
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import run, tree  # noqa: E402
from staging import StageTest, staged  # noqa: E402

CLEAN = {name: value for name, value in os.environ.items()
         if not name.lower().endswith("_proxy") and not name.startswith(("SSL_", "CURL_", "AWS_", "SHARDKIT_TOKEN"))}
SECRET = "hf_hush-hush"
WITH_TOKEN = {**CLEAN, "SHARDKIT_TOKEN": SECRET}


class Handler(http.server.BaseHTTPRequestHandler):
    """Files below `root` by range; a hub (`wanted` is set) redirects those who are let in to `elsewhere`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        sent = self.headers.get("Authorization", "")
        self.server.seen.append(sent)
        if self.server.wanted:
            if sent != self.server.wanted:
                return self.answer(401, b"")
            if not self.path.endswith(".txt"):
                return self.answer(302, b"", Location=f"{self.server.elsewhere}{self.path}?ticket=1")
        path = self.server.root / self.path.partition("?")[0].lstrip("/")
        if not path.is_file():
            return self.answer(404, b"")
        content = path.read_bytes()
        first, last = (int(part) for part in self.headers.get("Range", "bytes=0-999999999")[6:].split("-"))
        body = content[first:last + 1]
        self.answer(206, body, ETag='"1"', **{"Content-Range": f"bytes {first}-{first + len(body) - 1}/{len(content)}"})

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ServedTest(StageTest):
    def serve(self, wanted="", elsewhere=""):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.root, server.wanted, server.elsewhere, server.seen = self.folder, wanted, elsewhere, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    @staticmethod
    def url(server):
        return f"http://127.0.0.1:{server.server_port}"


class Hub(ServedTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.shards = self.make_shards(per_class=10, size=5000, samples=10)
        self.cdn = self.serve()
        self.hub = self.serve(f"Bearer {SECRET}", self.url(self.cdn))

    def check_staged(self, finished):
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(staged(self.out), tree(self.shards))
        self.assertEqual(set(self.hub.seen), {self.hub.wanted})
        self.assertEqual(set(self.cdn.seen), {""})
        for secret in (SECRET, "ticket=1"):
            self.assert_nowhere(secret, finished, self.out)

    def test_a_token_opens_the_hub_and_stays_there(self):
        self.check_staged(self.stage(f"{self.url(self.hub)}/shards", self.out, env=WITH_TOKEN))
        listed = run("shardctl", "ls", f"{self.url(self.hub)}/shards", env=WITH_TOKEN)
        self.assertEqual(listed.stdout, run("shardctl", "ls", self.shards).stdout)


class Secrets(ServedTest):
    """No secret in a URL reaches what is written, however wrong the URL is."""

    def test_options_and_operands_are_echoed_without_them(self):
        out = self.folder / "out"
        out.mkdir()
        host = self.url(self.serve()).partition("//")[2]  # has no file
        for address in ("s3://AKIA:hush/hush@bucket/x", f"http://me:hush/hush@{host}/x.tar", "ftp://me:hush@host/x",
                        f"http://{host}/x.tar?sig=hush", f"http://me:hush@{host}/x-{{0..2}}.tar",
                        "pipe:curl -H 'Authorization: Bearer hush' https://host/x", "https://me:hush@ho st/x"):
            for command in (["stage", address, out], ["stage", out, address], ["ls", address], ["plan", address],
                            ["stage", out, out / "x", "--manifest", address], ["ls", address, "--no-such-option"],
                            ["stage", "s3://bucket/x", out, "--endpoint-url", address]):
                report = self.folder / "report.json"
                finished = run("shardctl", *command, "--json", report, env={**CLEAN, "AWS_EC2_METADATA_DISABLED": "true"})
                self.assertNotEqual(finished.returncode, 0)
                written = finished.stdout + finished.stderr + (report.read_text() if report.exists() else "")
                self.assertNotIn("hush", written, command)
                if report.exists():
                    json.loads(report.read_text())


if __name__ == "__main__":
    unittest.main()
