"""The media that a set can be on: a folder, a bucket, a web server that lists nothing."""

import functools
import hashlib
import http.client
import http.server
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from program import CHECKOUT, PROGRAMS  # noqa: E402
from states import lock_runs  # noqa: E402

BUCKET_SERVER = os.environ.get("SHARDKIT_BUCKET_SERVER") or next(
    (build / "tests/net/bucket_server" for build in (PROGRAMS.resolve().parent, CHECKOUT / "build/dev") if (build / "tests/net/bucket_server").exists()), "bucket_server")


def bytes_of(path):
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


class Disk:
    name = "disk"

    def place(self, state, cell):
        """Copies a state to where a cell works, and returns the operand and what to close at the end."""
        shutil.copytree(state.folder, cell, dirs_exist_ok=True)
        return "S", lock_runs(cell / "S") if state.is_live else []

    def seen(self, cell):
        """Everything that is there: hashes of files, and folders."""
        return {str(path.relative_to(cell)): bytes_of(path) if path.is_file() else "folder" for path in sorted(cell.rglob("*"))}

    def local(self, cell):
        return cell

    def remove(self, cell):
        shutil.rmtree(cell, ignore_errors=True)


class Bucket:
    """The bucket of tests/net/bucket_server_main.cpp. Cells are prefixes."""
    name = "bucket"

    def __init__(self):
        self.process = subprocess.Popen([BUCKET_SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.address = self.line().removeprefix("http://")
        self.local_state = threading.local()
        self.connections = []
        self.lock = threading.Lock()
        self.record = None
        self.environment = {**{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and not name.startswith("AWS_")},
                            "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_ENDPOINT_URL_S3": f"http://{self.address}",
                            "AWS_EC2_METADATA_DISABLED": "true"}

    def line(self):
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self.process.stdout.fileno(), 1)
        return line.decode().strip()

    def command(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        while self.line() != "ok":
            pass

    def close(self):
        for connection in self.connections:
            connection.close()
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def request(self, method, key, body=None, query=""):
        if not hasattr(self.local_state, "connection"):
            self.local_state.connection = http.client.HTTPConnection(self.address, timeout=60)
            self.connections.append(self.local_state.connection)
        connection = self.local_state.connection
        connection.request(method, f"/bucket/{urllib.parse.quote(key)}{query}", body)
        answer = connection.getresponse()
        return answer.read()

    def listing(self, prefix):
        """The ETags of objects, which are their MD5s, by key."""
        text = self.request("GET", "", query=f"?list-type=2&prefix={urllib.parse.quote(prefix, safe='')}").decode()
        return {urllib.parse.unquote(key): etag.strip('"') for key, etag in re.findall(r"<Key>(.*?)</Key>.*?<ETag>(.*?)</ETag>", text)}

    def get_tree(self, prefix, folder):
        for key in self.listing(prefix):
            path = folder / key[len(prefix):]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.request("GET", key))

    def put_tree(self, folder, prefix):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.request("PUT", prefix + str(path.relative_to(folder)), path.read_bytes())

    def place(self, state, cell):
        cell.mkdir(parents=True, exist_ok=True)
        self.put_tree(state.folder / "S", f"{cell.name}/S/")
        if state.is_live:
            self.request("PUT", f"{cell.name}/S/.shardkit/uploads/writer.json", self.writer(state.folder.parents[1]))
        return f"s3://bucket/{cell.name}/S", []

    def writer(self, root):
        """The record of a convert of p to S, as it is while that writes, taken from another bucket, where it is killed."""
        with self.lock:
            if self.record is None:
                other = Bucket()
                number = 0
                while not self.record:
                    number += 1
                    other.killed([str(PROGRAMS / "shardctl"), "convert", str(root / "p"), "s3://bucket/S", "--samples", "10"], number, "done", root)
                    if "S/.shardkit/plan" in other.listing(""):
                        self.record = other.request("GET", "S/.shardkit/uploads/writer.json")
                other.close()
            return self.record

    def seen(self, cell):
        return {**self.listing(f"{cell.name}/"), **Disk().seen(cell)}

    def local(self, cell):
        """The set's files as a folder."""
        copy = cell / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        self.get_tree(f"{cell.name}/", copy)
        return copy

    def remove(self, cell):
        for key in self.listing(f"{getattr(cell, 'name', cell)}/"):
            self.request("DELETE", key)
        if isinstance(cell, pathlib.Path):
            shutil.rmtree(cell, ignore_errors=True)

    def killed(self, command, number, how, folder, before_kill=lambda: None):
        """Whether a command comes to its write of that number, at which it is killed: before it, or when it is "done"."""
        with self.lock:
            self.command(f"hold {number} {how}")
            process = subprocess.Popen(command, cwd=folder, env={**self.environment, "HOME": str(folder)}, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            ready = []
            while not ready and process.poll() is None:
                ready, _, _ = select.select([self.process.stdout], [], [], 0.005)
            if ready:
                assert self.line() == "held"
                before_kill()
                process.send_signal(signal.SIGKILL)
            process.wait()
            self.command("go")
            return bool(ready)


class Web:
    """A web server of files that can read ranges and lists nothing."""
    name = "web"

    def __init__(self, root):
        self.server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=root))
        self.root = root
        self.disk = Disk()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def place(self, state, cell):
        self.disk.place(state, cell)
        return f"http://127.0.0.1:{self.server.server_port}/{cell.relative_to(self.root)}/S", []

    def seen(self, cell):
        return self.disk.seen(cell)

    def local(self, cell):
        return cell

    def remove(self, cell):
        self.disk.remove(cell)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # clients leave as they like


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *args, directory):
        self.directory = directory
        super().__init__(*args)

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.directory / urllib.parse.unquote(self.path.partition("?")[0]).lstrip("/")
        content = path.read_bytes() if path.is_file() else b""
        status = 200 if path.is_file() else 404
        extent = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        headers = {"ETag": f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'}
        if status == 200 and extent:
            first, last = int(extent[1]), min(int(extent[2] or len(content)), len(content) - 1)
            status = 206 if first < len(content) else 416
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}" if status == 206 else f"bytes */{len(content)}"
            content = content[first:last + 1] if status == 206 else b""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)
