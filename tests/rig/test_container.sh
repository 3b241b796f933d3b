#!/usr/bin/env bash
# Delivery into containers and packages: a root directory with the C library and nothing else, into which profile and
# plugin are mounted as install-profile says; and the Debian packages in a throw-away copy of this machine's root.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
[ "$(id -u)" = 0 ] || cannot_start container "needs root"
work=$(mktemp -d /run/nccltune-container-XXXXXX)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
unshare --mount true 2>"$work/unshare" || cannot_start container "$(cat "$work/unshare")"

nccltune=$PWD/build/nccltune plugin=$work/lib/libnccl-tuner-nccltune.so store=$work/store
mkdir "$work/lib" && cp build/libnccl-tuner-nccltune.so "$plugin"
says() { # says TEXT COMMAND...
    local text=$1 out
    shift
    out=$("$@" 2>&1)
    [[ $out == *"$text"* ]] || { echo "'$text' is missing in: $out"; return 1; }
}

# ---- a profile with one rule, installed --------------------------------------------------------------------------------
# Table and class file are written by hand, because rules come from measurements of NCCL alone; the manifest is made to
# fit. This host is the profile's only one.
profile() {
    local p=$work/profile
    sed 's/"name":[[:space:]]*"[^"]*",\([[:space:]]*"class":\)/"name": "'"$(hostname)"'",\1/' tests/fixtures/envgen/topology.json >"$work/topology.json"
    "$nccltune" generate -q --topology "$work/topology.json" -o "$p" || return 1
    printf 'allreduce,0,-1,tree,ll128,7,2,16\n' >"$p/tuner.csv"
    mkdir -p "$p/nccl.d"
    printf '# of this class\nNCCL_IB_HCA==mlx5_0:1\n' >"$p/nccl.d/class0.conf"
    tests/tools/manifest "$p" nccl.d/class0.conf
}
check "a profile is made" profile
check "and installed" "$nccltune" install-profile "$work/profile" --force --no-hooks --store "$store" --nccl-conf "$work/nccl.conf" --plugin "$plugin"
installed=$(readlink -f "$store/current")
check "NCCL's file has the settings of this node's class" grep -qx "NCCL_IB_HCA==mlx5_0:1" "$work/nccl.conf"
printf '%s\n' "store=$store" "plugin=$plugin" >"$work/slurm.conf"
hook() {
    export SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURMD_NODENAME SLURM_JOB_NODELIST SLURM_JOB_START_TIME
    SLURMD_NODENAME=$(hostname) SLURM_JOB_NODELIST=$(hostname) SLURM_JOB_START_TIME=$(date +%s)
    build/nccltune-hook prolog --conf "$work/slurm.conf" --run "$work/run" && build/nccltune-hook task-prolog --run "$work/run"
}
check "and the hook, from what install-profile wrote" says "export NCCL_IB_HCA==mlx5_0:1" hook
check "with the table" says "export NCCLTUNE_HASH=$(sha256sum <"$work/profile/tuner.csv" | cut -d' ' -f1)" hook

# ---- a container with nothing but the C library -------------------------------------------------------------------------
check "the loader builds" cc -std=gnu11 -D_GNU_SOURCE -I. -o "$work/load_tuner" tests/tools/load_tuner.c core/coll.c -ldl
root=$work/root
mkdir -p "$root/bin"
cp "$work/load_tuner" "$root/bin/"
ldd "$work/load_tuner" | grep -o '/[^ ]*' | while read -r lib; do
    mkdir -p "$root$(dirname "$lib")"
    cp -L "$lib" "$root$lib"
done
# inside MOUNTS VARIABLE...: the loader in the container, as a user who is not root; the profile is there when MOUNTS is yes.
inside() {
    local mounts=$1
    shift
    mkdir -p "$root$installed" "$root$(dirname "$plugin")"
    touch "$root$plugin"
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount bash -c '
        root=$1 plugin=$2 profile=$3 mounts=$4
        shift 4
        mount --bind "$plugin" "$root$plugin" && mount -o remount,bind,ro "$root$plugin"
        if [ "$mounts" = yes ]; then mount --bind "$profile" "$root$profile" && mount -o remount,bind,ro "$root$profile"; fi
        exec env -i "PATH=$PATH" "$@" chroot --userspec=65534:65534 "$root" /bin/load_tuner' \
        inside "$root" "$plugin" "$installed" "$mounts" "$@"
}
table=$(sha256sum <"$work/profile/tuner.csv" | cut -d' ' -f1)
check "the plugin loads and finds its table" says "$installed/tuner.csv: 1 rule" \
    inside yes NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed"
check "and applies it" says "chosen: tree ll128 7" \
    inside yes NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed" NCCLTUNE_HASH="$table"
check "the profile is not mounted, as in a job without hooks: NCCL's own choices stay" says "own choices stay" \
    inside plugin NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed"
check "the same in a job that was promised this table: one clear sentence" says "NCCLTUNE_HASH asks for table $table" \
    inside plugin NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed" NCCLTUNE_HASH="$table"
# shellcheck disable=SC2046 # words
check "the lines of nccl.conf are enough" says "chosen: tree ll128 7" inside yes $(grep -v '^#' "$work/nccl.conf")
check "as mounted by a user namespace, where host root is nobody" says "chosen: tree ll128 7" \
    unshare --user env -i NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed" "$work/load_tuner"

# ---- files for container runtimes: what the hooks give a job of this node ----------------------------------------------
inst() { "$nccltune" install-profile "$@" --store "$store" --no-nccl-conf --plugin "$plugin"; }
check "a CDI spec and enroot's files are written" inst "$work/profile" --force --cdi "$work/cdi" --enroot "$work/enroot"
jq -r '.devices[0].containerEdits.env[]' "$work/cdi/nccltune.json" | sort >"$work/cdi.env"
sort "$work/enroot/environ.d/50-nccltune.env" >"$work/enroot.env"
hook | sed -n 's/^export //p' | grep -v ^NCCLTUNE_SET= | sort >"$work/hook.env"
check "the CDI spec has the hook's settings" cmp "$work/hook.env" "$work/cdi.env"
check "and so has enroot's environ.d" cmp "$work/hook.env" "$work/enroot.env"
check "the spec is of version 0.5.0" test "$(jq -r '[.cdiVersion, .kind, .devices[].name] | join(" ")' "$work/cdi/nccltune.json")" = "0.5.0 nccltune.org/profile node"
check "both mount profile and plugin, read-only" test "$(jq -r '.devices[0].containerEdits.mounts[] | "\(.hostPath) \(.containerPath) \(.options[0])"' "$work/cdi/nccltune.json")" = "$installed $installed ro
$plugin $plugin ro"
check "enroot the same" test "$(awk '{print $1, $2, $3}' "$work/enroot/mounts.d/50-nccltune.fstab")" = "$installed $installed none
$plugin $plugin none"
mapfile -t settings <"$work/cdi.env"
check "a container with these settings and mounts takes the table" says "chosen: tree ll128 7" inside yes "${settings[@]}"
inst --uninstall --cdi "$work/cdi" --enroot "$work/enroot" >"$work/uninstalled"
check "--uninstall removes them" test -z "$(find "$work/cdi" "$work/enroot" -type f)"

# ---- the packages ------------------------------------------------------------------------------------------------------
if ! tools/deps deb >"$work/deps" 2>&1; then
    skip "the Debian packages" "$(head -n 1 "$work/deps")"
    finish
fi
check "make deb" env DEBFULLNAME="nccltune test" DEBEMAIL=test@example.org make --no-print-directory -s deb
mapfile -t debs < <(find build -maxdepth 1 -name 'nccltune*.deb' -not -name '*dbgsym*' -newer "$work/load_tuner")
check "makes two packages" test ${#debs[@]} = 2
if command -v lintian >/dev/null; then
    check "lintian finds no error" lintian --allow-root --fail-on error "${debs[@]}"
else
    skip "lintian finds no error" "no lintian"
fi
# throwaway SCRIPT: in a copy of this machine's root whose changes go to $work/upper.
throwaway() {
    mkdir -p "$work/layers" "$work/merged"
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount bash -c '
        work=$1 here=$PWD
        mount -t tmpfs layers "$work/layers" && mkdir "$work/layers/upper" "$work/layers/work"
        mount -t overlay overlay -o "lowerdir=/,upperdir=$work/layers/upper,workdir=$work/layers/work" "$work/merged" || exit 77
        mount -t proc proc "$work/merged/proc" && mount --rbind /dev "$work/merged/dev" || exit 77
        mount -t tmpfs run "$work/merged/run" && mkdir "$work/merged/run/x" || exit 77
        cp -r "$2" "$work/merged/run/x/profile" && script=$3
        shift 3
        cp "$@" "$work/merged/run/x/" && chroot "$work/merged" /bin/bash -eu -c "$script" && cd "$work/layers/upper" && find . -name "*nccl*" -not -type c' \
        throwaway "$work" "$work/profile" "$1" "${debs[@]}"
}
# shellcheck disable=SC2016
use='
    export PATH=/usr/sbin:/usr/bin:/sbin:/bin
    dpkg --force-unsafe-io -i /run/x/*.deb
    nccltune --version
    nccltune install-profile /run/x/profile --force --no-hooks
    grep -q ^NCCL_TUNER_PLUGIN=/usr/lib/.*/libnccl-tuner-nccltune.so /etc/nccl.conf
    nccltune doctor --node nowhere | tee /run/x/doctor || true
    grep -q "^ok: plugin:" /run/x/doctor
    grep -q "^ok: profiler:" /run/x/doctor
    grep -q "^ok: profile:" /run/x/doctor
    grep -q "for a job on nowhere: nothing: node nowhere is not in the profile" /run/x/doctor
    /usr/libexec/nccltune/prolog
    test -s /usr/share/man/man8/nccltune-hook.8.gz
    nccltune install-profile --uninstall --purge --force # Slurm is here, and does not answer
    dpkg -P nccltune nccltune-node'
throwaway "$use" >"$work/package.log" 2>&1
code=$?
if [ $code = 77 ]; then
    skip "the packages are installed, used and removed" "no overlay: $(tail -n 1 "$work/package.log")"
    finish
fi
check "the packages are installed, used and removed" test $code = 0
# dpkg's lists of its database before and after are not files of the package's.
left=$(sed -n '/^\.\//p' "$work/package.log")
check "and leaves nothing behind: $left" test -z "$left"
[ $code = 0 ] || note "$work/package.log"
finish
