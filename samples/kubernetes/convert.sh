#!/bin/bash
# Runs the three Jobs of convert-indexed-job.yaml one after the other, and stops if one fails. Start it again to continue:
# Jobs that are complete are not repeated.
#
#   ./convert.sh
set -euo pipefail
jobs=$(dirname "$0")/convert-indexed-job.yaml

# Waits until the Job of a step is complete or has failed. `kubectl wait` waits for one condition only, so two of them wait:
# the first to end decides.
wait_for() {
  kubectl wait job -l "step=$1" --for=condition=complete --timeout=-1s &
  kubectl wait job -l "step=$1" --for=condition=failed --timeout=-1s &
  wait -n || true
  # shellcheck disable=SC2046  # a word for each process
  kill $(jobs -p) 2>/dev/null || true
  wait
  kubectl wait job -l "step=$1" --for=condition=complete --timeout=0s >/dev/null
}

for step in plan convert merge; do
  kubectl apply -f "$jobs" -l "step=$step"
  wait_for "$step" || {
    kubectl describe job -l "step=$step" | tail -n 20 >&2
    echo "the Job of step '$step' is not complete: its events are above. Before you start again after a failure:" \
      "kubectl delete job -l step=$step" >&2
    exit 1
  }
done
