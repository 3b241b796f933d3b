#!/usr/bin/env bash
# workload and diagnose as a person runs them, on our own samples.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nccltune=build/nccltune

presets=$($nccltune workload --list | grep -oE '^ *[a-z0-9.-]*(grpo|ppo)[a-z0-9.-]*' | tr -d ' ')
check "presets are listed" test -n "$presets"
for preset in $presets; do
    check "preset $preset is written" $nccltune workload --preset "$preset" -o "$work/$preset.json"
done
first=$work/verl-grpo-fsdp2-7b.json
check "files are merged" $nccltune workload --merge "$first" "$first" -o "$work/merged.json"
check "an unknown preset is refused" bash -c "! $nccltune workload --preset nonsense -o $work/x && [ ! -e $work/x ]"
# verdict FILE JQ-LIKE-PYTHON: evaluates an expression over d, the JSON that diagnose prints.
verdict() { $nccltune diagnose --json "$1" | python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not ($2))"; }
check "sync at 45 % is communication" verdict tests/fixtures/diagnose/steps-sync.log 'abs(d["communication_share"] - 0.45) < 0.01'
check "a rollout that dominates is not" verdict tests/fixtures/diagnose/verl-rollout.log 'd["communication_share"] < 0.3'
check "the picture is written" $nccltune diagnose --svg "$work/x.svg" tests/fixtures/diagnose/steps-sync.log
check "a missing file is an error" bash -c "! $nccltune diagnose $work/none 2>$work/err && grep -q $work/none $work/err"
finish
