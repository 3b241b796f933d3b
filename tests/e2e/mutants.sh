#!/usr/bin/env bash
# tests/mutants on a program of one line: what it finds, and that nothing of it runs on when it is stopped.
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/tap.sh

scratch=$(mktemp -d) # below the /tmp that the box hides
trap 'rm -rf "$scratch"' EXIT
root=$([ "$(id -u)" = 0 ] || echo --map-root-user)
# shellcheck disable=SC2086 # none, as root
unshare $root --mount --pid --fork --mount-proc true 2>/dev/null || { skip "mutants" "no namespaces here"; finish; }

# The program says what its argument is below; its test passes on 3, and sleeps on where it is not.
mkdir -p "$scratch/tests/unit/slurm" "$scratch/slurm" "$scratch/build/hold"
cp tests/mutants "$scratch/tests/"
cd "$scratch" || exit 2
touch tests/mutants.equivalent build/nccltune-hook
echo 'int main(int argc, char **argv) { return argc < 2 || argv[1][0] == 0; }' >slurm/less.c
echo '// stands for a unit test' >tests/unit/slurm/test_less.c
cat >Makefile <<'END'
.PHONY: build/nccltune-hook
build/obj/slurm/less.o: slurm/less.c
	mkdir -p $(@D) && gcc -c -o $@ $<
build/nccltune-hook:
build/tests/unit/slurm/test_less: build/obj/slurm/less.o
	mkdir -p $(@D) && gcc -o $(@D)/less $< && cp hold $@
END
cat >hold <<END
#!/bin/bash
"\$(dirname "\$0")/less" x && exit 0
exec -a $$-held sleep 600
END
chmod +x hold
git init -q . && make -s build/tests/unit/slurm/test_less

# held: processes of the test that hangs.
held() { grep -alz "^$$-held" /proc/[0-9]*/cmdline 2>/dev/null | wc -l; }
# until_held NUMBER [PID]: waits for so many, as long as the process runs.
until_held() {
    for _ in {1..600}; do
        [ "$(held)" != "$1" ] || return 0
        [ "$1" = 0 ] || kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    echo "$(held) processes"
    return 1
}
# stopped SIGNAL: whether all that was running ends with the run, which says that it was stopped and judges nothing.
stopped() {
    local pid status
    rm -rf build/mutants
    env --default-signal=INT python3 tests/mutants --fast -j 1 -o 'operator: <' slurm >out 2>&1 &
    pid=$!
    until_held 1 "$pid" || { cat out; kill -KILL "$pid"; return 1; }
    kill "-$1" "$pid"
    wait "$pid"
    status=$?
    until_held 0 || { kill -KILL "$(grep -alz "^$$-held" /proc/[0-9]*/cmdline | head -1 | cut -d/ -f3)"; return 1; }
    [ "$status" = 130 ] || { echo "status $status"; cat out; return 1; }
    [ ! -s build/mutants/results.tsv ] || { cat build/mutants/results.tsv; return 1; }
}

for signal in INT TERM HUP; do
    check "nothing runs on behind a run stopped by SIG$signal" stopped "$signal"
done
finish
