#!/bin/bash
# Measures a node and compares it with limits: one line, one JSON file, one exit code. 0: the node is fit. 3: it misses
# a limit. 75: undecided, because other programs disturbed the measurement, or not all was measured. Others: nothing was.
#
#   node-check.sh           # by a timer, or in a prolog or epilog while no job runs
#   node-check.sh --drain   # also drains the node in Slurm if it misses a limit
#
# samples/slurm/health-check.sh makes it Slurm's HealthCheckProgram. A node that was not measured is not drained, because
# a file system that all nodes share would drain all of them.
#
# Change: the data (a copy on the storage that jobs use, at least 1 GiB), the gate, where results are kept, and the
# folder of node_exporter's textfile collector (samples/prometheus). samples/ci/gate.json is an example of a gate. The
# programs are looked up where README installs them, as ~/shardkit or by pipx, and where packages do: another folder is
# NODE_CHECK_PROGRAMS.
home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
PATH=${NODE_CHECK_PROGRAMS:-$home/shardkit/bin:$home/.local/bin}:/usr/local/bin:/usr/bin:/bin
export PATH

data=${NODE_CHECK_DATA:-/shared/shardkit/check}
gate=${NODE_CHECK_GATE:-/etc/shardkit/gate.json}
folder=${NODE_CHECK_RESULTS:-/var/lib/shardkit}
metrics=${NODE_CHECK_METRICS:-/var/lib/prometheus/node-exporter}
node=${SLURMD_NODENAME:-${NODE_NAME:-$(uname -n)}}
result=$folder/$node.json

end() {
  echo "node-check: $node: $1"
  exit "$2"
}

metrics_file=()
if [[ -d $metrics ]]; then metrics_file=(--prometheus "$metrics/shardkit_run.prom"); fi
message=$(timeout --signal=TERM --kill-after=10 300 \
  iobench run "$data" --budget "${NODE_CHECK_BUDGET:-30s}" --quiet --json "$result" "${metrics_file[@]}" 2>&1 >/dev/null) ||
  end "not measured: ${message##*$'\n'}" $?
verdict=$(iobench compare "$result" --gate "$gate" --quiet 2>&1)
code=$?
verdict=${verdict%%$'\n'*}
if [[ $code == 0 ]] && ! iobench compare "$result" --gate "$gate" --strict --quiet >/dev/null 2>&1; then
  end "undecided: $verdict" 75
fi
if [[ $code == 3 && ${1-} == --drain ]]; then
  # Slurm may know the node by its short name.
  drain() { scontrol update nodename="$1" state=drain reason="node-check: $verdict"; }
  drain "$node" || drain "${node%%.*}" || end "not drained: $verdict" "$code"
fi
end "$verdict" "$code"
