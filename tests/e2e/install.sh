#!/usr/bin/env bash
# What make builds and installs; an installation that was moved finds its own parts, and so does a tree beside one.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset NCCLTUNE_PLUGIN_SO

says() {
    local text=$1
    shift
    "$@" 2>&1 | grep -F -- "$text" || { "$@" 2>&1; return 1; }
}
check "make alone builds the programs" says "$work/b/nccltune-hook" make -n B="$work/b"
check "the tree can be installed" make -s install DESTDIR="$work/root"
mkdir "$work/opt" "$work/none"
prefix=$(dirname "$(dirname "$(find "$work/root" -path '*/bin/nccltune')")")
mv "$prefix" "$work/opt/moved"
there=$work/opt/moved
plugin=$(find "$there" -name libnccl-tuner-nccltune.so)
doctor() { "$@" doctor --store "$work/none" --nccl-conf "$work/no"; }
check "doctor finds the plugin of its own installation" says "$plugin loads" doctor "$there/bin/nccltune"
check "and its hook" says "for a job on" doctor "$there/bin/nccltune"
check "in a build tree those of the build" says "$PWD/build/libnccl-tuner-nccltune.so loads" doctor build/nccltune
check "and by a link from PATH" says "$plugin loads" bash -c "ln -s '$there/bin/nccltune' '$work/nccltune'
    PATH='$work' exec nccltune doctor --store '$work/none' --nccl-conf '$work/no'"
finish
