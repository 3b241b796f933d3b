#!/usr/bin/env python3
"""Time against size for every candidate, a picture a collective: plot_results.py results.csv [DIRECTORY]

results.csv is of `nccltune results FILE... --format csv`. Needs pandas and matplotlib."""
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

rows = pd.read_csv(sys.argv[1], keep_default_na=False)
out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".")
rows = rows[rows.status == "ok"]
for (collective, nodes, ranks, buffers), shape in rows.groupby(["collective", "nodes", "ranks", "buffers"]):
    fig, ax = plt.subplots(figsize=(9, 6))
    for (launch, call), candidate in shape.groupby(["launch", "call"]):
        by_size = candidate.groupby("bytes").agg(us=("median_us", "median"), low=("min_us", "min"), high=("max_us", "max"))
        is_default = launch == call == "default"
        line, = ax.plot(by_size.index, by_size.us, marker="o", markersize=3, linewidth=2 if is_default else 1,
                        label="default" if is_default else f"{launch}, {call}", color="black" if is_default else None)
        ax.fill_between(by_size.index, by_size.low, by_size.high, alpha=0.08, color=line.get_color())
    ax.set(xscale="log", yscale="log", xlabel="bytes", ylabel="microseconds",
           title=f"{collective} on {nodes} nodes, {ranks} ranks{', ' + buffers if buffers else ''}")
    ax.grid(True, which="both", alpha=0.3)
    ax.legend(fontsize="small")
    name = out / f"{collective}-{nodes}x{ranks}{'-' + buffers if buffers else ''}.png"
    fig.savefig(name, dpi=120)
    plt.close(fig)
    print(name)
