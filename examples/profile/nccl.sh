# NCCL settings for a shell. Use: source this file. What is set already stays, unless
# NCCLTUNE=force; NCCLTUNE=off leaves everything alone.
# Written by nccltune 0.1.0. Evidence: decisions.json, or 'nccltune explain' on this directory.
# For NCCL 2.28.9 to 2.30.7 (measured or found on the nodes).
# A setting stands here only where NCCL's automatic choice would be wrong on this topology, where
# NCCL itself was measured to be faster with it, or where the machine's maker publishes what NCCL
# cannot know.

# NCCL_BUFFSIZE (measured on GPUs): NCCL 2.30.7, 4 nodes, 8 ranks: buffer=8M is 1.25x (1.22 to 1.27)
# over the baseline, over 6 pairs of sessions.
if [ "${NCCLTUNE:-}" = force ] || { [ "${NCCLTUNE:-}" != off ] && [ -z "${NCCL_BUFFSIZE+set}" ]; }; then
    export NCCL_BUFFSIZE='8388608'
    export NCCLTUNE_SOURCED="${NCCLTUNE_SOURCED:-}|NCCL_BUFFSIZE=8388608"
fi

# NCCL_SOCKET_IFNAME is not set: NCCL's own choice, ib0,ib1,ib2,ib3, reaches every node.
