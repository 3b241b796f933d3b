#!/usr/bin/env bash
# What a job's start asks of the store: every call is counted and takes a while, as one does whose file system keeps no
# cache. At most ten calls by the prolog of the first job that gets a profile on a node, half of them later, none by tasks
# and ranks. A store that is slow, away, or silent.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
[ "$(id -u)" = 0 ] || cannot_start store "needs root"
work=$(mktemp -d /run/nccltune-store-XXXXXX)
chmod 755 "$work"
made=
[ -d /run/nccltune ] || { mkdir /run/nccltune && made=1; } # a place to mount over
trap 'rm -rf "$work"; [ -z "$made" ] || rmdir /run/nccltune' EXIT
unshare --mount true 2>"$work/unshare" || cannot_start store "$(cat "$work/unshare")"

nccltune=$PWD/build/nccltune hook=$PWD/build/nccltune-hook plugin=$work/lib/libnccl-tuner-nccltune.so store=$work/site/store
mkdir -p "$work/lib" "$work/site" "$work/run" && cp build/libnccl-tuner-nccltune.so "$plugin"

# ---- a profile with a table and settings of two classes ------------------------------------------------------------------
# profile RULE: tables come from measurements of NCCL alone, so this one is written by hand, and the manifest made to fit.
profile() {
    local p=$work/profile
    rm -rf "$p"
    sed 's/"name":[[:space:]]*"[^"]*",\([[:space:]]*"class":\)/"name": "n0",\1/' tests/fixtures/envgen/topology.json >"$work/topology.json"
    "$nccltune" generate -q --topology "$work/topology.json" -o "$p" || return 1
    printf '%s\n' "$1" >"$p/tuner.csv"
    mkdir -p "$p/nccl.d"
    printf '# of this class\nNCCL_IB_HCA==mlx5_0:1\n' >"$p/nccl.d/class0.conf"
    tests/tools/manifest "$p" nccl.d/class0.conf
}
install_it() { without_hooks "$nccltune" install-profile "$work/profile" --force --store "$store" --no-nccl-conf --plugin "$plugin"; }
check "a profile is made" profile "allreduce,0,-1,tree,ll128,7,2,16"
check "and installed" install_it
check "the loader builds" cc -std=gnu11 -D_GNU_SOURCE -I. -o "$work/load_tuner" tests/tools/load_tuner.c core/coll.c -ldl
policy() { printf '%s\n' "store=$store" "plugin=$plugin" "policy=$1" >"$work/slurm.conf"; }
policy log,fail

# ---- calls ---------------------------------------------------------------------------------------------------------------
# on COMMAND...: on the node, whose store is $ms milliseconds away; $calls has what it was asked, and $took how long.
calls=$work/calls ms=0
on() {
    : >"$calls"
    local began=${EPOCHREALTIME/./} rc
    # shellcheck disable=SC2016 # expanded by the inner shell
    SLURM_JOB_ID=${job:-7} SLURM_STEP_ID=0 SLURMD_NODENAME=n0 SLURM_JOB_NODELIST=n0 SLURM_JOB_NUM_NODES=1 \
        SLURM_JOB_START_TIME=$(date +%s) unshare --mount bash -c '
        mount --bind "$0/run" /run/nccltune && export LD_PRELOAD=$1 SLOW_STORE=$2 SLOW_STORE_MS=$3 SLOW_STORE_LOG=$4 &&
        shift 4 && exec "$@"' "$work" "$PWD/build/tests/doubles/slow_store.so" "$store" "$ms" "$calls" "$@"
    rc=$?
    took=$(((${EPOCHREALTIME/./} - began) / 1000))
    return $rc
}
prolog() { on "$hook" prolog --conf "$work/slurm.conf"; }
tasks() { on "$hook" task-prolog; }
rank() {
    local settings
    mapfile -t settings < <(tasks | sed -n 's/^export //p')
    on env "${settings[@]}" "$work/load_tuner"
}
asked() { [ "$(wc -l <"$calls")" -le "$1" ] || { cat "$calls"; return 1; }; }
says() {
    local text=$1 out
    shift
    out=$("$@" 2>&1)
    [[ $out == *"$text"* ]] || { echo "'$text' is missing in: $out"; return 1; }
}
forget() { rm -rf "$work/run/"*; }

prolog
check "the first job's prolog asks ten times at most" asked 10
first=$(wc -l <"$calls")
check "more than nothing: the counter counts" test "$first" -gt 4
job=8 prolog
check "the next one's five times" asked 5
echo "# calls to the store: $first by the first prolog, $(wc -l <"$calls") by the next"
check "a task gets its settings" says "export NCCL_IB_HCA==mlx5_0:1" tasks
tasks >/dev/null
check "and asks nothing of the store" asked 0
check "a rank takes the table" says "chosen: tree ll128 7" rank
rank >/dev/null
check "from the node's copy" asked 0
job=7 on "$hook" epilog --conf "$work/slurm.conf"
check "the epilog asks nothing either" asked 0

# ---- times -----------------------------------------------------------------------------------------------------------------
# start: what a job waits for, in $spent: the prolog, a task's prolog, a rank's plugin.
start() {
    spent=0
    local part
    for part in prolog tasks rank; do
        $part >/dev/null || return 1
        spent=$((spent + took))
    done
}
for ms in 0 20 100; do
    forget
    start && new=$spent && start && again=$spent || spent=none
    echo "# $ms ms a call: $new ms for the first job on a node, $again ms for the next"
    check "at $ms ms a call a job's first start takes ten calls" test "$new" -lt $((12 * ms + 1000))
    check "and the next one five" test "$again" -lt $((6 * ms + 1000))
done
forget
ms=300
check "at 300 ms a call the profile still arrives" prolog
check "as before" says "export NCCL_IB_HCA==mlx5_0:1" tasks
ms=0

# ---- the store is away -------------------------------------------------------------------------------------------------------
# answer STATE [WORD]: the prolog's, for a job of two nodes.
answer() { on env SLURM_JOB_NODELIST='n[0-1]' "$hook" prolog --conf "$work/slurm.conf" --limit 1000; grep -qx "state $1" "$work/run/7" && says "${2-}" cat "$work/run/7"; }
mv "$store" "$store.away"
for what in fail:unknown log:nothing; do
    policy "${what%:*}"
    answer "${what#*:}" >/dev/null
    check "no store, policy=${what%:*}: ${what#*:}, at once ($took ms)" test $? = 0 -a "$took" -lt 1000
done
mv "$store.away" "$store"
for policy in fail log; do
    policy $policy
    ms=30000
    answer unknown "not done in time" >/dev/null
    check "a store that does not answer, policy=$policy: unknown at the limit of 1000 ms ($took ms)" test $? = 0 -a "$took" -lt 2000
    ms=0
done

# ---- no copy ---------------------------------------------------------------------------------------------------------------------
policy log,fail
node=$(find "$store/profiles" -name '*.node')
mv "$node" "$work/node"
forget
check "a store of an earlier release: the profile is read where it is" prolog
check "and is the same" says "export NCCL_IB_HCA==mlx5_0:1" tasks
check "ranks find it there" says "chosen: tree ll128 7" rank
check "there is no copy" test ! -e "$work/run/profiles"
head -c 300 "$work/node" >"$node"
check "a file that is cut off: the same" prolog
check "nothing of it is kept" test -z "$(ls "$work/run/profiles")"
rm "$node"
check "installed again, it has its file" install_it
check "byte for byte" cmp "$node" "$work/node"
finish
