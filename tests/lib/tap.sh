# TAP for shell tests: source it, call ok/not_ok/check/skip, end with finish.
# shellcheck shell=bash
tap_n=0 tap_failed=0
ok() { tap_n=$((tap_n + 1)) && echo "ok $tap_n - $*"; }
not_ok() { tap_n=$((tap_n + 1)) tap_failed=$((tap_failed + 1)) && echo "not ok $tap_n - $*"; }
skip() { tap_n=$((tap_n + 1)) && echo "ok $tap_n - $1 # SKIP $2"; }
# check NAME COMMAND...: by its exit status; what it prints is shown when it fails.
check() {
    local name=$1 out
    shift
    if out=$("$@" 2>&1); then ok "$name"; else
        not_ok "$name"
        printf '%s\n' "$out" | tail -n 40 | sed 's/^/# /'
    fi
}
# note FILE...: shown as comments.
note() { sed 's/^/# /' "$@"; }
finish() {
    echo "1..$tap_n"
    exit $((tap_failed > 0))
}
# Whether a rig that cannot start is allowed to be skipped: as root on Debian 12 only when NCCLTUNE_ALLOW_SKIP names it.
may_skip() {
    [ "$(id -u)" = 0 ] && grep -q 'VERSION_ID="12"' /etc/os-release 2>/dev/null || return 0
    [[ " ${NCCLTUNE_ALLOW_SKIP:-} " == *" $1 "* ]]
}
# cannot_start RIG WHY: ends the test, skipped or failed as may_skip says.
cannot_start() {
    if may_skip "$1"; then skip "$1" "$2"; else not_ok "$1 cannot start: $2"; fi
    finish
}
# without_hooks COMMAND...: an install-profile that nothing can deliver here, "not active", which is no error of it.
without_hooks() {
    local out rc=0
    out=$("$@" 2>&1) || rc=$?
    printf '%s\n' "$out"
    [ $rc = 0 ] || [[ $rc = 1 && $out == *"not active"* ]]
}
