#!/usr/bin/env bash
# The acceptance run for GPUs (tests/check-gpu, short) over the doubles: it says yes where all is well, and NO where
# something is not. The doubles' clock is made up and the same for nccl-tests and for us: on a quiet machine, which has
# neither caches nor unrest, times are alike within the limit for GPUs, however busy this host is.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CHECK_GPU_DOUBLES=3 NCCL_MIN_CTAS=1 NCCL_NVLS_ENABLE=2 NCCL_DOUBLE_LAW=$scratch/law
(grep -E '^(channels|seed|hcas|cell|when|launch) ' tests/fixtures/nccl/law.txt && echo "noise 0.002") >"$NCCL_DOUBLE_LAW"
unset NCCL_DOUBLE_FAULT CHECK_GPU_LIMIT
check "a double of all_reduce_perf builds" cc -std=gnu11 -D_GNU_SOURCE -I. -o "$scratch/all_reduce_perf" \
    tests/tools/all_reduce_perf.c -Lbuild/tests/doubles/lib -l:libnccl.so.2 -l:libcuda.so.1
export ALL_REDUCE_PERF=$scratch/all_reduce_perf

# says VERDICT WORDS DIRECTORY: the answer to the question that has these words.
says() { grep "^$1 .*$2" "$3/report.txt" || { cat "$3/report.txt" && return 1; }; }

check "all is well" timeout 200 tests/check-gpu --short "$scratch/well"
for words in "data right" "plugin load and act" "those of nccl-tests" "repeat itself" "in nccl-tests, is tuned"; do
    check "it says yes: $words" says yes "$words" "$scratch/well"
done
check "and that there is no nvidia-smi, and no PyTorch" grep -c "no nvidia-smi\|no PyTorch" "$scratch/well/report.txt"
check "the report says that these are doubles" grep -q "^GPUs  *NONE" "$scratch/well/report.txt"
check "and has times side by side" grep -qE '^ +1048576 +[0-9.]+ +[0-9.]+ +[0-9]+[.][0-9]+$' "$scratch/well/report.txt"

# nccl-tests that measures 5 % more, and a combination that computes wrong data.
NCCL_DOUBLE_FAULT="wrong algo=tree" ALL_REDUCE_PERF_FACTOR=1.05 timeout 200 tests/check-gpu --short "$scratch/ill" >"$scratch/ill.log" 2>&1
check "something is not well: status 1" test $? = 1
check "wrong data" says NO "data right" "$scratch/ill"
check "other times than ours" says NO "those of nccl-tests" "$scratch/ill"
check "how far apart" grep -qE "up to [45][.][0-9] % apart \(3 % allowed\)" "$scratch/ill/report.txt"

ALL_REDUCE_PERF='' PATH=/usr/bin:/bin HOME=/nonexistent timeout 200 tests/check-gpu --short "$scratch/alone" >"$scratch/alone.log" 2>&1
check "without nccl-tests" test $? = 0
check "it says where to get them" grep -q "no all_reduce_perf found; build github.com/NVIDIA/nccl-tests" "$scratch/alone/report.txt"
mkdir "$scratch/mine"
check "a directory of somebody else's is left alone" test "$(tests/check-gpu --short "$scratch/mine" 2>&1; ls "$scratch/mine")" = \
    "check-gpu: $scratch/mine is there and not from an earlier run; name another directory"

# ---- what is compared ----
cat >"$scratch/perf" <<'EOF'
#!/bin/sh
while [ $# -gt 1 ]; do
    [ "$1" = -d ] && type=$2
    shift
done
echo "        4096  1024  $type  sum  -1  11.0  1  1  ${WRONG:-0}  22.0  1  1  0"
EOF
chmod +x "$scratch/perf"
times_of() { # times_of DATA: what is taken of nccl-tests' line where tune has measured DATA
    (
        # shellcheck disable=SC2030 # of this shell alone
        work=$scratch/times perf=$scratch/perf first=4096 last=4096 factor=2 gpus=2
        mkdir -p "$work/profile"
        printf '{"collective":"allgather","data":"int8"}\n{"collective":"allreduce","bytes":4096,"data":"%s","x":1}\n' "$1" \
            >"$work/profile/results.jsonl"
        # shellcheck source=tests/gpu/questions.sh
        . tests/gpu/questions.sh
        perf_times "$work/out" "WRONG=$wrong" && cat "$work/out" "$work/perf.log" | tr -s ' ' | cut -d' ' -f1-4 | tr '\n' ' '
    )
}
wrong=0
check "in place where tune measured in place" test "$(times_of 'float32, in place')" = "4096 22.0  4096 1024 float "
check "out of place where it did not, of its type" test "$(times_of bfloat16)" = "4096 11.0  4096 1024 bfloat16 "
wrong=3
check "wrong data of the place that counts" test -z "$(times_of float32)"
check "... and of no other" test -n "$(times_of 'float16, in place')"

# ---- judging times ----
verdict_of() { # verdict_of RATIO...: of default over tuned
    (
        work=$scratch/judge limit=3
        mkdir -p "$work" && rm -f "$work/answers"
        # shellcheck source=tests/gpu/questions.sh
        . tests/gpu/questions.sh
        printf '1024 10 10 %s\n' "$@" >"$work/table"
        verdict "which?" "$work/table" 2>/dev/null
        cut -d' ' -f1 "$work/answers" | head -n 1
    )
}
check "as fast is well" test "$(verdict_of 1.0 0.98)" = yes
check "slower at one size is not" test "$(verdict_of 1.5 0.96)" = NO
finish
