/* What is predicted for described machines, as a whole: times with their bands, parts and limits, and what was assumed.
 * Who changes a constant sees here what that changes. */
#include "tests/lib/whole.h"

#include "core/coll.h"
#include "model/model.h"
#include "probe/machines/machines.h"

static const struct {
    const char *machine;
    int nodes;
    struct model_setup setup;
} setups[] = {{"dgx-1v", 1, {.launcher = MODEL_LAUNCH_PROCESS}},
              {"dgx-a100", 3, {.nccl = {.version = 22105}, .launcher = MODEL_LAUNCH_NODE}},
              {"dgx-a100", 2, {.nccl = {.version = 22809, .ranks_per_node = 2, .first_gpu = 2}, .others = -1}},
              {"dgx-h100", 4, {.nccl = {.version = 23007}, .launcher = MODEL_LAUNCH_GRAPH}},
              {"dgx-h100", 64, {.nccl = {.version = 22809, .no_nvls = 1}, .launcher = MODEL_LAUNCH_PROCESS}},
              {"dgx-h100", 2, {.nccl = {.version = 22809, .sockets = 1}}},
              {"aws-p4d", 2, {.nccl = {.ranks_per_node = 1}, .others = 3}},
              {"azure-ndv4", 16, {.nccl = {.no_pxn = 1, .cross_nic = 3, .max_channels = 4}}},
              {"dgx-b200", 2, {.nccl = {.version = 22903}}},
              {"gb200-nvl72", 18, {.launcher = MODEL_LAUNCH_PROCESS}},
              {"mi300x", 2, {.launcher = MODEL_LAUNCH_PROCESS}},
              {"mi355x", 1, {.nccl = {.version = 22803}}}, /* 112 channels */
              {"azure-ndv4", 2, {.nccl = {.ranks_per_node = 1}}},
              {"4xl40s-pcie", 2, {.launcher = MODEL_LAUNCH_PROCESS}}};

static void print_predictions(FILE *out, const struct model *m)
{
    static const uint64_t sizes[] = {64, 256 << 10, (uint64_t)1 << 30};
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const struct model_call c = {coll, sizes[i], -1, -1, 0};
            struct model_time t;
            if (model_predict(m, &c, &t)) {
                fprintf(out, "  %s %llu: none\n", coll_name(coll), (unsigned long long)sizes[i]);
                continue;
            }
            fprintf(out, "  %s %llu: %.3g us, %.3g to %.3g, %s %s %d, %s%s:", coll_name(coll),
                    (unsigned long long)sizes[i], t.us, t.low_us, t.high_us, t.algo < 0 ? "-" : algo_name(t.algo),
                    t.proto < 0 ? "-" : proto_name(t.proto), t.channels, t.limit, t.unvalidated ? ", unvalidated" : "");
            for (int part = 0; part < MODEL_PARTS; part++)
                fprintf(out, " %.2g", t.share[part] < 1e-9 ? 0 : t.share[part]);
            fputc('\n', out);
        }
}

TEST_CASE(described_machines)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < sizeof setups / sizeof *setups; i++) {
        struct arena *a = arena_new();
        struct err e = {0};
        struct model_setup s = setups[i].setup;
        struct topology *t = machine_topology(setups[i].machine, setups[i].nodes, &e);
        if (!t)
            fail_msg("%s", e.text);
        s.nccl.topology = t;
        s.nccl.nodes = setups[i].nodes;
        const struct model *m = model_new(&s, a, &e);
        if (!m)
            fail_msg("%s: %s", setups[i].machine, e.text);
        fprintf(out, "%s, %d nodes, %d ranks\n", setups[i].machine, setups[i].nodes, m->nccl->ranks);
        for (int k = 0; k < m->nassumptions; k++)
            fprintf(out, "  assumed: %s\n", m->assumptions[k]);
        print_predictions(out, m);
        topo_free(t);
        arena_free(a);
    }
    fclose(out);
    assert_whole(text, "tests/fixtures/bench/predictions.txt");
    free(text);
}

TEST_CASES(test_whole)
