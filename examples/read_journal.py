#!/usr/bin/env python3
"""The median time of every candidate in a journal: read_journal.py results.jsonl"""
import collections, json, statistics, sys

times = collections.defaultdict(list)
for line in open(sys.argv[1], encoding="utf-8"):
    m = json.loads(line)
    if m.get("status") == "ok":  # the first line says what the file is; others failed or were left behind
        times[m["collective"], m["bytes"], m["launch"]["label"], m["call"]["label"]] += m["times_us"]
for (collective, size, launch, call), us in sorted(times.items()):
    print(f"{collective:14} {size:>10} B  {launch:10} {call:24} {statistics.median(us):10.1f} us")
