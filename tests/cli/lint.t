nccltune lint: settings in files of many kinds. Rules and places are pinned, the wording is not: most cases print findings as
FILE:LINE:COLUMN SEVERITY RULE SUBJECT.

A clean file has no findings

  $ findings() {
  >     nccltune lint "$@" --json | jq -r '.findings[] | "\(.file):\(.line):\(.column) \(.severity) \(.id) \(.subject)"'
  > }
  $ nccltune lint fixtures/lint/clean.conf
  8 settings: 0 errors, 0 warnings, 0 notes

What drops exported variables, and an export without '='

  $ printf 'export NCCL_DEBUG INFO\nexport NCCL_IB_TC=106\nenv -i python train.py\nsrun apptainer exec --cleanenv x.sif true\n' >clean.sh
  $ findings clean.sh
  clean.sh:1:8 error NT611 NCCL_DEBUG
  clean.sh:2:8 warning NT705 NCCL_IB_TC
  clean.sh:2:8 warning NT705 NCCL_IB_TC
  [1]

Against a matrix, whose ports are of unknown state: what the list leaves idle, and what is not for NCCL

  $ echo 'export NCCL_IB_HCA==mlx5_0:1,mlx5_1:1' >list.sh
  $ nccltune probe --machine dgx-h100 --format text | sed -n '/^.GPU0/,/NIC11: /p' >matrix.txt
  $ findings --topology matrix.txt list.sh
  list.sh:1:8 warning NT508 NCCL_IB_HCA
  list.sh:1:8 warning NT511 NCCL_IB_HCA

A number where Python takes only strings is put in quotes

  $ printf 'import os\nos.environ["NCCL_IB_TIMEOUT"] = 22\n' >number.py
  $ nccltune lint --fix=all number.py 2>/dev/null
  import os
  os.environ["NCCL_IB_TIMEOUT"] = "22"
  [1]

A batch script: options of sbatch, shell defaults, exports of mpirun, a here-document for NCCL

  $ findings fixtures/lint/job.sbatch
  fixtures/lint/job.sbatch:9:8 error NT301 NCCL_IB_TIMEOUT
  fixtures/lint/job.sbatch:12:12 warning NT101 NCCL_TREE_THRESHOLD
  fixtures/lint/job.sbatch:17:1 error NT202 NCCL_BUFFSIZE
  fixtures/lint/job.sbatch:18:21 error NT205 NCCL_NET_GDR_LEVEL
  fixtures/lint/job.sbatch:20:27 note NT311 NCCL_PROTO
  fixtures/lint/job.sbatch:23:1 error NT602 NCCL_IB_TC
  [1]
  $ nccltune lint fixtures/lint/job.sbatch >out
  [1]
  $ tail -n 1 out
  12 settings: 4 errors, 1 warning, 1 note
  $ sed -n '/NT202/,/NT205/p' out
  fixtures/lint/job.sbatch:17:1: error NT202: NCCL_BUFFSIZE=8M
      *8. (glob)
      Write 8388608.
  fixtures/lint/job.sbatch:18:21: error NT205: NCCL_NET_GDR_LEVEL=phb

A Dockerfile

  $ findings fixtures/lint/Dockerfile
  fixtures/lint/Dockerfile:3:5 warning NT104 NCCL_ASYNC_ERROR_HANDLING
  fixtures/lint/Dockerfile:6:5 error NT301 NCCL_IB_TIMEOUT
  fixtures/lint/Dockerfile:7:12 warning NT610 NCCL_CROSS_NIC
  [1]

A Kubernetes manifest with an embedded script

  $ findings fixtures/lint/pod.yaml
  fixtures/lint/pod.yaml:7:13 error NT201 NCCL_IB_DISABLE
  fixtures/lint/pod.yaml:12:14 error NT207 NCCL_ALGO
  fixtures/lint/pod.yaml:12:14 note NT311 NCCL_ALGO
  [1]

JSON, an environment file, nccl.conf

  $ findings fixtures/lint/env.json
  fixtures/lint/env.json:3:15 error NT202 NCCL_BUFFSIZE
  fixtures/lint/env.json:4:15 error NT206 NCCL_NET_MERGE_LEVEL
  [1]
  $ findings fixtures/lint/train.env
  fixtures/lint/train.env:2:1 warning NT309 NCCL_P2P_DISABLE
  fixtures/lint/train.env:3:1 note NT312 NCCL_DEBUG
  $ findings fixtures/lint/nccl.conf
  fixtures/lint/nccl.conf:3:8 error NT601 NCCL_IB_SL
  fixtures/lint/nccl.conf:4:1 error NT218 NCCL_CROSS_NIC
  fixtures/lint/nccl.conf:5:1 error NT603 NCCL_IB_TC
  [1]

Shell variables, defaults and conditions

  $ cat >job.sh <<'END'
  > HCAS=mlx5_0,mlx5_1
  > export NCCL_IB_HCA=$HCAS NCCL_ALGO=${ALGO:-Rings}
  > [ "$1" = debug ] && export NCCL_DEBUG=verbose
  > unset NCCL_PROTO
  > NCCL_NTHREADS=100 torchrun train.py
  > END
  $ findings job.sh
  job.sh:2:26 error NT207 NCCL_ALGO
  job.sh:2:26 note NT311 NCCL_ALGO
  job.sh:3:28 error NT212 NCCL_DEBUG
  job.sh:5:1 warning NT304 NCCL_NTHREADS
  [1]

Exit status: 1 for an error, with --strict also for a warning

  $ nccltune lint fixtures/lint/train.env >/dev/null
  $ nccltune lint --strict fixtures/lint/train.env >/dev/null
  [1]
  $ nccltune lint nowhere.sh
  nowhere.sh: error
      cannot be opened: No such file or directory
  0 settings: 0 errors, 0 warnings, 0 notes; 1 file not read
  [1]
  $ nccltune lint
  nccltune lint: *FILE* (glob)
  Try 'nccltune lint --help'.
  [2]

Standard input, and the environment

  $ printf 'NCCL_IB_TIMEOUT=300\n' | findings --kind conf -
  standard input:1:1 error NT301 NCCL_IB_TIMEOUT
  [1]
  $ NCCL_IB_TIMEOUT=300 nccltune lint --env --json | jq -r '.findings[] | [.id, .subject, .value] | @tsv'
  NT301	NCCL_IB_TIMEOUT	300
  [1]

--nccl: older releases do not read newer names

  $ echo NCCL_MIN_CTAS=4 >ctas.conf
  $ findings --nccl 2.16 ctas.conf
  ctas.conf:1:1 warning NT106 NCCL_MIN_CTAS
  $ findings --nccl 2.28.9 ctas.conf

--topology: devices that the machine lacks

  $ nccltune probe --machine dgx-h100 -o topology.json
  $ printf 'NCCL_IB_HCA=mlx5_0,mlx5_77\nNCCL_SOCKET_IFNAME=wlan0\n' >hca.conf
  $ findings hca.conf
  $ sed 's/the bundled description of dgx-h100/this machine/' topology.json >own.json
  $ findings --topology own.json hca.conf
  hca.conf:1:1 error NT502 NCCL_IB_HCA
  hca.conf:1:1 warning NT508 NCCL_IB_HCA
  hca.conf:2:1 error NT505 NCCL_SOCKET_IFNAME
  [1]

Findings for programs: JSON

  $ nccltune lint --json fixtures/lint/pod.yaml | jq -c '[.format, .settings], (.documents[]), (.findings[0] | keys)'
  ["nccltune-lint/2",3]
  {"file":"fixtures/lint/pod.yaml","kind":"yaml","settings":3}
  ["advice","column","file","id","line","severity","subject","text","value"]
  [1]

--fix makes corrections that change no run, --fix=all the others too

  $ nccltune lint --fix fixtures/lint/job.sbatch 2>/dev/null | diff fixtures/lint/job.sbatch -
  12c12
  <     export NCCL_TREE_THRESHOLD=0
  ---
  >     : # nccltune lint, NT101: export NCCL_TREE_THRESHOLD=0
  [1]
  $ nccltune lint --fix=all fixtures/lint/job.sbatch 2>/dev/null | diff fixtures/lint/job.sbatch -
  12c12
  <     export NCCL_TREE_THRESHOLD=0
  ---
  >     : # nccltune lint, NT101: export NCCL_TREE_THRESHOLD=0
  17,18c17,18
  < NCCL_BUFFSIZE=8M srun --export=ALL,NCCL_CROSS_NIC=1 \
  <     bash -c 'export NCCL_NET_GDR_LEVEL=phb; exec python train.py'
  ---
  > NCCL_BUFFSIZE=8388608 srun --export=ALL,NCCL_CROSS_NIC=1 \
  >     bash -c 'export NCCL_NET_GDR_LEVEL=PHB; exec python train.py'
  23c23
  < NCCL_IB_TC = 106
  ---
  > NCCL_IB_TC=106
  [1]
  $ printf '%s\n' 'export NCCL_IB_HCA="mlx5_2, mlx5_3"' 'export NCCL_P2P_LEVEL=NVLINK' 'export NCCL_SOCKET_IFNAME="eth*"' \
  >     'export NCCL_NET_GDR_LEVEL=NEAR' 'srun -n16 train' >hand.sh
  $ nccltune lint --fix=all hand.sh -o mended.sh >/dev/null
  nccltune lint: hand.sh: left for you to correct:
    line 3: NCCL_SOCKET_IFNAME (NT214)
    line 4: NCCL_NET_GDR_LEVEL (NT205)
  nccltune lint: mended.sh: 3 corrected
  [1]
  $ cat mended.sh
  export NCCL_IB_HCA="=mlx5_2,mlx5_3"
  export NCCL_P2P_LEVEL=NVL
  export NCCL_SOCKET_IFNAME="eth*"
  export NCCL_NET_GDR_LEVEL=NEAR
  srun -n16 train
  $ printf 'export NCCL_IB_HCA=mlx5_0, mlx5_3,mlx5_4\nNCCL_SHM_DISABLE=1\ntorchrun a.py\n' | nccltune lint --fix=all --kind shell - 2>/dev/null
  export NCCL_IB_HCA==mlx5_0,mlx5_3,mlx5_4
  NCCL_SHM_DISABLE=1
  torchrun a.py
  [1]
  $ echo 'export NCCL_IB_RETRY_CNT=15' | nccltune lint --fix=all --kind shell - 2>/dev/null
  export NCCL_IB_RETRY_CNT=7
  [1]
  $ sed s/IB_DISABLE/DMABUF_ENABLE/ fixtures/lint/pod.yaml | tee before.yaml >pod.yaml && nccltune lint --fix=all --in-place pod.yaml >/dev/null 2>&1
  [1]
  $ diff before.yaml pod.yaml
  8c8
  <       value: "true"
  ---
  >       value: "1"
  [1]

--fix also writes what NCCL reads already

  $ printf '%s\n' 'export NCCL_IB_DISABLE=false NCCL_P2P_LEVEL=3' 'export NCCL_NVLS_ENABLE=true' 'srun -n16 train' >same.sh
  $ nccltune lint --fix same.sh 2>/dev/null
  export NCCL_IB_DISABLE=0 NCCL_P2P_LEVEL=PHB
  export NCCL_NVLS_ENABLE=true
  srun -n16 train
  [1]

The copy on standard output is counted on standard error, too

  $ printf '%s\n' 'export NCCL_TREE_THRESHOLD=0' 'export NCCL_BUFFSIZE=8M' 'srun -n16 train' >two.sh
  $ nccltune lint --fix two.sh 2>&1 >/dev/null | sed -n 1p
  nccltune lint: two.sh: 1 corrected, more with --fix=all, which changes runs
  [1]
  $ nccltune lint --fix=all two.sh 2>&1 >/dev/null | sed -n 1p
  nccltune lint: two.sh: 2 corrected
  [1]

Blanks around '=', a missing export and a likely name are corrected, and a second pass finds nothing

  $ printf '%s\n' 'export NCCL_SOCKET_IFNAME = eth0' 'NCCL_IB_TC=106' 'export NCCL_BUFSIZE=8388608' >mess.sh
  $ printf '%s\n' 'export NCCL_IB_HCA=mlx5_1' 'export NCCL_IB_HCA="mlx5_0, mlx5_3"' 'srun -n16 train' >>mess.sh
  $ nccltune lint --fix=all mess.sh 2>/dev/null >once.sh || cat once.sh
  export NCCL_SOCKET_IFNAME=eth0
  export NCCL_IB_TC=106
  export NCCL_BUFFSIZE=8388608
  : # nccltune lint, NT708: export NCCL_IB_HCA=mlx5_1
  export NCCL_IB_HCA="=mlx5_0,mlx5_3"
  srun -n16 train
  $ nccltune lint --fix=all once.sh 2>/dev/null | cmp - once.sh
  $ printf '%s\n' 'DATA=/data \' '  NCCL_IB_TC=106' 'srun -n16 train $DATA' >both.sh # export would be a command that DATA is set for
  $ nccltune lint --fix=all both.sh 2>/dev/null | cmp - both.sh

--topology takes a pasted matrix, too

  $ printf '\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \nNIC0: mlx5_0\n' >matrix.txt
  $ echo 'export NCCL_IB_HCA==mlx5_7' >one.sh
  $ findings --topology matrix.txt one.sh
  one.sh:1:8 error NT502 NCCL_IB_HCA
  one.sh:1:8 error NT504 NCCL_IB_HCA
  [1]

A successor that means something else is left to the reader: NVLS obeys NCCL_MIN_CTAS, not NCCL_MIN_NCHANNELS

  $ printf '%s\n' 'export NCCL_MIN_NCHANNELS=8' 'srun -n16 train' >channels.sh
  $ nccltune lint --fix=all channels.sh 2>&1 >/dev/null | sed -n 1,2p
  nccltune lint: channels.sh: left for you to correct:
    line 1: NCCL_MIN_NCHANNELS (NT108)

A line that a later one overrides is judged as overridden alone

  $ nccltune probe --machine dgx-h100 --nodes 2 -o h100.json
  $ printf '%s\n' 'export NCCL_IB_HCA=mlx5_0' 'export NCCL_IB_HCA=mlx5_0,mlx5_3' 'srun -n16 train' >twice.sh
  $ nccltune lint --topology h100.json twice.sh --json | jq -r '.findings[] | "\(.line) \(.id)"' | grep -E 'NT508|NT708'
  1 NT708
  2 NT508

A list that names storage ports

  $ printf '%s\n' 'export NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2' 'srun -n16 train' >storage.sh
  $ nccltune lint --topology h100.json storage.sh | grep -A2 NT511
  storage.sh:1:8: warning NT511: NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2
      On these nodes the list gives NCCL ports of other traffic: mlx5_1 (storage), mlx5_2 (storage).
      Name the ports for compute traffic alone (=mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1).
  $ printf '%s\n' 'export NCCL_IB_HCA=mlx5' 'srun -n16 train' | nccltune lint --topology h100.json - | grep -A1 NT511
  standard input:1:8: warning NT511: NCCL_IB_HCA=mlx5
      On these nodes the list gives NCCL ports of other traffic: mlx5_1 (storage), mlx5_2 (storage), mlx5_7 (storage), mlx5_8 (storage).

Costs of settings together; where they leave NCCL nothing, of each alone

  $ printf '%s\n' 'export NCCL_P2P_DISABLE=1 NCCL_PROTO=LL128' 'srun -n16 train' >pair.sh
  $ nccltune lint --topology h100.json pair.sh | grep -c 'predicted'
  2
  $ printf '%s\n' 'export NCCL_P2P_DISABLE=1 NCCL_PROTO=LL NCCL_ALGO=NVLS' 'srun -n16 train' >none.sh
  $ nccltune lint --topology h100.json none.sh | grep -A1 NT316
  none.sh:1:8: warning NT316: NCCL_P2P_DISABLE=1
      Traffic between the GPUs of a node goes through host memory, NVLink unused. On 2 of these nodes an AllReduce costs up to 5.4x up to 256 KiB and costs up to 1.8x from 2 MiB to 16 MiB (predicted for this line alone; with the others no AllReduce is possible).
  [1]

srun leaves out all names that it does not list, and each counts once, also where one begins another; six are named

  $ { printf 'export %s=1\n' NCCL_DEBUG_SUBSYS NCCL_DEBUG NCCL_DEBUG NCCL_IB_{SL,TC,TIMEOUT,RETRY_CNT,DISABLE,PKEY,MERGE_VFS} \
  >     NCCL_{ALGO,PROTO,BUFFSIZE,NTHREADS,MIN_CTAS,MAX_CTAS,CROSS_NIC,P2P_LEVEL,NET_GDR_READ,SHM_DISABLE,NVLS_ENABLE} \
  >     NCCL_{PXN_DISABLE,CHECK_MODE,SOCKET_IFNAME,TOPO_FILE}; echo 'srun --export=PATH ./a'; } >many.sh
  $ nccltune lint many.sh --json | jq -r '.findings[] | select(.id == "NT703") | .text, .advice' | tee advice | head -1
  srun passes only what --export names: the launch in line 26 leaves out this and 23 more.
  [1]
  $ grep -o 'NCCL_IB_RETRY_CNT and .*' advice
  NCCL_IB_RETRY_CNT and 18 more to the list.

Every rule is still known

  $ nccltune lint --list-rules | awk '{ print $1 ":" $2 }' | sort | paste -sd ' ' | fold -s -w 110
  NT101:warning NT102:warning NT103:note NT104:warning NT105:note NT106:warning NT107:warning NT108:note
  NT109:warning NT110:warning NT201:error NT202:error NT203:error NT204:error NT205:error NT206:error
  NT207:error NT208:error NT209:error NT210:warning NT211:error NT212:error NT213:warning NT214:error
  NT215:error NT216:error NT217:error NT218:error NT219:error NT220:error NT221:warning NT301:error
  NT302:warning NT303:warning NT304:warning NT305:note NT306:warning NT307:warning NT308:warning NT309:warning
  NT310:warning NT311:note NT312:note NT313:warning NT314:warning NT315:note NT316:warning NT317:warning
  NT318:warning NT319:warning NT320:warning NT321:note NT322:warning NT323:warning NT324:note NT325:warning
  NT326:warning NT327:note NT401:warning NT402:warning NT403:warning NT404:error NT405:warning NT406:error
  NT407:warning NT408:warning NT409:warning NT410:error NT411:warning NT412:note NT413:warning NT414:error
  NT415:warning NT416:warning NT417:note NT418:warning NT501:warning NT502:error NT503:warning NT504:error
  NT505:error NT506:error NT507:note NT508:note NT509:error NT510:note NT511:warning NT601:error NT602:error
  NT603:error NT604:warning NT605:error NT606:error NT607:warning NT608:error NT609:warning NT610:warning
  NT611:error NT612:error NT613:error NT614:error NT615:error NT616:error NT701:warning NT702:warning
  NT703:warning NT704:warning NT705:warning NT706:warning NT707:warning NT708:warning NT709:warning
  NT710:warning NT711:note NT801:warning NT802:note NT803:warning
  $ nccltune lint --list-rules --json | jq -c '.[0] | keys'
  ["id","name","severity","title"]
  $ [ "$(nccltune lint --list-rules --json | jq length)" = "$(nccltune lint --list-rules | grep -c .)" ]

A file of nccltune's own sets nothing: it tells what was tried

  $ echo '{"format": "nccltune-decisions/1", "tried": {"NCCL_IB_TIMEOUT": "40"}}' >decisions.json
  $ nccltune lint decisions.json
  0 settings: 0 errors, 0 warnings, 0 notes
  $ echo '{"name": "nccltune-test", "env": {"NCCL_ALGO": "Rng"}}' >job.json
  $ nccltune lint job.json | sed -n 1p
  job.json:1:36: error NT207: NCCL_ALGO=Rng
  [1]

--fix=all writes the list that the topology gives, and takes out what a later line overrides; a word for yes is left to the reader

  $ nccltune probe --machine dgx-h100 --json >h100.json
  $ printf 'export NCCL_IB_HCA=mlx5_0\nexport NCCL_IB_HCA=mlx5_2, mlx5_3\nexport NCCL_IB_DISABLE=true\nsrun ./train\n' >order.sh
  $ nccltune lint --topology h100.json --fix=all order.sh 2>/dev/null
  : # nccltune lint, NT708: export NCCL_IB_HCA=mlx5_0
  export NCCL_IB_HCA==mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_9:1,mlx5_10:1,mlx5_11:1
  export NCCL_IB_DISABLE=true
  srun ./train
  [1]
  $ nccltune lint --topology h100.json order.sh | grep -E '^order.sh.*warning' | cut -d ' ' -f 1-3
  order.sh:2:8: warning NT508:
  order.sh:1:8: warning NT708:
  order.sh:2:8: warning NT511:
  [1]

Any number but 0 switches RDMA off

  $ printf 'export NCCL_IB_DISABLE=5\nsrun ./train\n' >five.sh
  $ nccltune lint --topology h100.json five.sh | sed -n 1,2p
  five.sh:1:8: warning NT310: NCCL_IB_DISABLE=5
      NCCL reads any number but 0 as 1. 12 active RDMA ports go unused: data takes TCP, unless a network plugin brings its own transport. On 2 of these nodes an AllReduce costs up to 144.3x at all sizes (predicted).

--fix=all writes strings where Kubernetes takes nothing else, in env and in a ConfigMap

  $ printf 'apiVersion: v1\nkind: ConfigMap\ndata:\n  NCCL_IB_TIMEOUT: 22\n  NCCL_BUFFSIZE: 8M\n' >map.yaml
  $ nccltune lint map.yaml | grep -c 'error NT616'
  1
  [1]
  $ nccltune lint --fix=all map.yaml 2>/dev/null | tail -n 2
    NCCL_IB_TIMEOUT: "22"
    NCCL_BUFFSIZE: "8388608"
  [1]

A word that can only mean one thing is corrected; a range is no name, NCCL_NET takes one name, and names of interfaces
are the site's, not those of a bundled machine

  $ printf 'export %s\n' NCCL_SOCKET_FAMILY=ipv4 NCCL_DEBUG=Warning NCCL_BUFFSIZE=8Mi NCCL_IB_HCA=mlx5_0-7 NCCL_NET=IB,Socket \
  >     NCCL_SOCKET_IFNAME=bond0 >words.sh
  $ nccltune lint --fix=all words.sh 2>/dev/null
  export NCCL_SOCKET_FAMILY=AF_INET
  export NCCL_DEBUG=WARN
  export NCCL_BUFFSIZE=8388608
  export NCCL_IB_HCA=mlx5_0-7
  export NCCL_NET=IB,Socket
  export NCCL_SOCKET_IFNAME=bond0
  [1]
  $ nccltune lint --topology h100.json words.sh --json | jq -r '.findings[] | select(.line > 3) | [.id, .subject] | @tsv' | sort -u
  NT214	NCCL_IB_HCA
  NT406	NCCL_NET
  NT502	NCCL_IB_HCA
  NT504	NCCL_IB_HCA
  [1]

What a setting costs is predicted for the nodes that the script asks for, else for those of the topology

  $ nccltune probe --machine dgx-h100 --nodes 16 --json >h16.json
  $ on() { nccltune lint --topology h16.json - | grep -o 'On [0-9one]* of these nodes'; }
  $ printf '%s\n' '#SBATCH -N4' 'export NCCL_IB_HCA==mlx5_0' 'srun train' | on
  On 4 of these nodes
  $ printf '%s\n' 'export NCCL_IB_HCA==mlx5_0' 'srun -N1 prepare' 'srun --nodes=2 train' | on
  On 2 of these nodes
  $ printf '%s\n' 'export NCCL_P2P_DISABLE=1' 'srun -N 1 train' | on
  On one of these nodes
  $ printf '%s\n' 'export NCCL_IB_HCA==mlx5_0' 'torchrun --nnodes=8 train.py' | on
  On 8 of these nodes
  $ printf '%s\n' 'export NCCL_IB_HCA==mlx5_0' 'srun train' | on
  On 16 of these nodes
  $ echo 'export NCCL_IB_HCA==mlx5_0' >hca.env && printf '%s\n' '#SBATCH -N4' '. ./hca.env' 'srun train' >sourcing.sh
  $ nccltune lint --topology h16.json sourcing.sh | grep -o 'On [0-9]* of these nodes an AllReduce'
  On 4 of these nodes an AllReduce
  $ printf '%s\n' '#SBATCH -N4' 'export NCCL_IB_HCA==mlx5_0' 'srun --export=NONE train' | on
  [1]

Behind a test and && or behind ||, and in a while loop, a setting is one of a branch; what a function sets that nothing calls is not set

  $ cat >maybe.sh <<'END'
  > [ "$SLURM_NODEID" -eq 0 ] && export NCCL_ALGO=Ring
  > [ "$OLD" = 1 ] &&
  >     export NCCL_PROTO=Simple
  > slow() {
  >     export NCCL_P2P_DISABLE=1
  > }
  > function slower { export NCCL_SHM_DISABLE=1; }
  > fast() { export NCCL_IB_TC=106; }
  > while read -r host; do
  >     export NCCL_NET_GDR_LEVEL=LOC
  > done <hosts
  > cd job && export NCCL_IB_TIMEOUT=22; fast
  > srun ./train
  > END
  $ nccltune lint maybe.sh | grep -E 'NT707|NT711' -A1
  maybe.sh:1:37: warning NT707: NCCL_ALGO=Ring
      Only one rank or node sets it, and all ranks of a job should have the same.
  --
  maybe.sh:5:12: note NT711: NCCL_P2P_DISABLE=1
      No other line names the function slow, which sets it.
  --
  maybe.sh:7:26: note NT711: NCCL_SHM_DISABLE=1
      No other line names the function slower, which sets it.
  $ nccltune lint maybe.sh | grep -c NT316
  0
  [1]
  $ nccltune whatif --machine dgx-h100 --script maybe.sh 2>&1 >out | head -n 1
  nccltune whatif: warning: maybe.sh: NCCL_ALGO, NCCL_PROTO, NCCL_NET_GDR_LEVEL set in a branch (if, case, &&, while): taken as if every branch ran
  $ grep -o 'jobs have.*' out
  jobs have * (glob)

A file that a script sources is read where it lies beside the script, else that is said once; --fix leaves it alone

  $ printf 'NCCL_P2P_LEVEL=NVLINK\nexport NCCL_MIN_NRINGS=8\n' >site.env
  $ printf '%s\n' '. "$(dirname "$0")"/site.env' 'source ./gone.sh' '. ./gone2.sh' '. ~/.bashrc' 'export NCCL_MIN_NRINGS=4' 'srun ./train' >with.sh
  $ nccltune lint with.sh | grep -v '^    [A-Z]'
  site.env:1:1: warning NT609: NCCL_P2P_LEVEL=NVLINK
  site.env:2:8: note NT108: NCCL_MIN_NRINGS=8
  with.sh:5:8: note NT108: NCCL_MIN_NRINGS=4
  with.sh:2:1: note
      sources ./gone.sh, which is not here: what that sets is not known
  3 settings: 0 errors, 1 warning, 2 notes
  $ sed -i '1i set -a' with.sh; nccltune lint with.sh | grep -E '^site.env'
  site.env:1:1: error NT205: NCCL_P2P_LEVEL=NVLINK
  site.env:2:8: note NT108: NCCL_MIN_NRINGS=8
  [1]
  $ nccltune lint --fix=all with.sh 2>/dev/null | tail -n 2
  export NCCL_MIN_NRINGS=4
  srun ./train
  [1]
  $ nccltune lint with.sh site.env | tail -n 1
  3 settings: 1 error, 0 warnings, 2 notes
  [1]
