/* What is predicted for described machines, as a whole: times with their bands, parts and limits, what was assumed, and
 * every usual variation as it is printed, written and drawn. Who changes a constant sees here what that changes. */
#include "tests/lib/whole.h"

#include "bench/predict/model.h"
#include "bench/predict/whatif.h"
#include "core/coll.h"
#include "core/hash.h"
#include "core/json.h"
#include "probe/machines/machines.h"
#include "tests/lib/made_up_machine.h"

static const struct {
    const char *machine;
    int nodes;
    struct model_setup setup;
} setups[] = {{"dgx-1v", 1, {.launcher = MODEL_LAUNCH_GPU}},
              {"dgx-a100", 3, {.nccl = {.version = 22105}, .launcher = MODEL_LAUNCH_NODE}},
              {"dgx-a100", 2, {.nccl = {.version = 22809, .ranks_per_node = 2, .first_gpu = 2}, .others = -1}},
              {"dgx-h100", 4, {.nccl = {.version = 23007}, .launcher = MODEL_LAUNCH_GRAPH}},
              {"dgx-h100", 64, {.nccl = {.version = 22809, .no_nvls = 1}, .launcher = MODEL_LAUNCH_GPU}},
              {"dgx-h100", 2, {.nccl = {.version = 22809, .sockets = 1}}},
              {"aws-p4d", 2, {.nccl = {.ranks_per_node = 1}, .others = 3}},
              {"azure-ndv4", 16, {.nccl = {.no_pxn = 1, .cross_nic = 3, .max_channels = 4}}},
              {"dgx-b200", 2, {.nccl = {.version = 22903}}},
              {"gb200-nvl72", 18, {.launcher = MODEL_LAUNCH_GPU}},
              {"mi300x", 2, {.launcher = MODEL_LAUNCH_GPU}},
              {"mi355x", 1, {.nccl = {.version = 22803}}}, /* 112 channels */
              {"azure-ndv4", 2, {.nccl = {.ranks_per_node = 1}}},
              {"4xl40s-pcie", 2, {.launcher = MODEL_LAUNCH_GPU}}};

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
            fprintf(out, "  %s %llu: %.3g us, %.3g to %.3g, %s %s %d, %s, beside %.3g%s:", coll_name(coll),
                    (unsigned long long)sizes[i], t.us, t.low_us, t.high_us, t.algo < 0 ? "-" : algo_name(t.algo),
                    t.proto < 0 ? "-" : proto_name(t.proto), t.channels, t.limit, model_slowdown(m, &t),
                    t.unvalidated ? ", unvalidated" : "");
            for (int part = 0; part < MODEL_PARTS; part++)
                fprintf(out, " %.2g", t.share[part] < 1e-9 ? 0 : t.share[part]);
            fputc('\n', out);
        }
}

/* Every algorithm and protocol, as few and as many channels as a tuner may ask for. */
static void print_forced(FILE *out, const struct model *m)
{
    for (int cell = 0; cell < COLL_COUNT * ALGO_COUNT * PROTO_COUNT; cell++)
        for (int channels = 0; channels < 100; channels = channels * 6 + 1) {
            const struct model_call c = {cell / (ALGO_COUNT * PROTO_COUNT), 1 << (6 + cell % 24),
                                         cell / PROTO_COUNT % ALGO_COUNT, cell % PROTO_COUNT, channels};
            struct model_time t;
            if (!model_predict(m, &c, &t))
                fprintf(out, "%d %d %.4g %.4g %.4g %s\n", cell, t.channels, t.us, t.low_us, t.high_us, t.limit);
        }
}

static void described_machines(void **state)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
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
        int n;
        const char *const *assumed = model_assumptions(m, &n);
        fprintf(out, "%s, %d nodes, %d ranks\n", setups[i].machine, setups[i].nodes, model_nccl(m)->ranks);
        for (int k = 0; k < n; k++)
            fprintf(out, "  assumed: %s\n", assumed[k]);
        print_predictions(out, m);
        topo_free(t);
        arena_free(a);
    }
    fclose(out);
    assert_whole(text, "tests/fixtures/bench/predictions.txt");
    free(text);
}

/* All that is predicted, assumed and varied, as one number: 0 where there is no model. */
static unsigned all_predicted(const struct model_setup *s, const char *name, int coll)
{
    struct arena *a = arena_new();
    struct err e = {0};
    const struct model *m = model_new(s, a, &e);
    char *text = NULL;
    size_t bytes;
    int n;
    FILE *out = open_memstream(&text, &bytes);
    if (m) {
        const char *const *assumed = model_assumptions(m, &n);
        for (int i = 0; i < n; i++)
            fputs(assumed[i], out);
        print_predictions(out, m);
        print_forced(out, m);
    }
    struct whatif *w = whatif_new(name, coll, s, &e);
    if (m && w && !whatif_add_usual(w, &e) && !whatif_predict(w, &e)) {
        whatif_print(w, out);
        whatif_draw(w, out);
    }
    whatif_free(w);
    fclose(out);
    uint64_t h = m ? hash_text(text) : 0;
    free(text);
    arena_free(a);
    return (unsigned)(h ^ h >> 32);
}

static void made_up_machines(void **state)
{
    static const int versions[] = {22105, 22809, 23007};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    for (int i = 0; i < 60; i++) {
        const char *base;
        struct model_setup s = {.launcher = (enum model_launcher)(i % 4), .others = i % 5 ? 0 : i % 3 - 1};
        struct topology *t = made_up_machine(200 + i, &base, &s.nccl);
        s.nccl.version = versions[i % 3];
        s.switches = (struct model_switches){
            .nodes_per_leaf = i % 6, .oversubscription = i % 7 * 0.5, .mixed_rails = i % 4 == 1};
        fprintf(out, "%d %s %08x\n", i, base, all_predicted(&s, base, i % COLL_COUNT));
        topo_free(t);
    }
    fclose(out);
    assert_whole(text, "tests/fixtures/bench/made_up.txt");
    free(text);
}

static struct whatif *variations_of(struct topology *t)
{
    struct err e = {0};
    struct model_setup base = {.nccl = {.topology = t, .version = 22809}};
    return whatif_new("dgx-a100", COLL_ALLREDUCE, &base, &e);
}

/* What is printed or drawn of the variations. */
static void assert_printed(const struct whatif *w, void (*print)(const struct whatif *w, FILE *out), const char *file)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    print(w, out);
    fclose(out);
    assert_whole(text, file);
    free(text);
}

/* Numbers to three digits. */
static void print_item(FILE *out, const cJSON *item, int depth)
{
    fprintf(out, "%*s%s", 2 * depth, "", item->string ? item->string : "-");
    if (cJSON_IsNumber(item))
        fprintf(out, ": %.3g", item->valuedouble);
    else if (!item->child)
        fprintf(out, ": %s", cJSON_IsString(item) ? item->valuestring : cJSON_IsTrue(item) ? "yes" : "no");
    fputc('\n', out);
    for (const cJSON *child = item->child; child; child = child->next)
        print_item(out, child, depth + 1);
}

static void print_document(const struct whatif *w, FILE *out)
{
    cJSON *doc = whatif_json(w);
    print_item(out, doc, 0);
    cJSON_Delete(doc);
}

static void usual_variations(void **state)
{
    struct err e = {0};
    struct topology *t = machine_topology("dgx-a100", 4, &e);
    struct whatif *w = variations_of(t);
    (void)state;
    assert_int_equal(whatif_add_usual(w, &e), 0);
    assert_int_equal(whatif_add_settings(w, "NCCL_IB_HCA=mlx5_0,mlx5_1\nNCCL_ALGO=Ring NCCL_NONSENSE=1", &e), 0);
    assert_int_equal(whatif_add_oversubscription(w, 4, &e), 0);
    assert_int_equal(whatif_add_settings(w, "NCCL_ALGO=CollnetDirect", &e), 0);
    int last = w->ncases - 1;
    assert_int_equal(whatif_predict(w, &e), 0);
    assert_printed(w, whatif_print, "tests/fixtures/bench/whatif.txt");
    w->nsizes = 3; /* the document has all of them: a few will do */
    w->ncases = 4;
    w->cases[3] = w->cases[last - 2];
    w->cases[2] = w->cases[last];
    assert_printed(w, print_document, "tests/fixtures/bench/whatif-json.txt");
    whatif_free(w);
    topo_free(t);
}

static void a_picture(void **state)
{
    struct err e = {0};
    struct topology *t = machine_topology("dgx-a100", 4, &e);
    struct whatif *w = variations_of(t);
    (void)state;
    assert_int_equal(whatif_add_sockets(w, &e), 0);
    assert_int_equal(whatif_predict(w, &e), 0);
    assert_printed(w, whatif_draw, "tests/fixtures/bench/whatif.svg");
    whatif_free(w);
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(described_machines), cmocka_unit_test(made_up_machines),
                                       cmocka_unit_test(usual_variations), cmocka_unit_test(a_picture)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
