#!/usr/bin/env bash
# Nodes that do not come, or not for long: the rows of tests/rig/launch that take seconds. All are in make check-long.
cd "$(dirname "$0")/../.." || exit 2
exec tests/rig/launch address:refused:plan ssh:refused:plan ssh:missing:plan ssh:release:plan ssh:crashes:plan ssh:late:plan ssh:dies bench:refused \
    mpirun:refused:plan torchrun:release
