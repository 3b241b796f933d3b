/* nccltune whatif: predict variations of a machine. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/predict/whatif.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"
#include "core/units.h"
#include "core/vars/catalogue.h"
#include "probe/source/probe.h"

#define COMMAND "whatif"

static int help(void)
{
    puts(
        "Usage: nccltune whatif --machine NAME | --topology FILE | --from FILE [OPTION]...\n"
        "Predict what variations of a machine would do to a collective, with NCCL's default and tuned: nothing is\n"
        "measured, and none of these needs the machine. Without any variation, all that make sense for it.\n"
        "\n"
        "The machine (default: this one)\n" CLI_MACHINE_HELP
        "      --topology FILE       topology.json, from nccltune probe\n"
        "      --ranks-per-node N    default: a node's GPUs\n"
        "      --nccl VERSION        whose default is predicted, such as 2.28.9; the newest known\n"
        "      --nodes-per-leaf N    switches of the fabric hold so many nodes; by default as 32 ports suggest\n"
        "\n"
        "Variations; each may be repeated\n"
        "      --hcas LIST           NCCL uses these alone: mlx5_0,mlx5_1\n"
        "      --dead-rail HCA       that one is missing on every node\n"
        "      --half-width HCA      its PCIe link has half its lanes\n"
        "      --sockets             no RDMA, such as after a wrong GID: NCCL falls back to TCP\n"
        "      --mixed-rails         leaf switches serve all HCAs of a few nodes instead of one rail of many\n"
        "      --oversubscription X  leaves' uplinks carry 1/X of what their ports can\n"
        "      --more-nodes LIST     so many nodes instead: 64,512\n"
        "\n"
        "What to show\n"
        "  -c, --collective C        allreduce (the default), allgather, reducescatter, broadcast, reduce or alltoall\n"
        "      --svg FILE            draw busbw over size with gnuplot; the script is left beside it as FILE.gp\n"
        "  -j, --json                every size as JSON\n"
        "  -h, --help                this text\n"
        "\n"
        "Examples:\n"
        "  nccltune whatif --machine azure-ndv5 --nodes 32\n"
        "  nccltune whatif --machine dgx-a100 --nodes 16 --dead-rail mlx5_3 --sockets --svg dead.svg\n"
        "  nccltune whatif --topology topology.json --nodes 4 --more-nodes 64,512 --collective allgather\n"
        "\n"
        "Exit status: 0 done, 1 bad input or nothing can be predicted, 2 wrong usage, 3 --svg and no gnuplot.");
    return 0;
}

enum {
    OPT_RANKS = 256,
    OPT_NCCL,
    OPT_LEAF,
    OPT_HCAS,
    OPT_DEAD,
    OPT_HALF,
    OPT_SOCKETS,
    OPT_MIXED,
    OPT_OVER,
    OPT_MORE,
    OPT_SVG,
};

static const struct option options[] = {
    {"machine", required_argument, NULL, CLI_OPT_MACHINE},
    {"topology", required_argument, NULL, CLI_OPT_TOPOLOGY},
    {"from", required_argument, NULL, CLI_OPT_FROM},
    {"gpu", required_argument, NULL, CLI_OPT_GPU},
    {"nodes", required_argument, NULL, CLI_OPT_NODES},
    {"ranks-per-node", required_argument, NULL, OPT_RANKS},
    {"nccl", required_argument, NULL, OPT_NCCL},
    {"nodes-per-leaf", required_argument, NULL, OPT_LEAF},
    {"hcas", required_argument, NULL, OPT_HCAS},
    {"dead-rail", required_argument, NULL, OPT_DEAD},
    {"half-width", required_argument, NULL, OPT_HALF},
    {"sockets", no_argument, NULL, OPT_SOCKETS},
    {"mixed-rails", no_argument, NULL, OPT_MIXED},
    {"oversubscription", required_argument, NULL, OPT_OVER},
    {"more-nodes", required_argument, NULL, OPT_MORE},
    {"collective", required_argument, NULL, 'c'},
    {"svg", required_argument, NULL, OPT_SVG},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* A variation as the command line has it, until the machine is known. */
struct wish {
    int option;
    const char *value;
};

struct args {
    struct cli_machine machine;
    struct model_setup base;
    struct wish *wishes; /* room for argc */
    int nwishes;
    int coll;
    const char *svg;
    int json;
};

/* ---- the command line -----------------------------------------------------------------------------------------------
 */

static int take_number(const char *text, long high, const char *what, int *out, struct err *e)
{
    long n = 0;
    int rc = unit_parse_int(text, 1, high, &n, what, e);
    *out = (int)n;
    return rc;
}

static int take_collective(const char *word, int *coll, struct err *e)
{
    *coll = coll_parse(word, strlen(word));
    if (*coll < 0)
        return err_set(e, ERR_USAGE,
                       "--collective: '%s' is none of allreduce, allgather, reducescatter, broadcast, reduce, alltoall",
                       word);
    return 0;
}

static int take_release(const char *word, int *version, struct err *e)
{
    int low;
    return env_version_parse(word, &low, version)
               ? err_set(e, ERR_USAGE, "--nccl: '%s' is no version such as 2.28.9 or 2.28", word)
               : 0;
}

static int take(struct args *a, int c, const char *value, struct err *e)
{
    if (c >= CLI_OPT_MACHINE)
        return cli_machine_take(c, value, &a->machine, e);
    switch (c) {
    case OPT_RANKS:
        return take_number(value, 4096, "--ranks-per-node", &a->base.nccl.ranks_per_node, e);
    case OPT_NCCL:
        return take_release(value, &a->base.nccl.version, e);
    case OPT_LEAF:
        return take_number(value, 100000, "--nodes-per-leaf", &a->base.switches.nodes_per_leaf, e);
    case OPT_SVG:
        a->svg = value;
        return *value ? 0 : err_set(e, ERR_USAGE, "--svg: expected the name of a file");
    case 'c':
        return take_collective(value, &a->coll, e);
    case 'j':
        a->json = 1;
        return 0;
    default:
        a->wishes[a->nwishes++] = (struct wish){c, value};
        return 0;
    }
}

/* ---- variations -----------------------------------------------------------------------------------------------------
 */

static int add_nodes(struct whatif *w, const char *list, struct err *e)
{
    struct cli_machine numbers = {0};
    int rc = cli_machine_nodes(list, "--more-nodes", &numbers, e);
    for (int i = 0; i < numbers.nnodes && !rc; i++)
        rc = whatif_add_nodes(w, numbers.nodes[i], e);
    return rc;
}

static int add_oversubscription(struct whatif *w, const char *text, struct err *e)
{
    char *end;
    double factor = strtod(text, &end);
    return whatif_add_oversubscription(w, end == text || *end ? 0 : factor, e);
}

static int add(struct whatif *w, const struct wish *wish, struct err *e)
{
    switch (wish->option) {
    case OPT_HCAS:
        return whatif_add_hcas(w, wish->value, e);
    case OPT_DEAD:
        return whatif_add_dead(w, wish->value, e);
    case OPT_HALF:
        return whatif_add_half_width(w, wish->value, e);
    case OPT_SOCKETS:
        return whatif_add_sockets(w, e);
    case OPT_MIXED:
        return whatif_add_mixed_rails(w, e);
    case OPT_OVER:
        return add_oversubscription(w, wish->value, e);
    default:
        return add_nodes(w, wish->value, e);
    }
}

/* ---- what came of it ------------------------------------------------------------------------------------------------
 */

static int draw(const struct whatif *w, const char *svg, struct err *e)
{
    struct file_out out;
    const char *script = arena_printf(w->arena, "%s.gp", svg);
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    whatif_write_plot(w, svg, out.stream);
    rc = file_out_commit(&out, script, e);
    return rc ? rc : whatif_plot(script, e);
}

static int show(const struct args *a, const struct whatif *w, struct err *e)
{
    int rc = 0;
    if (a->json) {
        cJSON *doc = whatif_json(w);
        rc = json_save(doc, NULL, e);
        cJSON_Delete(doc);
    } else {
        whatif_print(w, stdout);
        if (fflush(stdout))
            rc = err_errno(e, "standard output cannot be written");
    }
    return rc || !a->svg ? rc : draw(w, a->svg, e);
}

static int run(struct args *a, const struct topology *t, struct log *log, struct err *e)
{
    const char *name = a->machine.name ? a->machine.name : t->source ? t->source : "the topology";
    if (a->machine.nnodes > 1)
        return err_set(e, ERR_USAGE, "--nodes: one number here; --more-nodes are variations");
    a->base.nccl.topology = t;
    a->base.nccl.nodes = a->machine.nnodes ? a->machine.nodes[0] : 0;
    struct whatif *w = whatif_new(name, a->coll, &a->base, e);
    if (!w)
        return e->code;
    if (t->nclasses > 1)
        log_warn(log, "the nodes are not all alike: predicted for nodes of %s only",
                 t->classes[w->cases[0].setup.nccl.class_index].name);
    int rc = a->nwishes ? 0 : whatif_add_usual(w, e);
    for (int i = 0; i < a->nwishes && !rc; i++)
        rc = add(w, &a->wishes[i], e);
    if (!rc)
        rc = whatif_predict(w, e);
    if (!rc)
        rc = show(a, w, e);
    whatif_free(w);
    return rc;
}

static int parse(int argc, char **argv, struct args *a)
{
    struct err e = {0};
    int c;
    while ((c = getopt_long(argc, argv, "c:jh", options, NULL)) != -1) {
        if (c == 'h')
            return help() - 1;
        if (c == '?')
            return cli_usage(COMMAND, NULL);
        if (take(a, c, optarg, &e))
            return cli_usage(COMMAND, "%s", e.text);
    }
    return optind < argc ? cli_usage(COMMAND, "'%s' is one word too many", argv[optind]) : 0;
}

int whatif_main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct args a = {.coll = COLL_ALLREDUCE};
    struct err e = {0};
    a.wishes = arena_alloc(arena, (size_t)argc * sizeof *a.wishes);
    int rc = parse(argc, argv, &a);
    if (!rc) {
        struct log log = cli_log(COMMAND, 0);
        struct topology *t =
            cli_machine_named(&a.machine) ? cli_machine_open(&a.machine, &log, &e) : probe_machine(&log, &e);
        rc = t ? run(&a, t, &log, &e) : e.code;
        topo_free(t);
        if (rc)
            cli_fail(COMMAND, &e);
    }
    arena_free(arena);
    return rc < 0 ? 0 : rc;
}
