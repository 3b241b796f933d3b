#!/usr/bin/env bash
# Measuring where a profile is installed already: whatever way it came, what is measured as the baseline has nothing of it,
# and what the user or the site has set stays.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/lib/tap.sh
. tests/lib/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$PWD/build/tests/doubles/lib NCCL_DOUBLE_LAW=$PWD/tests/fixtures/nccl/law.txt
export DRIVER_DOUBLE_GPUS=2 NCCL_SOCKET_IFNAME=lo HOME=$work
export NCCL_IB_SL=3 NOTES=$work/notes # the first is the user's
build/nccltune probe -o "$work/topology.json" >/dev/null 2>&1 || { not_ok "probe"; finish; }

# A profile whose settings no candidate has, and whose table no plugin takes.
profile=$work/profile
mkdir -p "$profile/nccl.d"
printf 'NCCL_IB_TC=77\nNCCL_BUFFSIZE=12345678\n' >"$profile/nccl.conf"
printf 'NCCL_IB_QPS_PER_CONNECTION=7\n' >"$profile/nccl.d/a.conf"
echo '{}' | tee "$profile/manifest.json" >"$profile/decisions.json"
echo 'allreduce,0,-1,ring,simple,1,-1,-1,-1,-1,-1,-1' >"$profile/tuner.csv"
: >"$profile/openmpi.rules"
plugin=$PWD/build/libnccl-tuner-nccltune.so
hash=$(sha256sum <"$profile/tuner.csv" | cut -d' ' -f1)

# A rank that notes its environment.
# shellcheck disable=SC2016 # expanded by the rank
printf '%s\n' '#!/bin/sh' 'env | grep -E "^(NCCL|OMPI_)" >"$NOTES/$$"' 'exec "$@"' >"$work/note"
chmod 755 "$work/note"

# measured VARIABLE=VALUE...: no rank has anything of the profile, all have what the user has set.
measured() {
    rm -rf "$NOTES" "$work/r.jsonl" && mkdir "$NOTES"
    env "$@" timeout 60 build/nccltune bench --engine nccl --topology "$work/topology.json" --launch-prefix "$work/note" \
        --collectives allreduce --sizes 64K --budget 2s -o "$work/r.jsonl" >"$work/log" 2>&1 || { tail -n 5 "$work/log"; return 1; }
    ! grep -rhE '=77$|12345678|CONNECTION=7$|NCCLTUNE_(SET|PROFILE|HASH|REFUSE|SOURCED)|NCCL_ENV_PLUGIN' "$NOTES" | sort -u | grep . || return 1
    ! grep -rL '^NCCL_IB_SL=3$' "$NOTES" | grep . || return 1
}
said() { grep -q "removed from the baseline, because nccltune installed it: .*$1" "$work/log" || { tail -n 5 "$work/log"; return 1; }; }

check "nothing is installed, nothing is said" measured NOTHING=1
check "... of it" test -z "$(grep 'removed from the baseline' "$work/log")"
check "a Slurm hook's settings" measured NCCL_IB_TC=77 NCCL_BUFFSIZE=12345678 NCCL_TUNER_PLUGIN="$plugin" \
    NCCLTUNE_PROFILE="$profile" NCCLTUNE_HASH="$hash" NCCL_ENV_PLUGIN="$plugin" \
    NCCLTUNE_SET="NCCLTUNE_JOB=7:$hash|NCCL_IB_TC=77|NCCL_BUFFSIZE=12345678|NCCL_TUNER_PLUGIN=$plugin|NCCLTUNE_PROFILE=$profile|NCCLTUNE_HASH=$hash|NCCL_ENV_PLUGIN=$plugin"
check "are said once to be left out" said "NCCL_IB_TC"
check "a hook's refusal" measured NCCLTUNE_REFUSE="a node cannot tell" NCCL_TUNER_PLUGIN="$plugin"
check "NCCL's file by a path into the profile" measured NCCL_CONF_FILE="$profile/nccl.conf" NCCL_IB_TC=77
check "the class's file by such a path" measured NCCL_CONF_FILE="$profile/nccl.d/a.conf"
check "a table by such a path" measured NCCL_TUNER_CONFIG_FILE="$profile/tuner.csv" NCCL_BUFFSIZE=12345678
printf '%s\n' 'NCCL_IB_ADAPTIVE_ROUTING=1' '# nccltune begin: written by nccltune' NCCL_IB_TC=77 \
    "NCCL_TUNER_PLUGIN=$plugin" "NCCLTUNE_PROFILE=$profile" NCCLTUNE_HASH=0123456789abcdef '# nccltune end' >"$work/.nccl.conf"
check "lines of nccltune's in NCCL's file" measured NOTHING=1
check "are said to be left out" said "nccltune's lines in $work/.nccl.conf"
sed -i '/^#/d' "$work/.nccl.conf"
copied() { ! measured NOTHING=1 && grep -q "NCCLTUNE_PROFILE=$profile of an installed profile reached NCCL" "$work/log"; }
check "lines that somebody has copied there end the measurement, by name" copied
rm "$work/.nccl.conf"

# ---- OpenMPI ----
if command -v mpirun >/dev/null; then
    # shellcheck disable=SC2016 # expanded by what it starts
    printf '%s\n' '#!/bin/sh' 'env | grep ^OMPI_MCA >"$NOTES/mpirun"' 'exec mpirun "$@"' >"$work/mpirun"
    chmod 755 "$work/mpirun"
    hosted() {
        rm -rf "$NOTES" "$work/m.jsonl" && mkdir "$NOTES"
        timeout 60 build/nccltune bench --engine mpi --topology "$work/topology.json" --mpirun "$work/mpirun" --ranks-per-node 2 \
            --collectives allreduce --sizes 4K --budget 2s -o "$work/m.jsonl" "$@" >"$work/log" 2>&1
    }
    sourced() {
        OMPI_MCA_coll_tuned_dynamic_rules_filename=$profile/openmpi.rules OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_btl_base_verbose=0 \
            NCCLTUNE_SOURCED="|OMPI_MCA_btl_tcp_if_include=lo" hosted || { tail -n 5 "$work/log"; return 1; }
        ! grep -E 'rules_filename|if_include' "$NOTES/mpirun" && grep -q '^OMPI_MCA_btl_base_verbose=0$' "$NOTES/mpirun"
    }
    check "what openmpi.sh has set goes, what the user has set stays" sourced
    remote() { ! hosted --mpirun-args "-x NCCLTUNE_SOURCED=|A=b" && grep -q "NCCLTUNE_SOURCED is set on a rank" "$work/log"; }
    check "a rank whose node sources it ends the measurement" remote
else
    skip "OpenMPI" "no mpirun"
fi
finish
