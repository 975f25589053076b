"""Our client over TLS: an authority of one's own by the usual variables, and no trust without one. Proxies by theirs."""

import http.server
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import threading
import unittest

CONTENT = bytes(range(256)) * 40


class Files(http.server.BaseHTTPRequestHandler):
    """One file at every path, by range; as a proxy it answers for every host."""

    protocol_version = "HTTP/1.1"
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        first, last = (int(part) for part in self.headers["Range"].removeprefix("bytes=").split("-"))
        body = CONTENT[first:last + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificates(folder):
    """authority.pem and other.pem, and server.pem with server.key that the first vouches for, for 127.0.0.1 alone."""
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "authority.key", "-out", "authority.pem",
            "-subj", "/CN=A test's authority", "-days", "2")
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "other.key", "-out", "other.pem",
            "-subj", "/CN=Another authority", "-days", "2")
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr",
            "-subj", "/CN=A test's server")
    openssl(folder, "x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key",
            "-CAcreateserial", "-extfile", "names", "-out", "server.pem", "-days", "2")


class ServedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardkit-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def serve(self, context=None, handler=None):
        handler = handler or type("Fresh", (Files,), {"asked": []})
        server = http.server.ThreadingHTTPServer(("", 0), handler)
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # clients that do not trust it leave
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def probe(self, url, **environment):
        clean = {name: value for name, value in os.environ.items()
                 if not name.lower().endswith("_proxy") and not name.startswith(("SSL_", "CURL_", "AWS_"))}
        finished = subprocess.run([os.environ["NET_PROBE"], "find", url, ""], capture_output=True, text=True, timeout=60,
                                  env={**clean, **environment})
        return json.loads(finished.stdout)


class Trust(ServedTest):
    def setUp(self):
        super().setUp()
        make_certificates(self.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem", self.folder / "server.key")
        self.port = self.serve(context).server_port
        self.authority = str(self.folder / "authority.pem")

    def test_an_authority_of_ones_own_is_trusted_by_each_of_the_usual_variables(self):
        for variable in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE"):
            found = self.probe(f"https://127.0.0.1:{self.port}/x", **{variable: self.authority})
            self.assertEqual(found.get("size"), len(CONTENT), found)
            other = str(self.folder / "other.pem")
            error = self.probe(f"https://127.0.0.1:{self.port}/x", **{variable: other, "SSL_CERT_FILE": other})["error"]
            self.assertIn(f"in {variable} ('{other}')", error["text"])
        hashed = self.folder / "hashed"
        hashed.mkdir()
        shutil.copy(self.authority, hashed)
        openssl(hashed, "rehash", ".")
        self.assertEqual(self.probe(f"https://127.0.0.1:{self.port}/x", SSL_CERT_DIR=str(hashed))["size"], len(CONTENT))

    def test_without_it_the_server_is_not_trusted_and_that_is_final(self):
        error = self.probe(f"https://127.0.0.1:{self.port}/x?token=secret")["error"]
        self.assertEqual(error["code"], "denied")
        self.assertIn("certificates of this system; give that of your own authority in SSL_CERT_FILE", error["text"])
        self.assertNotIn("secret", error["text"])

    def test_a_certificate_for_another_name_is_not_trusted(self):
        error = self.probe(f"https://localhost:{self.port}/x", SSL_CERT_FILE=self.authority)["error"]
        self.assertEqual(error["code"], "denied")

        self.assertIn("is for '127.0.0.1', not for 'localhost'", error["text"])
        self.assertNotIn("SSL_CERT_FILE", error["text"])
        error = self.probe(f"https://localhost:{self.port}/x")["error"]  # not even its authority is trusted
        self.assertIn("is for '127.0.0.1', not for 'localhost'", error["text"])

    def test_a_server_that_asks_for_a_certificate_is_called_so(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with self.subTest(version):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self.folder / "server.pem", self.folder / "server.key")
                context.load_verify_locations(self.authority)
                context.verify_mode = ssl.CERT_REQUIRED
                context.minimum_version = context.maximum_version = version
                error = self.probe(f"https://127.0.0.1:{self.serve(context).server_port}/x",
                                   SSL_CERT_FILE=self.authority)["error"]
                self.assertIn("asks its clients for a certificate", error["text"])

    def test_a_server_that_only_offers_to_take_a_certificate_serves(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem", self.folder / "server.key")
        context.load_verify_locations(self.authority)
        context.verify_mode = ssl.CERT_OPTIONAL
        found = self.probe(f"https://127.0.0.1:{self.serve(context).server_port}/x", SSL_CERT_FILE=self.authority)
        self.assertEqual(found.get("size"), len(CONTENT), found)

    def test_the_wrong_scheme_for_a_port_is_named_with_the_right_one(self):
        error = self.probe(f"http://127.0.0.1:{self.port}/x")["error"]
        self.assertIn("uses TLS, use https://" if "Recv" in error["text"] else "uses TLS; use https://", error["text"])
        error = self.probe(f"https://127.0.0.1:{self.serve().server_port}/x", SSL_CERT_FILE=self.authority)["error"]
        self.assertIn("does not use TLS; use http://", error["text"])

    def test_an_authority_that_cannot_be_read_is_named(self):
        error = self.probe(f"https://127.0.0.1:{self.port}/x", SSL_CERT_FILE="/no/such/file")["error"]
        self.assertEqual(error["code"], "denied")
        self.assertIn("/no/such/file", error["text"])


class Refusing(Files):
    """A proxy that lets nothing through."""

    def do_GET(self):
        self.asked.append(f"{self.command} {self.path}")
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_CONNECT = do_GET


class Proxies(ServedTest):
    def test_a_proxy_that_refuses_is_named_at_once_and_the_store_is_not_blamed(self):
        for status, scheme in ((407, "http"), (407, "https"), (403, "https")):
            with self.subTest(status=status, scheme=scheme):
                proxy = self.serve(handler=type("Fresh", (Refusing,), {"asked": [], "status": status}))
                variable = f"{scheme}_proxy"
                error = self.probe(f"{scheme}://files.example/x", **{variable: f"http://me:secret@127.0.0.1:{proxy.server_port}"})["error"]
                self.assertEqual(error["code"], "denied")
                self.assertIn(f"the proxy in {variable} ('http://", error["text"])
                self.assertIn(f"(status {status})", error["text"])
                self.assertNotIn("secret", error["text"])
                self.assertEqual(len(proxy.RequestHandlerClass.asked), 1)

    def test_no_proxy_means_what_it_means_to_curl(self):
        # Python's requests takes CIDR and ports in no_proxy, wildcards it does not; curl 7.88 takes CIDR, and no ports.
        proxy, direct = self.serve(), self.serve()
        lists = ["", "*", "127.0.0.1", "127.0.0.0/8", "127.0.0.0/24", "10.0.0.0/8", ".0.0.1", "localhost", "LOCALHOST",
                 ".localhost", "local", "host", f"127.0.0.1:{direct.server_port}", "127.0.0.1:1", "127.*", "*.0.0.1",
                 "x, 127.0.0.1", "x 127.0.0.1", "x,,localhost", "127.0.0.2", "localhost.", " localhost "]
        variables = {"http_proxy": f"http://127.0.0.1:{proxy.server_port}"}
        for name in ("no_proxy", "NO_PROXY"):
            for without in lists:
                for host in ("127.0.0.1", "127.0.0.2", "localhost"):
                    with self.subTest(without=without, host=host):
                        url = f"http://{host}:{direct.server_port}/x"
                        environment = {**variables, name: without}
                        asked = proxy.RequestHandlerClass.asked
                        asked.clear()
                        subprocess.run(["curl", "--silent", "--max-time", "20", "--range", "0-0", url], env=environment, capture_output=True)
                        owners = bool(asked)
                        asked.clear()
                        self.probe(url, **environment)
                        self.assertEqual(bool(asked), owners)

    def test_the_usual_variables_name_a_proxy_and_what_goes_without(self):
        proxy = self.serve()
        variables = {"http_proxy": f"http://127.0.0.1:{proxy.server_port}"}
        self.assertEqual(self.probe("http://files.example/x", **variables)["size"], len(CONTENT))
        self.assertEqual(proxy.RequestHandlerClass.asked, ["http://files.example/x"])
        direct = self.serve()
        self.probe(f"http://127.0.0.1:{direct.server_port}/x", **variables, no_proxy="127.0.0.1")
        self.assertEqual(direct.RequestHandlerClass.asked, ["/x"])


if __name__ == "__main__":
    unittest.main()
