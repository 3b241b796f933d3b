/* The table of GPUs, for people and programs. */
#include "core/edit_distance.h"
#include "core/json.h"
#include "core/units.h"
#include "probe/machines/hardware.h"

static const char *gpu_name_at(int i)
{
    return hw_gpus[i].name;
}

int hw_gpu_unknown(const char *name, struct err *e)
{
    const char *near = edit_distance_nearest(name, gpu_name_at);
    return err_set(e, ERR_USAGE, "'%.80s' is not a GPU known here%s%s%s; nccltune probe --list-gpus lists them", name,
                   near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static const char *link_name(const struct hw_gpu *g)
{
    return g->link_kind == TOPO_XGMI ? "XGMI" : "NVLink";
}

void hw_gpu_list(FILE *out)
{
    char size[UNIT_TEXT];
    for (const struct hw_gpu *g = hw_gpus; g->name; g++) {
        fprintf(out, "%-14s %-8s %8s  %5.0f GB/s", g->name, g->arch ? g->arch : "", unit_bytes(size, g->mem_bytes),
                g->mem_GBps);
        if (g->links)
            fprintf(out, "  %2d %s of %g GB/s", g->links, link_name(g), g->link_GBps);
        fputc('\n', out);
        fprintf(out, "%15s%s\n", "", g->source);
    }
}

int hw_gpu_list_json(FILE *out, struct err *e)
{
    cJSON *array = cJSON_CreateArray();
    for (const struct hw_gpu *g = hw_gpus; g->name; g++) {
        cJSON *o = json_append(array);
        json_add_str(o, "name", g->name);
        json_add_str(o, "model", g->model);
        if (g->sm)
            cJSON_AddNumberToObject(o, "sm", g->sm);
        json_add_str(o, "arch", g->arch);
        cJSON_AddNumberToObject(o, "mem_bytes", (double)g->mem_bytes);
        cJSON_AddNumberToObject(o, "mem_GBps", g->mem_GBps);
        if (g->links) {
            json_add_str(o, "fabric", link_name(g));
            cJSON_AddNumberToObject(o, "links", g->links);
            cJSON_AddNumberToObject(o, "link_GBps", g->link_GBps);
        }
        if (g->c2c_GBps > 0)
            cJSON_AddNumberToObject(o, "c2c_GBps", g->c2c_GBps);
        cJSON_AddNumberToObject(o, "pcie_GTps", g->pcie_GTps);
        cJSON_AddNumberToObject(o, "pcie_width", g->pcie_width);
        json_add_str(o, "source", g->source);
    }
    int rc = json_print(array, out, e);
    cJSON_Delete(array);
    return rc;
}
