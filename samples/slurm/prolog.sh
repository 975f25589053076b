#!/bin/bash
# Slurm's Prolog: brings a set that most jobs use to the node before the job starts. With PrologFlags=Alloc it runs on all
# nodes at once when the job gets them.
#
#   Prolog=/etc/slurm/prolog.sh      # slurm.conf; epilog.sh belongs to it
#
# A job looks for the marker, and reads from the shared file system when it is not there:
#
#   [ -s /local/shardkit/imagenet-train/.shardkit/staged.json ]
#
# Change: source, cache, --limit, --lease (longer than any job), the time, which has to end before Slurm's own
# (PrologEpilogTimeout, BatchStartTimeout). Credentials for S3: as root's, for example in /root/.aws.
#
# It runs as root and without a search path.
PATH=/usr/local/bin:/usr/bin:/bin
export PATH
umask 022                         # users read what root stages

source_url=s3://my-bucket/imagenet/train
cache=/local/shardkit
log=/var/log/shardkit-prolog.log

# Slurm drains a node whose prolog fails, and holds the job: whatever goes wrong here must not do that. --soft-fail makes
# failures of the stage a warning; the end of this script covers the rest (no such program, out of time).
# The time limit stops it in good order: the next job's prolog goes on inside the files.
timeout --signal=TERM --kill-after=10 1200 \
  shardctl stage "$source_url" "$cache/imagenet-train" --cache "$cache" --limit 800GiB \
  --owner "slurm-$SLURM_JOB_ID" --lease 8d --purpose prolog --jitter 10s --soft-fail --quiet \
  >>"$log" 2>&1 || echo "job $SLURM_JOB_ID: nothing staged, exit code $?" >>"$log"
exit 0
