"""A real nginx on a free port, with a configuration and folders of its own, for the time of a test; needs no root."""

import os
import pathlib
import socket
import subprocess
import time

import needs

PROGRAM = needs.program("nginx")

CONFIG = """
{user}
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port}{tls};
    root {root};
    {lines}
  }}
}}
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Nginx:
    def __init__(self, folder, root, lines="", tls=False, sample=None):
        """Serves the folder `root`; `lines` go into the server's block; keeps its files in `folder`. `sample` is the
        text of a configuration file in place of ours, which listens on port 8080."""
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.port = free_port()
        self.scheme = "https" if tls else "http"
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        self.config = self.folder / "nginx.conf"
        self.config.write_text(sample.replace("8080", str(self.port)) if sample else CONFIG.format(user="user root;" if os.geteuid() == 0 else "", folder=self.folder,
                                             port=self.port, tls=" ssl" if tls else "", root=root, lines=lines))
        self.start()

    def url_with_login(self, login):
        return f"{self.scheme}://{login}@127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen([PROGRAM, "-p", str(self.folder), "-c", str(self.config), "-e", "stderr"],
                                        stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"nginx does not start: {self.process.stderr.read()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("nginx does not answer")

    def stop(self):
        """At once, with all connections."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stderr.close()

    def reload(self):
        subprocess.run([PROGRAM, "-p", str(self.folder), "-c", str(self.config), "-e", "stderr", "-s", "reload"],
                       check=True, capture_output=True)

    def bytes_sent(self):
        """Of all bodies so far."""
        lines = (self.folder / "access.log").read_text().splitlines()
        return sum(int(line.split('"')[2].split()[1]) for line in lines)

    def answers(self):
        """Status and path of all requests so far."""
        lines = (self.folder / "access.log").read_text().splitlines()
        return [(int(line.split('"')[2].split()[0]), line.split('"')[1].split()[1]) for line in lines]
