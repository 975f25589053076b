"""What fio says the disk can do, as contenders that take the time their rate would need."""

import json
import shutil

from harness import Contender

FILE_BYTES = 2 << 30
IN_FLIGHT = 16


def seconds_at_rate(direction, total_bytes):
    def seconds(printed):
        report = json.loads(printed[printed.index("{"):])
        return total_bytes / report["jobs"][0][direction]["bw_bytes"]

    return seconds


def fio_contenders(bench, total_bytes):
    if not shutil.which("fio"):
        print("fio is not installed (apt-get install fio): its rows are left out\n")
        return []
    file = bench.work / "fio.bin"
    common = ["fio", f"--filename={file}", f"--size={FILE_BYTES}", "--direct=1", "--output-format=json", "--name=job"]
    bench.check(*common, "--rw=write", "--bs=1m", "--end_fsync=1")
    random_read = ["--rw=randread", "--bs=128k", "--ioengine=io_uring", f"--iodepth={IN_FLIGHT}", "--time_based",
                   "--runtime=10"]
    write = ["--rw=write", "--bs=1m", "--ioengine=io_uring", f"--iodepth={IN_FLIGHT}", "--end_fsync=1"]
    return [
        Contender(f"fio random read 128 KiB, {IN_FLIGHT} in flight", common + random_read,
                  seconds=seconds_at_rate("read", total_bytes)),
        Contender("fio sequential write 1 MiB", common + write, seconds=seconds_at_rate("write", total_bytes)),
    ]
