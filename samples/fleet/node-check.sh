#!/bin/bash
# Measures a node and compares it with limits: one line, one JSON file, one exit code. 0: the node is fit. 3: it misses
# a limit. Others: nothing was measured.
#
#   node-check.sh                     # Slurm: HealthCheckProgram, or in a prolog
#
# Change: the data (a copy on the storage that jobs use, at least 1 GiB), the gate, where results are kept.
# samples/ci/gate.json is an example of a gate.
PATH=/usr/local/bin:/usr/bin:/bin
export PATH

data=${NODE_CHECK_DATA:-/shared/shardkit/check}
gate=${NODE_CHECK_GATE:-/etc/shardkit/gate.json}
folder=${NODE_CHECK_RESULTS:-/var/lib/shardkit}
node=${SLURMD_NODENAME:-${NODE_NAME:-$(uname -n)}}
result=$folder/$node.json

end() {
  echo "node-check: $node: $1"
  exit "$2"
}

message=$(timeout --signal=TERM --kill-after=10 300 \
  iobench run "$data" --budget "${NODE_CHECK_BUDGET:-30s}" --quiet --json "$result" 2>&1 >/dev/null) ||
  end "not measured: ${message##*$'\n'}" $?
verdict=$(iobench compare "$result" --gate "$gate" --quiet 2>&1)
code=$?
end "${verdict%%$'\n'*}" "$code"
