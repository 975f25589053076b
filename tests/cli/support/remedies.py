"""What the tests of remedies share: following the commands that messages advise, as they are printed."""

import functools
import http.server
import os
import re
import subprocess
import tarfile
import threading

from program import PROGRAMS, FolderTest, result_of, run
from tars import write_tar

AWKWARD = "it's $HOME {a,b} & more"


class RemedyTest(FolderTest):
    def call(self, *args):
        return run(*args, cwd=self.folder)

    def shardctl(self, *args):
        """The result of a command that ends well."""
        finished = self.call("shardctl", *args, "--json", "-")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return result_of(finished)["result"]

    def shell(self, command):
        """A printed command, typed as it is."""
        environment = {**os.environ, "PATH": f"{PROGRAMS.resolve()}:{os.environ['PATH']}"}
        return subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True,
                              timeout=120)

    def advised(self, finished, exit_code):
        """The commands between back quotes in a message."""
        self.assertEqual(finished.returncode, exit_code, finished.stderr)
        commands = re.findall(r"`([^`]+)`", " ".join(finished.stderr.split()))
        self.assertTrue(commands, finished.stderr)
        return commands

    def follow(self, command):
        finished = self.shell(command)
        self.assertEqual(finished.returncode, 0, f"{command}\n{finished.stderr}")

    def flip(self, path, offset=1541):  # within the first image of a shard
        content = bytearray(path.read_bytes())
        content[offset] ^= 1
        path.chmod(0o644)
        path.write_bytes(content)

    def serve(self, folder):
        """The URL of a web server of these files."""
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}/"

    def write_tar(self, name, files, mode="w"):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_tar(self.folder / name, files, mode=mode, form=tarfile.USTAR_FORMAT)
