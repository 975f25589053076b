"""A real radosgw (Ceph's S3 server) of this machine's Debian packages, for the time of a test: monitor, manager, one OSD on
a file, gateway; about 10 seconds to start, 500 MB of disk."""

import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cli/support"))
import needs  # noqa: E402

PROGRAMS = ("radosgw", "radosgw-admin", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph", "monmaptool", "ceph-authtool")

# Each of the pools that a gateway makes at its first start waits for paxos_propose_interval, which is a second by default.
CONFIG = """
[global]
fsid = {fsid}
mon_host = v2:127.0.0.1:{mon_port}
public_addr = 127.0.0.1
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
keyring = {folder}/$name.keyring
run_dir = {folder}/run
admin_socket = {folder}/run/$name.asok
log_file = {folder}/$name.log
pid_file =
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_data_avail_crit = 0
paxos_propose_interval = 0.05
osd_objectstore = bluestore
bluestore_block_size = 12884901888
osd_memory_target = 1073741824
mon_data = {folder}/mon
mgr_data = {folder}/mgr
osd_data = {folder}/osd
osd_class_dir = {classes}
rgw_data = {folder}
rgw_frontends = beast endpoint=127.0.0.1:{port}
"""

# The one of Debian 13 is relative: its servers find no classes.
CLASSES = next(iter(pathlib.Path("/usr/lib").glob("*/rados-classes")), "")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Radosgw:
    access_key = "shardkit"
    secret_key = "shardkit-secret/with+signs"

    def __init__(self):
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.processes = {}

    def start(self):
        """Two tries: Ceph's daemons give up on a machine that stalls them. Then it fails with what each of them printed last: a
        server that is installed has to start."""
        needs.programs(*PROGRAMS)
        for last in (False, True):
            try:
                return self._start()
            except (RuntimeError, subprocess.TimeoutExpired) as problem:
                text = f"radosgw did not start: {problem}\n{self._last_words()}"
                self.stop()
                if last:
                    raise RuntimeError(text) from None
                print(f"once more: {text}", file=sys.stderr)

    def _start(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-rgw-"))
        self.config = self.folder / "ceph.conf"
        for name in ("mon", "mgr", "osd", "run"):
            (self.folder / name).mkdir()
        self.fsid = str(uuid.uuid4())
        mon_port = free_port()
        self.config.write_text(CONFIG.format(fsid=self.fsid, mon_port=mon_port, port=self.port, folder=self.folder,
                                             classes=CLASSES))
        self._start_monitor(mon_port)
        self._auth("mgr.x", "mon", "allow profile mgr", "osd", "allow *", "mds", "allow *")
        self._spawn("ceph-mgr", "-i", "x")
        self._start_osd()
        self._auth("client.rgw", "mon", "allow rw", "osd", "allow rwx")
        self._spawn("radosgw", "-n", "client.rgw")
        self._wait_until_it_answers()
        self._run("radosgw-admin", "-c", self.config, "user", "create", "--uid", "test", "--display-name", "test",
                  "--access-key", self.access_key, "--secret", self.secret_key)

    def stop(self):
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGKILL)  # nothing of it is needed any more
            process.wait()
        self.processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_monitor(self, port):
        admin = self.folder / "client.admin.keyring"
        boot = self.folder / "mon.boot"
        everything = [word for name in ("mon", "osd", "mgr", "mds") for word in ("--cap", name, "allow *")]
        self._run("ceph-authtool", "-C", boot, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        self._run("ceph-authtool", "-C", admin, "--gen-key", "-n", "client.admin", *everything)
        self._run("ceph-authtool", boot, "--import-keyring", admin)
        monmap = self.folder / "monmap"
        self._run("monmaptool", "--create", "--addv", "a", f"[v2:127.0.0.1:{port}]", "--fsid", self.fsid, monmap)
        self._run("ceph-mon", "-c", self.config, "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", boot)
        self._spawn("ceph-mon", "-i", "a")

    def _start_osd(self):
        identity = str(uuid.uuid4())
        self._run("ceph", "-c", self.config, "osd", "new", identity)
        self._auth("osd.0", "mon", "allow profile osd", "osd", "allow *", "mgr", "allow profile osd")
        self._run("ceph-osd", "-c", self.config, "-i", "0", "--mkfs", "--osd-uuid", identity)
        self._run("ceph", "-c", self.config, "osd", "crush", "add", "osd.0", "1.0", "root=default", "host=h")
        self._spawn("ceph-osd", "-i", "0")

    def _auth(self, name, *capabilities):
        for last in (False, False, True):
            try:
                return self._run("ceph", "-c", self.config, "--connect-timeout", "30", "auth", "get-or-create", name,
                                 *capabilities, "-o", self.folder / f"{name}.keyring")
            except RuntimeError:  # a monitor that still starts; one that ended will not answer
                if last or self.processes["ceph-mon"].poll() is not None:
                    raise

    def _run(self, *command):
        finished = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120,
                                  cwd=self.folder)
        if finished.returncode != 0:
            raise RuntimeError(f"{command}: {finished.stdout}{finished.stderr}")

    def _spawn(self, program, *arguments):
        command = [program, "-c", str(self.config), "-f", *arguments]
        with (self.folder / f"{program}.out").open("w") as log:
            self.processes[program] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def _last_words(self):
        states = {program: process.poll() for program, process in self.processes.items()}
        return "\n".join(f"{program} {'runs' if state is None else f'ended with {state}'}; "
                         f"{(self.folder / f'{program}.out').read_text()[-1000:]}" for program, state in states.items())

    def _wait_until_it_answers(self):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(self.endpoint, timeout=5).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.3)
        raise RuntimeError(f"radosgw does not answer; its output: {(self.folder / 'radosgw.out').read_text()}")


