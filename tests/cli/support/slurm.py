"""A Slurm of four nodes on this host, of Debian's packages."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "net/support"))
import needs  # noqa: E402
from radosgw import free_port  # noqa: E402

CONF = """ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SrunPortRange=16900-16999
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
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
PARTITION = "PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"


def skip_unless_root(what):
    """Ends this process as a skipped test without the right to be munge's user; `what` runs with it."""
    needs.programs("slurmctld", "slurmd", "munged", "sbatch", "setpriv")
    if os.geteuid() != 0:
        print(f"SKIPPED: no root here. With a Slurm of four nodes on this host, {what}", file=sys.stderr)
        sys.exit(77)


class Slurm:
    """Four nodes n1 to n4 of two CPUs each, all of them this host."""

    def start(self, partitions=PARTITION, settings=""):
        """Returns the path of slurm.conf. `settings`: more lines of it, in which {folder} is the cluster's own."""
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
        conf.write_text((CONF + settings).format(host=host, port=free_port(), folder=self.folder) + nodes + partitions)
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
