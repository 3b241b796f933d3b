#!/usr/bin/env bash
# Build, installation and tarballs: what is built anew after a change, and no more; an installation that works and goes
# without a trace; two builds in different places with one hash. The Debian packages are in tests/rig/test_container.sh.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS LDFLAGS PREFIX SOURCE_DATE_EPOCH
jobs=-j$(nproc)
version=$(sed -n 's/^VERSION *:= *//p' Makefile)

# says TEXT COMMAND...
says() {
    local text=$1 out
    shift
    out=$("$@" 2>&1)
    [[ $out == *"$text"* ]] || { echo "'$text' is missing in: $out"; return 1; }
}
# same WHAT EXPECTED
same() { [ "$1" = "$2" ] || { diff <(echo "$2") <(echo "$1"); return 1; }; }

# ---- one version ----------------------------------------------------------------------------------------------------
check "the program says its version" says "nccltune $version" build/nccltune --version
check "debian/changelog says the same" says "nccltune ($version) " head -n 1 debian/changelog
check "no page says one of its own" same "$(grep -hE '^\.TH.*[0-9]\.[0-9]' man/*)" ""

# ---- what is built anew ---------------------------------------------------------------------------------------------
# On a copy of the tree with what has been built, because this one's build is other tests'.
tree=$work/tree
mkdir -p "$tree/build"
tar --exclude=./build --exclude=./.git -cf - . | tar -C "$tree" -xf -
cp -a build/{flags,obj,mpi,pic} build/*.a build/*.so build/nccltune* "$tree/build/" 2>/dev/null
# built ARGUMENT...: kind and source or target of what make then says it builds.
built() { make -C "$tree" --no-print-directory "$jobs" "$@" 2>&1 | awk '{print $1, $2}' | sort; }
sources() { sed -nE 's/^(CC|MPICC|PIC|DOUBLE) //p' | sort; }
names() { (cd "$tree" && grep -rlE --include='*.c' "$1" core probe bench tuner envgen cli slurm) | sort; }

built all >/dev/null
check "nothing has changed: nothing is built" same "$(built all | grep -v 'Nothing to be done')" ""
check "the prefix: what names it" same "$(built PREFIX="$work/x" all | sources)" "$(names 'NCCLTUNE_LIB(EXEC)?DIR')"
check "and once" same "$(built PREFIX="$work/x" all | sources)" ""
check "the version: what names it" same \
    "$(built PREFIX="$work/x" VERSION=9 all | sources | uniq)" "$(names NCCLTUNE_VERSION)"
built PREFIX="$work/x" all >/dev/null
check "linker flags: the programs" same "$(built PREFIX="$work/x" LDFLAGS=-Wl,-z,now all | sed -n 's|^LD .*build/||p')" \
    "$(printf '%s\n' nccltune nccltune-bench nccltune-hook nccltune-worker libnccl-tuner-nccltune.so libnccl-profiler-nccltune.so | sort)"
compiled() { make -C "$tree" -n PREFIX="$work/x" "$@" all | grep -c -e ' -c -o '; }
objects=$(compiled --always-make)
cp -a "$tree/build/flags" "$work/flags"
check "compiler flags: every object" same "$(compiled CFLAGS=-O1)" "$objects"
rm -r "$tree/build/flags" && mv "$work/flags" "$tree/build/" # these have been noted
check "the Makefile: every object" same "$(compiled -W Makefile)" "$objects"
doubles() { built build/tests/doubles/fake_nvml.so build/tests/doubles/lib/libnccl.so.2; }
doubles >/dev/null
touch "$tree/tests/doubles/nccl_fault.h"
check "a double's header: what includes it" same "$(doubles | sources)" \
    "$(cd "$tree" && grep -l '"tests/doubles/nccl_fault.h"' tests/doubles/*.c)"

# ---- an installation ------------------------------------------------------------------------------------------------
# doctor's complaints about this machine are none of ours.
finds_its_own() {
    local prefix=$1
    mkdir -p "$work/none"
    doctor() { "$prefix/bin/nccltune" doctor --store "$work/none"; }
    says "ok: plugin: $prefix/lib/libnccl-tuner-nccltune.so " doctor && says "$prefix/lib/libnccl-profiler-nccltune.so can capture" doctor &&
        says "ok: hook: " doctor
}
check "make install" make -C "$tree" -s "$jobs" PREFIX="$work/x" install
check "it runs" says "nccltune $version" "$work/x/bin/nccltune" --version
check "and finds its own plugins and hook" finds_its_own "$work/x"
check "and measures" "$work/x/bin/nccltune" bench --engine model --machine dgx-h100 --plan -o /dev/null
check "its pages are read" says "nccltune" man -l "$work/x/share/man/man1/nccltune.1"
check "its examples name its paths" grep -q "^export NCCL_TUNER_PLUGIN=$work/x/lib/" "$work/x/share/doc/nccltune/examples/train.sbatch"
check "and name its paths" grep -q "^Prolog=$work/x/libexec/nccltune/prolog" "$work/x/share/man/man8/nccltune-hook.8"
# shellcheck disable=SC2016 # expanded by the inner bash
check "bash completes" bash -c '. "$1" && complete -p nccltune' x "$work/x/share/bash-completion/completions/nccltune"
cp -a "$work/x" "$work/moved" && mv "$work/x" "$work/away"
check "moved elsewhere, it finds what moved along" finds_its_own "$work/moved"
mv "$work/away" "$work/x"
check "make uninstall" make -C "$tree" -s PREFIX="$work/x" uninstall
check "leaves no file and no directory of its own" same "$(find "$work/x" -not -type d -o -name '*nccltune*')" ""

# ---- two builds, one hash -------------------------------------------------------------------------------------------
check "make dist makes a source tarball" tools/dist source "$version"
tarball=build/nccltune-$version.tar.gz
first=$work/first second="$work/second place/deeper"
mkdir -p "$first" "$second"
tar -C "$first" --strip-components=1 -xzf "$tarball"
(umask 077 && tar -C "$second" --strip-components=1 -xzf "$tarball")
parts="build/libnccl-tuner-nccltune.so build/libnccl-profiler-nccltune.so build/nccltune-hook"
# shellcheck disable=SC2086 # words
make -C "$first" -s "$jobs" $parts >/dev/null 2>&1
# shellcheck disable=SC2086
(umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 make -C "$second" -s "$jobs" $parts >/dev/null 2>&1)
for f in $parts; do
    check "$f is the same in another directory, with another umask and time zone" cmp "$first/$f" "$second/$f"
done
check "the unpacked tree makes the tarball again" env -C "$second" TZ=Asia/Tokyo tools/dist source "$version"
check "with the same hash" cmp "$tarball" "$second/$tarball"
check "SOURCE_DATE_EPOCH makes another" env -C "$first" SOURCE_DATE_EPOCH=86400 TZ=UTC tools/dist source "$version"
check "whose files it dates" same "$(TZ=UTC tar -tvzf "$first/$tarball" | awk '{print $4}' | sort -u)" 1970-01-02
finish
