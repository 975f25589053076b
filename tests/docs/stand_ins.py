"""What stands in for a cluster and an object store: radosgw and Slurm as Debian packages them, and Kubernetes' schemas."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from pages import ROOT

sys.path[:0] = [str(ROOT / "tests" / name) for name in ("cli/support", "net/support")]
import radosgw  # noqa: E402
from program import PROGRAMS, need  # noqa: E402

# For set-up blocks: `upload FOLDER s3://BUCKET/PREFIX`, as another program would have put it there.
UPLOAD = """#!/bin/sh
PYTHONPATH={path} exec {python} - "$@" <<'PYTHON'
import pathlib, sys, types
from s3_upload import Uploader
folder, url = pathlib.Path(sys.argv[1]), sys.argv[2].removeprefix("s3://")
bucket, _, prefix = url.partition("/")
uploader = Uploader(types.SimpleNamespace(port={port}, access_key="{access}", secret_key="{secret}"))
try:
    uploader.request("PUT", bucket)
except RuntimeError:
    pass  # it exists
for path in sorted(folder.rglob("*")):
    if path.is_file():
        uploader.put(bucket, f"{{prefix}}/{{path.relative_to(folder)}}", path.read_bytes())
PYTHON
"""

SLURM_NEEDS = ("slurmctld", "slurmd", "munged", "sbatch", "setpriv")
SLURM_CONF = """ClusterName=docs
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SrunPortRange=16900-16999
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=0
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
ReturnToService=2
DefMemPerCPU=100
"""


def skip_unless_installed(tier):
    program = (PROGRAMS / "iobench").read_bytes()
    if b"__asan_init" in program or b"__tsan_init" in program:
        print("SKIPPED: what pages show was measured without sanitizers", file=sys.stderr)
        sys.exit(77)
    if tier == "radosgw":
        radosgw.skip_unless_installed()
    elif tier == "slurm":
        missing = [program for program in SLURM_NEEDS if shutil.which(program) is None]
        if missing or os.geteuid() != 0:
            print(f"SKIPPED: no {', '.join(missing) or 'root'} here. With a Slurm of four nodes on this host, the commands of "
                  "how-to/imagenet-slurm.md run: apt-get install --no-install-recommends slurm-wlm munge", file=sys.stderr)
            sys.exit(77)
    elif tier == "heavy":
        need("torch", "torch")
    else:
        need("kubernetes_validate")


@contextlib.contextmanager
def started(tier, runner):
    if tier == "radosgw":
        server = radosgw.Radosgw()
        server.start()
        runner.environment.update(AWS_ENDPOINT_URL=server.endpoint, AWS_ACCESS_KEY_ID=server.access_key,
                                  AWS_SECRET_ACCESS_KEY=server.secret_key, AWS_REGION="us-east-1")
        runner.tool("upload", UPLOAD.format(path=ROOT / "tests/net/support", python=sys.executable, port=server.port,
                                            access=server.access_key, secret=server.secret_key))
        stop = server.stop
    elif tier == "slurm":
        slurm = Slurm()
        runner.environment["SLURM_CONF"] = str(slurm.start())
        stop = slurm.stop
    else:
        stop = lambda: None  # noqa: E731
    try:
        yield
    finally:
        stop()


class Slurm:
    """Four nodes n1 to n4 of two CPUs each, all of them this host."""

    def start(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardkit-slurm-"))
        self.folder.chmod(0o755)
        munge = self.folder / "munge"
        for path in (munge, self.folder / "state", *(self.folder / "spool" / f"n{i}" for i in range(1, 5))):
            path.mkdir(parents=True)
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o600)
        subprocess.run(["chown", "-R", "munge:munge", munge], check=True)
        host = os.uname().nodename.split(".")[0]
        conf = self.folder / "slurm.conf"
        nodes = "".join(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port=1700{i} CPUs=2 RealMemory=2000\n"
                        for i in range(1, 5))
        conf.write_text(SLURM_CONF.format(host=host, port=radosgw.free_port(), folder=self.folder) + nodes +
                        "PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
        self.processes = []
        environment = {**os.environ, "SLURM_CONF": str(conf)}
        files = [f"--{kind}-file={munge}/{kind}" for kind in ("key", "pid", "log", "seed")]
        self.spawn(environment, "setpriv", "--reuid", "munge", "--regid", "munge", "--clear-groups", "munged", "--foreground",
                   *files, f"--socket={munge}/socket", "--num-threads=2")
        self.spawn(environment, "slurmctld", "-D", "-f", conf)
        for i in range(1, 5):
            self.spawn(environment, "slurmd", "-D", "-N", f"n{i}", "-f", conf)
        for _ in range(240):
            idle = subprocess.run(["sinfo", "-h", "-t", "idle", "-o", "%D"], env=environment, capture_output=True, text=True)
            if idle.stdout.strip() == "4":
                return conf
            time.sleep(0.5)
        log = "".join(path.read_text() for path in self.folder.glob("*.log"))
        self.stop()
        raise RuntimeError(f"Slurm did not start: {log[-3000:]}")

    def spawn(self, environment, *command):
        self.processes.append(subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def schema_problems(pages):
    """What Kubernetes would refuse in the blocks tagged stand-in=schema."""
    import kubernetes_validate
    import yaml
    wrong = []
    for block in (block for page in pages for block in page.blocks if block.stand_in == "schema"):
        for document in yaml.safe_load_all(block.text):
            try:
                kubernetes_validate.validate(document, "1.29", strict=True)
            except (kubernetes_validate.ValidationError, kubernetes_validate.utils.InvalidSchemaError) as problem:
                wrong.append(f"{block.place}: {problem}")
    return wrong
