nccltune generate, explain, verify, report: from measurements to a profile, and what can be read from it. The measurements are
a journal written by hand: five rounds on two nodes of four GPUs, in which Ring with LL128 takes half of NCCL's time at 1 MiB
and 16 MiB and a fifth more at 64 KiB, and four queue pairs take a tenth off everything.

generate writes the settings and rules that pay off

  $ nccltune probe --machine hgx-a100-4 --nodes 2 -o topology.json
  $ journal() {
  >     local bytes=$1 us=$2 launch=$3 factor=$4 settings='{}' call
  >     [ "$launch" = default ] || settings='{"NCCL_IB_QPS_PER_CONNECTION": "4"}'
  >     for call in '"default", "settings": {}' '"ring/ll128", "settings": {"algorithm": "ring", "protocol": "ll128"}'; do
  >         for round in 1 2 3 4 5; do
  >             printf '{"engine": "nccl", "library": "NCCL 2.28.9", "collective": "allreduce", "bytes": %d, "nodes": 2, "ranks": 8,
  >                 "launch": {"label": "%s", "settings": %s}, "call": {"label": %s}, "round": %d, "status": "ok",
  >                 "times_us": [%d.%d, %d.%d, %d.%d, %d.5, %d.5, %d.5]}' "$bytes" "$launch" "$settings" "$call" $round \
  >                 $us $round $us $round $us $round $us $us $us | tr -d '\n'
  >             echo
  >         done
  >         us=$((us * factor / 10))
  >     done
  > }
  $ { echo '{"format": "nccltune-results/1", "topology": "'$(jq -r .hash topology.json)'"}'
  >   journal 65536 480 default 12; journal 65536 432 qps=4 12
  >   journal 1048576 1680 default 5; journal 1048576 1512 qps=4 5
  >   journal 16777216 20880 default 5; journal 16777216 18792 qps=4 5; } >results.jsonl
  $ nccltune generate -q -t topology.json --results results.jsonl -o profile
  $ ls profile
  decisions.json
  manifest.json
  nccl.conf
  nccl.sh
  openmpi-mca-params.conf
  openmpi.rules
  openmpi.sh
  results.jsonl
  topology.json
  tuner.bin
  tuner.csv
  $ grep -v '^#' profile/nccl.conf

  NCCL_IB_QPS_PER_CONNECTION=4
  $ grep -v '^#' profile/tuner.csv
  allreduce,1048576,16777216,ring,ll128,-1,2,8,-1,0,-1,-1
  $ grep -E '^# (nccl|collective)' profile/tuner.csv
  # nccltune-tuner/1
  # nccl: 2.28
  # collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff,chunk_bytes,nvlDomains

The manifest has the hash of every file; sha256sum of all files is the profile's hash

  $ jq -c '.format, .topology, .complete, .libraries' profile/manifest.json
  "nccltune-manifest/1"
  "e20b2c4d0a25d931d7465acb8258ffcaebcd2dd200c206e88d5a74f3e5e72b5a"
  true
  [{"name":"NCCL 2.28.9"}]
  $ cd profile && jq -r '.files[] | "\(.sha256)  \(.name)"' manifest.json | sha256sum --quiet -c
  $ jq -r '.files[].name' manifest.json | diff - <(ls | grep -v manifest)
  $ [ "$(jq -r .hash manifest.json)" = "$(sha256sum $(ls | grep -v manifest) | sha256sum | cut -d ' ' -f 1)" ]
  $ cd ..
  $ nccltune generate -q -t topology.json --results results.jsonl -o again
  $ diff <(jq -c '.hash, .files' profile/manifest.json) <(jq -c '.hash, .files' again/manifest.json)

nccl.sh keeps what is set, NCCLTUNE=force overrides it, NCCLTUNE=off does nothing

  $ (. profile/nccl.sh; env | grep ^NCCL_)
  NCCL_IB_QPS_PER_CONNECTION=4
  $ (export NCCL_IB_QPS_PER_CONNECTION=2; . profile/nccl.sh; env | grep ^NCCL_)
  NCCL_IB_QPS_PER_CONNECTION=2
  $ (export NCCL_IB_QPS_PER_CONNECTION=2 NCCLTUNE=force; . profile/nccl.sh; env | grep ^NCCL_)
  NCCL_IB_QPS_PER_CONNECTION=4
  $ (export NCCLTUNE=off; . profile/nccl.sh; env | grep ^NCCL_)
  [1]

explain: the whole profile

  $ nccltune explain profile >out
  $ grep -E 'NCCL_IB_QPS|^  allreduce|ring/ll128|^ +above' out
    NCCL_IB_QPS_PER_CONNECTION = 4
    allreduce      64 KiB to below 1 MiB          default                  nothing is proven to be faster than the baseline by 3 % or more; nearest was ring/ll128 at 64 KiB with 0.83x (0.83 to 0.83), 5 runs
                   1 MiB to 16 MiB                ring/ll128               2.00x (2.00 to 2.00) at 1 MiB to 16 MiB  NCCL would: ring/ll, ring/simple
                   above 16 MiB                   default
  $ nccltune explain profile --json | jq -c '.format, .topology, (.settings[] | select(.source == "measured on GPUs" or .value) | [.name, .value]),
  >     (.shapes[] | [.engine, .library, .nodes, .ranks, (.collectives[].ranges[] | [.min_bytes, .max_bytes, .call.label])])'
  "nccltune-decisions/1"
  "e20b2c4d0a25d931d7465acb8258ffcaebcd2dd200c206e88d5a74f3e5e72b5a"
  ["NCCL_IB_QPS_PER_CONNECTION","4"]
  ["nccl","NCCL 2.28.9",2,8,[65536,1048575,"default"],[1048576,16777216,"ring/ll128"],[16777217,-1,"default"]]

explain: one call, with the evidence

  $ nccltune explain profile --collectives allreduce --bytes 4M --nodes 2 --ranks 8 --json >call.json
  $ jq -c '.shapes[].collectives[].ranges[] | [.min_bytes, .max_bytes, .call.label, (.gain.median * 100 | round / 100)],
  >     (.points[].candidates[] | [.label, .time_us.median, .lines])' call.json
  [1048576,16777216,"ring/ll128",2]
  ["ring/ll128",756.5,"results.jsonl:37,38,39,40,41"]
  ["default",1512.5,"results.jsonl:32,33,34,35,36"]
  $ jq -c '.model[0] | [.algorithm, .protocol, .estimate_us > 0]' call.json
  ["ring","simple",true]
  $ nccltune explain profile --collectives allreduce --bytes 4M --nodes 2 --ranks 8 | grep -E '^  (used|why|tuner.csv|evidence)|^  \*'
    used: ring/ll128: algorithm=ring protocol=ll128 (1 MiB to 16 MiB)
    why, of the 2 sizes of that range: ring/ll128 is * (glob)
    evidence at 1 MiB, the nearest size measured (times in us; gain over the baseline call):
    * ring/ll128               ok             756       756       756   30  2.00x (2.00 to 2.00)  results.jsonl:37,38,39,40,41
    tuner.csv: algorithm ring, protocol ll128

explain: one variable

  $ nccltune explain profile NCCL_IB_QPS_PER_CONNECTION | sed -n 1p
    NCCL_IB_QPS_PER_CONNECTION = 4
  $ nccltune explain profile NCCL_IB_TIMEOUT --json | jq -c '.catalogue.defaults[-1]'
  {"since":"2.23.4","value":"20"}

explain: a variable without a profile; an unknown one is refused with the nearest name

  $ nccltune explain NCCL_ALGO --json | jq -c '.name, .known, .meaning'
  "NCCL_ALGO"
  true
  "algorithms that the cost model may choose from"
  $ nccltune explain NCCL_IB_HCA | grep -A1 values
        values: NAME[:PORT],... by the beginning of names; in front of the list: = exact names, ^ all but these,
                ^= both
  $ nccltune explain NCCL_IB_HCA --json | jq .syntax | cut -c 1-15
  "NAME[:PORT],..
  $ nccltune explain NCCL_IB_HCAA
  nccltune explain: * did you mean NCCL_IB_HCA? (glob)
  * (glob)
  [2]
  $ nccltune explain ib_hac
  nccltune explain: there is no such profile, and 'ib_hac' is not a known variable of NCCL; did you mean NCCL_IB_HCA?
  * (glob)
  [2]
  $ nccltune explain profile NCCL_IB_HCAA
  nccltune explain: * did you mean NCCL_IB_HCA? (glob)
  * (glob)
  [2]

A name in any case and without NCCL_ does, too; values with what they do, defaults by release in one line

  $ nccltune explain proto
    NCCL_PROTO
        what it is: protocols that the cost model may choose from
        values: LL lowest latency and half the bandwidth or less, LL128 low latency and nearly all of it, Simple
                full bandwidth; written NAME,... or, from NCCL 2.24.3 on, COLLECTIVE:NAME,...;...; ^ in front of
                a list: all but these
        without it, NCCL 2.19.0 to 2.31.0 takes: unset
        see also: NCCL_ALGO NCCL_TUNER_PLUGIN
  $ nccltune explain ib_timeout | grep values
        values: 0 to 31
  $ nccltune explain TORCH_NCCL_ASYNC_ERROR_HANDLING | grep -E 'values|belongs'
        values: 0 to 3
        belongs to PyTorch
  $ nccltune explain ucx_tls | head -1
    UCX_TLS
  $ nccltune explain nccl_net_gdr_level | grep values
        values: LOC never, NVL over NVLink, NVB over the NVLinks of * (glob)
  $ nccltune explain pxn | grep -o 'NCCL_P2P_LEVEL\|PXN through a'
  NCCL_P2P_LEVEL
  PXN through a
  $ nccltune explain NCCL_DEBUG_SUBSYS | grep values
        values: INIT, COLL, P2P, SHM, * (glob)
  $ nccltune explain NCCL_TUNER_PLUGIN | grep values
        values: none, a library's path or file name, or NAME for libnccl-tuner-NAME.so
  $ nccltune explain NCCL_CTA_POLICY | grep without
        without it, NCCL 2.19.0 to 2.31.0 takes: nothing, the release has no such variable; from 2.27.3 on unset (the program's ncclConfig_t, else DEFAULT)
  $ nccltune explain ib_timeout | grep without
        without it, NCCL 2.19.0 to 2.31.0 takes: 18; from 2.23.4 on 20
  $ nccltune explain profile ib_timeout | grep without
        without it, NCCL 2.28.9 takes: 20
  $ mkdir debug && nccltune explain debug
  nccltune explain: debug: not a profile directory, * (glob)
  [1]
  $ nccltune explain DEBUG | sed -n 1p
    NCCL_DEBUG

explain: a collective behind the profile is the call, and its size follows; another name is no variable that is not set

  $ nccltune explain profile allreduce 4M >words
  $ nccltune explain profile --collectives allreduce --bytes 4M | diff - words
  $ nccltune explain profile allreduce --bytes 4M | diff - words
  $ nccltune explain profile bcast 8 | head -n 2
  broadcast of 8 B* (glob)
  * (glob)
  $ nccltune explain profile allreduce
  nccltune explain: a call has a collective and a size, such as: allreduce 64M
  Try 'nccltune explain --help'.
  [2]
  $ nccltune explain profile allreduce 4X 2>&1 | head -n 1
  nccltune explain: * '4X'* (glob)
  [2]
  $ nccltune explain profile NCCL_IB_TIMEOUT 4M 2>&1 | head -n 1
  nccltune explain: unexpected argument '4M'
  [2]
  $ nccltune explain profile allredcue 2>&1 | head -n 1
  nccltune explain: 'allredcue' is not a known variable of NCCL or the profile; did you mean allreduce?
  [2]
  $ nccltune explain profile nccl_ib_timout 2>&1 | head -n 1
  nccltune explain: 'nccl_ib_timout' is not a known variable of NCCL or the profile; did you mean NCCL_IB_TIMEOUT?
  [2]
  $ nccltune explain profile foo_bar
  nccltune explain: 'foo_bar' is not a known variable of NCCL or the profile
  Try 'nccltune explain --help'.
  [2]

explain: a job's step with and without the profile

  $ cat >job.json <<'END'
  > {"format": "nccltune-workload/1", "name": "hand", "ranks": 8, "ranks_per_node": 4, "phases": [
  >  {"name": "backward", "compute_us": 100000, "collectives": [
  >   {"collective": "allreduce", "bytes": 1048576, "count": 10, "group_size": 8, "placement": "cluster", "overlap_us": 0}]}]}
  > END
  $ nccltune explain profile --workload job.json --json | jq -c '.from_us, [.now.waited_for.time_us, .tuned.waited_for.time_us | round]'
  {"measured":16805}
  [16805,7565]

verify without a library to measure: status 3

  $ nccltune verify profile --engine model
  nccltune verify: --engine: *nccl or mpi* (glob)
  Try 'nccltune verify --help'.
  [2]
  $ jq --arg me "$(uname -n | cut -d. -f1)" '.hosts[0].name = $me' topology.json >here.json
  $ nccltune generate -q -t here.json --results results.jsonl -o here
  $ nccltune verify here -q --nccl-lib $PWD/libnowhere.so
  nccltune verify: $PWD/libnowhere.so: cannot open shared object file: No such file or directory
  [3]

verify of another cluster's profile says so first

  $ nccltune verify profile -q --nccl-lib $PWD/libnowhere.so
  nccltune verify: $PWD/profile was made on node[0001-0002]; this is *: run it there, or name nodes with --hosts (glob)
  [3]

verify of a profile that changes nothing has nothing to verify

  $ nccltune generate -q -t here.json -o nothing
  $ nccltune verify nothing --engine mpi
  nccltune verify: $PWD/nothing changes nothing: there is nothing to verify
  $ nccltune verify nothing --engine mpi --json -q | jq -c '[.format, .points, .rules, .noise, .sanity]'
  ["nccltune-points/1",[],[],[],[]]

tune's report counts as tested what had samples enough to decide

  $ jq -c 'select(.format or .launch.label == "default") | select(.bytes != 1048576 or .call.label == "default" or .round == 1) |
  >     select(.bytes != 16777216 or .call.label == "default")' results.jsonl >few.jsonl
  $ nccltune generate -q -t topology.json --results few.jsonl -o few
  $ nccltune explain few allreduce 1M | grep -o 'not proven.*'
  not proven: 1 run of ring/ll128 at 1 MiB, at least 5 are needed: run it and the baseline 4 more times, in turn
  $ nccltune tune -q --resume -o few | grep '^Nothing'
  Nothing is proven to be faster than the baseline here. 2 of 3 points had too few samples to say.
  $ jq -c 'select(.round == null or .round == 1)' results.jsonl >one.jsonl
  $ nccltune generate -q -t topology.json --results one.jsonl -o one
  $ nccltune explain one allreduce 1M | grep -o 'not proven.*'
  not proven: 1 run of ring/ll128 at 16 MiB, at least 5 are needed: run it and the baseline 4 more times, in turn
  $ nccltune tune -q --resume -o one | grep '^Nothing'
  Nothing is proven to be faster than the baseline here. 3 of 3 points had too few samples to say.

report: one page that loads nothing

  $ nccltune report profile -o report.html
  report.html
  $ python3 - <<'END'
  > import re, xml.etree.ElementTree as x
  > text = open("report.html").read()
  > page = x.fromstring(text)
  > print([u for u in re.findall(r"https?://[^\"' <]*", text) if "www.w3.org" not in u])
  > print([e.get("id") for e in page.iter() if e.tag.endswith("section") and e.get("id")])
  > END
  []
  ['summary', 'collectives', 'decisions', 'settings', 'machine', 'environment', 'install']
  $ nccltune report profile
  $PWD/profile/report.html
  $ nccltune report profile -o - | cmp - profile/report.html
  $ grep -oE '<p class="verdict">.*' report.html | cut -d '>' -f 2 | cut -c 1-200
  Altogether * over the baseline on 2 nodes, 8 ranks. * (glob)
  $ nccltune report profile --json | jq -c --slurpfile m profile/manifest.json '[.report, .hash == $m[0].hash]'
  ["$PWD/profile/report.html",true]

A changed profile is refused, a complete one is not overwritten

  $ echo 'allreduce,0,-1,tree,ll,-1,-1,-1' >>again/tuner.csv
  $ nccltune explain again
  nccltune explain: $PWD/again/tuner.csv: *manifest* (glob)
  [1]
  $ nccltune report again -o x.html
  nccltune report: $PWD/again/tuner.csv: *manifest* (glob)
  [1]
  $ nccltune install-profile again --store $PWD/store
  nccltune install-profile: $PWD/again/tuner.csv: *manifest* (glob)
  [1]
  $ nccltune generate -q -t topology.json -o profile
  nccltune generate: profile: *--force* (glob)
  [1]

Without measurements: only what the topology justifies

  $ nccltune probe --machine azure-ndv5 -o azure.json
  $ nccltune generate -q -t azure.json --nccl 2.28 -o azure
  $ grep -v '^#' azure/nccl.conf


  NCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml

  NCCL_IGNORE_CPU_AFFINITY=1
  $ grep -v '^#' azure/tuner.csv
  [1]

explain: a setting stands for its variable; one at a time

  $ nccltune explain NCCL_CUMEM_ENABLE=1 --nccl 2.18 | grep without
        without it, NCCL 2.18 takes: 0 (-2 auto)
  $ nccltune explain NCCL_NET_GDR_LEVEL --nccl 2.21.5 | grep without
        without it, NCCL 2.21.5 takes: unset (PXB)
  $ nccltune explain NCCL_NET_GDR_LEVEL --nccl 2.28.9 | grep without
        without it, NCCL 2.28.9 takes: unset (P2C if NET_GDR_C2C else PXB)
  $ nccltune explain NCCL_ALGO NCCL_PROTO 2>&1 | head -1
  nccltune explain: one variable at a time: 'NCCL_PROTO' is a second one
  [2]
