nccltune install-profile, doctor and nccltune-hook: deploying a profile. Output about the machine that
runs the tests and its Slurm is filtered.

install-profile copies a profile into the store under its hash and schedules it for all jobs

  $ cp -r fixtures/cli/0.1.0-2026-11/profile first
  $ hash=$(jq -r .hash first/manifest.json)
  $ install_profile() { nccltune install-profile "$@" --store $PWD/store --no-nccl-conf >out 2>err || grep -q '^not active' out || { cat err; return 1; }; }
  $ install_profile first
  $ sed -n 1p out
  installed in $PWD/store/profiles/a9204dd15bab240d0ab4e72d1d18c7c58b85d667cdaa6e0aebeaaccb2e28c1d4
  $ ls store store/profiles/$hash
  store:
  current
  profiles
  schedule
  tuner.csv

  store/profiles/a9204dd15bab240d0ab4e72d1d18c7c58b85d667cdaa6e0aebeaaccb2e28c1d4:
  decisions.json
  hook.map
  manifest.json
  nccl.conf
  nccl.json
  nccl.sh
  openmpi-mca-params.conf
  openmpi.rules
  openmpi.sh
  results.jsonl
  topology.json
  tuner.csv
  $ readlink store/current store/tuner.csv
  profiles/a9204dd15bab240d0ab4e72d1d18c7c58b85d667cdaa6e0aebeaaccb2e28c1d4
  current/tuner.csv
  $ sed 's/^[0-9][0-9]*/SINCE/' store/schedule
  # SINCE HASH SCOPE, the last that fits a job; see nccltune-hook(8)
  SINCE a9204dd15bab240d0ab4e72d1d18c7c58b85d667cdaa6e0aebeaaccb2e28c1d4 all
  $ for f in first/*; do cmp $f store/profiles/$hash/${f#first/}; done
  $ cat store/profiles/$hash/hook.map
  nccltune-hook/1
  profile a9204dd15bab240d0ab4e72d1d18c7c58b85d667cdaa6e0aebeaaccb2e28c1d4
  file nccl.conf 730 1e929b1102976a4f5f98034de5c959b941050287734d3e6c57d9de31451585bb
  file tuner.csv 482 61e293064d0ac9854768a1b1890ca018630b5569b1beb05eeb742b0efa0fce35
  class class0 group0 4 4318
  port class0 mlx5_0 1 200
  port class0 mlx5_1 1 200
  port class0 mlx5_2 1 200
  port class0 mlx5_3 1 200
  module class0 nvidia
  module class0 mlx5_ib
  host node0001 class0
  host node0002 class0
  end

What it prints is short, and can be pasted where a path has blanks

  $ nccltune install-profile first --store "$PWD/o t" --no-hooks --nccl-conf $PWD/c >out; sed -E "s|/[^ ']*/libnccl|/libnccl|; s/[0-9a-f]{64}/HASH/" out
  installed in $PWD/o t/profiles/HASH
  no job of this host gets it: this host is not in the profile; install it on the hosts that it is for
  it is for 2 hosts of class class0; a job with any other host gets nothing
  its OpenMPI settings are not installed: in a job, `. '$PWD/o t/profiles/HASH/openmpi.sh'` sets them
  in a container or without Slurm: mount both read-only, and set (commands: doc/CONTAINERS.md of the sources)
    NCCL_TUNER_PLUGIN=/libnccl-tuner-nccltune.so
    NCCLTUNE_PROFILE='$PWD/o t/profiles/HASH'
  $ grep -o NCCLTUNE_PROFILE=.* out >lines; . ./lines; [ -s "$NCCLTUNE_PROFILE/tuner.csv" ]; echo $?
  0

--partition limits a profile to a partition, --previous goes back and forth

  $ nccltune probe --machine hgx-a100-4 --nodes 2 -o topology.json
  $ nccltune generate -q -t topology.json -o second
  $ second=$(jq -r .hash second/manifest.json)
  $ nccltune install-profile second --store $PWD/store
  nccltune install-profile: second: this profile has no measurements, only what the topology justifies: measure with nccltune tune, or install it with --force
  [1]
  $ current() { [ "$(readlink store/current)" = profiles/$1 ] && echo "$2 is the current one"; }
  $ scheduled() { sed -E "1d; s/^[0-9]+/SINCE/; s/$hash/FIRST/; s/$second/SECOND/" store/schedule; }
  $ nccltune install-profile second --store $PWD/bare --force | grep neither
  it has neither rules nor settings for NCCL: jobs keep NCCL's defaults
  [1]
  $ nccltune doctor --store $PWD/bare --node n7 | grep '^note: host'
  note: host: n7 is not among the profile's nodes: node[0001-0002]
  [1]
  $ install_profile second --force --partition debug; current $hash first; scheduled
  first is the current one
  SINCE FIRST all
  SINCE SECOND partition=debug
  $ install_profile second --force; current $second second; scheduled
  second is the current one
  SINCE FIRST all
  SINCE SECOND partition=debug
  SINCE SECOND all
  $ install_profile --previous; current $hash first; scheduled
  first is the current one
  SINCE FIRST all
  SINCE SECOND partition=debug
  SINCE SECOND all
  SINCE FIRST all
  $ install_profile --previous; current $second second
  second is the current one

Without hooks, NCCL's file or containers no job gets it: the reason, the way out, and status 1

  $ PATH=${PATH%%:*} nccltune install-profile first --store $PWD/store --no-nccl-conf | grep 'not active'
  not active: no job gets it: there is no scontrol here; set up the hooks (nccltune-hook(8)), or use --no-hooks for NCCL's own file
  [1]
  $ PATH=${PATH%%:*} nccltune install-profile first --store $PWD/store --no-nccl-conf --json | jq -c '[.active, .hooks_missing]'
  [false,"there is no scontrol here"]
  [1]
  $ nccltune install-profile first --store $PWD/store --no-hooks --nccl-conf $PWD/site.conf --json | jq -c '[.active, .nccl_conf]'
  [false,"$PWD/site.conf"]
  [1]
  $ nccltune install-profile --previous --store $PWD/store --no-hooks --nccl-conf $PWD/site.conf >/dev/null
  [1]

--uninstall holds for jobs that start later, --purge removes the files

  $ install_profile --uninstall; scheduled | tail -n 1
  SINCE none all
  $ ls store store/profiles | grep -c .
  8
  $ PATH=${PATH%%:*} nccltune install-profile --uninstall --purge --store $PWD/store --no-nccl-conf --json | jq -c .
  {"uninstalled":"$PWD/store","purged":true}
  $ find store -type f
  find: 'store': No such file or directory
  [1]

Where squeue does not answer, --purge refuses and says the ways out

  $ install_profile first; mkdir silent; printf '#!/bin/sh\nexit 1\n' >silent/squeue; chmod 755 silent/squeue
  $ PATH=$PWD/silent:$PATH nccltune install-profile --uninstall --purge --store $PWD/store --no-nccl-conf
  nccltune install-profile: squeue failed, so running jobs are unknown: use --uninstall without --purge; --no-hooks where Slurm has no hooks of nccltune; or --force to remove the profiles anyway
  [1]
  $ nccltune install-profile --purge
  nccltune install-profile: --purge goes with --uninstall
  Try 'nccltune install-profile --help'.
  [2]
  $ PATH=$PWD/silent:$PATH nccltune install-profile --uninstall --purge --force --store $PWD/store --no-nccl-conf | grep -c removed
  1
  $ install_profile first
  $ PATH=$PWD/silent:$PATH nccltune install-profile --uninstall --purge --no-hooks --store $PWD/store --no-nccl-conf
  uninstalled: jobs that start from now on get nothing from $PWD/store, whose profiles are removed; whether a process still has them open was not checked
  $ install_profile first; printf '#!/bin/sh\necho "squeue: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host" >&2\nexit 1\n' >silent/squeue
  $ PATH=$PWD/silent:$PATH nccltune install-profile --uninstall --purge --store $PWD/store --no-nccl-conf
  uninstalled: jobs that start from now on get nothing from $PWD/store, whose profiles are removed; whether a process still has them open was not checked

--no-hooks merges the settings into nccl.conf between marker lines, --uninstall removes them

  $ jq --arg host "$(uname -n | cut -d. -f1)" '.hosts[0].name = $host' topology.json >here.json
  $ nccltune generate -q -t here.json --results fixtures/cli/0.1.0-2026-11/profile/results.jsonl --force -o here
  $ printf 'NCCL_DEBUG=WARN\n' >nccl.conf
  $ nccltune install-profile here --store $PWD/store --no-hooks --nccl-conf $PWD/nccl.conf >/dev/null
  $ sed -E 's/[0-9a-f]{64}/HASH/; s|=/.*/|=.../|' nccl.conf
  NCCL_DEBUG=WARN
  # nccltune begin: written by `nccltune install-profile`, removed by its --uninstall
  NCCL_IB_QPS_PER_CONNECTION=4
  NCCL_TUNER_PLUGIN=.../libnccl-tuner-nccltune.so
  NCCLTUNE_PROFILE=.../HASH
  NCCLTUNE_HASH=HASH
  # nccltune end
  $ nccltune doctor --store $PWD/store --nccl-conf $PWD/nccl.conf | grep -c "^error: nccl.conf"
  0
  [1]
  $ sed -i "s/^NCCLTUNE_HASH=.*/NCCLTUNE_HASH=0123456789abcdef0123/" nccl.conf
  $ nccltune doctor --store $PWD/store --nccl-conf $PWD/nccl.conf | grep "^error: nccl.conf"
  error: nccl.conf: NCCL will refuse to start: NCCLTUNE_HASH pins table 0123456789ab, * (glob)
  [1]
  $ nccltune install-profile --uninstall --store $PWD/store --no-hooks --nccl-conf $PWD/nccl.conf >/dev/null
  $ cat nccl.conf
  NCCL_DEBUG=WARN

--hosts has every node take the profile before any schedules it; a node that cannot names its reason

  $ cat >agent <<'EOF'
  > [ "$1" != bad ] || { echo "no route to bad" >&2; exit 255; }
  > exec sh -c "$(echo "$2" | sed "s|/store|/store-$1|")"
  > EOF
  $ nccltune install-profile first --store $PWD/store --hosts n1,bad --ssh "sh $PWD/agent"
  nccltune install-profile: bad: no route to bad
  nccltune install-profile: 1 of 2 hosts could not take the profile; nothing has changed
  [1]
  $ ls store-n1 store-n1/profiles
  store-n1:
  profiles

  store-n1/profiles:
  a9204dd15bab240d0ab4e72d1d18c7c58b85d667cdaa6e0aebeaaccb2e28c1d4
  a9204dd15bab240d0ab4e72d1d18c7c58b85d667cdaa6e0aebeaaccb2e28c1d4.node

An incomplete profile is refused and leaves nothing behind

  $ rm -rf store && rm second/nccl.sh
  $ nccltune install-profile second --store $PWD/store
  nccltune install-profile: $PWD/second/nccl.sh: cannot be opened: No such file or directory
  [1]
  $ nccltune install-profile topology.json --store $PWD/store
  nccltune install-profile: topology.json: * (glob)
  [1]
  $ nccltune install-profile /etc --store $PWD/store
  nccltune install-profile: /etc: not a profile directory, it has no manifest.json; 'nccltune tune -o PROFILE' makes one, 'nccltune generate' from logs
  [1]
  $ ls store
  ls: cannot access 'store': No such file or directory
  [2]

doctor checks the installed profile and its table

  $ doctor() {
  >     nccltune doctor --store $PWD/store --nccl-conf $PWD/none --json >out; status=$?
  >     jq -r '.findings[] | select(.subject == ("profile", "table", "nccl")) | "\(.severity): \(.subject): \(.text)"' out
  > }
  $ nccltune doctor --store $PWD/store
  nccltune doctor: --store: $PWD/store: No such file or directory
  * (glob)
  [2]
  $ nccltune doctor --slurm-conf /nope
  nccltune doctor: --slurm-conf: /nope: No such file or directory
  * (glob)
  [2]
  $ mkdir store; doctor
  note: profile: * (glob)
  $ nccltune doctor --store $PWD/store --nccl-conf $PWD/none | tail -n 1
  Nothing is wrong; no profile is installed yet: nccltune tune -o PROFILE measures one, nccltune install-profile PROFILE deploys it.
  $ install_profile first; doctor
  ok: profile: a9204dd15bab of 2026-11-23T16:01:15Z, *0.1.0* (glob)
  ok: table: $PWD/store/tuner.csv: 1 rules, 0 broken lines
  (ok: nccl: [0-9.]+|note: nccl: the loader finds no libnccl.so.2; .*) (re)
  $ echo >>store/profiles/$hash/tuner.csv; doctor; echo "ends with $status"
  error: profile: $PWD/store/profiles/a9204dd15bab240d0ab4e72d1d18c7c58b85d667cdaa6e0aebeaaccb2e28c1d4/tuner.csv: * (glob)
  ok: table: $PWD/store/tuner.csv: 1 rules, 0 broken lines
  (ok: nccl: [0-9.]+|note: nccl: the loader finds no libnccl.so.2; .*) (re)
  ends with 1
  $ PATH=${PATH%%:*} nccltune doctor --store $PWD/store --nccl-conf $PWD/none | tail -n 1
  ? things to mend before jobs get what was measured: profile,* (glob)
  [1]
  $ echo allreduce,1 >>store/profiles/$hash/tuner.csv; nccltune doctor --store $PWD/store --nccl-conf $PWD/none >out
  [1]
  $ grep table out | grep -v ' 0 broken'
  error: table: $PWD/store/tuner.csv:* (glob)
  note: table: $PWD/store/tuner.csv: 1 rules, 1 broken lines
  ? things to mend before jobs get what was measured: profile, table* (glob)

doctor --job checks a job's environment

  $ plugin=$(dirname $(command -v nccltune))/libnccl-tuner-nccltune.so
  $ job() {
  >     env NCCLTUNE_PROFILE=$PWD/first "$@" nccltune doctor --job --json >out
  >     jq -r '.findings[] | select(.subject == ("profile", "plugin", "table", "hash", "setting", "lint")) | "\(.severity): \(.subject): \(.id // .text)"' out |
  >         sed "s|$plugin|PLUGIN|"
  > }
  $ job NCCL_TUNER_PLUGIN=$plugin NCCLTUNE_HASH=$(sha256sum <first/tuner.csv | cut -d ' ' -f 1) NCCL_IB_QPS_PER_CONNECTION=4
  ok: profile: a9204dd15bab in $PWD/first* (glob)
  ok: plugin: PLUGIN loads and has tuner interfaces v1 to v7
  ok: table: $PWD/first/tuner.csv: 1 rules, 0 broken lines
  ok: hash: *NCCLTUNE_HASH* (glob)
  ok: setting: * (glob)
  $ job NCCL_ALGO=Ring
  ok: profile: a9204dd15bab in $PWD/first* (glob)
  note: plugin: *NCCL_TUNER_PLUGIN* (glob)
  ok: table: $PWD/first/tuner.csv: 1 rules, 0 broken lines
  note: hash: *NCCLTUNE_HASH* (glob)
  note: setting: NCCL_IB_QPS_PER_CONNECTION *4 (glob)
  warning: lint: NT413
  $ env NCCLTUNE_PROFILE=$PWD/first NCCL_TUNER_PLUGIN=$plugin nccltune doctor --job | tail -n 1
  ? thing* to mend before this rank gets what was measured:* (glob)
  [1]
  $ job NCCL_TUNER_PLUGIN=$plugin NCCLTUNE_HASH=0123456789abcdef | grep hash
  error: hash: *NCCLTUNE_HASH* (glob)
  $ job NCCL_TUNER_PLUGIN=$plugin NCCLTUNE=off | grep -c .
  1

nccltune-hook refuses a store that others can write: the job's NCCL must not start

  $ chmod 777 store && mkdir run sys
  $ printf "store=$PWD/store\nowner=$(id -u)\nplugin=/nowhere/plugin.so\n" >slurm.conf
  $ export SLURM_JOB_ID=7 SLURM_JOB_NODELIST='node[0001-0002]' SLURM_JOB_NUM_NODES=2 SLURMD_NODENAME=node0001
  $ nccltune-hook prolog --conf $PWD/slurm.conf --sysfs $PWD/sys --run $PWD/run
  $ grep -E '^(job|nodes|state|policy)' run/7
  nodes 2
  policy fail
  state unknown
  job 7
  $ SLURM_STEP_ID=0 SLURM_LOCALID=0 nccltune-hook task-prolog --conf $PWD/slurm.conf --sysfs $PWD/sys --run $PWD/run |
  >     grep -cE '^export (NCCLTUNE_REFUSE|NCCL_NET)='
  1
  $ SLURM_STEP_ID=0 NCCLTUNE=off nccltune-hook task-prolog --conf $PWD/slurm.conf --sysfs $PWD/sys --run $PWD/run
  $ nccltune-hook epilog --conf $PWD/slurm.conf --sysfs $PWD/sys --run $PWD/run
  $ ls run
  $ nccltune-hook check --conf $PWD/slurm.conf --sysfs $PWD/sys --run $PWD/run | sed -n '1s/:.*//p'
  not known
  [1]

install-profile --trial gives a share of jobs another profile; trials compares them

  $ nccltune probe --machine hgx-a100-4 --nodes 2 -o topology.json && nccltune generate -q -t topology.json -o third
  $ rm -rf store && install_profile first && install_profile third --force --trial tree --share 30% --jobs 20 --partition debug
  $ current $hash first; sed -E "1d; s/^[0-9]+/SINCE/; s/$hash/FIRST/; s/$(jq -r .hash third/manifest.json)/THIRD/" store/schedule
  first is the current one
  SINCE FIRST all
  SINCE THIRD trial=tree,30,20,partition=debug
  $ install_profile third --force --trial tree
  $ sed -n '$s/.* //p' store/schedule
  trial=tree,50,40,all
  $ nccltune install-profile third --store $PWD/store --trial tree --hosts n1 2>&1 | head -n 1
  nccltune install-profile: --trial needs a PROFILE, Slurm's hooks and a store that all nodes share* (glob)
  [2]
  $ trials() { nccltune trials --store $PWD/store "$@"; }
  $ PATH=${PATH%%:*} trials
  nccltune trials: sacct not found: run it where it is, and give its output with --sacct FILE
  [3]
  $ echo "JobIDRaw|" >sacct.txt
  $ trials ring --sacct sacct.txt
  nccltune trials: $PWD/store/schedule has no trial 'ring'
  Try 'nccltune trials --help'.
  [2]
  $ trials tree --sacct sacct.txt
  Trial tree: profile * for 50 % of the jobs (all) from * on (glob)
    elapsed time of 0 jobs with it and 0 without, in 0 kinds of jobs: undecided: 0 and 0 comparable jobs are too few
    0 of the 40 planned jobs have ended, 0 run

trials of a store that is not there are an error

  $ nccltune trials --store $PWD/nope
  nccltune trials: $PWD/nope: No such file or directory
  [1]

trials --stop-if-slower says nothing of a trial that is not slower; --stop ends it

  $ sed -i -E "s/^[0-9]+ (.*trial)/1000 \1/" store/schedule
  $ for i in $(seq 7000 7059); do echo "$i|$i|root|debug|$((i - 5000))|100|COMPLETED|2|node[0001-0002]|train"; done >sacct.txt
  $ trials --sacct sacct.txt --stop-if-slower
  $ trials --sacct sacct.txt --json | jq -c '.trials[] | [.name, .verdict, .jobs_with + .jobs_without, .time_ratio]'
  ["tree","alike",40,1]
  $ seq 7000 7059 | sed 's/$/ 100/' >figures.txt; echo 7000 >>figures.txt
  $ trials --sacct sacct.txt --figures figures.txt
  nccltune trials: figures.txt:61:1: expected the number of a job, a blank and a figure
  [1]
  $ trials tree --stop
  trial tree ends: jobs that start from now on get what the others get
  $ sed -E -n '$s/^[0-9]+/SINCE/p' store/schedule
  SINCE none trial=tree
