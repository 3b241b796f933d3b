#!/bin/sh
# Tuning over plain pdsh: the same command on every node, each told which one it is; the first conducts, the others are its
# agents. PROFILE is on a file system that all nodes share: there they meet.
#
#   pdsh.sh 'node[1-4]' 4 /shared/PROFILE [OPTION of nccltune tune]...
#
# PDSH_RSH is what reaches a node, ssh unless said. Without pdsh, nccltune uses ssh itself:
# nccltune tune --hosts 'node[1-4]' -o /shared/PROFILE
set -eu
nodes=$1 count=$2 profile=$3
shift 3
# %n is the node's number, from 0.
# shellcheck disable=SC2086 # words
exec pdsh -R exec -f "$count" -w "$nodes" ${PDSH_RSH:-ssh -x} %h \
    env RANK=%n WORLD_SIZE="$count" ${NCCLTUNE_PROGRAM:-nccltune} tune -o "$profile" "$@"
