"""The wheel and the tarball in roots of Debian 11, 12 and 13, and the tarball where there is only busybox. Only with SHARDKIT_SOAK.

Uses what `scripts/release wheel tarball` made in dist/.
"""

import functools
import http.server
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
import needs  # noqa: E402
from installed import made_by  # noqa: E402
from program import CHECKOUT, run  # noqa: E402
from root_folder import Root, need_debootstrap  # noqa: E402

VERSION = run("shardctl", "--version").stdout.split()[1]
WHEEL = CHECKOUT / f"dist/shardkit-{VERSION.replace('-', '')}-py3-none-manylinux_2_28_x86_64.whl"
TARBALL = CHECKOUT / f"dist/shardkit-{VERSION}-x86_64.tar.gz"

# name, arguments after the folder of the programs, exit code, what it prints. Each builds on those before it.
CHECKS = (
    ("starts", "shardctl --version", 0, f"shardctl {VERSION}"),
    ("generates", "shardctl synth /tmp/photos --classes 2 --per-class 5", 0, ""),
    ("converts", "shardctl convert /tmp/photos /tmp/sh_ards", 0, ""),
    ("verifies", "shardctl verify /tmp/sh_ards --depth decode", 0, ""),
    ("lists", "shardctl ls /tmp/sh_ards", 0, ".jpg"),
    ("extracts", "shardctl extract /tmp/sh_ards /tmp/extracted", 0, ""),
    ("stages", "shardctl stage /tmp/sh_ards /tmp/staged", 0, ""),
    ("stages over HTTPS", "shardctl stage https://localhost:{port}/sh_ards /tmp/fetched", 0, ""),
    ("reports a missing set", "shardctl verify /tmp/absent", 4, "/tmp/absent"),
    ("reports an unknown option", "shardctl verify --no-such-option", 2, "--no-such-option"),
    ("names a page that exists", "shardctl convert --help", 0, "/share/doc/shardkit/docs/"),
    ("starts iobench", "iobench --version", 0, f"iobench {VERSION}"),
    ("looks at the host", "iobench env /tmp/sh_ards", 0, ""),
    ("measures", "iobench run /tmp/sh_ards --cache warm --budget 1s", 0, ""),
)
# A distribution has its authorities at one of these.
AUTHORITIES = ("etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem")


def serve(test, folder, root):
    """Serves the folder by HTTPS, with an authority that the root trusts. Returns the port."""
    names = root.folder / "tmp/names"
    names.write_text("subjectAltName=DNS:localhost")
    for arguments in ("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=authority -days 2",
                      "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server",
                      "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out server.pem -days 2"):
        subprocess.run(["openssl", *arguments.split()], cwd=names.parent, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(names.parent / "server.pem", names.parent / "server.key")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):  # a client that looks at the head of a file closes the connection
            pass

    server = Server(("localhost", 0), functools.partial(Handler, directory=folder))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return server.server_port


@unittest.skipUnless(os.environ.get("SHARDKIT_SOAK"), "SKIPPED: needs root folders of Debian, which scripts/test --soak makes")
class Roots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_debootstrap()
        made_by("release", "wheel", "tarball")

    def check(self, root, programs, authorities, user=0, checks=CHECKS):
        """Runs the checks, with the programs of these folders of the root."""
        for name in ("dev", "proc", "etc"):
            (root.folder / name).mkdir(exist_ok=True)
        (root.folder / "etc/hosts").write_text("127.0.0.1 localhost\n")
        bundle = root.folder / authorities
        bundle.parent.mkdir(parents=True, exist_ok=True)
        port = serve(self, root.folder / "tmp", root)
        shutil.copy(root.folder / "tmp/ca.pem", bundle)
        for name, command, code, text in checks:
            program, *arguments = command.format(port=port).split()
            with self.subTest(name):
                done = root.run(f"{programs}/{program}", *arguments, user=user)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(text, done.stdout + done.stderr)
                if name.startswith("names a page"):
                    page = done.stdout.partition("More: ")[2].split()[0]
                    self.assertTrue((root.folder / page.lstrip("/")).is_file(), page)

    def unpack(self, root):
        subprocess.run(["tar", "-xzf", TARBALL, "-C", root.folder / "tmp"], check=True)
        return f"/tmp/shardkit-{VERSION}-x86_64"

    def check_wheel(self, suite):
        root = Root(self, suite)
        for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-q", "-y", "--no-install-recommends", "python3-venv"],
                        ["python3", "-m", "venv", "/opt/venv"]):
            done = root.run(*command)
            self.assertEqual(done.returncode, 0, done.stderr)
        shutil.copy(WHEEL, root.folder / "tmp")
        before = set((root.folder / "opt/venv").rglob("*"))
        done = root.run("/opt/venv/bin/pip", "install", "--no-index", f"/tmp/{WHEEL.name}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(root, "/opt/venv/bin", AUTHORITIES[0])  # which pip needs too
        probe = root.run("/opt/venv/bin/python", "-m", "shardkit.loader_probe", "--help")
        self.assertIn("--num-workers", probe.stdout)
        done = root.run("/opt/venv/bin/pip", "uninstall", "--yes", "shardkit")
        self.assertEqual(done.returncode, 0, done.stderr)
        after = {path for path in (root.folder / "opt/venv").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
        self.assertEqual(after - before, set())

    def check_tarball(self, suite, authorities):
        root = Root(self, suite)
        self.check(root, self.unpack(root) + "/bin", authorities, user=1000)

    def test_the_wheel_on_debian_11(self):
        self.check_wheel("bullseye")

    def test_the_wheel_on_debian_12(self):
        self.check_wheel("bookworm")

    def test_the_wheel_on_debian_13(self):
        self.check_wheel("trixie")

    def test_the_tarball_on_debian_11(self):
        self.check_tarball("bullseye", AUTHORITIES[0])

    def test_the_tarball_on_debian_12(self):
        self.check_tarball("bookworm", AUTHORITIES[1])

    def test_the_tarball_on_debian_13(self):
        self.check_tarball("trixie", AUTHORITIES[2])

    def test_the_tarball_without_a_c_library(self):
        root = Root(self)
        for folder in ("bin", "tmp"):
            (root.folder / folder).mkdir(mode=0o777)
        (root.folder / "tmp").chmod(0o1777)
        shutil.copy(needs.program("busybox"), root.folder / "bin/sh")
        of_shardctl = [check for check in CHECKS if check[1].startswith("shardctl")]
        self.check(root, self.unpack(root) + "/static", AUTHORITIES[3], user=1000, checks=of_shardctl)


if __name__ == "__main__":
    unittest.main()
