#!/bin/sh
# Is the network still what the profile was made on, and is the profile still right? Two uses:
#
#   slurm.conf   HealthCheckProgram=/usr/local/share/doc/nccltune/examples/health-check.sh
#                HealthCheckInterval=3600 HealthCheckNodeState=IDLE,CYCLE
#   cron         17 3 * * 0  salloc -N4 --exclusive /usr/local/share/doc/nccltune/examples/health-check.sh verify
#
# The first looks at this node's ports alone, in seconds, and takes the node out of service where one has become slower.
# The second measures the profile against the default once more; its exit status is not 0 where a rule does not hold.
profile=${NCCLTUNE_HEALTH_PROFILE:-/shared/nccltune/current}

if [ "${1:-}" = verify ]; then
    exec nccltune verify "$profile" -q --budget 10m
fi

[ -e "$profile/fabric.json" ] || exit 0 # nothing was measured between ports: nothing to compare with
worse=$(nccltune bench --check "$profile" -q 2>&1)
status=$?
if [ "$status" = 1 ]; then
    scontrol update nodename="${SLURMD_NODENAME:-$(hostname -s)}" state=drain \
        reason="nccltune: $(printf '%s' "$worse" | tail -n 1 | cut -c1-100)"
fi
exit "$status"
