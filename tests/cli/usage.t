The command line: help, versions, errors for wrong usage and bad input.

Every command has help, with status 0

  $ for command in $(nccltune --print-options); do
  >     nccltune $command --help >help || echo "$command --help ends with $?"
  >     nccltune help $command | cmp - help
  >     grep -q "^Usage: nccltune $command" help || echo "$command: no usage"
  >     ! grep -E '.{81}' help
  > done
  $ for program in nccltune nccltune-hook nccltune-worker nccltune-bench; do
  >     $program --version | cut -d ' ' -f 1; $program --help >/dev/null || echo "ends with $?"
  > done
  nccltune
  nccltune-hook
  nccltune-worker
  nccltune-bench
  $ nccltune >/dev/null 2>&1
  [2]
  $ nccltune --help | grep -E '.{81}'
  [1]
  $ nccltune --help | sed -n -E 's/^  ([a-z-]+) .*/\1/p' | grep -v ^nccltune | paste -sd ' '
  probe lint whatif workload tune bench results generate explain verify report install-profile trials doctor diagnose drift

Every option is still known and named by help

  $ cat >options <<'END'
  > tune --budget --calibration --collectives --confidence --engine --first-use-patience \
  > --force --from --gpu --graphs --hostfile --hosts --interfaces --json --launch-prefix --launcher --link-rate --machine \
  > --margin --max-bytes --min-bytes --mpirun --mpirun-args --nccl --nccl-lib --nodes --output --plan \
  > --predicted --quiet --ranks-per-node --registered --resume --serve --shapes --share-gpus --sizes \
  > --ssh-command --start-patience --step-factor --topology --watchdog --workload
  > probe --deadline --format --from --gpu --hostfile --hosts --ibnetdiscover --json --list-findings \
  > --list-gpus --list-machines --machine --merge --nodes --output --remote --ssh --strict --sysroot --why
  > bench --budget --calibration --check --collectives --confidence --engine --first-use-patience --from \
  > --gpu --graphs --hostfile --hosts --interfaces --json --launch-prefix --launcher --link-rate --machine --margin \
  > --max-bytes --min-bytes --mpirun --mpirun-args --nccl --nccl-lib --nodes --output --plan --ports \
  > --quiet --ranks-per-node --registered --resume --schedule --shapes --share-gpus --sizes --ssh-command \
  > --start-patience --step-factor --topology --watchdog --workload
  > generate --confidence --fabric --force --json --margin --nccl --output --predicted --quiet \
  > --results --topology --workload
  > results --collective --format --nccl --nodes --output --quiet --ranks
  > whatif --against --calibration --collectives --dead-rail --from --gpu --half-width --hcas --json --launch \
  > --link-rate --machine --measured --mixed-rails --more-nodes --nccl --nodes --nodes-per-leaf --oversubscription --pid \
  > --profile --ranks-per-node --script --set --sockets --topology --workload
  > verify --budget --calibration --collectives --confidence --engine --first-use-patience --graphs --hostfile \
  > --hosts --interfaces --journal --json --launch-prefix --launcher --margin --max-bytes --min-bytes --mpirun \
  > --mpirun-args --nccl-lib --quiet --ranks-per-node --registered --shapes --share-gpus \
  > --sizes --ssh-command --start-patience --step-factor --watchdog --workload
  > explain --bytes --collectives --json --nccl --nodes --ranks --workload
  > report --output
  > lint --env --fix --in-place --json --kind --list-rules --nccl --output --pid --profile --rccl \
  > --strict --topology
  > workload --algorithm --cp --dp --dtype --ep --epochs --etp --even-experts --expert-intermediate --experts \
  > --experts-per-token --framework --from-launch --gpu --gpus-per-node --grad-accum --head-dim --heads --hidden \
  > --host-bandwidth --intermediate --json --kv-heads --layers --list --lora-rank --memory --merge --micro-batch \
  > --mini-batch --model --no-custom-all-reduce --no-sequence-parallel --nodes --offload --offload-params \
  > --output --params --pp --prefetch --prompt --recompute --reduce-dtype --ref-pp --ref-tp --response \
  > --rollout-n --rollout-tp --seq --sp --tflops --tied --topology --tp --updates --vocab --vpp \
  > --zero-bubble
  > diagnose --json --output --profile --topology --workload
  > drift --json --output
  > install-profile --apptainer --cdi --delay --enroot --finish --force --hosts --jobs-on --nccl-conf --no-hooks --no-nccl-conf --partition \
  > --jobs --plugin --previous --program --purge --schedule --serve --share --since --ssh --stage --store --trial \
  > --uninstall --unschedule
  > trials --captures --figures --json --output --rates --sacct --stop --stop-if-slower --store
  > doctor --hook --job --json --nccl-conf --node --plugin --slurm-conf --store
  > END
  $ while read command options; do
  >     nccltune $command --help >help && nccltune $command --print-options words | cut -d ' ' -f 1 >words
  >     for option in $options --help --version; do
  >         grep -qE -- "^ .*$option([ =[]|$)" help && grep -qxe "$option" words || echo "$command: no $option"
  >     done
  > done <options

Wrong usage ends with 2 and names the option

  $ wrong() {
  >     nccltune "$@" -o none >out 2>err; status=$?
  >     [ $status = 2 ] || echo "$*: ends with $status"
  >     [ ! -s out ] && [ ! -e none ] || echo "$*: has written something"
  >     sed -n -E "1s/^(nccltune [a-z-]*: (--[a-z-]+)?).*/\1/p" err
  > }
  $ wrong tune --budget 0; wrong bench --sizes 1M,8; wrong bench --engine cuda; wrong tune --collectives gather
  nccltune tune: --budget
  nccltune bench: --sizes
  nccltune bench: --engine
  nccltune tune: --collectives
  $ wrong tune --shapes 1x4*2,2*8; wrong bench --max-bytes 1T; wrong generate -t x --margin some
  nccltune tune: --shapes
  nccltune bench: --max-bytes
  nccltune generate: --margin
  $ wrong probe --format yaml; wrong probe --machine dgx-h100 --nodes 0; wrong workload --model llama3-8b --framework fsdb
  nccltune probe: --format
  nccltune probe: --nodes
  nccltune workload: --framework
  $ wrong bench --machine dgx-h100 --hosts a,b; wrong verify profile --budget 0; wrong tune --nccl newest
  nccltune bench: --hosts
  nccltune verify: --budget
  nccltune tune: --nccl

Wrong usage: suggestions, and the values that are possible

  $ nccltune genrate
  nccltune: unknown command 'genrate'; did you mean generate?
  Try 'nccltune --help'.
  [2]
  $ nccltune bench --budgt 3
  nccltune bench: unknown option '--budgt'; did you mean --budget?
  Try 'nccltune bench --help'.
  [2]
  $ nccltune bench more
  nccltune bench: unexpected argument 'more'
  Try 'nccltune bench --help'.
  [2]
  $ touch paste.txt
  $ nccltune probe paste.txt
  nccltune probe: unexpected argument 'paste.txt'; did you mean --from paste.txt?
  Try 'nccltune probe --help'.
  [2]
  $ nccltune probe --merge paste.txt
  nccltune probe: unexpected argument 'paste.txt'; --merge takes no file: --from paste.txt --from OTHER --merge
  Try 'nccltune probe --help'.
  [2]
  $ nccltune probe other.txt
  nccltune probe: unexpected argument 'other.txt'
  Try 'nccltune probe --help'.
  [2]
  $ nccltune probe --machine dgx-h10
  nccltune probe: 'dgx-h10' *did you mean dgx-h100?* (glob)
  Try 'nccltune probe --help'.
  [2]
  $ nccltune whatif --machine dgx-h100 --launch host
  nccltune whatif: --launch: 'host' * process, node, graph (glob)
  Try 'nccltune whatif --help'.
  [2]
  $ nccltune probe --machine dgx-h100 --from x
  nccltune probe: --from, --sysroot, --hosts, --hostfile and --machine are mutually exclusive
  Try 'nccltune probe --help'.
  [2]
  $ nccltune-hook nothing 2>&1 | sed -n 1p
  Usage: nccltune-hook task-prolog | prolog | epilog | check [OPTION]...
  $ nccltune-hook check --limit 0 2>&1 | sed -n 1p
  Usage: nccltune-hook task-prolog | prolog | epilog | check [OPTION]...

Bad input names the file and the line

  $ printf '{\n  "format": "nccltune-topology/1",\n  "classes": [\n}\n' >broken.json
  $ nccltune probe --from broken.json
  nccltune probe: broken.json:4:1: not valid JSON
  [1]
  $ sed 's/"mlx5_0"/5/' fixtures/probe/small.json >type.json
  $ nccltune probe --from type.json
  nccltune probe: type.json: classes[0].objects[4].name: expected text
  [1]
  $ printf '<system version="1">\n  <cpu numaid="0">\n</system>\n' >broken.xml
  $ nccltune probe --from broken.xml
  nccltune probe: broken.xml:3:3: mismatched tag
  [1]
  $ printf '{"format": "nccltune-results/9"}\n' >later.jsonl
  $ nccltune results later.jsonl
  nccltune results: later.jsonl: *nccltune-results/9*nccltune-results/1* (glob)
  [1]
  $ printf '{"format": "nccltune-workload/1", "name": "x", "ranks": 0, "phases": []}' >job.json
  $ nccltune whatif --machine dgx-h100 --workload job.json
  nccltune whatif: job.json: ranks: expected a whole number from 1 to 16777216
  [1]
  $ printf 'what a nice day\n' >prose.txt
  $ nccltune probe --from prose.txt
  nccltune probe: prose.txt:1: *expected one of *nvidia-smi topo -m* (glob)
  [1]
  $ nccltune results prose.txt
  nccltune results: prose.txt: * (glob)
  [1]
  $ nccltune probe --from nowhere.json
  nccltune probe: nowhere.json: cannot be opened: No such file or directory
  [1]
  $ nccltune explain fixtures
  nccltune explain: fixtures: *manifest.json* (glob)
  [1]

A full disk and a missing directory are errors

  $ nccltune --help >/dev/full
  nccltune: standard output cannot be written: No space left on device
  [1]
  $ nccltune probe --machine dgx-h100 >/dev/full
  nccltune probe: standard output cannot be written: No space left on device
  [1]
  $ nccltune probe --machine dgx-h100 -o /nowhere/x.json
  nccltune probe: /nowhere/x.json: cannot be created: No such file or directory
  [1]

A closed standard input is an error, not an empty file

  $ nccltune results - <&-
  nccltune results: standard input cannot be read: Bad file descriptor
  [1]
  $ nccltune probe --from - <&-
  nccltune probe: standard input cannot be read: Bad file descriptor
  [1]
  $ nccltune workload --merge - <&-
  nccltune workload: standard input cannot be read: Bad file descriptor
  [1]
  $ nccltune lint - <&- | head -n 2
  standard input: error
      standard input cannot be read: Bad file descriptor
  [1]
