#!/bin/bash
# Slurm's Epilog: ends the lease that prolog.sh, or the job's own `shardctl stage`, took in the
# job's name. The set stays on the node until space is needed for another.
#
#   Epilog=/etc/slurm/epilog.sh      # slurm.conf
#
# Change: the sets, as in prolog.sh. It runs as root and without a search path.
PATH=/usr/local/bin:/usr/bin:/bin
export PATH

targets=(/local/shardkit/imagenet-train)
log=/var/log/shardkit-prolog.log

for target in "${targets[@]}"; do
  [ -d "$target" ] || continue
  shardctl cache release "$target" --lease-id "slurm-$SLURM_JOB_ID" --quiet >>"$log" 2>&1 ||
    echo "job $SLURM_JOB_ID: the lease on $target stays until its end, exit code $?" >>"$log"
done
exit 0                            # a failing epilog drains the node too
