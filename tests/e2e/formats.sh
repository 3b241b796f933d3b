#!/usr/bin/env bash
# nccl.conf and nccl.sh, read by the programs that they are for: shells, systemd and what takes env files. Every reader
# must find exactly the settings of the profile, whatever names the topology has, and nothing may run.
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
python3 - "$fixtures/topology.json" >topology.json <<'PYTHON'
import json, sys
doc = json.load(open(sys.argv[1]))
evil = ("x\nNCCL_DEBUG=INFO\r$(touch ran)`touch ran`\\\u2028NCCL_DEBUG: a\u0085]] os.execute('touch ran') "
        "{{ x }} [exec touch ran] \\")
doc["classes"][0]["netdevs"].append({"name": evil, "kind": "bridge", "state": "active", "mtu_bytes": 1500,
                                     "addresses": ["10.9.0.1/24"]})
json.dump(doc, sys.stdout)
PYTHON
python3 - >results.jsonl <<'PYTHON'
import json
print(json.dumps({"format": "nccltune-results/1", "topology": ""}))
launches = {"default": {}, "x": {"NCCL_IB_QPS_PER_CONNECTION": "4", "NCCL_NET_GDR_LEVEL": "SYS"}}
calls = {"default": {}, "ring": {"algorithm": "ring", "protocol": "ll128", "channels": "16"}}
for round in (1, 2, 3, 4, 5):
    for nodes in (2, 8):
        for launch, settings in launches.items():
            for call, knobs in calls.items():
                t = (100 if launch == "default" else 60) * (1 if call == "default" else 0.7) + round / 100
                print(json.dumps({"engine": "nccl", "collective": "allreduce", "bytes": 1 << 20, "nodes": nodes,
                                  "ranks": nodes * 8, "library": "NCCL 2.28.9", "round": round, "status": "ok",
                                  "launch": {"label": launch, "settings": settings},
                                  "call": {"label": call, "settings": knobs},
                                  "times_us": [t * (1 + i / 1000) for i in range(9)]}))
PYTHON
printf '%s\n' NCCL_IB_QPS_PER_CONNECTION=4 NCCL_NET_GDR_LEVEL=SYS NCCL_SOCKET_IFNAME==eth0 >expected

generate() {
    "$bin" generate -q --topology topology.json --results results.jsonl "$@"
}
exact() { # exact COMMAND...: prints exactly the settings
    "$@" | grep -a '^NCCL_' | LC_ALL=C sort >found
    diff expected found
}
status() { # status EXPECTED COMMAND...
    local expected=$1 code=0
    shift
    "$@" || code=$?
    [ "$code" = "$expected" ] || { echo "exit code $code, expected $expected"; return 1; }
}
says() { # says TEXT COMMAND...
    local text=$1
    shift
    "$@" >said 2>&1
    grep -aqF -e "$text" said || { echo "'$text' is missing in:"; cat said; return 1; }
}
silent() { # silent TEXT COMMAND...: succeeds and does not say it
    local text=$1
    shift
    "$@" >said 2>&1 || return 1
    ! grep -aF -e "$text" said
}

check "generate writes a profile" generate -o "$profile"

# ---- shells ----------------------------------------------------------------------------------------------------------
source_it() { # source_it SHELL BEFORE
    # shellcheck disable=SC2016
    env -i PATH="$PATH" "$1" -c "set -eu; $2; "'. "$1/nccl.sh"; . "$1/nccl.sh"; env' x "$profile"
}
for shell in bash dash sh; do
    check "$shell under set -eu, sourced twice" exact source_it $shell :
    check "$shell keeps what the user set" says NCCL_SOCKET_IFNAME=mine source_it $shell "export NCCL_SOCKET_IFNAME=mine"
    check "$shell with NCCLTUNE=force overrides it" exact source_it $shell "NCCLTUNE=force; export NCCL_SOCKET_IFNAME=mine"
    check "$shell with NCCLTUNE=off sets nothing" silent NCCL_ source_it $shell "NCCLTUNE=off"
done

# ---- other programs --------------------------------------------------------------------------------------------------
by_systemd() {
    mkdir -p config/environment.d
    cp "$profile/nccl.conf" config/environment.d/nccl.conf
    env -i XDG_CONFIG_HOME="$PWD/config" HOME="$PWD" "$1"
}
generator=/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator
if [ -x $generator ]; then
    check "systemd reads its file" exact by_systemd $generator
else
    skip "systemd reads its file" "no systemd"
fi

# docker and podman: lines with '#' in column 1 are comments, the rest is NAME=value as it stands.
check "for docker it has plain lines" exact grep -av '^#' "$profile/nccl.conf"
check "lint has nothing against the files" "$bin" lint --strict --profile "$profile" "$profile/nccl.conf" "$profile/nccl.sh"
check "nothing of it ran" test ! -e ran

# ---- releases and scale ------------------------------------------------------------------------------------
between='^allreduce,1048576,1048576,ring,ll128,16,3-5,24-40,'
check "tuner.csv speaks of the nodes between" grep -q "$between" "$profile/tuner.csv"
check "and of none beyond" silent EXTRAPOLATED cat "$profile/tuner.csv"
check "--nccl leaves out what a release does not read" generate --nccl 2.3-2.4 -o old
check "and says why" says "NCCL_IB_QPS_PER_CONNECTION is not set: 4 would be a choice, but" cat old/nccl.conf
check "explain names the rule between two measured ones" says "what was measured below and above agrees" \
    "$bin" explain "$profile" --collectives allreduce --bytes 1M --nodes 3 --ranks 24
check "so does its JSON" says '"agreed"' "$bin" explain "$profile" --collectives allreduce --bytes 1M --nodes 3 --ranks 24 --json
sed 's/"engine": "nccl"/"engine": "model"/' results.jsonl >model.jsonl
predict() { "$bin" generate -q --topology topology.json --results model.jsonl "$@"; }
check "predictions are taken" predict -o predicted
check "and stand in comments" says "# NCCL_IB_QPS_PER_CONNECTION is not set: NCCL_IB_QPS_PER_CONNECTION=4 is a prediction" \
    cat predicted/nccl.conf
check "as rules do" says "# allreduce,1048576,1048576,ring,ll128,16,2,16" cat predicted/tuner.csv
check "--predicted sets none on machines where predictions were never held against measured decisions" predict --predicted -o predicted-set
check "no setting" bash -c "! grep -q '^NCCL_IB_QPS_PER_CONNECTION=' predicted-set/nccl.conf"
check "and no rule" bash -c "! grep -q '^allreduce' predicted-set/tuner.csv"
check "a version that is none is a usage error" status 2 generate --nccl newest -o bad
finish
