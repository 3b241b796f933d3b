# Sourced by tests of the nccl engine over the doubles of NCCL and the GPU driver: $work, a law, a machine of three GPUs ($topo).
# shellcheck shell=bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp tests/fixtures/nccl/law.txt "$work/law"
export LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_DOUBLE_LAW=$work/law
export DRIVER_DOUBLE_GPUS=3 NCCL_SOCKET_IFNAME=lo
# Variables that are set are not tried: fewer launches, so that a busy machine can do it in time.
export NCCL_MIN_CTAS=1 NCCL_NVLS_ENABLE=2
topo=$work/topology.json
build/nccltune probe -o "$topo" >/dev/null 2>&1 || { not_ok "probe"; finish; }
bench() { timeout 120 build/nccltune bench --engine nccl -q --topology "$topo" "$@"; }

# Workers of ours that are still there, by the law in their environment.
left_over() {
    local p
    for p in /proc/[0-9]*; do
        grep -qs nccltune-worker "$p/cmdline" && grep -qsz "NCCL_DOUBLE_LAW=$NCCL_DOUBLE_LAW" "$p/environ" && echo "$p"
    done
}
none_left() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -z "$(left_over)" ] && return 0
        sleep 0.2
    done
    left_over
    return 1
}
