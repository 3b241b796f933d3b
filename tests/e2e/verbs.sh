#!/usr/bin/env bash
# nccltune bench --engine verbs over a double of libibverbs (tests/doubles/fake_verbs.c): InfiniBand, which the guests of
# tests/vm cannot show; faults that must be named; health checks against a profile; interruption and resume.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
bin=$PWD/build/nccltune
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1

# hcas N [SUBNET...]: N HCAs of 50 MB/s, slow enough for a busy machine; all of subnet 0 unless said.
hcas() {
    local n=$1 i
    shift
    ports='' FAKE_VERBS=''
    for ((i = 0; i < n; i++)); do
        ports+=${ports:+,}mlx5_$i:1
        FAKE_VERBS+="mlx5_$i:1:ib:0.05:${1:-0} "
        shift $(($# > 0))
    done
    export FAKE_VERBS
}
node=$(hostname | grep -oE '[0-9]+$') || node=0
# bench FAULTS ARGUMENT...: with these faults of this node, "mlx5_2=slow mlx5_1=dark".
bench() {
    local faults='' f
    for f in $1; do faults+="$((10#$node))/$f "; done
    shift
    FAKE_VERBS_FAULTS=$faults LD_PRELOAD=$PWD/build/tests/doubles/fake_verbs.so \
        timeout -k 10 120 "$bin" bench --engine verbs --quiet "$@" >"$tmp/out" 2>&1
    status=$?
    return $status
}
says() { grep -qE -- "$1" "$tmp/out" || { cat "$tmp/out"; return 1; }; }
ends_with() { [ "$status" = "$1" ] || { echo "status $status"; cat "$tmp/out"; return 1; }; }

if ! python3 -c 'import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
b = ctypes.create_string_buffer(8)
class V(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
v = V(ctypes.addressof(b), 8)
exit(libc.process_vm_writev(os.getppid(), ctypes.byref(v), 0, ctypes.byref(v), 0, 0) != 0)'; then
    skip "verbs" "processes may not write into one another here" && finish
fi

hcas 4
check "four InfiniBand HCAs: nothing is at fault" bench "" --ports "$ports" -o "$tmp/fabric.json"
check "... all twelve ordered pairs" says '^No faults: all 12 tries worked\.$'
check "... no setting is needed" says "^Settings: none"
check "... their link layer and rate are kept" bash -c \
    "[ \$(grep -c '\"layer\":.*\"infiniband\"' '$tmp/fabric.json') = 4 ] && grep -q '\"rate_Gbps\":.*400' '$tmp/fabric.json'"
check "... no journal stays behind" test ! -e "$tmp/fabric.json.journal"

began=$(date +%s)
check "a health check finds it as it was" bench "" --check "$tmp/fabric.json"
echo "# the check took $(($(date +%s) - began)) s"
check "... and says so" says '^Nothing is worse than in .*: 12 tries compared\.$'
bench "mlx5_2=slow" --check "$tmp/fabric.json"
check "a slow port is found" ends_with 1
check "... and named" says '^  [^ ]+ mlx5_2:1, what it sends: 3 of 3 tries slower, at [0-9]+ % of the profile'
check "... unless that much is borne" bench "mlx5_2=slow" --margin 95% --check "$tmp/fabric.json"
bench "mlx5_1=absent" --check "$tmp/fabric.json"
check "an HCA that is gone is named" says '^  [^ ]+ mlx5_1:1, or its cable: .* no such RDMA device here'
bench "mlx5_3=mtu" --json --check "$tmp/fabric.json"
check "a smaller MTU is named, in JSON too" says '"[^ ]+ mlx5_3:1: an RDMA MTU of 1024 bytes, 4096 in the profile"'

bench "mlx5_1=dark" --ports "$ports" -o "$tmp/dark.json"
check "a dark port is a fault" ends_with 1
check "... one, not many" says '^  [^ ]+ mlx5_1:1, or its cable: 6 of 6 tries failed; the first: [^ ]+ mlx5_1:1: transport retry'
check "... and is left out" says '^NCCL_IB_HCA==mlx5_0:1,mlx5_2:1,mlx5_3:1$'
bench "mlx5_0=dark mlx5_1=dark mlx5_2=down mlx5_3=dark" --ports "$ports" -o "$tmp/none.json"
check "when nothing works, it is said" says '^NCCL_IB_DISABLE=1$'
bench "" --ports "$ports" -o "$tmp/fabric.json" --schedule sideways
check "an unknown schedule is a usage error" ends_with 2
bench "" --ports "$ports" --hosts a,b,c,d,e,f,g,h,i --schedule matrix -o "$tmp/fabric.json"
check "... a matrix of nine nodes, too" ends_with 2
bench "" --ports "$ports" --plan
check "... and --plan, which is for collectives" ends_with 2
bench "" --check "$tmp/nothing"
check "a check needs a profile" ends_with 1

FAKE_VERBS="mlx5_0:2:roce:0.05:0"
check "two RoCE ports of one HCA" bench "" --ports mlx5_0:1,mlx5_0:2 -o "$tmp/roce.json"
check "... by NCCL's own choice of GIDs" says "^GIDs: NCCL's own choice works on every port: RoCE v2 over IPv4$"

hcas 2
check "a node takes the list whose devices it has" bench "" --ports bnxt_re0:1,bnxt_re1:1/mlx5_0:1,mlx5_1:1 -o "$tmp/two.json"
hcas 4

# profile FABRIC: what becomes of it.
profile() {
    cat >"$tmp/topology.json" <<'END'
{"format": "nccltune-topology/1", "classes": [{"name": "class0", "ports": [
  {"hca": "mlx5_0", "port": 1, "state": "active", "layer": "infiniband"},
  {"hca": "mlx5_1", "port": 1, "state": "active", "layer": "infiniband"},
  {"hca": "mlx5_2", "port": 1, "state": "active", "layer": "infiniband"},
  {"hca": "mlx5_3", "port": 1, "state": "active", "layer": "infiniband"}]}]}
END
    "$bin" generate -q -t "$tmp/topology.json" --fabric "$1" -f -o "$tmp/profile"
}
check "generate takes the fabric in" profile "$tmp/dark.json"
check "... the list of HCAs is in nccl.conf" grep -qx 'NCCL_IB_HCA==mlx5_0:1,mlx5_2:1,mlx5_3:1' "$tmp/profile/nccl.conf"
"$bin" explain "$tmp/profile" NCCL_IB_HCA >"$tmp/out"
check "... explain has the numbers" says 'measured on the fabric: without mlx5_1:1: .* 6 of 6 tries failed'
bench "mlx5_1=dark" --check "$tmp/profile"
check "a profile is a baseline: what was dark then is not worse" ends_with 0
check "generate with RDMA that is of no use" profile "$tmp/none.json"
check "... switches it off" grep -qx 'NCCL_IB_DISABLE=1' "$tmp/profile/nccl.conf"

hcas 2
# GPU memory of a double of the driver: registered by dma-buf, by a kernel module's help, not at all.
gpus() { LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib DRIVER_DOUBLE_GPUS=3 bench "" --ports "$ports" -o "$tmp/gpus.json"; }
check "GPU memory is measured" gpus
check "... every port with every GPU, both ways" says '^ +GPU +2( +0\.0[0-9]+){4}$'
check "... by dma-buf" says '^  registered by dma-buf$'
DRIVER_DOUBLE_DMABUF=0 FAKE_VERBS_PEER_MEMORY=1 gpus
check "... else by peer memory" says '^  registered by peer memory$'
DRIVER_DOUBLE_DMABUF=0 gpus
check "... or it is said why not" says '^  failed: .* GPU 0, by dma-buf: .*; as peer memory: .*GPU memory needs dma-buf or nvidia-peermem$'
"$bin" generate -q -t "$tmp/topology.json" --fabric "$tmp/gpus.json" -f -o "$tmp/profile"
"$bin" explain "$tmp/profile" NCCL_NET_GDR_LEVEL >"$tmp/out"
check "... in the profile, too" says 'no port can reach GPU memory, so data goes through host memory'

tried() { grep -c '"try"' "$1" 2>/dev/null || [ -e "$1" ] || echo 0; }
# interrupt JOURNAL: ^C for process $pid when the first eight tries are in it.
interrupt() {
    for ((i = 0; i < 300; i++)); do
        [ "$(tried "$1")" -lt 8 ] || break
        sleep 0.1
    done
    kill -INT $pid
    wait $pid
    status=$?
}

# Interrupted after some of 56 pairs, and gone on with.
hcas 8
FAKE_VERBS_FAULTS='' LD_PRELOAD=$PWD/build/tests/doubles/fake_verbs.so \
    "$bin" bench --engine verbs --quiet --ports "$ports" -o "$tmp/long.json" >"$tmp/out" 2>&1 &
pid=$!
interrupt "$tmp/long.json.journal"
check "an interrupted measurement ends with 1" ends_with 1
cp "$tmp/long.json.journal" "$tmp/journal"
known=$(tried "$tmp/journal")
check "... and leaves a journal of what was done" test "$known" -ge 8 -a "$known" -lt 56
bench "" --ports "$ports" --schedule reach --resume -o "$tmp/long.json"
check "another schedule cannot go on with it" says 'the incomplete run is for'
bench "" --ports "$ports" --resume -o "$tmp/long.json"
check "resume does the rest" says 'all 56 tries|Write bandwidth'
# kept JOURNAL FABRIC N: whether all N pairs are there, those of the journal as they were.
kept() {
    python3 - "$@" <<'END'
import json, sys
tries = {(*t["from"], *t["to"]): t for t in json.load(open(sys.argv[2]))["tries"]}
assert len(tries) == int(sys.argv[3]), len(tries)
old = [json.loads(line)["try"] for line in open(sys.argv[1]) if line.startswith('{"try"')]
same = sum(abs(tries[*t["from"], *t["to"]]["write_GBps"] - t["write_GBps"]) < 1e-9 for t in old)
# One that was slow for a moment may have been tried again.
assert same * 2 > len(old), (same, len(old))
END
}
check "... and keeps what was known" kept "$tmp/journal" "$tmp/long.json" 56
check "... without a journal at the end" test ! -e "$tmp/long.json.journal"

# tune in the same way. It only looks for HCAs where the kernel knows of some, so /sys/class gets a word of them.
hcas 6
mkdir "$tmp/class" "$tmp/sys"
tune() {
    # shellcheck disable=SC2016 # expanded there
    FAKE_VERBS_FAULTS='' OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self exec unshare -m sh -c '
        mount --bind /sys/class "$1/sys" && mount -t tmpfs none "$1/class" && ln -s "$1"/sys/* "$1/class" &&
            mkdir -p "$1/class/infiniband" && mount --bind "$1/class" /sys/class || exit
        bin=$2 && shift 2
        LD_PRELOAD=$PWD/build/tests/doubles/fake_verbs.so exec "$bin" tune --collectives allreduce --max-bytes 8 \
            "$@"' sh "$tmp" "$bin" -o "$tmp/tuned" "$@" >"$tmp/out" 2>&1
}
if ! command -v mpirun >/dev/null || ! unshare -m mount -t tmpfs none "$tmp/class" 2>/dev/null; then
    skip "an interrupted tune" "no mpirun, or nothing can be mounted here" && finish
fi
tune --budget 30s &
pid=$!
interrupt "$tmp/tuned/fabric.json.journal"
check "tune can be interrupted while it measures the fabric" ends_with 130
check "... and says how to go on" says 'interrupted; .*--resume'
check "... nothing else was measured" test "$(wc -l <"$tmp/tuned/results.jsonl")" -eq 1 -a ! -e "$tmp/tuned/fabric.json"
cp "$tmp/tuned/fabric.json.journal" "$tmp/journal"
(tune --resume)
status=$?
check "tune --resume goes on" ends_with 0
check "... with what was known of the fabric" kept "$tmp/journal" "$tmp/tuned/fabric.json" 30
check "... within the budget that it was begun with" says 'begun with a budget of 30 s'
check "... to the end" test -e "$tmp/tuned/results.jsonl" -a ! -e "$tmp/tuned/fabric.json.journal"
finish
