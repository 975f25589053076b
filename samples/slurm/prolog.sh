#!/bin/bash
# Slurm's Prolog: copies a set that most jobs use to the node before the job starts. With PrologFlags=Alloc it runs on all
# nodes at once when the job gets them.
#
#   Prolog=/etc/slurm/prolog.sh      # slurm.conf; epilog.sh belongs to it
#
# A job checks the marker, and reads from the shared file system if it does not exist:
#
#   [ -s /local/shardkit/imagenet-train/.shardkit/staged.json ]
#
# Change: source, cache, --limit, --lease (longer than any job), the time, which must end before Slurm's own
# (PrologEpilogTimeout, BatchStartTimeout). Credentials for S3: as root's, for example in /root/.aws.
#
# It runs as root and without a search path.
PATH=/usr/local/bin:/usr/bin:/bin
export PATH
umask 022                         # users read what root stages

source_url=s3://my-bucket/imagenet/train
cache=/local/shardkit
log=/var/log/shardkit-prolog.log

# Slurm drains a node whose prolog fails, and holds the job. A failure here must not do that.
# --soft-fail makes failures of the stage a warning. The end of this script covers the rest (program
# missing, time limit). The time limit stops it cleanly: the next job's prolog continues inside the
# files.
timeout --signal=TERM --kill-after=10 1200 \
  shardctl stage "$source_url" "$cache/imagenet-train" --cache "$cache" --limit 800GiB \
  --lease-id "slurm-$SLURM_JOB_ID" --lease 8d --jitter 10s --soft-fail --quiet \
  >>"$log" 2>&1 || echo "job $SLURM_JOB_ID: nothing staged, exit code $?" >>"$log"
exit 0
