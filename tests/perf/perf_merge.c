/* 4,096 synthetic nodes of three classes: their topologies as text, read and merged as they would arrive, and written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/json.h"
#include "core/progress.h"
#include "probe/cluster/cluster.h"
#include "probe/topology/build.h"

#define NODES 4096

/* Eight GPUs and ten HCAs below eight switches; `kind` is how many of the HCAs are down. */
static struct topology *make_node(const char *name, int kind)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    struct arena *a = t->arena;
    build_host(t, name, 0);
    c->cpu = "GenuineIntel 6/143";
    int nvswitch = build_object(t, c, (struct topo_object){.kind = TOPO_NVSWITCH, .parent = -1, .numa = -1});
    for (int i = 0; i < 10; i++) {
        int numa = build_numa(t, c, i / 5);
        struct topo_object o = {.kind = TOPO_SWITCH, .parent = numa, .numa = i / 5, .pci_class = 0x060400};
        o.pci = arena_printf(a, "0000:%02x:00.0", 0x10 * i + 1);
        o.parent = build_object(t, c, o);
        o.kind = TOPO_GPU;
        o.pci = arena_printf(a, "0000:%02x:00.0", 0x10 * i + 2);
        o.link_GBps = 63.015;
        o.link_GTps = 32;
        o.link_width = 16;
        if (i < 8) {
            struct topo_gpu g = {.object = build_object(t, c, o), .index = i, .sm = 90, .gdr = -1};
            g.uuid = arena_printf(a, "GPU-%s-%d", name, i);
            build_gpu(t, c, g);
            build_link(t, c, (struct topo_link){.gpu = i, .peer_gpu = -1, .peer_object = nvswitch, .count = 18});
        }
        o.kind = TOPO_NIC;
        o.pci = arena_printf(a, "0000:%02x:00.0", 0x10 * i + 3);
        struct topo_port p = {.object = build_object(t, c, o), .hca = arena_printf(a, "mlx5_%d", i), .port = 1};
        p.state = i < kind ? TOPO_STATE_DOWN : TOPO_STATE_ACTIVE;
        p.layer = TOPO_LINK_ETHERNET;
        p.rate_Gbps = 400;
        p.guid = arena_printf(a, "0x%08x%08x", (unsigned)strtoul(name + 4, NULL, 10), (unsigned)i);
        build_port(t, c, p);
        for (int k = 0; k < 4; k++)
            build_gid(t, c,
                      (struct topo_gid){.port = i,
                                        .index = k,
                                        .type = k % 2 ? TOPO_GID_ROCE_V2 : TOPO_GID_ROCE_V1,
                                        .gid = arena_printf(a, "::ffff:10.%d.%d.%d", i, kind, k)});
        struct topo_host *h = &t->hosts[0];
        build_text(t, &h->addresses, &h->naddresses, arena_printf(a, "%s %s", p.hca, p.guid));
        build_text(t, &h->addresses, &h->naddresses, arena_printf(a, "eth%d 10.%d.3.%d/16", i, i, kind));
    }
    return t;
}

/* Processor time, which other people's work does not lengthen. */
static double cpu_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

int main(void)
{
    struct class_index index = {0};
    struct topology *t = topo_new();
    double model_ms = 0, json_ms = 0, cpu_ms = 0;
    for (int i = 0; i < NODES; i++) {
        char name[32];
        struct err e = {0};
        snprintf(name, sizeof name, "node%04d", i);
        struct topology *own = make_node(name, i % 100 ? 0 : i % 200 ? 1 : 2), *one = topo_new();
        cJSON *doc = topo_to_json(own);
        char *text = must(cJSON_PrintUnformatted(doc));
        cJSON_Delete(doc);

        double before_s = progress_now_s(), cpu_s = cpu_now_s();
        doc = must(json_parse(text, strlen(text), name, 1, &e));
        if (topo_add_json(one, doc, name, &e))
            return 1;
        double between_s = progress_now_s();
        int at = classes_find(&index, &one->classes[0], t->nclasses);
        if (at < t->nclasses)
            classes_add_host(t, at, &one->classes[0], &one->hosts[0], name);
        else if (topo_add_json(t, doc, name, &e))
            return 1;
        model_ms += (progress_now_s() - between_s) * 1e3;
        json_ms += (between_s - before_s) * 1e3;
        cpu_ms += (cpu_now_s() - cpu_s) * 1e3;
        cJSON_Delete(doc);
        free(text);
        topo_free(own);
        topo_free(one);
    }
    double before_s = progress_now_s();
    cJSON *doc = topo_to_json(t);
    char *text = must(cJSON_Print(doc));
    double write_ms = (progress_now_s() - before_s) * 1e3;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%d nodes, %d classes\n", t->nhosts, t->nclasses);
    printf("parsing what they print   %8.1f ms\n", json_ms);
    printf("merging                   %8.1f ms (with parsing %.1f ms, %.1f ms of processor time; target: < 2000 ms)\n",
           model_ms, model_ms + json_ms, cpu_ms);
    printf("writing topology.json     %8.1f ms, %.1f MB (target: < 20 MB)\n", write_ms, (double)strlen(text) / 1e6);
    printf("largest memory            %8.1f MB (target: < 512 MB)\n", (double)usage.ru_maxrss * 1024 / 1e6);
    cJSON_Delete(doc);
    free(text);
    topo_free(t);
    classes_index_free(&index);
    return 0;
}
