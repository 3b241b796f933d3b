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

# ---- a profile of two classes of nodes, installed -----------------------------------------------------------------------
# The first class is this machine, the second this machine without its network interfaces, as a network namespace shows
# it. Table and class files are written by hand, because rules come from measurements of NCCL alone; the manifest is made
# to fit. This host is of the first class, "other" of the second.
profile() {
    local p=$work/profile
    "$nccltune" probe -o "$work/here.json" && unshare --net "$nccltune" probe -o "$work/bare.json" || return 1
    jq -n --slurpfile a "$work/here.json" --slurpfile b "$work/bare.json" '$a[0] | del(.findings)
        | .classes += [$b[0].classes[0] + {name: "class1"}] | .hosts += [$b[0].hosts[0] + {name: "other", class: 1}]' >"$work/topology.json"
    "$nccltune" generate -q --topology "$work/topology.json" -o "$p" || return 1
    printf 'allreduce,0,-1,tree,ll128,7,2,16\nallreduce,0,-1,tree,ll128,7,1,2\n' >"$p/tuner.csv"
    mkdir -p "$p/nccl.d"
    printf '# of this class\nNCCL_IB_HCA==mlx5_0:1\nNCCL_PROTO=^LL;allreduce:simple\n' >"$p/nccl.d/class0.conf"
    printf 'NCCL_IB_HCA==mlx5_4:1,mlx5_5:1\n' >"$p/nccl.d/class1.conf"
    tests/tools/manifest "$p" nccl.d/class0.conf nccl.d/class1.conf
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

# ---- the commands of doc/CONTAINERS.md: each is run, here as it stands, or the page's table says how far it was tried ------
# page LINE: runs the commands of other schedulers' prologues, with the lists that those write.
printf '%s\n' "$(hostname)" "$(hostname)" other other >"$work/nodefile"
mkdir "$work/page"
printf '#!/bin/sh\nshift\nexec %q env --conf %q --run %q "$@"\n' "$PWD/build/nccltune-hook" "$work/slurm.conf" "$work/run" >"$work/page/nccltune-hook"
# shellcheck disable=SC2016 # expanded by what is written
printf '#!/bin/sh\ncase $1 in job) echo 12 ;; hostlist) echo %s,other ;; esac\n' "$(hostname)" >"$work/page/flux"
chmod 755 "$work/page"/*
page() {
    env -i PATH="$work/page:$PATH" PBS_JOBID=12.server PBS_NODEFILE="$work/nodefile" LSB_JOBID=12 LSB_DJOB_HOSTFILE="$work/nodefile" \
        FLUX_JOB_ID=12 bash -uc "$1 && env" | grep -e ^NCCL -e ^NCCLTUNE | sort
}
tried() { grep -q "^| $1.* | .*\(run by hand\|not run\)" doc/CONTAINERS.md; }
build/nccltune-hook env --conf "$work/slurm.conf" --run "$work/run" --job 12 --hosts "$(hostname),other" >"$work/two"
check "a job on nodes of both classes gets settings" grep -q "^export NCCL_IB_HCA='=mlx5_0:1'" "$work/two"
page "$(cat "$work/two")" >"$work/two.env"
mapfile -t lines < <(sed -n 's/^    //p' doc/CONTAINERS.md)
for line in "${lines[@]}"; do
    case $line in
    'eval '*) check "as a job of PBS, LSF or Flux gets them: $line" cmp "$work/two.env" <(page "$line") ;;
    'nccltune install-profile '*) in_package=$line ;; # below, once the packages are there
    'podman run --device nccltune.org/profile=node '*) ;; # podman_as, below
    'make image'* | 'podman import '*) check "the page says how far it was tried: $line" tried ".make image" ;;
    'docker run '* | 'apptainer exec '* | 'enroot start '* | 'srun '*) check "$line" tried "options of docker" ;;
    metadata:* | *annotations:* | *cdi-devices.* | *'- nccltune.org/profile=node') check "$line" tried containerd ;;
    *) check "a test runs: $line" false ;;
    esac
done

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
check "the plugin loads and finds its table" says "$installed/tuner.csv: 2 rules" \
    inside yes NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed"
check "and applies it" says "chosen: tree ll128 7" \
    inside yes NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed" NCCLTUNE_HASH="$table"
check "the profile is not mounted, as in a job without hooks: NCCL's own choices stay" says "own choices stay" \
    inside plugin NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed"
check "the same in a job that was promised this table: one clear sentence" says "NCCLTUNE_HASH pins table $table" \
    inside plugin NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed" NCCLTUNE_HASH="$table"
# shellcheck disable=SC2046 # words
check "the lines of nccl.conf are enough" says "chosen: tree ll128 7" inside yes $(grep -v '^#' "$work/nccl.conf")
check "as mounted by a user namespace, where host root is nobody" says "chosen: tree ll128 7" \
    unshare --user env -i NCCL_TUNER_PLUGIN="$plugin" NCCLTUNE_PROFILE="$installed" "$work/load_tuner"

# ---- files for container runtimes: what the hooks give a job of this node ----------------------------------------------
inst() { "$nccltune" install-profile "$@" --store "$store" --no-nccl-conf --plugin "$plugin"; }
# The site has a bind path of its own in apptainer.conf, and NCCL_PROTO a value that a shell would take apart.
mkdir "$work/apptainer"
printf 'bind path = /etc/localtime\n# end' >"$work/apptainer.conf"
check "Apptainer's files need its configuration" says "apptainer.conf: expected Apptainer's configuration" inst "$work/profile" --force --apptainer "$work/apptainer"
cp "$work/apptainer.conf" "$work/apptainer/"
check "a CDI spec, enroot's and Apptainer's files are written" inst "$work/profile" --force --cdi "$work/cdi" --enroot "$work/enroot" --apptainer "$work/apptainer"
jq -r '.devices[0].containerEdits.env[]' "$work/cdi/nccltune.json" | sort >"$work/cdi.env"
sort "$work/enroot/environ.d/50-nccltune.env" >"$work/enroot.env"
hook | sed -n 's/^export //p' | grep -v ^NCCLTUNE_SET= | sort >"$work/hook.env"
check "the CDI spec has the hook's settings" cmp "$work/hook.env" "$work/cdi.env"
check "and so has enroot's environ.d" cmp "$work/hook.env" "$work/enroot.env"
# shellcheck disable=SC2016 # expanded by the inner shell
check "and so has Apptainer's file, for a shell" cmp "$work/hook.env" <(env -i dash -c 'set -a && . "$1" && exec env' sh "$work/apptainer/nccltune.env" | grep -v ^PWD= | sort)
check "the spec is of version 0.5.0" test "$(jq -r '[.cdiVersion, .kind, .devices[].name] | join(" ")' "$work/cdi/nccltune.json")" = "0.5.0 nccltune.org/profile node"
check "both mount profile and plugin, read-only" test "$(jq -r '.devices[0].containerEdits.mounts[] | "\(.hostPath) \(.containerPath) \(.options[0])"' "$work/cdi/nccltune.json")" = "$installed $installed ro
$plugin $plugin ro"
check "enroot the same" test "$(awk '{print $1, $2, $3}' "$work/enroot/mounts.d/50-nccltune.fstab")" = "$installed $installed none
$plugin $plugin none"
blanks() {
    "$nccltune" install-profile "$work/profile" --force --store "$work/a store" --no-nccl-conf --plugin "$plugin" --enroot "$work/blanks" &&
        grep -qE '^/[^ ]*/a\\040store/[^ ]* /[^ ]*/a\\040store/[^ ]* none ' "$work/blanks/mounts.d/50-nccltune.fstab"
}
check "a blank in the store's path is escaped there" blanks
check "apptainer.conf binds all profiles and the plugin, behind the site's paths" test "$(sed -n 's/^bind path = //p' "$work/apptainer/apptainer.conf" | xargs)" = "/etc/localtime $(dirname "$installed") $plugin"
mapfile -t settings <"$work/cdi.env"
check "a container with these settings and mounts takes the table" says "chosen: tree ll128 7" inside yes "${settings[@]}"
inst --uninstall --cdi "$work/cdi" --enroot "$work/enroot" --apptainer "$work/apptainer" >"$work/uninstalled"
check "--uninstall removes them" test "$(find "$work/cdi" "$work/enroot" "$work/apptainer" -type f)" = "$work/apptainer/apptainer.conf"
check "and gives apptainer.conf back" cmp "$work/apptainer.conf" "$work/apptainer/apptainer.conf"

# ---- nodes of Kubernetes: examples/kubernetes/node-setup.sh, by a profile in a .tar.gz as a ConfigMap holds it -----------
tar -czf "$work/profile.tar.gz" -C "$work" profile
mkdir "$work/bin" && ln -s "$nccltune" "$work/bin/nccltune"
# setup NODE [COMMAND...]: what the DaemonSet does on this node, whose directories lie in $work/NODE.
setup() {
    local node=$work/$1
    mkdir -p "$node/features"
    env PATH="$work/bin:$PATH" NODE_NAME="$1" PROFILE="$work/profile.tar.gz" PLUGIN="$PWD/build/libnccl-tuner-nccltune.so" STORE="$node/store" \
        LIB="$node/lib" CDI="$node/cdi" FEATURES="$node/features" "${@:2}" examples/kubernetes/node-setup.sh --force
}
check "a node that was not measured joins the class that it equals" says "node-setup: node-a is of class class0" setup node-a
check "one without interfaces joins the other" says "node-setup: node-b is of class class1" setup node-b unshare --net
check "NFD makes a label of the class" grep -qx nccltune.org/class=class1 "$work/node-b/features/nccltune"
# of_node NODE: what a pod of this node gets; of_job NODE: what the Slurm hook gives a job there, from the node's own store.
of_node() { jq -r '.devices[0].containerEdits.env[]' "$work/$1/cdi/nccltune.json" | sort; }
of_job() {
    printf '%s\n' "store=$work/$1/store" "plugin=$work/$1/lib/libnccl-tuner-nccltune.so" >"$work/slurm.conf"
    build/nccltune-hook env --conf "$work/slurm.conf" --run "$work/run" --job 8 --hosts "$1" --node "$1" |
        sed -n "s/^export \\([^=]*\\)='\\(.*\\)'/\\1=\\2/p" | grep -v ^NCCLTUNE_SET= | sort
}
for node in node-a node-b; do
    of_node $node >"$work/$node.pod" && of_job $node >"$work/$node.job"
    check "a pod on $node gets what a job there gets" cmp "$work/$node.pod" "$work/$node.job"
    check "and so says NCCL's file" cmp "$work/$node.pod" <(grep -v '^#' "$work/$node/store/nccl.conf" | sort)
    check "with the table" grep -qx "NCCLTUNE_HASH=$table" "$work/$node.pod"
done
check "the HCA lists are the classes'" test "$(grep -h NCCL_IB_HCA "$work"/node-?.pod | xargs)" = "NCCL_IB_HCA==mlx5_0:1 NCCL_IB_HCA==mlx5_4:1,mlx5_5:1"
before=$(find "$work/node-a" -type f -not -name schedule -not -name '*.node' -printf '%P %i\n' | grep -v -e cdi -e features | sort)
check "a pod that starts again changes nothing" setup node-a
check "of profile, plugin and NCCL's file" test "$before" = "$(find "$work/node-a" -type f -not -name schedule -not -name '*.node' -printf '%P %i\n' | grep -v -e cdi -e features | sort)"

# ---- the same in a container of podman ---------------------------------------------------------------------------------
cp "$(command -v env)" "$root/bin/" # of the C library alone, as the loader
export DOUBLES=$PWD/build/tests/doubles/lib
check "a double of all_reduce_perf builds" cc -std=gnu11 -D_GNU_SOURCE -I. -o "$root/bin/all_reduce_perf" tests/tools/all_reduce_perf.c -L"$DOUBLES" -l:libnccl.so.2 -l:libcuda.so.1
LD_LIBRARY_PATH=$DOUBLES ldd "$root/bin/all_reduce_perf" | grep -o '/[^ ]*' | while read -r lib; do
    mkdir -p "$root$(dirname "$lib")"
    cp -nL "$lib" "$root$lib"
done
printf '%s\n' 'cell allreduce ring simple latency=30 GBps=100' 'cell allreduce tree ll128 latency=4000 GBps=100' >"$root/law"
# podman_as NODE COMMAND...: a container that asks for the node's device and has no variable of ours otherwise.
podman_as() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount bash -c '
        work=$1 root=$2 node=$3
        shift 3
        umount /sys/fs/cgroup/unified 2>/dev/null # crun 1.8 takes cgroups of one version
        mount --bind "$work/$node/cdi" /run/cdi && exec timeout -k 5 60 podman --root "$work/podman" --runroot "$work/podman-run" \
            --cgroup-manager=cgroupfs run --rm --network=none --cgroups=disabled --ulimit nofile=1024:1024 --ulimit nproc=512:512 \
            --device nccltune.org/profile=node -e DRIVER_DOUBLE_GPUS=2 -e NCCL_DOUBLE_LAW=/law -e NCCL_SOCKET_IFNAME=lo -e LD_LIBRARY_PATH="$DOUBLES" --rootfs "$root" "$@"' \
        podman "$work" "$root" "$@"
}
settings_of() { podman_as "$1" /bin/env | grep -e ^NCCL -e ^NCCLTUNE | grep -v -e ^NCCL_DOUBLE -e ^NCCL_SOCKET | sort; }
# time_of COMMAND...: of the 1 MiB AllReduce, in us.
time_of() { "$@" all_reduce_perf -b 1048576 -e 1048576 -f 2 -t 2 -n 3 -w 1 | awk '$1 == 1048576 { print int($6) }'; }
if command -v podman >/dev/null && mkdir -p /run/cdi && podman_as node-a /bin/env >"$work/podman.log" 2>&1; then
    for node in node-a node-b; do
        settings_of $node >"$work/$node.podman"
        check "podman on $node: settings, plugin and hash" cmp "$work/$node.pod" "$work/$node.podman"
        check "podman on $node: the table is applied" says "chosen: tree ll128 7" podman_as $node /bin/load_tuner
    done
    time_of podman_as node-a /bin/env NCCL_TUNER_PLUGIN=none >"$work/without"
    time_of podman_as node-a /bin/env >"$work/with"
    check "NCCL's double takes it: $(cat "$work/without") us without, $(cat "$work/with") us with this law's slow cell" \
        test "$(cat "$work/without")" -lt 1000 -a "$(cat "$work/with")" -gt 4000
else
    skip "a container of podman" "$(command -v podman >/dev/null && tail -n 1 "$work/podman.log" || echo "no podman")"
fi
rmdir /run/cdi 2>/dev/null
# shellcheck disable=SC2016 # expanded by the inner shell
check "a node of no class gets nothing" says "node-setup: node-a gets nothing" setup node-a unshare --net sh -c 'ip link add one type veth peer name two && exec "$0" "$@"'
check "and what it had is gone" test ! -e "$work/node-a/cdi/nccltune.json" -a ! -e "$work/node-a/features/nccltune" -a ! -s "$work/node-a/store/nccl.conf"

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
    (cd /run/x && $IN_PACKAGE --force)
    grep -q nccltune.org/profile /etc/cdi/nccltune.json
    grep -q ^NCCL_TUNER_PLUGIN=/usr/lib/.*/libnccl-tuner-nccltune.so /etc/nccl.conf
    nccltune doctor --node nowhere | tee /run/x/doctor || true
    grep -q "^ok: plugin:" /run/x/doctor
    grep -q "^ok: profiler:" /run/x/doctor
    grep -q "^ok: profile:" /run/x/doctor
    grep -q "for a job on nowhere: nothing: node nowhere is not in the profile" /run/x/doctor
    /usr/libexec/nccltune/prolog
    test -s /usr/share/man/man8/nccltune-hook.8.gz
    nccltune install-profile --uninstall --purge --force --cdi /etc/cdi # Slurm is here, and does not answer
    dpkg -P nccltune nccltune-node'
IN_PACKAGE=$in_package throwaway "$use" >"$work/package.log" 2>&1
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
