/* How far GPUDirect RDMA is worth it. */
#pragma once

#include "bench/fabric/fabric.h"
#include "envgen/profile/decisions.h"
#include "probe/topology/topology.h"

/* NCCL_NET_GDR_LEVEL: how far apart a GPU and a NIC may be so that the NIC still reads and writes the GPU's memory. A
 * value where the measurements contradict NCCL's default; `why` is NULL where nothing of the kind was measured.
 * `classes` has the class of every node of the fabric, -1 unknown. Everything is allocated in the fabric's arena. */
struct env_setting env_gdr_level(const struct topology *t, const int *classes, const struct verbs_fabric *f,
                                 const struct verbs_decision *v);
