#!/usr/bin/env bash
# What generate writes for NCCL, read by the programs that it is for: shells, systemd, Lmod, a YAML and a JSON parser.
# Every reader must find exactly the settings of the profile, whatever names the topology has, and nothing may run.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh

bin=$PWD/build/nccltune
fixtures=$PWD/tests/fixtures/envgen
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2
profile=$scratch/profile

if ! command -v python3 >/dev/null; then
    skip "formats" "no python3"
    finish
fi

# A topology with an interface whose name is made to break out of comments, and results of NCCL itself.
python3 - "$fixtures/topology.json" <<'E' >topology.json
import json, sys
doc = json.load(open(sys.argv[1]))
evil = "x\nNCCL_DEBUG=INFO\r$(touch ran)`touch ran`\\\u2028NCCL_DEBUG: a\u0085]] os.execute('touch ran') {{ x }} [exec touch ran] \\"
doc["classes"][0]["netdevs"].append({"name": evil, "kind": "bridge", "state": "active", "mtu_bytes": 1500, "addresses": ["10.9.0.1/24"]})
json.dump(doc, sys.stdout)
