#!/bin/sh
# What the DaemonSet of node.yaml runs on every node: probe it, join the class of the profile that it equals, and place
# plugin, profile, NCCL's file and a CDI spec on the host. It changes nothing that is right already, so it may run again.
#
#   NODE_NAME   the node's name, from the downward API
#   PROFILE     the profile: a directory, or a .tar.gz of one, since a ConfigMap holds no directories
#
# Arguments go to `nccltune install-profile`.
# The directories are the host's, mounted at the same paths. A node that equals no class gets nothing, and its pods run
# on NCCL's defaults.
set -eu
umask 022
: "${NODE_NAME:?expected the name of this node}" "${PROFILE:?expected a directory or a .tar.gz}"
store=${STORE:-/etc/nccltune}
lib=${LIB:-/opt/nccltune}
cdi=${CDI:-/etc/cdi}
features=${FEATURES:-/etc/kubernetes/node-feature-discovery/features.d}
image_plugin=${PLUGIN:-$(find /usr/lib /usr/local/lib -name libnccl-tuner-nccltune.so 2>/dev/null | head -n 1)}
plugin=$lib/libnccl-tuner-nccltune.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A new file beside the old one: containers that run keep the one that they have mounted.
mkdir -p "$store" "$lib" "$cdi"
if ! cmp -s "$image_plugin" "$plugin"; then
    install -m 755 "$image_plugin" "$lib/.new"
    mv "$lib/.new" "$plugin"
fi

profile=$PROFILE
if [ -f "$PROFILE" ]; then
    tar -xzf "$PROFILE" -C "$work" --no-same-owner
    profile=$(dirname "$(find "$work" -name manifest.json | head -n 1)")
fi

site() { nccltune install-profile "$@" --store "$store" --nccl-conf "$store/nccl.conf" --plugin "$plugin" --cdi "$cdi"; }
# The command that "asks" the node runs in this pod. A failure takes away what an earlier profile has left.
# shellcheck disable=SC2016 # expanded by the inner shell
site "$profile" --serve "$NODE_NAME" --ssh "sh -c 'eval \"\$1\"'" --node "$NODE_NAME" --no-hooks "$@" >"$work/said" || {
    echo "node-setup: $NODE_NAME gets nothing" >&2
    site --uninstall
    rm -f "$features/nccltune"
    exit 0
}
cat "$work/said"
class=$(sed -n 's/^this host is of class //p' "$work/said")

# Node Feature Discovery, where it runs, makes a label of it: nccltune.org/class=CLASS.
if [ -d "$features" ]; then
    echo "nccltune.org/class=$class" >"$features/.nccltune.new"
    mv "$features/.nccltune.new" "$features/nccltune"
fi
echo "node-setup: $NODE_NAME is of class $class"
