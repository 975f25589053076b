#!/bin/bash
# Slurm's HealthCheckProgram: measures a node while no job runs on it, and drains it if it misses a limit. Slurm starts it
# without arguments, ends it after 60 s, and takes no action from its exit code, so node-check.sh drains by itself.
#
#   HealthCheckProgram=/etc/slurm/health-check.sh      # slurm.conf
#   HealthCheckInterval=21600                          # seconds
#   HealthCheckNodeState=IDLE,CYCLE                    # not all nodes at once
#
# `sinfo -R` shows the drained nodes with the limit that they miss. After a repair:
# scontrol update nodename=NODE state=resume
#
# Change: the path of node-check.sh (samples/fleet), and in it the data and the gate. Slurm starts this without SLURM_CONF:
# export it here if slurm.conf is not in its usual place.
export NODE_CHECK_BUDGET=10s
exec /etc/slurm/node-check.sh --drain
