"""What stands in for a cluster and an object store: radosgw and Slurm as Debian packages them, and Kubernetes' schemas."""

import contextlib
import pathlib
import sys

from pages import ROOT

sys.path[:0] = [str(ROOT / "tests" / name) for name in ("cli/support", "net/support")]
import radosgw  # noqa: E402
import slurm  # noqa: E402
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


def skip_unless_possible(tier):
    program = (PROGRAMS / "iobench").read_bytes()
    if b"__asan_init" in program or b"__tsan_init" in program:
        print("SKIPPED: what pages show was measured without sanitizers", file=sys.stderr)
        sys.exit(77)
    if tier == "slurm":
        slurm.skip_unless_root("the commands of how-to/imagenet-slurm.md run")
    elif tier == "heavy":
        need("torch", "torch")
    elif tier == "run":
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
        cluster = slurm.Slurm()
        runner.environment["SLURM_CONF"] = str(cluster.start())
        stop = cluster.stop
    else:
        stop = lambda: None  # noqa: E731
    try:
        yield
    finally:
        stop()


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
