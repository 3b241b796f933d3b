/* NCCL settings that the topology alone justifies: only where NCCL's automatic choice would be wrong. */
#pragma once

#include "envgen/profile/decisions.h"

/* NCCL_SOCKET_IFNAME. NCCL left alone uses every running interface with an address that is not called docker*, lo* or
 * virbr*, or only those called ib* when there are any (NCCL 2.30, src/misc/socket.cc, src/os/linux.cc). That is wrong
 * where it takes in interfaces that do not lead off the machine: bridges and tunnels of container software. Then, and
 * only then, the others are named, exactly ('='). Where classes of nodes would need different names, nothing is set.
 *
 * The setting's value is NULL when nothing is to be written; `why` says why in either case. Allocated in `a`. */
struct env_setting env_socket_ifname(const struct topology *t, struct arena *a);

/* The same for one class of nodes. */
struct env_setting env_socket_ifname_of(const struct topo_class *c, struct arena *a);

#define ENV_INTERFACES 16 /* NCCL looks no further than this many */

/* The interfaces of a class that NCCL takes when nothing is set; their number. */
int env_socket_automatic(const struct topo_class *c, const struct topo_netdev *out[ENV_INTERFACES]);
