/* What the verbs engine's worker says, beside its tries: ports with their GIDs, and where network interfaces lead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/engines/verbs/net.h"
#include "bench/nccltune-bench/verbs_internal.h"

/* Answers over a working network come within milliseconds, but a lost first packet is sent again after a second. */
#define NET_PATIENCE_S 3.0
/* Up to so many nodes an interface is tried against that of every other; beyond, against those 1, 2, 4, … further. */
#define NET_ALL 64

const struct who *worker_me(const struct worker *w)
{
    return &w->all[w->rank];
}

void worker_say(const struct worker *w, cJSON *o)
{
    char *line = w->rank ? NULL : cJSON_PrintUnformatted(o);
    if (line) {
        puts(line);
        fflush(stdout);
        free(line);
    }
    cJSON_Delete(o);
}

void worker_say_inside(const struct worker *w, const char *key, cJSON *inner)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, key, inner);
    worker_say(w, o);
}

void worker_gather(const struct worker *w, const void *mine, void *all, size_t bytes)
{
    MPI_Request request;
    int done = 0;
    MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, w->comm, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A port's GIDs travel as its line of the fabric: rank 0 asks for one after the other. */
void verbs_report_ports(const struct worker *w)
{
    const struct who *me = worker_me(w);
    struct verbs_fabric *f = verbs_fabric_new(w->nodes, w->rails);
    int slot = me->node_index * w->rails + me->rail, length = 0;
    f->ports[slot] = (struct verbs_fabric_port){.node = me->node, .name = me->port, .rate_Gbps = me->rate_Gbps};
    if (w->port) {
        f->ports[slot].mtu_bytes = verbs_port_mtu_bytes(w->port);
        f->ports[slot].max_mtu_bytes = verbs_port_max_mtu_bytes(w->port);
        f->ports[slot].gids = w->port->gids;
    }
    cJSON *o = verbs_fabric_port_json(f, slot);
    char *line = cJSON_PrintUnformatted(o);
    if (w->rank) {
        length = (int)strlen(line) + 1;
        MPI_Send(&length, 1, MPI_INT, 0, 0, w->comm);
        MPI_Send(line, length, MPI_CHAR, 0, 0, w->comm);
    }
    for (int i = 0; !w->rank && i < w->ranks; i++) {
        char *text = line;
        if (i) {
            MPI_Recv(&length, 1, MPI_INT, i, 0, w->comm, MPI_STATUS_IGNORE);
            text = arena_alloc(w->arena, (size_t)length + 1);
            MPI_Recv(text, length, MPI_CHAR, i, 0, w->comm, MPI_STATUS_IGNORE);
        }
        worker_say_inside(w, "port", cJSON_Parse(text));
    }
    free(line);
    cJSON_Delete(o);
    verbs_fabric_free(f);
}

/* ---- network interfaces
 * ----------------------------------------------------------------------------------------------*/

/* What a node has found; of fixed size. */
struct led {
    struct verbs_net_list nets;
    int reached[VERBS_NETS], tried;
};

/* The lists of the nodes that node `mine` tries; their number. */
static int choose(const struct verbs_net_list *all, int nodes, int mine, struct verbs_net_list *others)
{
    int n = 0;
    for (int step = 1; step < nodes; step = nodes <= NET_ALL ? step + 1 : step * 2)
        others[n++] = all[(mine + step) % nodes];
    return n;
}

static void report_node(const struct worker *w, int node, const struct led *led)
{
    for (int i = 0; i < led->nets.n; i++) {
        char address[VERBS_NET_TEXT];
        struct verbs_fabric_interface one = {.node = node,
                                             .name = led->nets.nets[i].name,
                                             .address = verbs_net_address(address, &led->nets.nets[i]),
                                             .reached = led->reached[i],
                                             .tried = led->tried};
        worker_say_inside(w, "interface", verbs_fabric_interface_json(&one));
    }
}

/* One rank of each node does it for all. */
void verbs_report_interfaces(const struct worker *w)
{
    struct led mine = {.tried = 0}, *all = NULL;
    int fds[VERBS_NETS];
    MPI_Comm leaders;
    MPI_Comm_split(w->comm, worker_me(w)->rail ? MPI_UNDEFINED : 0, worker_me(w)->node_index, &leaders);
    if (leaders == MPI_COMM_NULL)
        return;
    struct verbs_net_list *lists = arena_alloc(w->arena, (size_t)w->nodes * sizeof *lists);
    struct verbs_net_list *others = arena_alloc(w->arena, (size_t)w->nodes * sizeof *others);
    verbs_net_listen(&mine.nets, fds);
    MPI_Allgather(&mine.nets, sizeof mine.nets, MPI_BYTE, lists, sizeof mine.nets, MPI_BYTE, leaders);
    mine.tried = choose(lists, w->nodes, worker_me(w)->node_index, others);
    verbs_net_try(&mine.nets, others, mine.tried, NET_PATIENCE_S, mine.reached);
    if (!w->rank)
        all = arena_alloc(w->arena, (size_t)w->nodes * sizeof *all);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, leaders);
    /* Whoever listens does so until all have tried. */
    MPI_Barrier(leaders);
    for (int i = 0; i < mine.nets.n; i++)
        close(fds[i]);
    for (int i = 0; !w->rank && i < w->nodes; i++)
        report_node(w, i, &all[i]);
    MPI_Comm_free(&leaders);
}
