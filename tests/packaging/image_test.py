"""scripts/packaging/image: what the archive contains, and that its programs do their work in a restricted container."""

import hashlib
import http.server
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tarfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli" / "support"))
from container import MEMORY, USER, Container, need_runc  # noqa: E402
from installed import class_folder, install_tree, packed  # noqa: E402
from program import CHECKOUT, FolderTest, run  # noqa: E402

LABEL = "org.opencontainers.image."
VERSION = run("shardctl", "--version").stdout.split()[1]
PROGRAM = "int main(void) { return 0; }"  # stands for both where only the archive is looked at


def image(install, dist):
    """Runs scripts/packaging/image on an installed tree; the archive goes to the folder `dist`. -> finished process, path."""
    done = subprocess.run([CHECKOUT / "scripts/packaging/image", "--install", install, "--dist", dist], capture_output=True, text=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "86400"})
    return done, dist / f"shardkit-{VERSION}-oci.tar"


def make_install(folder, program):
    """An installed tree with this file as shardctl and iobench."""
    (folder / "bin").mkdir(parents=True)
    (folder / "share/doc/shardkit").mkdir(parents=True)
    shutil.copy(CHECKOUT / "LICENSE", folder / "share/doc/shardkit")
    for name in ("shardctl", "iobench"):
        shutil.copy(program, folder / "bin" / name)
    return folder


class Archive:
    """What an image archive contains, as the specification of OCI image layouts says."""

    def __init__(self, path):
        with tarfile.open(path) as tar:
            self.files = {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}
        (self.entry,) = json.loads(self.files["index.json"])["manifests"]
        self.manifest = json.loads(self.blob(self.entry))
        self.config = json.loads(self.blob(self.manifest["config"]))
        (self.layer,) = self.manifest["layers"]

    def blob(self, descriptor):
        content = self.files["blobs/" + descriptor["digest"].replace(":", "/")]
        assert hashlib.sha256(content).hexdigest() == descriptor["digest"].removeprefix("sha256:")
        assert len(content) == descriptor["size"]
        return content

    def entries(self, folder):
        """{path: entry} of the layer; its content is extracted to the folder."""
        packed = folder / "layer.tar.gz"
        packed.write_bytes(self.blob(self.layer))
        with tarfile.open(packed) as tar:
            tar.extractall(folder / "layer")
            return {entry.name: entry for entry in tar}


class Content(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = class_folder(cls)
        program = cls.folder / "program"
        subprocess.run(["cc", "-x", "c", "-", "-o", program], input=PROGRAM, text=True, check=True)
        cls.install = make_install(cls.folder / "install", program)
        cls.done, cls.archive = image(cls.install, cls.folder / "dist")
        if cls.done.returncode != 0:
            raise AssertionError(cls.done.stderr)
        cls.made = Archive(cls.archive)
        cls.entries = cls.made.entries(cls.folder)

    def test_it_is_an_image_layout_and_what_older_versions_of_docker_load(self):
        made = self.made
        self.assertEqual(json.loads(made.files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        (docker,) = json.loads(made.files["manifest.json"])
        self.assertEqual(docker["RepoTags"], [f"shardkit:{VERSION}"])
        self.assertEqual(made.files[docker["Config"]], made.blob(made.manifest["config"]))
        self.assertEqual([made.files[name] for name in docker["Layers"]], [made.blob(made.layer)])
        self.assertEqual(made.entry["annotations"][LABEL + "ref.name"], VERSION)

    def test_it_runs_either_program_as_a_user_without_privileges(self):
        settings = self.made.config["config"]
        self.assertEqual(settings["User"], f"{USER}:{USER}")
        self.assertEqual(settings["Cmd"], ["shardctl", "--help"])
        self.assertNotIn("Entrypoint", settings)
        self.assertIn("PATH=/usr/local/bin", settings["Env"])

    def test_its_labels_name_the_version_the_commit_and_the_license(self):
        labels = self.made.config["config"]["Labels"]
        self.assertEqual(labels[LABEL + "title"], "shardkit")
        self.assertEqual(labels[LABEL + "version"], VERSION)
        self.assertEqual(labels[LABEL + "created"], "1970-01-02T00:00:00Z")
        self.assertEqual(labels[LABEL + "licenses"], "Apache-2.0")
        self.assertRegex(labels[LABEL + "revision"], r"^[0-9a-f]{40}(-dirty)?$")

    def test_it_contains_the_programs_their_c_library_certificates_and_users_and_nothing_to_attack(self):
        entries = self.entries
        files = {name for name, entry in entries.items() if not entry.isdir()}
        self.assertLessEqual({"usr/local/bin/shardctl", "usr/local/bin/iobench", "etc/passwd", "etc/group", "etc/nsswitch.conf",
                              "etc/ssl/certs/ca-certificates.crt", "usr/local/share/doc/shardkit/LICENSE",
                              "usr/share/doc/libc6/copyright", "var/lib/dpkg/status.d/libc6"}, files)
        executable = {pathlib.PurePath(name).name for name in files if entries[name].mode & 0o111}
        self.assertEqual({name for name in executable if ".so" not in name}, {"shardctl", "iobench"})
        for name, entry in entries.items():
            with self.subTest(name):
                self.assertTrue(entry.isfile() or entry.isdir())
                self.assertEqual(entry.uid, USER if name == "home/shardkit" else 0)
                self.assertEqual(entry.mode & 0o6022, 0o022 if name == "tmp" else 0)

    def test_it_has_what_a_gpus_driver_needs_of_the_c_library(self):
        names = {pathlib.PurePath(name).name for name in self.entries}
        self.assertLessEqual({"libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"}, names)

    def test_it_trusts_mozillas_authorities_and_not_those_that_this_host_added(self):
        trusted = (self.folder / "layer/etc/ssl/certs/ca-certificates.crt").read_text()
        authorities = list(pathlib.Path("/usr/share/ca-certificates/mozilla").glob("*.crt"))
        self.assertGreater(len(authorities), 100)
        self.assertEqual(trusted.count("BEGIN CERTIFICATE"), len(authorities))
        for path in pathlib.Path("/usr/local/share/ca-certificates").rglob("*.crt"):
            self.assertNotIn(path.read_text().strip(), trusted)

    def test_the_same_programs_give_the_same_bytes(self):
        _, again = image(self.install, self.folder / "again")
        self.assertEqual(again.read_bytes(), self.archive.read_bytes())

    def test_its_line_names_the_archive_and_its_size(self):
        self.assertRegex(self.done.stdout, rf"^\S+{self.archive.name}: \d+\.\d MB\n$")

    def test_without_programs_or_their_libraries_it_makes_nothing(self):
        done, _ = image(self.folder / "absent", self.folder / "nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("scripts/packaging/portable", done.stderr)
        library, program = self.folder / "libabsent.so", self.folder / "linked"
        subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", library], check=True)
        subprocess.run(["cc", "-x", "c", "-", "-x", "none", "-o", program, "-Wl,--no-as-needed", library], input=PROGRAM, text=True,
                       check=True)
        library.unlink()
        done, unmade = image(make_install(self.folder / "incomplete", program), self.folder / "nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("libabsent.so", done.stderr)
        self.assertFalse(unmade.exists())


class Restricted(FolderTest):
    """The programs of the image in a restricted container."""

    @classmethod
    def make_archive(cls, dist):
        """The image of the developer's programs, in the folder `dist`."""
        packed("image", "--install", install_tree(cls), "--dist", dist)
        return dist / f"shardkit-{VERSION}-oci.tar"

    @classmethod
    def setUpClass(cls):
        need_runc()
        cls.unpacked = class_folder(cls)
        archive = cls.make_archive(cls.unpacked)
        layout = cls.unpacked / "layout"
        with tarfile.open(archive) as tar:
            tar.extractall(layout)
        cls.image = Archive(archive)
        version = cls.image.entry["annotations"][LABEL + "ref.name"]
        subprocess.run(["umoci", "unpack", "--image", f"{layout}:{version}", cls.unpacked / "bundle"], check=True)

    def setUp(self):
        super().setUp()
        data = self.folder / "data"
        data.mkdir()
        os.chown(data, USER, USER)
        self.container = Container(self.unpacked / "bundle", data)

    def run_here(self, *command, exit_code=0, **options):
        done = self.container.run(*command, **options)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        return done

    def test_its_default_command_lists_the_verbs(self):
        self.assertIn("convert", self.run_here(*self.image.config["config"]["Cmd"]).stdout)

    def test_a_dataset_is_converted_verified_staged_and_measured(self):
        self.run_here("shardctl", "synth", "/data/photos", "--classes", 2, "--per-class", 30)
        self.run_here("shardctl", "convert", "/data/photos", "/data/shards")
        self.run_here("shardctl", "verify", "/data/shards", "--depth", "decode")
        self.run_here("shardctl", "stage", "/data/shards", "/data/cache/shards", "--cache", "/data/cache", "--lease-id", "pod-1")
        self.assertIn("pod-1", self.run_here("shardctl", "cache", "ls", "/data/cache").stdout)
        environment = json.loads(self.run_here("iobench", "env", "/data/cache", "--json", "-").stdout)
        self.assertEqual(environment["result"]["usable_memory_bytes"], MEMORY)
        self.assertIn("io_uring_refused", [finding["code"] for finding in environment["result"]["findings"]])
        measured = json.loads(self.run_here("iobench", "run", "/data/cache/shards", "--budget", "2s", "--json", "-").stdout)
        self.assertEqual(measured["status"], "ok")
        self.assertGreater(measured["result"]["predicted"]["samples_per_second"], 0)

    def test_a_hold_ends_its_lease_when_the_pod_ends(self):
        holding = subprocess.Popen(self.container.command("shardctl", "cache", "hold", "/data/cache/shards", "--lease-id", "pod-1"),
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(holding.stdout.close)
        self.addCleanup(holding.kill)
        self.assertIn("pod-1", holding.stdout.readline())
        leases = self.container.data / "cache/shards/.shardkit/leases"
        self.assertEqual(len(list(leases.glob("*.json"))), 1)
        self.container.stop()
        self.assertEqual(holding.wait(timeout=60), 0)
        self.assertEqual(list(leases.glob("*.json")), [])

    def test_servers_are_checked_with_the_certificates_of_the_image(self):
        certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key],
                       check=True, capture_output=True)
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        self.addCleanup(server.server_close)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # the client hangs up
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        url = f"https://127.0.0.1:{server.server_port}/train"
        done = self.run_here("shardctl", "stage", url, "/data/train", exit_code=4, network=True)
        self.assertIn("self-signed certificate", done.stderr)  # without authorities it would say that it cannot read them

    def test_nothing_but_volumes_can_be_written(self):
        done = self.run_here("shardctl", "synth", "/photos", exit_code=4)
        self.assertIn("/photos", done.stderr)


if __name__ == "__main__":
    unittest.main()
