"""One rank of a loop of all_reduce as training has it, bf16 in place: prints "BYTES MICROSECONDS" of every size, the
slowest rank's median.   torch_loop.py RANK RANKS MEETING-FILE FIRST LAST FACTOR"""
import statistics
import sys

import torch
import torch.distributed as dist

rank, ranks, first, last, factor = (int(sys.argv[i]) for i in (1, 2, 4, 5, 6))
torch.cuda.set_device(rank % torch.cuda.device_count())
dist.init_process_group("nccl", init_method=f"file://{sys.argv[3]}", rank=rank, world_size=ranks)
size = first
while size <= last:
    x = torch.zeros(size // 2, dtype=torch.bfloat16, device="cuda")
    calls = 20 if size < 1 << 26 else 5
    samples = []
    for k in range(9):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            dist.all_reduce(x)
        end.record()
        torch.cuda.synchronize()
        if k > 1:  # warm
            samples.append(1e3 * begin.elapsed_time(end) / calls)
    slowest = torch.tensor([statistics.median(samples)], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if rank == 0:
        print(size, f"{slowest.item():.2f}", flush=True)
    size *= factor
x = torch.full((1 << 16,), float(rank), device="cuda")
dist.all_reduce(x)
assert bool((x == ranks * (ranks - 1) / 2).all()), "wrong data"
dist.destroy_process_group()
