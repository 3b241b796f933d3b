#!/usr/bin/env python3
"""Times of tests/rig/gain, lines of "NAME COLLECTIVE BYTES MICROSECONDS" in the order in which they were measured.

  gain.py near FACTOR LOG                   names that are within FACTOR of the fastest at some collective and size
  gain.py rail LOG                          the choice of interfaces with which all of that can be fastest, and the fastest there
  gain.py tables LOG ROUNDS PROFILE...      what the profiles gain, lose against the best that LOG has (anywhere, and with the
                                            interfaces that are best for all: a profile has one choice of them), and whether
                                            they agree

Ratios are of the same round each, and the median over the rounds: the best were chosen by other times than these. A name with
:::again behind it is the same once more. Fails when times are missing or a profile makes things slower.
"""
import collections
import itertools
import json
import math
import statistics
import sys

MARGIN = 1.03  # tune's
NAMES = {"bcast": "broadcast", "reduce_scatter": "reducescatter"}


def read(path):
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path) as lines:
        for line in lines:
            name, coll, size, us = line.split()
            times[coll, int(size)][name].append(float(us))
    return times


def fastest(at, rail=None):
    names = [name for name in at if rail in (None, name.split(":")[0])]
    return min(names, key=lambda name: statistics.median(at[name]))


def best_rail(times):
    def cost(rail):
        return sum(math.log(statistics.median(at[fastest(at, rail)])) for at in times.values())
    return min({name.split(":")[0] for at in times.values() for name in at}, key=cost)


def rail(path):
    times = read(path)
    best = best_rail(times)
    print("\n".join({fastest(at, best): 1 for at in times.values()}))


def again(name):
    """The same setting once more; tests/rig/gain reads no further than its fourth field."""
    return name + ":" * (4 - name.count(":")) + "again"


def near(factor, path):
    found = {}
    for at in read(path).values():
        limit = float(factor) * statistics.median(at[fastest(at)])
        found.update((name, 1) for name in at if statistics.median(at[name]) <= limit)
    print("\n".join(found))


def ratio(at, a, b):
    """The median over the rounds of the time of a by that of b."""
    return statistics.median(x / y for x, y in zip(at[a], at[b]))


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def decision(profile, coll, size):
    with open(profile + "/decisions.json") as document:
        shape = json.load(document)["shapes"][0]
    launch = shape["launches"][shape["chosen"]]["label"]
    for group in shape["collectives"]:
        if group["collective"] == NAMES.get(coll, coll):
            for r in group["ranges"]:
                if r["min_bytes"] <= size and (r["max_bytes"] < 0 or size <= r["max_bytes"]):
                    return launch, r["call"]["label"]
    return launch, "default"


def agreement(rounds, profiles):
    same = alike = pairs = 0
    for (coll, size), at in rounds.items():
        for p, q in itertools.combinations(profiles, 2):
            pairs += 1
            equal = decision(p, coll, size) == decision(q, coll, size)
            same += equal
            alike += equal or 1 / MARGIN <= ratio(at, p, q) <= MARGIN
    return same, alike, pairs


def tables(best_path, rounds_path, *profiles):
    best_of, rounds = read(best_path), read(rounds_path)
    one = best_rail(best_of)
    others = ["again", "han", "adapt", "basic"]
    missing = [n for at in rounds.values() for n in ["default", *others, *profiles] if len(at[n]) != len(at["default"])]
    if missing:
        sys.exit("times are missing: " + " ".join(sorted(set(missing))))
    print(f"{'':24} default by tuned       tuned by best          default by ...")
    print(f"{'collective':15}{'bytes':>9} median least  most   median least  most    " + "".join(f"{o:>7}" for o in others)
          + "  the best, the decisions")
    columns = collections.defaultdict(list)
    for (coll, size), at in sorted(rounds.items()):
        best, in_one = fastest(best_of[coll, size]), fastest(best_of[coll, size], one)
        gain = sorted(ratio(at, "default", p) for p in profiles)
        regret = sorted(ratio(at, p, best) for p in profiles)
        beside = [ratio(at, "default", o) for o in others]
        columns["gain"] += gain
        columns["regret"] += regret
        columns["one"] += [ratio(at, p, in_one) for p in profiles]
        columns["itself"].append(ratio(at, again(best), best))
        columns["best"].append(ratio(at, "default", best))
        for other, x in zip(others, beside):
            columns[other].append(x)
        chosen = collections.Counter("/".join(decision(p, coll, size)) for p in profiles)
        print(f"{coll:15}{size:9}" + "".join(f" {x:6.2f}" for row in (gain, regret)
              for x in (statistics.median(row), row[0], row[-1])) + "    " + "".join(f" {x:6.2f}" for x in beside)
              + f"  {best}; " + ", ".join(f"{n} x {label}" for label, n in chosen.most_common()))
    gain = mean(columns["gain"])
    each = sorted(mean([ratio(at, "default", p) for at in rounds.values()]) for p in profiles)
    print(f"altogether: {gain:.2f} times as fast as the default ({each[0]:.2f} to {each[-1]:.2f} by profile), where {mean(columns['best']):.2f} is the most;",
          ", ".join(f"{o} {mean(columns[o]):.2f}" for o in others))
    print(f"regret: mean {mean(columns['regret']) - 1:.1%}, median {statistics.median(columns['regret']) - 1:.1%}, worst {max(columns['regret']) - 1:.1%};",
          f"{sum(x <= MARGIN for x in columns['regret'])} of {len(columns['regret'])} places within the margin of",
          f"{MARGIN - 1:.0%}; the default against itself within it at",
          f"{sum(1 / MARGIN <= x <= MARGIN for x in columns['again'])} of {len(columns['again'])}")
    itself = sorted(abs(x - 1) for x in columns["itself"])
    print(f"beside the best with {one} alone: mean {mean(columns['one']) - 1:.1%}, median",
          f"{statistics.median(columns['one']) - 1:.1%}; the best setting beside itself: {mean(columns['itself']) - 1:.1%},",
          f"off by {statistics.median(itself):.1%} at the median place and by {itself[-1]:.1%} at the worst")
    same, alike, pairs = agreement(rounds, profiles)
    print(f"agreement: {same} of {pairs} pairs of decisions are the same, {alike} are or are as fast within the margin")
    if gain < 0.9:
        sys.exit("the profiles make things slower")


if __name__ == "__main__":
    {"near": near, "rail": rail, "tables": tables}[sys.argv[1]](*sys.argv[2:])
