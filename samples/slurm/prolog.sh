#!/bin/bash
# Slurm's Prolog: copies a set that most jobs use to the node before the job starts. With PrologFlags=Alloc it runs on all
# nodes at once when the job gets them. If the node's own disk cannot be written, it drains the node; Slurm then puts the
# job back into the queue, held (with SchedulerParameters=nohold_on_prolog_fail, not held). Nothing else drains it.
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

# A disk that was lost, or that the kernel made read-only, would fail this job and all that follow. A full one has room for
# a name. A disk that does not answer in a minute is as good as lost. One that is not mounted is only noticed if nobody can
# write to its mount point without it: chattr +i /local, while it is not mounted.
probe=$cache/.prolog-$SLURM_JOB_ID
if ! message=$(timeout --kill-after=10 60 sh -c 'mkdir -p "$1" && touch "$2" && sync "$2" && rm "$2"' sh "$cache" "$probe" 2>&1); then
  echo "job $SLURM_JOB_ID: node drained, $cache cannot be written: $message" >>"$log"
  scontrol update nodename="$SLURMD_NODENAME" state=drain reason="prolog: $cache cannot be written: ${message:-no answer}" \
    >>"$log" 2>&1
  exit 1                          # drains the node even if scontrol could not, but with a reason that says less
fi

# Slurm drains a node whose prolog fails. A source that cannot be reached must not do that.
# --soft-fail makes failures of the stage a warning. The end of this script covers the rest (program
# missing, time limit). The time limit stops it cleanly: the next job's prolog continues inside the
# files.
timeout --signal=TERM --kill-after=10 1200 \
  shardctl stage "$source_url" "$cache/imagenet-train" --cache "$cache" --limit 800GiB \
  --lease-id "slurm-$SLURM_JOB_ID" --lease 8d --jitter 10s --soft-fail --quiet \
  >>"$log" 2>&1 || echo "job $SLURM_JOB_ID: nothing staged, exit code $?" >>"$log"

# The job starts also without its set, so the system's log shows the failure, too.
if [ ! -s "$cache/imagenet-train/.shardkit/staged.json" ]; then
  logger --tag shardkit-prolog --priority daemon.err -- \
    "job $SLURM_JOB_ID: nothing staged on $SLURMD_NODENAME: $(tail -n 1 "$log")"
fi
exit 0
