#!/usr/bin/env bash
# Our write bandwidth next to perftest's ib_write_bw in the same guest on the same pair, in turns: 64 KiB messages on two
# queue pairs from rxe0 to rxe1. Prints every figure and the ratio of the medians; an emulation says nothing about speed,
# so this is no test.
set -u
cd "$(dirname "$0")/../.." || exit 2
rounds=5

if [ "${1:-}" = guest ]; then
    common=(-q 2 -s 65536 -n 200 -F -x 1)
    for ((i = 0; i < rounds; i++)); do
        timeout 60 ib_write_bw -d rxe1 "${common[@]}" >/dev/null 2>&1 &
        sleep 2
        timeout 60 ib_write_bw -d rxe0 "${common[@]}" --report_gbits 10.78.0.2 | awk '$1 == 65536 { print "perftest", $4 / 8 }'
        wait
        timeout 60 build/nccltune bench --engine verbs -q --ports rxe0:1,rxe1:1 --schedule matrix -o /tmp/fabric.json >/dev/null 2>&1
        python3 -c 'import json
for t in json.load(open("/tmp/fabric.json"))["tries"]:
    if (t["from"], t["to"]) == ([0, 0], [0, 1]): print("ours", t["write_GBps"])'
    done
    exit
fi

tests/vm/build || exit
tests/vm/run --limit 400 tests/vm/perf_verbs.sh guest | grep -E '^(ours|perftest) ' | sort -k1,1 -k2,2g | awk '
    { print $1, $2 * 1e3, "MB/s"; value[$1, ++n[$1]] = $2 }
    END {
        if (!n["ours"] || !n["perftest"]) { print "perf_verbs: no figures"; exit 1 }
        for (k in n) median[k] = value[k, int((n[k] + 1) / 2)]
        printf "ratio of medians, ours to ib_write_bw: %.2f\n", median["ours"] / median["perftest"]
    }'
