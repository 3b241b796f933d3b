#!/usr/bin/env python3
"""Reads a file as node_exporter's textfile collector and OpenMetrics want it: families together, gauges, labels quoted."""
import re
import sys

LABEL = r'[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf'([a-zA-Z_:][\w:]*)(?:\{{{LABEL}(?:,{LABEL})*\}})? (\S+)$')
text = open(sys.argv[1], encoding="utf-8").read()
assert text.endswith("# EOF\n"), "no end"
family, seen, samples = None, set(), set()
for number, line in enumerate(text.splitlines()[:-1], 1):
    if line.startswith("# TYPE "):
        _, _, family, kind = line.split(" ")
        assert kind == "gauge" and family not in seen, f"line {number}: family again: {line}"
        seen.add(family)
    elif line.startswith("# HELP "):
        assert line.split(" ")[2] == family and len(line.split(" ")) > 3, f"line {number}: {line}"
    else:
        found = SAMPLE.match(line)
        assert found and found[1] == family, f"line {number}: {line}"
        float(found[2])
        assert line.rsplit(" ", 1)[0] not in samples, f"line {number}: twice: {line}"
        samples.add(line.rsplit(" ", 1)[0])
assert samples, "no sample"
