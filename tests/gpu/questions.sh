# The questions of the acceptance run. Each leaves an answer (answer VERDICT QUESTION WHAT: yes, NO or skipped) and its
# details in a file; tests/check-gpu asks them in turn and writes the report.
# shellcheck shell=bash disable=SC2154 # work, gpus, perf, plugin and so on are tests/check-gpu's

answer() { printf '%-8s %s\n         %s\n' "$1" "$2" "$3" | tee -a "$work/answers" >&2; }
count() { grep -c "^$1 " "$work/answers"; }
detail() { cat >>"$work/details-$1"; }

find_all_reduce_perf() {
    local p
    [ -z "${ALL_REDUCE_PERF:-}" ] || { echo "$ALL_REDUCE_PERF" && return; }
    for p in "$(command -v all_reduce_perf)" {.,~,/opt,/usr/local}/nccl-tests/build/all_reduce_perf; do
        [ -x "$p" ] && echo "$p" && return
    done
}

# One GPU: ranks take turns on it, at milliseconds a turn, unless MPS lets them run side by side.
share_gpu() {
    local talk=/tmp/nccltune-mps-$$
    command -v nvidia-cuda-mps-control >/dev/null && mkdir "$talk" || return
    export CUDA_MPS_PIPE_DIRECTORY=$talk CUDA_MPS_LOG_DIRECTORY=$talk NCCL_SOCKET_IFNAME="=lo"
    if ! nvidia-cuda-mps-control -d >/dev/null 2>&1; then
        unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
        return
    fi
    trap 'echo quit | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1; rm -rf "$CUDA_MPS_PIPE_DIRECTORY"' EXIT
    ranks=4
    [ "$last" -le 33554432 ] || last=33554432 # sockets on loopback: 3 GB/s
    share=(--share-gpus --ranks-per-node "$ranks")
}

# ---- times: files of lines "BYTES MICROSECONDS" ----

# What tune has measured AllReduce on, as its journal says: "float32, in place".
measured_data() {
    local data
    data=$(sed -n '/"buffers":/d; /"collective":"allreduce"/s/.*"data":"\([^"]*\)".*/\1/p' "$work/profile/results.jsonl" 2>/dev/null | tail -n 1)
    echo "${data:-float32, in place}"
}
# nccl-tests' word for a type.
perf_type() {
    case $1 in float32*) echo float ;; float64*) echo double ;; float16*) echo half ;; *) echo "${1%%,*}" ;; esac
}
# perf_times FILE [VARIABLE=VALUE...]: of the type and the place that tune has measured; checks the data. nccl-tests has
# out of place in columns 6 to 9, in place in 10 to 13.
perf_times() {
    local to=$1 data type at=6
    shift
    data=$(measured_data) && type=$(perf_type "$data")
    case $data in *"in place") at=10 ;; esac
    timeout 300 env "$@" "$perf" -b "$first" -e "$last" -f "$factor" -t "$gpus" -g 1 -n 20 -w 5 -d "$type" \
        >"$work/perf.log" 2>&1 || return 1
    awk -v at="$at" -v type="$type" '$1 ~ /^[0-9]+$/ && $3 == type {
        print $1, $at; bad = $(at + 3); if (bad != "0" && bad != "N/A") wrong = 1 } END { exit wrong || !NR }' \
        "$work/perf.log" >"$to" && [ -s "$to" ]
}
# medians FILE...: of the same size in all files.
medians() {
    sort -n -k1,1 -k2,2 "$@" | awk '
        function put() { if (n) print at, n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2; n = 0 }
        $1 != at { put(); at = $1 } { v[++n] = $2 } END { put() }'
}
# slowest FILE..., fastest FILE...: of the same size.
slowest() { sort -n -k1,1 -k2,2 "$@" | awk '{ v[$1] = $2 } END { for (at in v) print at, v[at] }'; }
fastest() { sort -n -k1,1 -k2,2nr "$@" | awk '{ v[$1] = $2 } END { for (at in v) print at, v[at] }'; }
# compare A B: "bytes a b a/b" for sizes that both have.
compare() { awk 'NR == FNR { a[$1] = $2; next } $1 in a { printf "%12d %12.2f %12.2f %8.3f\n", $1, a[$1], $2, a[$1] / $2 }' "$1" "$2"; }
# apart TABLE: the largest difference of a ratio from 1, in percent; lowest, highest, mean TABLE: of the ratios.
apart() { awk '{ d = 100 * ($4 > 1 ? $4 - 1 : 1 / $4 - 1); if (d > most) most = d } END { printf "%.1f", most }' "$1"; }
lowest() { sort -k4,4g "$1" | awk 'NR == 1 { printf "%.2f at %d B", $4, $1 }'; }
highest() { sort -k4,4gr "$1" | awk 'NR == 1 { printf "%.2f at %d B", $4, $1 }'; }
mean() { awk '{ sum += log($4) } END { printf "%.2f", NR ? exp(sum / NR) : 0 }' "$1"; }
within() { awk -v x="$1" -v limit="$2" 'BEGIN { exit !(x <= limit) }'; }

# ---- the questions ----

# "2.28.9": what tune measured.
measured_nccl() { sed -n 's/.*"library":"NCCL \([^"]*\)".*/\1/p' "$work/profile/results.jsonl" 2>/dev/null | head -n 1; }

machine_facts() {
    echo "host      $(hostname), $(uname -sr), $(uname -m), $(nproc) processors, load $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "nccltune  $(build/nccltune --version 2>&1 | head -n 1), $(git describe --always --dirty 2>/dev/null || echo "no git tree")"
    [ -z "${CHECK_GPU_DOUBLES:-}" ] || echo "GPUs      NONE: doubles of $gpus GPUs and of NCCL; every time below is made up"
    nvidia-smi --query-gpu=index,name,driver_version,memory.total,temperature.gpu,clocks.sm,clocks.max.sm,power.limit \
        --format=csv,noheader 2>/dev/null | sed 's/^/GPU       /'
    echo "NCCL      $(measured_nccl), ${NCCL_LIBRARY:-found by nccltune-worker}"
    echo "perf      ${perf:-no all_reduce_perf found}$([ ! -s "$work/perf-nccl" ] || sed 's/^/, with NCCL /' "$work/perf-nccl")"
    env | grep -E '^(NCCL|CUDA|UCX|OMPI)_' | sort | sed 's/^/set       /'
}

# The GPU's rows of `nvidia-smi topo -m`, up to the last GPU column, word by word.
gpu_rows() { sed 's/\x1b\[[0-9;]*m//g' | awk -v n="$gpus" '/^GPU[0-9]+/ { for (i = 1; i <= n + 1; i++) printf "%s ", $i; print "" }'; }

ask_machine() {
    local text seen
    step "the machine"
    build/nccltune probe -o "$work/topology.json" >"$work/probe.log" 2>&1
    text=$(build/nccltune probe --format text 2>&1)
    detail 1 <<<"$text"
    if ! command -v nvidia-smi >/dev/null; then
        answer skipped "are all GPUs found, and their paths?" "there is no nvidia-smi to compare with"
        return
    fi
    seen=$(grep -c '^GPU[0-9]' <<<"$text")
    if [ "$seen" != "$gpus" ]; then
        answer NO "are all GPUs found, and their paths?" "$seen of $gpus GPUs"
    elif ! diff <(nvidia-smi topo -m | gpu_rows) <(gpu_rows <<<"$text") >"$work/matrix.diff"; then
        detail 1 <"$work/matrix.diff"
        answer NO "are all GPUs found, and their paths?" "the matrix is not that of nvidia-smi topo -m (< there, > here)"
    else
        answer yes "are all GPUs found, and their paths?" "$gpus GPUs, the matrix is that of nvidia-smi topo -m"
    fi
}

# What one GPU is enough for: ranks that share it.
ask_works() {
    local bad
    if [ -n "${CHECK_GPU_DOUBLES:-}" ] || [ -n "$short" ]; then
        answer skipped "does everything work that can be tried on one GPU?" "$([ -n "$short" ] && echo "not in a short run" || echo "no GPU")"
        return
    fi
    step "what one GPU is enough for"
    tests/gpu/nccl.sh >"$work/works" 2>&1
    bad=$(grep -c '^not ok ' "$work/works")
    detail 2 <"$work/works"
    if [ "$bad" = 0 ]; then
        answer yes "does everything work that can be tried on one GPU?" "$(grep -c '^ok ' "$work/works") checks"
    else
        answer NO "does everything work that can be tried on one GPU?" "$bad checks failed"
    fi
}

# Whether a comparison of times makes sense here; says so where not.
needs_two() { # needs_two QUESTION
    [ "$ranks" -lt 2 ] || return 0
    answer skipped "$1" "one GPU and no MPS: ranks that share it take turns, their times say nothing"
    return 1
}
needs_perf() { # needs_perf QUESTION
    needs_two "$1" || return 1
    if [ "$gpus" = 1 ]; then
        answer skipped "$1" "one GPU, which ranks of nccl-tests cannot share; PyTorch tells"
        return 1
    fi
    [ -z "$perf" ] || return 0
    answer skipped "$1" "no all_reduce_perf found; build github.com/NVIDIA/nccl-tests, or set ALL_REDUCE_PERF"
    return 1
}
needs_profile() { # needs_profile QUESTION
    [ ! -f "$work/profile/manifest.json" ] || return 0
    answer skipped "$1" "tune made no profile, see there"
    return 1
}

ask_tune() {
    local question="is the data right, of every candidate?" n bad failed
    needs_two "$question" || return
    step "tune, $budget"
    timeout 1200 build/nccltune tune -q --verbose --engine nccl "${library[@]}" "${share[@]}" --budget "$budget" --collectives allreduce,allgather \
        --min-bytes "$first" --max-bytes "$last" --step-factor "$factor" -o "$work/profile" >"$work/tune" 2>&1
    echo "exit status $?" >>"$work/tune"
    detail 3 <"$work/tune"
    n=$(grep -c '"status":"\(ok\|dropped\)"' "$work/profile/results.jsonl" 2>/dev/null)
    bad=$(grep -c '"status":"wrong"' "$work/profile/results.jsonl" 2>/dev/null)
    failed=$(grep -c '"status":"\(failed\|crashed\|hung\)"' "$work/profile/results.jsonl" 2>/dev/null)
    if [ "${n:-0}" = 0 ]; then
        answer NO "$question" "nothing was measured: $(grep -E 'nccltune tune: ' "$work/tune" | head -n 1 | cut -c1-120)"
    elif [ "$bad" != 0 ]; then
        answer NO "$question" "$bad of $((n + bad)) measurements gave wrong data, with $(
            sed -n 's/.*, call \(.*\): wrong: .*/\1/p' "$work/tune" | sort -u | paste -sd,): see the warnings of tune below"
    else
        answer yes "$question" "$n measurements, none wrong; $failed failed, crashed or hung"
    fi
}

# A table that leaves no doubt: its algorithm is not NCCL's choice for every size.
ask_plugin() {
    local question="does the plugin load and act under this NCCL?"
    needs_perf "$question" || return
    step "the plugin"
    mkdir -p "$work/forced"
    printf '# nccltune-tuner/1\nallreduce,0,-1,tree,simple,2,-1,-1\n' >"$work/forced/tuner.csv"
    perf_times "$work/forced/times" "NCCL_TUNER_PLUGIN=$plugin" "NCCLTUNE_PROFILE=$work/forced" NCCL_DEBUG=INFO \
        NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING || true
    grep -iE 'tuner|nccltune|Bytes -> Algo' "$work/perf.log" | sed 's/.*NCCL INFO //' | sort | uniq -c | sort -rn | head -n 30 | detail 4
    sed -n 's/.*NCCL version \([0-9.]*[0-9]\).*/\1/p' "$work/perf.log" | head -n 1 >"$work/perf-nccl"
    if [ -s "$work/perf-nccl" ] && [ "$(cat "$work/perf-nccl")" != "$(measured_nccl)" ]; then
        answer NO "$question" "all_reduce_perf runs NCCL $(cat "$work/perf-nccl"), tune measured $(measured_nccl): set NCCL_LIBRARY or LD_LIBRARY_PATH"
    elif ! grep -qi 'nccltune: .*forced/tuner.csv: 1 rule' "$work/perf.log"; then
        answer NO "$question" "not loaded; the log's last words: $( (grep -i plugin "$work/perf.log" || cat "$work/perf.log") | tail -n 1 | cut -c1-120)"
    elif grep -qiE 'Bytes -> Algo (TREE|0) proto (SIMPLE|2)' "$work/perf.log" &&
        ! grep 'Bytes -> Algo' "$work/perf.log" | grep -qviE 'Algo (TREE|0) proto (SIMPLE|2)'; then
        answer yes "$question" "a table with Tree/Simple was loaded, and NCCL took it for every size"
    else
        answer NO "$question" "the table was loaded, but NCCL took $(grep -o 'Algo [^ ]* proto [^ ]*' "$work/perf.log" | sort -u | tr '\n' ',')"
    fi
}

# Runs of nccl-tests in turn, the default and the profile: default-1, tuned-1, default-2...
perf_in_turn() {
    local i
    step "nccl-tests, $times runs each of default and profile, in turn"
    for ((i = 1; i <= times; i++)); do
        perf_times "$work/default-$i" || return 1
        cp "$work/perf.log" "$work/perf-default.log"
        [ ! -f "$work/profile/manifest.json" ] || (
            # shellcheck disable=SC1091
            [ ! -f "$work/profile/nccl.sh" ] || . "$work/profile/nccl.sh"
            perf_times "$work/tuned-$i" "NCCL_TUNER_PLUGIN=$plugin" "NCCLTUNE_PROFILE=$work/profile"
        ) || return 1
    done
    medians "$work"/default-* >"$work/default"
    [ ! -f "$work/tuned-1" ] || medians "$work"/tuned-* >"$work/tuned"
}

ask_times() {
    local question="are our times those of nccl-tests?" off
    needs_perf "$question" || return
    if ! perf_in_turn; then
        tail -n 20 "$work/perf.log" | detail 5
        answer NO "$question" "all_reduce_perf failed or found wrong data: $(grep -v '^#' "$work/perf.log" | tail -n 1 | cut -c1-100)"
        return
    fi
    step "our own times of the default"
    timeout 600 build/nccltune bench -q --engine nccl "${library[@]}" "${share[@]}" --budget "${budget/10m/2m}" --collectives allreduce --min-bytes "$first" \
        --max-bytes "$last" --step-factor "$factor" --topology "$work/topology.json" -o "$work/bench.jsonl" >"$work/bench" 2>&1
    awk '$1 ~ /^[0-9]+$/ && NF > 4 { print $1, $2 }' "$work/bench" >"$work/ours"
    compare "$work/ours" "$work/default" >"$work/ratio"
    { echo "       bytes      ours us nccl-tests us    ratio" && cat "$work/ratio"; } | detail 5
    off=$(apart "$work/ratio")
    if [ ! -s "$work/ratio" ]; then
        detail 5 <"$work/bench"
        answer NO "$question" "bench measured none of its sizes"
    elif within "$off" "$limit"; then
        answer yes "$question" "$(wc -l <"$work/ratio") sizes, at most $off % apart ($limit % allowed)"
    else
        answer NO "$question" "up to $off % apart ($limit % allowed): ours / nccl-tests' is $(lowest "$work/ratio") at least, $(highest "$work/ratio") at most"
    fi
}

ask_repeats() {
    local question="does the default repeat itself within the margin?" line off runs
    needs_two "$question" || return
    line=$(grep -o 'default-repeats: .*' "$work/tune" 2>/dev/null)
    echo "$line" | detail 6
    off=$(sed -nE "s/.*times differ by ([0-9.]+) %.*/\1/p; s/.*times differ by a factor of ([0-9.]+) from.*/\1 1/p" <<<"$line" |
        awk '{ print NF == 2 ? 100 * ($1 - 1) : $1 }')
    runs="no nccl-tests to compare"
    if [ -f "$work/default-2" ]; then
        compare "$work/default-1" "$work/default-2" >"$work/repeats"
        { echo "       bytes    one run us  another us    ratio" && cat "$work/repeats"; } | detail 6
        runs="two runs of nccl-tests: at most $(apart "$work/repeats") %"
    fi
    if [ -z "$off" ]; then
        answer NO "$question" "tune did not measure it twice; $runs"
    elif within "$off" "$limit"; then
        answer yes "$question" "median $off %, ${line#*points), }; $runs"
    else
        answer NO "$question" "median $off % apart ($limit % allowed): this machine is too noisy, see Noise; $runs"
    fi
}

# verdict QUESTION TABLE [WORST]: default us, tuned us and their ratio for each size. WORST: the same of the slowest run of
# the default and the fastest of the profile, which tells a slower profile from unrest.
verdict() {
    if awk -v limit="$limit" '$4 < 1 - limit / 100 { slower = 1 } END { exit slower }' "${3:-$2}"; then
        answer yes "$1" "$(mean "$2") times as fast in the mean, $(lowest "$2") at worst"
    else
        answer NO "$1" "slower at some size: $(lowest "$2") times as fast, $(mean "$2") in the mean"
    fi
}

ask_tuned_in_nccl_tests() {
    local question="in nccl-tests, is tuned as fast as default or faster?"
    needs_perf "$question" && needs_profile "$question" || return
    [ -s "$work/tuned" ] || { answer NO "$question" "all_reduce_perf failed with the profile" && return; }
    compare "$work/default" "$work/tuned" >"$work/gain"
    { echo "       bytes   default us    tuned us    ratio" && cat "$work/gain"; } | detail 7
    compare <(slowest "$work"/default-*) <(fastest "$work"/tuned-*) >"$work/worst"
    verdict "$question" "$work/gain" "$work/worst"
}

# torch_times FILE: bf16 in place, as a gradient's AllReduce, a process for each GPU.
torch_times() {
    local r rc=0 pids=()
    rm -f "$work/meet"
    for ((r = 0; r < ranks; r++)); do
        [ "$gpus" != 1 ] || export NCCL_HOSTID="rank-$r"
        timeout 300 python3 tests/gpu/torch_loop.py "$r" "$ranks" "$work/meet" "$first" "$last" "$factor" >"$work/torch.$r" 2>&1 &
        pids+=($!)
    done
    for r in "${pids[@]}"; do wait "$r" || rc=1; done
    unset NCCL_HOSTID
    grep -E '^[0-9]+ [0-9.]+$' "$work/torch.0" >"$1"
    [ "$rc" = 0 ] && [ -s "$1" ]
}

ask_tuned_in_pytorch() {
    local question="in PyTorch, is tuned as fast as default or faster?" i
    needs_two "$question" && needs_profile "$question" || return
    if [ -n "${CHECK_GPU_DOUBLES:-}" ] || ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
        answer skipped "$question" "no PyTorch with CUDA"
        return
    fi
    step "PyTorch, $times runs each of default and profile, in turn"
    for ((i = 1; i <= times; i++)); do
        if ! torch_times "$work/torch-default-$i" || ! (
            # shellcheck disable=SC1091
            [ ! -f "$work/profile/nccl.sh" ] || . "$work/profile/nccl.sh"
            export NCCL_TUNER_PLUGIN=$plugin NCCLTUNE_PROFILE=$work/profile
            torch_times "$work/torch-tuned-$i"
        ); then
            tail -n 5 "$work"/torch.[0-9]* | detail 8
            answer NO "$question" "the loop failed, see there"
            return
        fi
    done
    compare <(medians "$work"/torch-default-*) <(medians "$work"/torch-tuned-*) >"$work/torch-gain"
    { echo "       bytes   default us    tuned us    ratio" && cat "$work/torch-gain"; } | detail 8
    compare <(slowest "$work"/torch-default-*) <(fastest "$work"/torch-tuned-*) >"$work/torch-worst"
    verdict "$question" "$work/torch-gain" "$work/torch-worst"
}

# Where nccl-tests cannot tell. Calls that end before PyTorch's host has launched the next one are left out.
ask_times_of_pytorch() {
    local question="are our times those of PyTorch's all_reduce?" limit=15 off # starts alone differ by 12 %
    [ "$gpus" = 1 ] && [ -s "$work/torch-default-1" ] || return
    awk '/^# nccl .*: allreduce/ { on = !/buffers: / || /bfloat16/ } /^$/ { on = 0 } on && $1 ~ /^[0-9]+$/ && $2 >= 100 { print $1, $2 }' \
        "$work/tune" >"$work/ours"
    compare "$work/ours" <(medians "$work"/torch-default-*) >"$work/torch-ratio"
    { echo "       bytes      ours us  PyTorch us    ratio" && cat "$work/torch-ratio"; } | detail 8
    off=$(apart "$work/torch-ratio")
    if [ -s "$work/torch-ratio" ] && within "$off" "$limit"; then
        answer yes "$question" "$(wc -l <"$work/torch-ratio") sizes, at most $off % apart ($limit % allowed)"
    else
        answer NO "$question" "up to ${off:-?} % apart ($limit % allowed), see there"
    fi
}

# ---- the report ----

section() { # section TITLE FILE
    [ ! -s "$2" ] || { printf '\n---- %s\n' "$1" && head -c 60000 "$2"; }
}

write_report() {
    echo "nccltune acceptance run, $(date -u '+%Y-%m-%d %H:%M') UTC, $(($(date +%s) - began)) s${short:+, SHORT: times are worth nothing}"
    echo
    machine_facts
    printf '\nANSWERS: %d yes, %d NO, %d skipped\n' "$(count yes)" "$(count NO)" "$(count skipped)"
    cat "$work/answers"
    printf '\nDETAILS\n'
    section "the machine as nccltune sees it" "$work/details-1"
    section "what one GPU is enough for" "$work/details-2"
    section "tune: what was measured, noise, decisions" "$work/details-3"
    section "the plugin in nccl-tests: NCCL's log, how often each line" "$work/details-4"
    section "our times against nccl-tests', AllReduce of $(measured_data)" "$work/details-5"
    section "the default against itself" "$work/details-6"
    section "nccl-tests: default against profile" "$work/details-7"
    section "PyTorch, bf16 in place: default against profile" "$work/details-8"
    section "nccl-tests' own output, the last default run" "$work/perf-default.log"
    section "tuner.csv" "$work/profile/tuner.csv"
    section "nccl.conf" "$work/profile/nccl.conf"
    section "the journal's failures" <(grep -vE '"status":"(ok|dropped)"' "$work/profile/results.jsonl" 2>/dev/null | cut -c1-400)
}
