/* What NCCL makes of every described machine, as a whole: its channels and what
 * it chooses, by release. A difference is right only when NCCL's own search or
 * tables say so. */
#include "tests/lib/whole.h"

#include "core/hash.h"
#include "model/nccl/model.h"
#include "probe/machines/machines.h"

static void print_graph(FILE *out, const struct nccl_model *m, const char *name, const struct nccl_graph *g)
{
    uint64_t h = HASH_START;
    if (!g->nchannels)
        return;
    fprintf(out,
            "    %s: %d channels of %.3g and %.3g GB/s, %s and %s, same %d, "
            "plain %d, cross %d:",
            name, g->nchannels, g->bw_intra, g->bw_inter, path_class_name(g->type_intra),
            path_class_name(g->type_inter), g->same_channels, g->pattern == GRAPH_TREE, g->cross_nic);
    for (int i = 0; i < m->ranks_per_node; i++)
        fprintf(out, " %d", g->gpus[i]);
    for (int i = 0; g->nets && i < 2; i++)
        fprintf(out, " %s", m->nets[g->nets[i]].name);
    for (int i = 0; i < g->nchannels * m->ranks_per_node; i++)
        h = hash_add(h, (uint64_t)g->gpus[i]);
    for (int i = 0; g->nets && i < g->nchannels * 2; i++)
        h = hash_add(h, (uint64_t)g->nets[i]);
    fprintf(out, ", all %08x\n", (unsigned)(h ^ h >> 32));
}

static void print_choices(FILE *out, const struct nccl_model *m)
{
    static const uint64_t sizes[] = {8, 16384, 1 << 20, 64 << 20, (uint64_t)4 << 30};
    for (int coll = 0; coll < COLL_COUNT; coll++) {
        fprintf(out, "    %s:", coll_name(coll));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct nccl_choice c;
            if (nccl_model_choose(m, coll, sizes[i], &c))
                fputs(" none", out);
            else
                fprintf(out, " %s/%s %d %d x %d %.3g,", algo_name(c.algo), proto_name(c.proto), c.channels, c.used,
                        c.threads, c.us);
        }
        fputc('\n', out);
    }
}

/* Every cell of the tables, in one line: what a release's constants come to. */
static void print_tables(FILE *out, const struct nccl_model *m)
{
    fputs("    tables:", out);
    for (int coll = 0; coll < COLL_COUNT; coll++)
        for (int algo = 0; algo < ALGO_COUNT; algo++)
            for (int proto = 0; proto < PROTO_COUNT; proto++)
                if (m->bw[coll][algo][proto] > 0)
                    fprintf(out, " %.3g+%.3g", (double)m->bw[coll][algo][proto], (double)m->latency[coll][algo][proto]);
    fputc('\n', out);
}

static void print_model(FILE *out, const char *machine, const struct nccl_setup *s)
{
    struct arena *a = arena_new();
    struct err e = {0};
    const struct nccl_model *m = nccl_model_new(s, a, &e);
    fprintf(out, "  %s, %d nodes, %d:", machine, s->nodes, s->version);
    if (!m) {
        fprintf(out, " %s\n", e.text);
    } else {
        fprintf(out,
                " %d ranks, %d + %d channels, %.3g GB/s, sm %d to %d, cpu %d, by "
                "hand %d, %s\n",
                m->ranks, m->nchannels, m->nvls_channels, m->total_bw, m->sm, m->sm_most, (int)m->cpu, m->rccl_rings,
                m->assumed ? m->assumed : "all known");
        print_graph(out, m, "rings", &m->ring);
        print_graph(out, m, "trees", &m->tree);
        print_graph(out, m, "nvls", &m->nvls);
        print_choices(out, m);
        print_tables(out, m);
    }
    arena_free(a);
}

TEST_CASE(described_machines)
{
    static const int releases[] = {22105, 22304, 22605, 22809, 22903, 23007, 21806};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    for (int i = 0; machine_name(i); i++) {
        struct err e = {0};
        struct nccl_setup s = {.nodes = 1 << i % 3, .version = releases[i % 7]};
        struct topology *t = machine_topology(machine_name(i), s.nodes, &e);
        assert_non_null(t);
        s.topology = t;
        print_model(out, machine_name(i), &s);
        topo_free(t);
    }
    fclose(out);
    assert_whole(text, "tests/fixtures/nccl/machines.txt");
    free(text);
}

TEST_CASES(test_whole)
