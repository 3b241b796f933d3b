/* The table of bundled machines, for people and programs. */
#include "core/json.h"
#include "probe/machines/hardware.h"
#include "probe/machines/machines.h"
#include "probe/machines/machines_table.h"

struct row {
    struct machine_size size;
    const char *network; /* "InfiniBand" */
};

static struct row row_of(const struct machine *m)
{
    static const char *const names[] = {[HW_SOCKETS] = "Ethernet (sockets)",
                                        [HW_EFA] = "EFA",
                                        [HW_TCPX] = "Ethernet (GPUDirect-TCPX)",
                                        [HW_CXI] = "Slingshot"};
    struct row r;
    struct topology *t = machine_build(m, 1, &r.size);
    enum hw_transport transport = r.size.ports ? hw_transport_of(&t->classes[0], r.size.first_nic) : HW_SOCKETS;
    r.network = transport != HW_VERBS                      ? names[transport]
                : m->compute.layer == TOPO_LINK_INFINIBAND ? "InfiniBand"
                                                           : "RoCE";
    topo_free(t);
    return r;
}

void machine_list(FILE *out)
{
    for (const struct machine *m = machines; m->name; m++) {
        struct row r = row_of(m);
        fprintf(out, "%-18s %2d x %-14s", m->name, r.size.gpus, m->gpu);
        if (r.size.ports)
            fprintf(out, " %2d x %g Gb/s %s", r.size.ports, m->compute.Gbps, r.network);
        fprintf(out, "\n%19s%s\n", "", m->source);
    }
}

int machine_list_json(FILE *out, struct err *e)
{
    cJSON *array = cJSON_CreateArray();
    for (const struct machine *m = machines; m->name; m++) {
        struct row r = row_of(m);
        cJSON *o = json_append(array);
        json_add_str(o, "name", m->name);
        json_add_str(o, "product", m->product);
        json_add_str(o, "gpu", m->gpu);
        cJSON_AddNumberToObject(o, "gpus", r.size.gpus);
        if (r.size.ports) {
            json_add_str(o, "nic", m->compute.hw);
            json_add_str(o, "network", r.network);
            cJSON_AddNumberToObject(o, "ports", r.size.ports);
            cJSON_AddNumberToObject(o, "port_Gbps", m->compute.Gbps);
        }
        json_add_str(o, "source", m->source);
    }
    int rc = json_print(array, out, e);
    cJSON_Delete(array);
    return rc;
}
