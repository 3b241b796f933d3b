#!/usr/bin/env bash
# The command line beyond tests/cli/usage.t: options that do not go together or name what is not there, version and
# completion of every command.
#   NCCLTUNE  the program under test (build/nccltune), the others beside it
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
bin=$(realpath "${NCCLTUNE:-build/nccltune}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
none=$scratch/out
topo=tests/fixtures/envgen/topology.json

# refuses CODE TEXT COMMAND...: that exit code and text, a first line that begins with the command's name, and nothing
# left behind; verify writes no file.
refuses() {
    local code=$1 text=$2 to=(-o "$none")
    shift 2
    [ "$1" != verify ] || to=()
    "$bin" "$@" "${to[@]}" >"$scratch/stdout" 2>"$scratch/stderr"
    local got=$?
    cat "$scratch/stderr"
    [ "$got" = "$code" ] && grep -qF -- "$text" "$scratch/stderr" && head -1 "$scratch/stderr" | grep -q "^nccltune $1: " &&
        [ ! -s "$scratch/stdout" ] && [ ! -e "$none" ] && [ ! -e "$none.journal" ]
}
says() { grep -qF -- "$1" < <("${@:2}" 2>&1); }

for c in tune bench; do
    check "$c: sizes the wrong way round" refuses 2 "--min-bytes" $c --min-bytes 1M --max-bytes 8
    check "$c: a workload that is not there" refuses 1 "--workload: $scratch/none" $c --workload "$scratch/none"
    check "$c: a workload that is none" refuses 1 "--workload: $topo" $c --workload "$topo"
    check "$c: a list of hosts that is none" refuses 2 "--hosts" $c --hosts 'a,,b['
    check "$c: a file of hosts that is not there" refuses 1 "--hostfile: $scratch/none" $c --hostfile "$scratch/none"
    check "$c: two lists of hosts" refuses 2 "mutually exclusive" $c --hosts a --hostfile "$topo"
done
check "few words are listed" refuses 2 "'png' is none of text, json, short, svg, nccl-xml" probe --format png
check "a release that is not yet known" says "later than the newest known release: using" \
    "$bin" whatif --machine dgx-h100 --nodes 2 --nccl 9.9
check "is not printed as one that is" bash -c "! '$bin' whatif --machine dgx-h100 --nodes 2 --nccl 9.9 2>/dev/null | grep -F \"NCCL 9.9\""
check "a cluster's nodes are a range" says "node[0001-0512], 512 nodes" "$bin" probe --machine azure-ndv5 --nodes 512
check "a check without a fabric says so" refuses 1 "has no fabric.json" bench --check "$scratch"
for c in tune bench generate verify; do
    check "$c: a margin that is none" refuses 2 "--margin: 'some'" $c --margin some
    check "$c: no confidence" refuses 2 "--confidence: '20'" $c --confidence 20
done
check "generate: a workload that is not there" refuses 1 "$scratch/none" generate -t "$topo" --workload "$scratch/none"
check "generate: a fabric that is not there" refuses 1 "$scratch/none" generate -t "$topo" --fabric "$scratch/none"
check "generate: results that are not there" refuses 1 "$scratch/none" generate -t "$topo" --results "$scratch/none"
check "generate: no topology" refuses 2 "missing: --topology FILE" generate
check "verify: a workload that is not there" refuses 1 "--workload" verify "$scratch" --workload "$scratch/none"
check "verify: another engine" refuses 2 "--engine" verify "$scratch" --engine model
check "verify: no profile" refuses 2 "PROFILE is missing" verify
check "report: no profile" refuses 2 "PROFILE is missing" report
check "report: none" refuses 1 "not a profile directory" report "$scratch"
check "probe: no such file" refuses 1 "$scratch/none" probe --from "$scratch/none"
check "diagnose: a job on no machine" refuses 2 "--workload needs --topology" diagnose --workload "$topo" "$topo"
check "workload: no such algorithm" refuses 2 "--algorithm: 'dpo'" workload --model llama3-8b --framework fsdp2 --algorithm dpo

mapfile -t commands < <("$bin" --print-options)
check "completion knows every command" test "${#commands[@]}" = "$(find man -name "nccltune-*.1" ! -name "*worker*" ! -name "*hook*" | wc -l)"
for c in "${commands[@]}"; do
    check "$c --version" says "nccltune " "$bin" "$c" --version
done
for p in nccltune-worker nccltune-bench nccltune-hook; do
    check "$p --version" says "$p " "$(dirname "$bin")/$p" --version
    check "$p --help" says "$p" "$(dirname "$bin")/$p" --help
done

complete_word() { # WORD...: what bash would offer for the last one.
    # shellcheck disable=SC2034 # for the function
    local COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY
    . cli/nccltune.bash-completion
    _nccltune 2>/dev/null
    echo "${COMPREPLY[*]}"
}
offers() { [ "$(complete_word "$bin" "${@:2}")" = "$1" ]; }
check "completion of a command" offers install-profile inst
check "of an option that no page had" offers --sizes tune --siz
check "of an engine" offers "model" bench --engine mod
check "of a collective" offers "alltoall alltoallv" explain profile --collectives allt
check "behind a comma" offers "allreduce,alltoall allreduce,alltoallv" tune --collectives allreduce,allt
check "of an option's letter" offers "alltoall alltoallv" results -c allt
check "of an engine after =" offers "mpi model" bench --engine = m
check "with nothing behind it" offers "$(complete_word "$bin" bench --engine '')" bench --engine =
check "of a variable's values" offers "LL LL128" whatif --set NCCL_PROTO = L
check "of all of them" offers "LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS" whatif --set NCCL_P2P_LEVEL =
check "of a variable, and what follows it" offers NCCL_IB_HCA= whatif --set NCCL_IB_HC
check "of lint's corrections" offers all lint --fix =
check "of a machine" offers dgx-1v whatif --machine dgx-1

finish
