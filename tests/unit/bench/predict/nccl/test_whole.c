/* What NCCL makes of every described machine, as a whole: its channels and what
 * it chooses, by release. A difference is right only when NCCL's own search or
 * tables say so. */
#include "tests/lib/whole.h"

#include "bench/predict/nccl/cost.h"
#include "bench/predict/nccl/model.h"
#include "core/hash.h"
#include "probe/machines/machines.h"
#include "tests/lib/made_up_machine.h"

static void print_graph(FILE *out, const struct nccl_model *m, const char *name, const struct nccl_graph *g)
{
    uint64_t h = HASH_START;
    if (!g->nchannels)
        return;
    fprintf(out,
            "    %s: %d channels of %.3g and %.3g GB/s, %s and %s, same %d, "
            "plain %d, cross %d:",
            name, g->nchannels, g->bw_intra, g->bw_inter, path_class_name(g->type_intra),
            path_class_name(g->type_inter), g->same_channels, g->plain, g->cross_nic);
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

static void described_machines(void **state)
{
    static const int releases[] = {22105, 22304, 22605, 22809, 22903, 23007, 21806};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
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

/* What a call of any size is made of, by what NCCL chooses and by what a tuner may force. */
static uint64_t hash_calls(const struct nccl_model *m)
{
    uint64_t h = HASH_START;
    char text[128];
    for (int coll = 0; coll < COLL_COUNT; coll++)
        for (uint64_t bytes = 1; bytes < (uint64_t)1 << 34; bytes = bytes * 3 + 1)
            for (int cell = -1; cell < ALGO_COUNT * PROTO_COUNT; cell += 1 + coll % 2) {
                struct nccl_choice c = {0};
                if (cell < 0 && nccl_model_choose(m, coll, bytes, &c))
                    continue;
                if (cell >= 0)
                    nccl_model_channels(m, coll, cell / PROTO_COUNT, cell % PROTO_COUNT, bytes, &c);
                snprintf(text, sizeof text, "%d %d %d %d %d %.4g %s", c.algo, c.proto, c.channels, c.used, c.threads,
                         c.us, c.taken_by ? c.taken_by : "");
                h = hash_add(h, hash_text(text));
            }
    return h;
}

/* All that a model holds, as one number; 0: there is none. */
static unsigned fingerprint(const struct nccl_setup *s)
{
    struct arena *a = arena_new();
    const struct nccl_model *m = nccl_model_new(s, a, NULL);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (m) {
        fprintf(out, "%d %d %d %d %.4g %s", m->parts, m->nchannels, m->nvls_channels, m->rccl_rings, m->total_bw,
                m->assumed ? m->assumed : "");
        for (int i = 0; i < m->nnets; i++)
            fprintf(out, " %s %d %.4g %d", m->nets[i].name, m->nets[i].object, m->nets[i].GBps, m->nets[i].gdr);
        print_graph(out, m, "rings", &m->ring);
        print_graph(out, m, "trees", &m->tree);
        print_graph(out, m, "nvls", &m->nvls);
        print_tables(out, m);
        fprintf(out, "%llx", (unsigned long long)hash_calls(m));
    }
    fclose(out);
    uint64_t h = m ? hash_text(text) : 0;
    free(text);
    arena_free(a);
    return (unsigned)(h ^ h >> 32);
}

/* What every release makes of every machine, with one setting or another: a
 * column that changes names the release. */
static void releases(void **state)
{
    static const int versions[] = {21806, 21900, 22100, 22200, 22600, 22800, 22900, 23000};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    fputs("machine x nodes", out);
    for (size_t k = 0; k < sizeof versions / sizeof *versions; k++)
        fprintf(out, " %d", versions[k]);
    fputc('\n', out);
    for (int i = 0; machine_name(i); i += 1 + i % 2) {
        struct nccl_setup s = {.nodes = 1 + i % 4,
                               .cross_nic = i % 5 == 1   ? 1
                                            : i % 5 == 2 ? 3
                                                         : 0,
                               .no_pxn = i % 7 == 3};
        struct topology *t = machine_topology(machine_name(i), s.nodes, NULL);
        s.ranks_per_node = i % 6 == 4 ? 2 : 0;
        s.sockets = i % 8 == 5;
        s.min_channels = i % 9 == 6 ? 20 : 0;
        s.max_channels = i % 9 == 7 ? 3 : 0;
        s.topology = t;
        fprintf(out, "%s x %d", machine_name(i), s.nodes);
        for (size_t k = 0; k < sizeof versions / sizeof *versions; k++) {
            s.version = versions[k];
            fprintf(out, " %08x", fingerprint(&s));
        }
        fputc('\n', out);
        topo_free(t);
    }
    fclose(out);
    assert_whole(text, "tests/fixtures/nccl/releases.txt");
    free(text);
}

/* What is expected is what was found once; what a release does with a machine that exists is above. */
static void made_up_machines(void **state)
{
    static const int versions[] = {21806, 21403, 21900, 22000, 22100, 22200, 22300,
                                   22400, 22500, 22600, 22700, 22800, 22900, 23000};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    for (int i = 0; i < 105; i++) {
        const char *base;
        struct nccl_setup s;
        struct topology *t = made_up_machine(i, &base, &s);
        fprintf(out, "%d %s", i, base);
        for (int k = 0; k < 3; k++) {
            s.version = versions[(i * 3 + k * 5) % (int)(sizeof versions / sizeof *versions)];
            fprintf(out, " %d %08x", s.version, fingerprint(&s));
        }
        fputc('\n', out);
        topo_free(t);
    }
    fclose(out);
    assert_whole(text, "tests/fixtures/nccl/made_up.txt");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(described_machines), cmocka_unit_test(releases),
                                       cmocka_unit_test(made_up_machines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
