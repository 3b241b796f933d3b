#!/usr/bin/env bash
# What two users without rights try against root and against each other, as SECURITY.md lists it: planted modes, links and
# FIFOs, files exchanged underway, forged profiles, floods, taken names, oversized documents. Every line is an attack that
# once worked or that would work without a check. NCCLTUNE_BUILD names another build to try them on.
# shellcheck disable=SC2086,SC2012,SC2206,SC2317,SC1007 # no blanks in these; functions are called by name
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
[ "$(id -u)" = 0 ] || cannot_start attack "needs root"
for program in setpriv python3 gcc jq; do
    command -v $program >/dev/null || cannot_start attack "no $program"
done

P=${NCCLTUNE_BUILD:-$PWD/build}
work=$(mktemp -d /tmp/nccltune-attack-XXXXXX)
chmod 755 "$work"
mallory=65534 alice=65533
end() {
    rm -rf "$work" "/run/nccltune-attack-$$"
}
trap end EXIT
as() { # as UID COMMAND...
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

shared=$work/shared # like /tmp
open=$work/open     # a directory of a group, where everybody can write
own=$work/mallory   # mallory's own
root=$work/root     # root's own, closed
mkdir -m 1777 "$shared"
mkdir -m 777 "$open"
mkdir -m 755 "$own"
chown "$mallory" "$own"
mkdir -m 700 "$root"
umask 022
echo "# fs.protected_symlinks=$(cat /proc/sys/fs/protected_symlinks)"

# fresh PROFILE: a copy of the example that mallory owns.
fresh() {
    rm -rf "${own:?}/$1"
    cp -r examples/profile "$own/$1" && chown -R "$mallory" "$own/$1" && chmod -R u+w "$own/$1"
}
# forge_manifest DIRECTORY [FILE LINE...]: adds lines to a file, and makes the manifest fit.
forge_manifest() {
    python3 - "$@" <<'PY'
import hashlib, json, os, sys
profile, *more = sys.argv[1:]
m = json.load(open(profile + "/manifest.json"))
if more:
    path = os.path.join(profile, more[0])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as f:
        f.write("".join(line + "\n" for line in more[1:]))
    m["files"] = [f for f in m["files"] if f["name"] != more[0]] + [{"name": more[0]}]
for f in m["files"]:
    data = open(os.path.join(profile, f["name"]), "rb").read()
    f["sha256"], f["bytes"] = hashlib.sha256(data).hexdigest(), len(data)
m["files"].sort(key=lambda f: f["name"])
m["hash"] = hashlib.sha256("".join(f"{f['sha256']}  {f['name']}\n" for f in m["files"]).encode()).hexdigest()
json.dump(m, open(profile + "/manifest.json", "w"))
PY
}
# forge PROFILE FILE LINE...: the example with lines added to a file, mallory's.
forge() {
    fresh "$1"
    forge_manifest "$own/$1" "${@:2}"
    chown -R "$mallory" "${own:?}/$1"
}
secret() { echo "root's own" >"$root/secret" && chmod 600 "$root/secret"; }
is_secret() { [ "$(cat "$root/secret")" = "root's own" ] && [ "$(stat -c %a "$root/secret")" = 600 ]; }
# plain FILE: nobody but root can write it or become anything by it.
plain() { [ "$(stat -c '%u %a' "$1")" = "0 644" ]; }

# ---- what root writes ------------------------------------------------------------------------------------------------
writes_over() { # MODE COMMAND...: mallory makes the name first
    local mode=$1
    shift
    rm -f "$shared/f"
    as $mallory sh -c "echo x >'$shared/f'; chmod $mode '$shared/f'"
    "$@" "$shared/f" >/dev/null 2>&1
    plain "$shared/f"
}
probe() { timeout 20 "$P/nccltune" probe --machine dgx-h100 -o "$1"; }
report() { timeout 20 "$P/nccltune" report examples/profile -o "$1"; }
for mode in 6777 0666; do
    check "probe -o over a file of mode $mode that a user made" writes_over $mode probe
    check "report -o over a file of mode $mode that a user made" writes_over $mode report
done

through_link() { # DIRECTORY COMMAND: the name is mallory's link to a file of root's
    secret
    rm -f "$1/link"
    as $mallory ln -s "$root/secret" "$1/link"
    "$2" "$1/link" >/dev/null 2>&1
    is_secret
}
for dir in "$shared" "$open" "$own"; do
    check "probe -o through a user's link in ${dir##*/}" through_link "$dir" probe
done
through_directory() { # a directory of the path is mallory's link
    rm -rf "$root/d" "$own/way"
    mkdir "$root/d"
    as $mallory ln -s "$root/d" "$own/way"
    "$1" "$own/way/f" >/dev/null 2>&1
    [ -z "$(ls -A "$root/d")" ]
}
check "probe -o through a user's link to a directory" through_directory probe
journal() { timeout 20 "$P/nccltune" bench --engine model --machine dgx-h100 -o "$1"; }
journal_through_link() {
    rm -f "$root/new" "$own/j"
    as $mallory ln -s "$root/new" "$own/j"
    journal "$own/j" >/dev/null 2>&1
    [ ! -e "$root/new" ]
}
check "a journal through a user's link" journal_through_link
journal_of_others() {
    rm -f "$shared/j"
    as $mallory sh -c "touch '$shared/j'; chmod 666 '$shared/j'"
    journal "$shared/j" >/dev/null 2>&1
    [ ! -s "$shared/j" ]
}
check "root adds nothing to a journal that somebody else can change" journal_of_others
default_report() {
    secret
    fresh p
    as $mallory ln -sf "$root/secret" "$own/p/report.html"
    timeout 20 "$P/nccltune" report "$own/p" >/dev/null 2>&1
    is_secret
}
check "report DIR where DIR/report.html is a user's link" default_report
group_of_theirs() { # a directory that gives new files mallory's group, and a umask that lets groups write
    local dir=$work/setgid
    rm -rf "$dir" && mkdir "$dir" && chown "$mallory:$mallory" "$dir" && chmod 2775 "$dir"
    (umask 002 && probe "$dir/f" && journal "$dir/j" &&
        timeout 20 "$P/nccltune" generate -t examples/profile/topology.json -o "$dir/made/p") >/dev/null 2>&1
    [ -s "$dir/f" ] && [ -s "$dir/j" ] && [ -s "$dir/made/p/manifest.json" ] && [ -z "$(find "$dir" -mindepth 1 -perm /022)" ]
}
check "umask 002 in a directory that hands on a user's group" group_of_theirs
replaced_profile() { # the profile that is replaced says which files go, and its directory is a link by then
    rm -rf "$root/d" && mkdir "$root/d" && echo x >"$root/d/victim.conf"
    forge p nccl.d/victim.conf NCCL_ALGO=ring
    rm -rf "${own:?}/p/nccl.d" && as $mallory ln -s "$root/d" "$own/p/nccl.d"
    timeout 20 "$P/nccltune" generate -t examples/profile/topology.json --force -o "$own/p" >/dev/null 2>&1
    [ -s "$root/d/victim.conf" ]
}
check "generate --force removes nothing that a link of the replaced profile leads to" replaced_profile
# shellcheck disable=SC2016 # text of a file
our_lines() { printf '%s\n' '# nccltune begin: written by `nccltune install-profile`, removed by its --uninstall' "$@" '# nccltune end'; }
removed_conf() { # the file of NCCL's that --uninstall empties and removes is in a directory that is a link by then
    rm -rf "$root/d" "${own:?}/etc" && mkdir "$root/d" && as $mallory ln -s "$root/d" "$own/etc"
    our_lines NCCL_IB_TC=106 >"$root/d/nccl.conf"
    "$P/nccltune" install-profile --uninstall --store "$root/store" --nccl-conf "$own/etc/nccl.conf" >/dev/null 2>&1
    [ -s "$root/d/nccl.conf" ]
}
check "--uninstall with NCCL's file through a user's link" removed_conf
journal_moved_in() { # mallory can take away the second name of a file at any moment
    rm -f "$own/empty"
    : >"$own/empty"
    journal "$own/empty" >/dev/null 2>&1
    [ ! -s "$own/empty" ]
}
check "root adds nothing to a file that it finds where others can exchange names" journal_moved_in
keeps_working() {
    local f=$root/out/topo.json
    mkdir -p "$root/out" && ln -sfn out "$root/link"
    probe "$root/link/topo.json" && chmod 640 "$f" && probe "$root/link/topo.json" && [ "$(stat -c %a "$f")" = 640 ] || return 1
    probe "$open/new.json" && plain "$open/new.json" || return 1
    report /dev/stdout | grep -q '</html>' || return 1
    journal "$root/j" >/dev/null && [ -s "$root/j" ] || return 1
    as $alice sh -c "mkdir -m 700 '$shared/alice'; '$P/nccltune' probe --machine dgx-h100 -o '$shared/alice/f'"
}
check "root's own links, modes and devices, and new files where others can write" keeps_working

# ---- what root reads -------------------------------------------------------------------------------------------------
no_hang() { timeout 5 "$@" >/dev/null 2>&1 </dev/null; [ $? != 124 ]; }
mkdir "$own/captured" && chown "$mallory" "$own/captured"
as $mallory mkfifo "$own/captured/topology.json" "$own/captured/job.log" "$own/captured/1.rank.0.json"
check "a FIFO where a document should be: probe --from" no_hang "$P/nccltune" probe --from "$own/captured/topology.json"
check "... diagnose FILE" no_hang "$P/nccltune" diagnose "$own/captured/job.log"
check "... diagnose DIR" no_hang "$P/nccltune" diagnose "$own/captured"
check "... drift DIR" no_hang "$P/nccltune" drift "$own/captured"
fifo_in_sysroot() {
    mkdir -p "$own/sysroot/sys/class/dmi/id" "$own/sysroot/proc" && chown -R "$mallory" "$own/sysroot"
    as $mallory mkfifo "$own/sysroot/sys/class/dmi/id/product_name" "$own/sysroot/proc/cpuinfo" 2>/dev/null
    no_hang "$P/nccltune" probe --sysroot "$own/sysroot"
}
check "... in a copied tree of /sys" fifo_in_sysroot
fifo_in_profile() {
    fresh p
    as $mallory sh -c "rm '$own/p/nccl.conf'; mkfifo '$own/p/nccl.conf'"
    no_hang "$P/nccltune" report "$own/p" && no_hang "$P/nccltune" install-profile "$own/p" --store "$root/store" --no-nccl-conf
}
check "... in a profile: report, install-profile" fifo_in_profile
# ---- what root installs ----------------------------------------------------------------------------------------------
site=/run/nccltune-attack-$$ # what hooks believe
mkdir -m 755 "$site"
store=$root/store
install_profile() { without_hooks timeout 20 "$P/nccltune" install-profile --delay 1m "$@" --store "$store"; }
profiles_in() { find "$1/profiles" -mindepth 1 -maxdepth 1 -type d -printf '%f\n'; } # STORE
refused() { # FILE NEEDLE LINE...: install-profile names FILE, nothing is in the store, nothing in NCCL's file
    rm -rf "$store" "$root/nccl.conf"
    forge evil "$1" "${@:3}" || return 1
    local said
    said=$(install_profile "$own/evil" --delay 2s --no-hooks --nccl-conf "$root/nccl.conf" --plugin "$P/libnccl-tuner-nccltune.so")
    [[ $said == *"$1"* && $said == *"$2"* ]] || { echo "said: $said" && return 1; }
    [ -z "$(ls -A "$store/profiles" 2>/dev/null)" ] && [ ! -e "$root/nccl.conf" ]
}
check "a forged nccl.conf that loads a network plugin" refused nccl.conf "loads code" NCCL_NET_PLUGIN="$own/x.so"
check "... that preloads a library" refused nccl.conf LD_PRELOAD LD_PRELOAD="$own/x.so"
check "... that writes a file of root's" refused nccl.conf "names a file" NCCL_DEBUG_FILE=/root/x
check "... that sends jobs elsewhere" refused nccl.conf NCCL_COMM_ID NCCL_COMM_ID=10.0.0.1:1
check "... that has jobs read a file of a user's" refused nccl.conf "names a file" NCCL_TOPO_FILE="$own/x.xml"
check "... that has jobs listen to the network" refused nccl.conf NCCL_RAS_ADDR NCCL_RAS_ADDR=0.0.0.0:28028
check "a forged file of a class of nodes" refused nccl.d/x.conf "loads code" NCCL_TUNER_PLUGIN="$own/x.so"
check "a forged nccl.sh" refused nccl.sh "not a line" 'touch /tmp/owned'
check "a forged openmpi.sh with a parameter that names a program" refused openmpi.sh OMPI_MCA_plm_rsh_agent \
    "    export OMPI_MCA_plm_rsh_agent='id'"
check "a forged openmpi-mca-params.conf" refused openmpi-mca-params.conf mca_base_component_path 'mca_base_component_path = /tmp'
check "a forged env-file of containers" refused nccl.docker.env LD_PRELOAD LD_PRELOAD="$own/x.so"
check "a forged ConfigMap" refused nccl.configmap.yaml LD_PRELOAD '  LD_PRELOAD: "/tmp/x.so"'
check "... behind what YAML takes for a line's end" refused nccl.configmap.yaml "not a line" $'# x\u0085  LD_PRELOAD: "/tmp/x.so"'
check "a forged module of Lmod, within a comment of several lines" refused nccl.lua "not a line" '--[[' ']] os.execute("id")'
check "a forged file of another kind" refused hook.sh "not a file" 'id'
what_we_write() {
    rm -rf "$store" "$work"/all*
    "$P/nccltune" probe --machine mi250x --nodes 4 -o "$work/ex.json" >/dev/null
    "$P/nccltune" generate -t "$work/ex.json" -o "$work/all1" >/dev/null || return 1
    "$P/nccltune" generate -t examples/profile/topology.json --results examples/profile/results.jsonl \
        --fabric examples/profile/fabric.json --margin 4% -o "$work/all2" >/dev/null || return 1
    grep -q "^export\|^    export" "$work"/all1/nccl.sh || return 1
    install_profile "$work/all1" --force --no-nccl-conf >/dev/null && install_profile "$work/all2" --no-nccl-conf >/dev/null &&
        install_profile examples/profile --no-nccl-conf >/dev/null && [ "$(profiles_in "$store" | wc -l)" = 3 ]
}
check "what nccltune writes itself is installed" what_we_write

# What a job in a container gets of a profile that never was in a store: NCCL's environment interface, the same list.
cat >"$work/ask.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
struct env_v1 {
    const char *name;
    int (*init)(unsigned char, unsigned char, unsigned char, const char *);
    int (*finalize)(void);
    const char *(*get_env)(const char *);
};
int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW);
    struct env_v1 *env = library ? dlsym(library, "ncclEnvPlugin_v1") : NULL;
    if (!env || env->init(2, 28, 7, ""))
        return 2;
    for (int i = 2; i < argc; i++) {
        const char *value = env->get_env(argv[i]);
        printf("%s=%s\n", argv[i], value ? value : "(unset)");
    }
    return 0;
}
C
gcc -o "$work/ask" "$work/ask.c" -ldl || not_ok "ask.c"
in_container() {
    local names=(NCCL_IBVERBS_LIB NCCL_COMM_ID NCCL_RAS_ADDR NCCL_TOPO_FILE NCCL_PROXY_PROFILE NCCL_NOT_KNOWN) name said
    fresh evil
    for name in "${names[@]}"; do echo "$name=$own/x"; done >>"$own/evil/nccl.conf"
    echo "NCCL_IB_TC=106" >>"$own/evil/nccl.conf"
    said=$(NCCLTUNE_PROFILE=$own/evil "$work/ask" "$P/libnccl-tuner-nccltune.so" "${names[@]}" NCCL_IB_TC)
    [ "$(grep -c "(unset)" <<<"$said")" = ${#names[@]} ] && grep -qx NCCL_IB_TC=106 <<<"$said"
}
check "a forged nccl.conf in a container" in_container

# swap PROFILE FILE TARGET: mallory exchanges FILE for a link as soon as root has opened topology.json OPENED times.
cat >"$work/swap.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>
int main(int argc, char **argv) /* WATCHED OPENED FILE LINK */
{
    char events[4096], *at;
    int fd = inotify_init(), left = atoi(argv[2]);
    if (argc != 5 || inotify_add_watch(fd, argv[1], IN_OPEN) < 0 || puts("ready") < 0 || fflush(stdout))
        return 1;
    while (left > 0) {
        ssize_t n = read(fd, events, sizeof events);
        for (at = events; at < events + n; at += sizeof(struct inotify_event) + ((struct inotify_event *)at)->len)
            left--;
    }
    return rename(argv[4], argv[3]) != 0;
}
C
gcc -o "$work/swap" "$work/swap.c" || not_ok "swap.c"
swapped() { # FILE OPENED: nothing of root's secret comes out
    secret
    fresh p
    rm -rf "$store"
    as $mallory ln -s "$root/secret" "$own/p.link"
    rm -f "$work/ready"
    setpriv --reuid $mallory --clear-groups "$work/swap" "$own/p/topology.json" "$2" "$own/p/$1" "$own/p.link" >"$work/ready" 2>&1 &
    local pid=$!
    while [ ! -s "$work/ready" ]; do sleep 0.01; done
    install_profile "$own/p" --no-nccl-conf >/dev/null
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    ! grep -rqs "root's own" "$store"
}
for opened in 1 2 3 4; do
    check "nccl.conf exchanged for a link while root installs ($opened)" swapped nccl.conf $opened
done
private_copy() { # the copy can be reached by nobody else while it is made, and SIGTERM leaves nothing
    rm -rf "$work/s" && mkdir -m 755 "$work/s"
    fresh p
    head -c 60000000 /dev/zero | tr '\0' '\n' >>"$own/p/results.jsonl"
    forge_manifest "$own/p"
    "$P/nccltune" install-profile "$own/p" --store "$work/s" --no-nccl-conf --delay 1m >/dev/null 2>&1 &
    local pid=$! mode= n=0
    while kill -0 $pid 2>/dev/null && [ -z "$mode" ] && [ $n -lt 400 ]; do
        mode=$(stat -c %a "$work"/s/profiles/.new* 2>/dev/null)
        n=$((n + 1))
    done
    kill -TERM $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ "$mode" = 700 ] && [ -z "$(find "$work/s/profiles" -name '.new*')" ]
}
check "the copy is root's alone while it is made, and SIGTERM leaves none of it" private_copy
left_behind() { ls -d /tmp/nccltune-bundle-* /tmp/nccltune-serve-* 2>/dev/null; }
ended() { # INPUT COMMAND...: told to end as soon as its temporary directory is there
    local pid n=0
    [ -z "$(left_behind)" ] || return 1
    "${@:2}" <"$1" >/dev/null 2>&1 &
    pid=$!
    while [ -z "$(left_behind)" ] && kill -0 $pid 2>/dev/null && [ $n -lt 1000 ]; do
        n=$((n + 1))
        sleep 0.01
    done
    [ -n "$(left_behind)" ] || return 1
    kill -TERM $pid
    wait $pid
    [ -z "$(left_behind)" ]
}
ended_stage() {
    fresh p
    head -c 30000000 /dev/zero | tr '\0' '\n' >>"$own/p/results.jsonl"
    forge_manifest "$own/p"
    python3 - "$own/p" >"$root/bundle" <<'PY'
import json, sys
names = [f["name"] for f in json.load(open(sys.argv[1] + "/manifest.json"))["files"]] + ["manifest.json"]
sys.stdout.buffer.write(b"nccltune-bundle/1\n")
for name in names:
    data = open(f"{sys.argv[1]}/{name}", "rb").read()
    sys.stdout.buffer.write(f"{name} {len(data)}\n".encode() + data)
PY
    "$P/nccltune" install-profile --stage --store "$root/staged" - <"$root/bundle" >/dev/null && [ -z "$(left_behind)" ] &&
        ended "$root/bundle" "$P/nccltune" install-profile --stage --store "$root/staged2" -
}
ended_serve() {
    printf '#!/bin/sh\nexec sleep 3\n' >"$root/agent" && chmod 755 "$root/agent"
    rm -rf "$store"
    install_profile examples/profile --no-nccl-conf >/dev/null &&
        ended /dev/null "$P/nccltune" install-profile --serve n9 --ssh "$root/agent" --store "$store" --no-nccl-conf
}
check "SIGTERM leaves no directory: install-profile --stage -" ended_stage
check "... --serve" ended_serve
ended_writing() { # COMMAND...: told to end as soon as a temporary file is below $root/ended, where it writes
    python3 - "$root/ended" "$@" <<'PY'
import os, shutil, subprocess, sys
def temporary():
    return [f for _, dirs, files in os.walk(sys.argv[1]) for f in dirs + files if ".tmp" in f or ".new" in f]
for _ in range(20):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    os.mkdir(sys.argv[1])
    child, seen = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), []
    while child.poll() is None and not seen:
        seen = temporary()
    child.terminate()
    child.wait()
    if seen:
        sys.exit(temporary() != [])
sys.exit(1)
PY
}
check "... tune" ended_writing "$P/nccltune" tune --engine model --machine dgx-h100 -o "$root/ended/p"
check "... report" ended_writing "$P/nccltune" report examples/profile -o "$root/ended/f"
check "... probe" ended_writing "$P/nccltune" probe --machine dgx-h100 -o "$root/ended/f"
exchanged_store() { # others can rename the store, or write into it
    local place
    rm -rf "${open:?}/store" "$work/theirs" && mkdir -m 775 "$work/theirs" && chgrp "$mallory" "$work/theirs"
    for place in "$open/store" "$work/theirs" "$own/store"; do
        timeout 20 "$P/nccltune" install-profile examples/profile --delay 2s --no-hooks --store "$place" \
            --nccl-conf "$root/nccl.conf" 2>&1 | grep -q "others can write\|belongs to user" || return 1
        [ -z "$(ls -A "$place" 2>/dev/null)" ] || return 1
    done
}
check "a store that others can exchange or write" exchanged_store
evil_library() { # root, too, loads the plugin that NCCL's file names
    echo "extern int creat(const char *, unsigned); __attribute__((constructor)) static void f(void) { creat(\"$root/owned\", 0600); }" |
        gcc -shared -fPIC -o "$own/evil.so" -xc -
    rm -rf "$root/owned" "$store"
    our_lines "NCCL_TUNER_PLUGIN=$own/evil.so" >"$own/nccl.conf" && chown "$mallory" "$own/nccl.conf"
    install_profile examples/profile --no-hooks --nccl-conf "$own/nccl.conf" --delay 2s
    [ ! -e "$root/owned" ] && [ -d "$store/profiles" ]
}
check "root loads no library that a file of a user's names" evil_library
looks_like_ours() { # somebody else's tuner in a directory of our name: it is not the one that applies a profile
    mkdir -p "$root/nccltune-site" && gcc -shared -fPIC -o "$root/nccltune-site/libvendor.so" -xc - </dev/null
    printf 'export %s\n' NCCLTUNE_PROFILE=/p "NCCL_TUNER_PLUGIN=$root/nccltune-site/libvendor.so" >"$root/job.sh"
    "$P/nccltune" lint "$root/job.sh" | grep -q "this is not nccltune's"
}
check "another tuner in a directory of our name is not taken for ours" looks_like_ours
cheap() { # COMMAND...: ends within 200 MB and 10 s of CPU
    local peak
    peak=$(python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss // 1024 if used.ru_utime < 10 else 1000000)' "$@") || return 1
    [ "$peak" -le 200 ] || { echo "$peak MB" && return 1; }
}
# ---- schedules -------------------------------------------------------------------------------------------------------
printf '%s\n' "store=$site/store" "plugin=$site/plugin.so" policy=fail >"$site/slurm.conf"
on_site() { without_hooks timeout 20 "$P/nccltune" install-profile examples/profile --store "$site/store" --no-nccl-conf --delay 1m "$@"; }
hook_knows() { SLURMD_NODENAME=n1 "$P/nccltune-hook" check --conf "$site/slurm.conf" --sysfs "$work" | grep -q "^nothing: \|^profile "; }
long_list() { python3 -c "print(','.join('node%d-%s' % (i * 37, 'x' * 9) for i in range($1, $1 + 1000)))"; }
outgrown() {
    local i said=
    rm -rf "$site/store"
    for i in $(seq 30); do said=$(on_site --jobs-on "$(long_list "$i")") || break; done
    hook_knows || return 1
    [[ $said == *"hooks read no more than"* ]] || return 1
    "$P/nccltune" doctor --store "$site/store" 2>&1 | grep -q "bytes that hooks read"
}
check "a schedule that grows is refused before the hooks refuse it, and the doctor warns" outgrown
superseded() { # eight thousand earlier lines for all jobs, a day apart
    rm -rf "$site/store"
    on_site >/dev/null || return 1
    local hash
    hash=$(profiles_in "$site/store")
    python3 -c "for i in range(3000): print(1000000000 + i, '$hash', 'all')" >"$site/store/schedule"
    on_site >/dev/null && on_site --previous >/dev/null 2>&1
    hook_knows && [ "$(wc -c <"$site/store/schedule")" -lt 1000 ]
}
check "lines of the schedule that decide for no job any more go" superseded
crowded() { # as many lines, each of a partition of its own, as hooks read
    rm -rf "$site/store"
    on_site >/dev/null || return 1
    python3 -c "for i in range(10000): print(1000000000 + i, 'none', 'partition=p%d' % i)" >"$site/store/schedule"
    cheap "$P/nccltune" install-profile examples/profile --store "$site/store" --no-nccl-conf --delay 2s
}
at_once() { # installs that run at the same moment
    local i
    rm -rf "$site/store"
    on_site >/dev/null || return 1
    for i in $(seq 12); do on_site --partition "p$i" >/dev/null & done
    wait
    [ "$(grep -c partition=p "$site/store/schedule")" = 12 ] && on_site --partition last >/dev/null
}
many_classes() { # refused before anything is measured
    python3 - "$work/many.json" <<'PY'
import copy, json, sys
t = json.load(open("examples/profile/topology.json"))
c, h = t["classes"][0], t["hosts"][0]
t["classes"] = [dict(copy.deepcopy(c), name=f"c{i}") for i in range(65)]
t["hosts"] = [dict(copy.deepcopy(h), name=f"n{i}", **{"class": i}) for i in range(65)]
json.dump(t, open(sys.argv[1], "w"))
PY
    timeout 20 "$P/nccltune" tune --topology "$work/many.json" -o "$work/many" 2>&1 | grep -q "of 65 kinds"
}
check "twelve installs at the same moment: no line of the schedule is lost" at_once
check "a schedule of ten thousand partitions: within 200 MB" crowded
check "more classes of nodes than hooks take are refused before anything is measured" many_classes
# ---- what root sees --------------------------------------------------------------------------------------------------
sed "s/\"label\":\"[^\"]*\"/\"label\":\"\\\\u001b]0;owned\\\\u0007\\\\u001b[2J\\\\u009b2J\\\\nnext: 1.00x\"/g" examples/profile/results.jsonl >"$own/esc.jsonl"
shows_no_escape() { # FORMAT
    local out
    out=$(timeout 20 "$P/nccltune" results "$own/esc.jsonl" --format "$1" 2>&1) && [ -n "$out" ] || return 1
    ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|^next:' <<<"$out"
}
grep -q owned "$own/esc.jsonl" || not_ok "the forged journal has no label"
for format in $("$P/nccltune" results --help | sed -n 's/.*how to print: *//p' | tr -d ,); do
    check "escapes of a terminal in a journal: results --format $format" shows_no_escape "$format"
done

shows_no_control() { # COMMAND...: nothing on either stream that a terminal acts on
    local out
    out=$(timeout 20 "$P/nccltune" "$@" 2>&1 </dev/null)
    [[ $out == *owned* ]] && ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|^next:' <<<"$out"
}
esc=$'\e]0;owned\a\e[2J\xc2\x9b2J\nnext: 1.00x'
fresh esc
json_esc='\u001b]0;owned\u0007\u001b[2J\u009b2J\nnext: 1.00x'
sed -i "s|nccltune-topology/1|nccltune-topology/1$json_esc|" "$own/esc/topology.json"
printf 'n1:1:2 [0] NCCL WARN owned %s\n' "$esc" >"$own/esc.log"
printf 'export NCCL_ALGO=owned%s\n' "$esc" >"$own/esc.sh"
check "... in a topology: probe --from" shows_no_control probe --from "$own/esc/topology.json"
check "... in a name of a file" shows_no_control probe --from "$own/$esc"
check "... in an argument" shows_no_control whatif "$esc"
check "... in a command" shows_no_control "$esc"
check "... in a log: diagnose" shows_no_control diagnose "$own/esc.log"
check "... in a script: lint" shows_no_control lint "$own/esc.sh"

# ---- what an input costs ---------------------------------------------------------------------------------------------
python3 -c "
open('$own/wide.json', 'w').write('{\"format\": \"nccltune-topology/1\", \"x\": [' + '0,' * 31000000 + '0]}')
open('$own/strings.json', 'w').write('{\"format\": \"nccltune-topology/1\", \"x\": [' + '\"\",' * 20000000 + '0]}')
open('$own/one.json', 'w').write('{\"format\": \"nccltune-topology/1\", \"x\": \"' + 'x' * 66000000 + '\"}')
open('$own/deep.json', 'w').write('[' * 10000000)"
for kind in wide strings one deep; do
    check "62 MB of JSON, $kind: within 200 MB" cheap "$P/nccltune" probe --from "$own/$kind.json"
    check "... as a workload" cheap "$P/nccltune" workload --merge "$own/$kind.json"
done
python3 - examples/profile/results.jsonl "$own/rows.jsonl" <<'PY'
import sys
head, *rows = open(sys.argv[1]).read().splitlines()
text = "\n".join(rows) + "\n"
open(sys.argv[2], "w").write(head + "\n" + text * (62000000 // len(text)))
PY
check "a journal of 62 MB: within 200 MB" cheap "$P/nccltune" results "$own/rows.jsonl"
python3 - "$own" <<'PY'
import sys
own = sys.argv[1]
row = '{"engine":"mpi","collective":"allreduce","bytes":%d,"nodes":4,"ranks":4,"library":"L","launch":{"label":"l%d"},"call":{"label":"c%d"},"round":%d,"status":"ok","times_us":[9]}\n'
head = open("examples/profile/results.jsonl").readline()
for name, form in {"sizes": lambda i: (8 * i + 8, 0, 0, 0), "launches": lambda i: (8, i, 0, 0), "calls": lambda i: (8, 0, i, 0), "rounds": lambda i: (8, 0, 0, i)}.items():
    with open(f"{own}/{name}.jsonl", "w") as f:
        f.write(head)
        f.writelines(row % form(i) for i in range(230000))
with open(own + "/many.jsonl", "w") as f:
    row = row.replace("[9]", "[9,8,9,8,9,9]").replace("}\n", ',"beside_us":[8,9,8,9,9,8]}\n')
    f.write(head)
    f.writelines(row % (8 << i // 20000, i // 2000 % 2, i // 10 % 200, i % 10) for i in range(400000))
with open(own + "/short.log", "w") as f:
    f.write("# Collective test starting: all_reduce_perf\n# size time\n" + "8 1.5\n" * 6000000)
import os, struct
os.mkdir(own + "/captures")
call = '{"collective": "allreduce", "bytes": %d, "count": 25, "group_size": 4, "placement": "cluster", "time_us": 9, "timed": 25},\n'
calls = "".join(call % (8 * i + 8) for i in range(33000))
for job in range(40):
    with open(f"{own}/captures/{job}.rank.0.json", "w") as f:
        f.write('{\n"format": "nccltune-workload/1",\n"name": "%d",\n"source": "captured",\n"rank": "0",\n"began": 1,\n' % job)
        f.write('"ranks": 4,\n"phases": [{"collectives": [\n' + calls + "{}]}]}\n")
def word(text):
    return b"X" + struct.pack("<I", len(text)) + text
open(own + "/flight.pickle", "wb").write(
    b"\x80\x02}(" + word(b"entries") + b"](" + word(b"x" * 1000000) + b"q\x01" + b"h\x01" * 480 + b"eu.")
open(own + "/flow.yaml", "w").write("a: [" + "1," * 4000000 + "1]\n")
open(own + "/sacct.txt", "w").write("123|123|u|p|1764110000|10|COMPLETED|1|n1|x\n" * 1500000)
open(own + "/wide.xml", "w").write('<system version="1"><a ' + 'x="1" ' * 10000000 + "/></system>")
open(own + "/many.xml", "w").write('<system version="1">' + '<cpu numaid="0"/>' * 3500000 + "</system>")
PY
for kind in sizes launches calls rounds; do
    check "a journal of 39 MB, as many $kind as rows: within 200 MB" cheap "$P/nccltune" results "$own/$kind.jsonl"
done
check "a profile of a journal of 400,000 lines: within 200 MB" cheap "$P/nccltune" generate -t examples/profile/topology.json \
    --results "$own/many.jsonl" -f -o "$own/many"
check "a table of 36 MB in short rows: within 200 MB" cheap "$P/nccltune" results --nodes 1 --ranks 8 "$own/short.log"
for kind in wide many; do
    check "60 MB of XML, $kind: within 200 MB" cheap "$P/nccltune" probe --from "$own/$kind.xml"
done
check "captures of 40 jobs, 160 MB: within 200 MB" cheap "$P/nccltune" drift "$own/captures"
check "a flight recorder whose entries are one of 1 MB: within 200 MB" cheap "$P/nccltune" diagnose "$own/flight.pickle"
check "a YAML list of four million on a line: within 200 MB" cheap "$P/nccltune" lint "$own/flow.yaml"
many_jobs() {
    mkdir -p "$root/trial" && echo "1000000000 none trial=a,50,40,all" >"$root/trial/schedule"
    cheap "$P/nccltune" trials --store "$root/trial" --sacct "$own/sacct.txt"
}
check "a million jobs of sacct's: within 200 MB" many_jobs
sparse_profile() { # a profile whose manifest is right, of files that take no room on disk
    fresh p
    truncate -s 300M "$own/p/a.bin" && forge_manifest "$own/p" a.bin
    cheap "$P/nccltune" install-profile "$own/p" --store "$root/store" --no-nccl-conf && cheap "$P/nccltune" explain "$own/p"
}
check "a profile of 300 MB: within 200 MB" sparse_profile
sockets() { # mallory takes every name that root's measurement could use, first
    cat >"$work/take.py" <<'PY'
import socket, sys, time
held = []
for name in ["nccltune-0-srun-77-0"] + [f"nccltune-0-srun-77-0-{i:016x}" for i in range(300)]:
    s = socket.socket(socket.AF_UNIX)
    s.bind(b"\0" + name.encode())
    s.listen(1)
    held.append(s)
print("ready", flush=True)
time.sleep(60)
PY
    chmod 644 "$work/take.py"
    rm -f "$work/ready"
    setpriv --reuid $mallory --clear-groups /usr/bin/env python3 "$work/take.py" >"$work/ready" 2>"$work/take.err" &
    local pid=$! said
    while [ ! -s "$work/ready" ]; do kill -0 $pid || return 1; sleep 0.02; done
    said=$(env SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_LOCALID=0 \
        SLURM_NTASKS_PER_NODE=1 SLURM_STEP_NUM_NODES=2 timeout 1 "$P/nccltune" tune --engine nccl --budget 1s -o "$root/socket" 2>&1)
    kill $pid
    [[ $said != *"another nccltune"* ]]
}
check "names of sockets that a user took first" sockets
few_descriptors() { # one node asks for no more than it can need
    (ulimit -n 100 && ! timeout 60 "$P/nccltune" bench --engine nccl --budget 1s -o "$root/few.jsonl" 2>&1 | grep -q "file descriptors")
}
check "one node, 100 descriptors" few_descriptors
finish
