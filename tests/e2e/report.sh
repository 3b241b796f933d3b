#!/usr/bin/env bash
# nccltune report: the page of small and large profiles, read by a parser of XML, and by Chromium where it is installed.
#   NCCLTUNE_PICTURES  a directory for pictures of every tab, to be looked at
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
bin=$PWD/build/nccltune
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# journal TOPOLOGY: twelve shapes of job on up to 64 nodes, four collectives, 15 sizes, 15 candidates beside the default.
journal() {
    python3 - "$1" <<'EOF'
import json, random, sys
random.seed(1)
print(json.dumps({"format": "nccltune-results/1", "topology": sys.argv[1]}))
shapes = [(64, 512), (32, 256), (16, 128), (8, 64), (4, 32), (2, 16), (1, 8), (64, 64), (32, 32), (16, 16), (8, 8), (4, 4)]
calls = [(a, p) for a in ("ring", "tree", "nvls", "nvlstree", "pat") for p in ("ll", "ll128", "simple")]
for nodes, ranks in shapes:
    for coll in "allreduce", "allgather", "reducescatter", "broadcast":
        for size in (8 * 4 ** k for k in range(15)):
            us = 20 + 3 * nodes ** 0.5 + size / 4e4
            for call in [None] + calls:
                middle = us * (random.lognormvariate(0, 0.25) if call else 1)
                for start in range(1, 6):
                    print(json.dumps({
                        "engine": "nccl", "library": "NCCL 2.28.9", "round": start, "status": "ok", "collective": coll,
                        "bytes": size, "nodes": nodes, "ranks": ranks, "launch": {"label": "default", "settings": {}},
                        "call": {"label": "/".join(call), "settings": {"algorithm": call[0], "protocol": call[1]}} if call
                        else {"label": "default", "settings": {}},
                        "times_us": [round(middle * random.lognormvariate(0, 0.03), 2) for _ in range(2)]}))
EOF
}
"$bin" probe --machine dgx-h100 --nodes 64 --json -o "$work/topology.json"
"$bin" generate -q --topology "$work/topology.json" -o "$work/bare"
journal "$(jq -r .topology "$work/bare/decisions.json")" >"$work/large.jsonl"
check "a large profile" "$bin" generate -q --topology "$work/topology.json" --results "$work/large.jsonl" -o "$work/large"
cp -r examples/profile "$work/measured"
"$bin" tune -q --machine azure-ndv5 --nodes 4 -o "$work/predicted" >"$work/out" 2>&1

# What a parser sees: well-formed, nothing from elsewhere.
reads() {
    python3 - "$1" <<'EOF'
import re, sys
import xml.etree.ElementTree as tree
text = open(sys.argv[1] + "/report.html").read()
page = tree.fromstring(text)
strange = [u for u in re.findall(r"https?://[^\"' <]*", text) if not u.startswith("http://www.w3.org/")]
assert not strange, strange
assert not any(x.get("src") or x.get("href") for x in page.iter()), "something is loaded"
EOF
}
for profile in large measured predicted bare; do
    check "$profile: the report is written" "$bin" report "$work/$profile"
    check "$profile: a parser reads it" reads "$work/$profile"
    check "$profile: the same once more" bash -c "'$bin' report '$work/$profile' -o - | cmp - '$work/$profile/report.html'"
    check "$profile: it is still the profile" "$bin" explain "$work/$profile"
done
check "64 nodes and 12 shapes are less than 3 MB" test "$(stat -c %s "$work/large/report.html")" -lt 3000000
check "tune has left one" grep -q 'PREDICTED' "$work/predicted/report.html"
check "its bottleneck is marked: eight NICs that share the load, and the legend" test "$(grep -o 'class="bottleneck"' "$work/predicted/report.html" | wc -l)" = 9
check "and named" grep -q 'bottleneck: NIC mlx5_ib0:1' "$work/predicted/report.html"
check "tune says where" grep -q 'report.html' "$work/out"
"$bin" generate -q --topology "$work/topology.json" --fabric tests/fixtures/bench/fabric.json -o "$work/wired"
check "a fabric is reported" "$bin" report "$work/wired"
check "with its map" grep -q 'id="fabric"' "$work/wired/report.html"
check "not where it has no ports" bash -c "! grep -q 'id=\"fabric\"' '$work/measured/report.html'"
check "what was only predicted says so" grep -q 'allreduce on .*, PREDICTED' "$work/predicted/report.html"
check "a table with rules has the plugin's lines" grep -q 'export NCCL_TUNER_PLUGIN' "$work/large/report.html"
check "one without has none" bash -c "! grep -q 'export NCCL_TUNER_PLUGIN' '$work/bare/report.html'"
check "a full disk is an error" bash -c "! '$bin' report '$work/measured' -o /dev/full"
echo >>"$work/bare/nccl.conf"
check "a profile that was changed is an error" bash -c "! '$bin' report '$work/bare' -o '$work/none.html' && [ ! -e '$work/none.html' ]"

# ---- explain of many shapes ------------------------------------------------------------------------------------------
call() { "$bin" explain "$work/large" --collectives allreduce --bytes 64M "$@"; }
lines() { [ "$(call "${@:2}" | wc -l)" -le "$1" ]; }
check "a call on twelve shapes is told on one screen" lines 24
check "on one shape, too" lines 24 --nodes 64 --ranks 512
check "the largest gain first" bash -c "'$bin' explain '$work/large' -c allreduce -b 64M | grep -oE '[0-9.]+x +[0-9]+ MiB' | sort -c -rn"
check "candidates by gain" bash -c "'$bin' explain '$work/large' -c allreduce -b 64M -n 64 --ranks 512 | grep -oE '[0-9.]+x \([0-9.]+ to [0-9.]+\)  results' | sort -c -rn"
check "the size of the evidence is told" grep -q 'evidence at 128 MiB, the nearest size' <(call --nodes 64 --ranks 512)
call --nodes 64 --ranks 512 --json >"$work/call.json"
check "its JSON is no book" test "$(stat -c %s "$work/call.json")" -lt 8000
check "of the nearest size alone" jq -e '[.shapes[].collectives[].ranges[].points[].bytes] == [134217728]' "$work/call.json"
check "and says what it is" jq -e '.shapes[0].evidence == "measured on GPUs" and .predictions_are_set == false' "$work/call.json"

for profile in large measured predicted wired; do
    if command -v chromium >/dev/null; then
        pictures=${NCCLTUNE_PICTURES:+$NCCLTUNE_PICTURES/$profile}
        [ -z "$pictures" ] || mkdir -p "$pictures"
        # shellcheck disable=SC2086 # no directory, no word
        check "$profile in Chromium" timeout 300 tests/tools/browse_report "$work/$profile/report.html" $pictures
    else
        skip "$profile in Chromium" "no chromium"
    fi
done
finish
