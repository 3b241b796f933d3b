/* What NCCL reads and obeys, and what it costs: leftovers that were meant for one evening of looking for a fault, and
 * on a known machine what the model predicts. */
#include <string.h>
#include <unistd.h>

#include "core/call/result.h"
#include "core/vars/parse.h"
#include "lint/lint_internal.h"
#include "probe/topology/topology.h"

static int is_loc(const struct lint_setting *s, const struct lint *l)
{
    const char *level = s->value ? env_parse_level(s->value, l->high) : NULL;
    return level && !strcmp(level, "LOC");
}

/* A benchmark that one command is to run without P2P measures the rest on purpose, and a build runs no job. */
static void find_left_over(struct lint *l, enum lint_rule rule, const struct lint_setting *s, const char *says,
                           const char *advice)
{
    struct lint_finding *f = lint_find(l, rule, s, "%s", advice, says);
    if (s->text && (lint_is_experiment(s) || lint_speaks_of(s->text, "bdist_wheel")))
        f->severity = FINDING_NOTE;
}

static void check_p2p(struct lint *l, const struct lint_setting *s)
{
    int level = !strcmp(s->name, "NCCL_P2P_LEVEL");
    const struct lint_setting *shm = lint_anywhere(l, s, "NCCL_SHM_DISABLE");
    if (level ? is_loc(s, l) : s->value && !strcmp(s->value, "1"))
        find_left_over(l, NT_P2P_OFF, s,
                       shm && lint_is_on(shm)
                           ? "With NCCL_SHM_DISABLE traffic between the GPUs of a node goes over the network."
                           : "Traffic between the GPUs of a node goes through host memory, NVLink unused.",
                       "Remove it, unless a test of P2P fails on these nodes.");
}

static void check_shm(struct lint *l, const struct lint_setting *s)
{
    if (lint_is_on(s))
        find_left_over(l, NT_SHM_OFF, s,
                       "Where P2P is not possible, ranks of a node talk over the network instead of shared memory.",
                       "Remove it, and give containers a large enough /dev/shm.");
}

static void check_gdr(struct lint *l, const struct lint_setting *s)
{
    const char *level = s->value ? env_parse_level(s->value, l->high) : NULL;
    if (level && !strcmp(level, "SYS"))
        lint_find(l, NT_GPUDIRECT_EVERYWHERE, s,
                  "NICs also reach GPUs behind the other socket directly, which many CPUs forward slowly.",
                  "Measure with and without it; where nodes have one socket, or a NIC beside each GPU, remove it.");
    if (is_loc(s, l))
        lint_find(l, NT_GPUDIRECT_OFF, s,
                  "NICs never reach GPU memory directly: all traffic is copied through the host.",
                  "Remove it, unless GPUDirect fails on these nodes.");
}

/* "1" and words for it, as CUDA and PyTorch read them. */
static void check_serial(struct lint *l, const struct lint_setting *s)
{
    int cuda = !strncmp(s->name, "CUDA_", 5);
    if (!s->value || (strcmp(s->value, "1") != 0 && (cuda || !strchr("tTyY", s->value[0]) || !s->value[0])))
        return;
    struct lint_finding *f = lint_find(
        l, NT_WAITS_FOR_EACH_CALL, s,
        cuda ? "Every kernel launch waits for the kernel's end: communication no longer overlaps with computation."
             : "The host waits in every collective until it ends, and PyTorch's watchdog no longer handles errors.",
        cuda ? "Remove it outside of debugging." : "Remove it; TORCH_NCCL_ASYNC_ERROR_HANDLING ends hung jobs.");
    if (s->how == LINT_COMMAND) /* of one program, while somebody looks for a fault */
        f->severity = FINDING_NOTE;
}

static void check_debug_file(struct lint *l, const struct lint_setting *s)
{
    static const char device[] = "/dev/";
    if (!s->value || !s->value[0] || !strncmp(s->value, device, sizeof device - 1) || strstr(s->value, "%h") ||
        strstr(s->value, "%p") || strchr(s->value, '\n') || !strcmp(s->value, "stdout") || !strcmp(s->value, "stderr"))
        return;
    lint_find(l, NT_ONE_DEBUG_FILE, s, "Every rank opens this file and overwrites the others.",
              "Put %h (host) and %p (process) into the name.");
}

static void check_connections(struct lint *l, const struct lint_setting *s)
{
    static const char fsdp[] = "--use-torch-fsdp2|--use-custom-fsdp|--use-megatron-fsdp";
    int64_t n;
    if (!lint_number(s, &n))
        return;
    if (n < 1 || n > 32)
        lint_find(l, NT_HARDWARE_QUEUES, s, "The CUDA driver takes 1 to 32.", "Write 1 to 32, or remove it.");
    else if (n == 1 && lint_speaks_of(s->text, fsdp))
        lint_find(l, NT_HARDWARE_QUEUES, s, "One hardware queue prevents the overlap that this job's FSDP needs.",
                  "Remove it for FSDP jobs.");
    else if (n != 1 && lint_speaks_of(s->text, "--sequence-parallel") && !lint_speaks_of(s->text, fsdp))
        lint_find(l, NT_HARDWARE_QUEUES, s, "Megatron's sequence parallelism needs 1 on GPUs before Blackwell.",
                  "Write 1.");
}

static void check_split(struct lint *l, const struct lint_setting *s)
{
    int64_t qps = 1;
    const struct lint_setting *other = lint_anywhere(l, s, "NCCL_IB_QPS_PER_CONNECTION");
    if (lint_is_on(s) && !l->rccl && (!other || (lint_number(other, &qps) && qps <= 1)))
        lint_find(l, NT_SPLIT_WITHOUT_QPS, s,
                  "A connection has one queue pair, so there is nothing to split data over.",
                  "Set NCCL_IB_QPS_PER_CONNECTION too, or remove it.");
}

static const struct {
    const char *names;
    lint_check_fn *check;
} leftovers[] = {
    {"NCCL_P2P_DISABLE|NCCL_P2P_LEVEL", check_p2p},
    {"NCCL_SHM_DISABLE", check_shm},
    {"NCCL_NET_GDR_LEVEL", check_gdr},
    {"NCCL_DEBUG_FILE", check_debug_file},
    {"CUDA_DEVICE_MAX_CONNECTIONS", check_connections},
    {"NCCL_IB_SPLIT_DATA_ON_QPS", check_split},
    {"CUDA_LAUNCH_BLOCKING|TORCH_NCCL_BLOCKING_WAIT", check_serial},
};

/* ---- values of plugins, frameworks, RCCL ------------------------------------------------------------------------- */

static void check_plugin_value(struct lint *l, const struct lint_setting *s)
{
    const struct env_limit *limit = s->value && s->value[0] ? env_limit_find(s->name) : NULL;
    char text[ENV_LIMIT_TEXT];
    const char *wanted = limit ? env_limit_broken(limit, s->value, text) : NULL;
    if (wanted)
        lint_find(l, NT_PLUGIN_VALUE, s, "Its reader takes %s.", "Write one of these, or remove it.", wanted);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Files that are read; others are written. */
static void check_missing_file(struct lint *l, const struct lint_setting *s)
{
    static const char read[] =
        "NCCL_TOPO_FILE|NCCL_GRAPH_FILE|NCCL_CONF_FILE|NCCL_TUNER_PLUGIN|NCCL_NET_PLUGIN|NCCL_PROFILER_PLUGIN|"
        "NCCL_ENV_PLUGIN|NCCL_TUNER_CONFIG_PATH|NCCL_IBVERBS_LIB|NCCL_TUNER_CONFIG_FILE";
    if (!lint_is(s, read) || !l->options.root || !s->value || s->value[0] != '/')
        return;
    int of_hosts = s->text && (!strcmp(s->text->doc.kind, "shell") || !strcmp(s->text->doc.kind, "conf"));
    if (l->options.elsewhere && !of_hosts) /* a container's files are its own */
        return;
    if (access(arena_printf(l->arena, "%s%s", l->options.root, s->value), F_OK))
        lint_find(l, NT_MISSING_FILE, s,
                  l->options.elsewhere ? "There is no such file on this machine." : "There is no such file here.",
                  "Write the path of a file on every node.")
            ->severity = l->options.elsewhere ? FINDING_NOTE : FINDING_ERROR;
}

/* ---- predicted --------------------------------------------------------------------------------------------------- */

/* Settings of one lint that the model is asked about, and of one job together. */
enum { MOST_ASKED = 64, MOST_OF_JOB = 32 };

/* × the time without it that is worth a warning. */
#define WORTH 1.2

/* Documents repeat settings: each is predicted once. */
struct lint_cost {
    const struct lint_cost *next;
    uint64_t hash; /* of all that the job has */
    const char *name, *value;
    int known;
    struct predicted_cost cost;
};

/* What a job has that has this setting: those of its document that count together with it, itself among them. Of long
 * documents, which are lists of many jobs, it alone. Returns how many. */
static int list_job(const struct lint *l, const struct lint_setting *s, struct bench_setting job[MOST_OF_JOB],
                    int *which, uint64_t *hash)
{
    int n = 0;
    *which = 0;
    *hash = hash_add(s->hash, hash_text(s->value));
    for (size_t i = 0; s->text && i < s->text->count && s->text->count <= MOST_OF_JOB; i++) {
        const struct lint_setting *o = l->settings[s->text->first + i];
        if (o != s && (!o->value || !o->var || !lint_reaches(o) || o->how == LINT_UNSET || o->hash == s->hash ||
                       o->group != s->group || o->branch != s->branch || o->body != s->body || lint_set_again(l, o) ||
                       lint_loss(l, o)))
            continue;
        *which = o == s ? n : *which;
        *hash = hash_add(hash_add(*hash, o->hash), hash_text(o->value));
        job[n++] = (struct bench_setting){o->name, o->value};
    }
    if (!n)
        job[n++] = (struct bench_setting){s->name, s->value};
    return n;
}

/* As its script has them, or the one that sources it; 0: neither says. */
static int nodes_of(const struct lint *l, const struct lint_setting *s)
{
    const int most = 1 << 16;
    int nodes = 0;
    for (struct lint_text *t = s->text; t && !nodes; t = t->sourced_by) {
        if (t->nodes < 0)
            t->nodes = l->options.predictor->script_nodes(t->doc.name, t->data, t->bytes);
        nodes = t->nodes;
    }
    return nodes <= most ? nodes : 0;
}

static const struct predicted_cost *cost_of(struct lint *l, const struct lint_setting *s)
{
    const struct lint_cost *found = l->costs;
    struct bench_setting job[MOST_OF_JOB];
    uint64_t hash;
    int which, n = list_job(l, s, job, &which, &hash), nodes = nodes_of(l, s);
    hash = hash_add(hash, (uint64_t)nodes);
    while (found && (found->hash != hash || strcmp(found->name, s->name) != 0 || strcmp(found->value, s->value) != 0))
        found = found->next;
    if (!found && l->ncosts < MOST_ASKED) {
        struct lint_cost *c = ARENA_NEW(l->arena, struct lint_cost);
        *c =
            (struct lint_cost){.next = l->costs, .hash = hash, .name = s->name, .value = s->value, .cost.nodes = nodes};
        c->known =
            !l->options.predictor->setting_cost(l->options.topology, l->options.nccl_high, job, n, which, &c->cost);
        l->ncosts += c->known;
        found = l->costs = c;
    }
    return found && found->known ? &found->cost : NULL;
}

/* Into the finding that there is about the setting, else as one of its own. */
static struct lint_finding *add_to_finding(struct lint *l, const struct lint_setting *s, enum lint_rule rule,
                                           const char *says, const char *advice)
{
    struct lint_finding *last = l->nfindings ? l->findings[l->nfindings - 1] : NULL;
    if (last && last->at == s) {
        last->says = arena_printf(l->arena, "%s %s", last->says, says);
        if (rule == NT_PREDICTED_COST && last->severity < FINDING_WARNING && !lint_is_experiment(s))
            last->severity = FINDING_WARNING;
        return last;
    }
    return lint_find(l, rule, s, "%s", advice, says);
}

static const char *nodes_text(const struct lint *l, int nodes)
{
    return nodes == 1 ? "one" : arena_printf(l->arena, "%d", nodes);
}

/* A least number of channels that NCCL has here anyway. */
static void check_already_there(struct lint *l, const struct lint_setting *s)
{
    int64_t value;
    if (!lint_is(s, "NCCL_MIN_NRINGS|NCCL_MIN_NCHANNELS|NCCL_MIN_CTAS") || !lint_number(s, &value) || value < 1)
        return;
    if (l->channels_asked != nodes_of(l, s)) {
        l->channels_asked = l->channels_nodes = nodes_of(l, s);
        l->channels = l->options.predictor->channels(l->options.topology, l->options.nccl_high, &l->channels_nodes);
    }
    if (l->channels >= value)
        add_to_finding(l, s, NT_ALREADY_THERE,
                       arena_printf(l->arena, "NCCL makes %d channels on %s of these nodes without it (predicted).",
                                    l->channels, nodes_text(l, l->channels_nodes)),
                       "Remove it.");
}

static void check_predicted(struct lint *l, const struct lint_setting *s)
{
    if (!l->options.predictor || !l->options.topology || l->options.measured || !s->value || !lint_reaches(s) ||
        lint_set_again(l, s) || lint_loss(l, s))
        return;
    check_already_there(l, s);
    const struct predicted_cost *c = cost_of(l, s);
    if (!c || c->factor < WORTH)
        return;
    struct lint_finding *f = add_to_finding(
        l, s, NT_PREDICTED_COST,
        arena_printf(l->arena, "On %s of these nodes an AllReduce %s (predicted%s).", nodes_text(l, c->nodes), c->text,
                     c->alone ? " for this line alone; with the others no AllReduce is possible" : ""),
        "Remove it, unless a test without it fails on these nodes.");
    f->cost = c->factor;
    if (f->replacement && f->fix == LINT_FIX_NONE) /* of a list that leaves ports idle */
        f->fix = LINT_FIX_VALUE;
}

/* ---- instances of GPUs ------------------------------------------------------------------------------------------- */

static int is_cut(const struct topology *t)
{
    for (int k = 0; t && k < t->nclasses; k++)
        for (int i = 0; i < t->classes[k].ngpus; i++)
            if (t->classes[k].gpus[i].mig == TOPO_YES)
                return 1;
    return 0;
}

static void check_instances(struct lint *l, const struct lint_setting *s)
{
    int peers = !strncmp(s->name, "NCCL_P2P_", 9) || !strcmp(s->name, "NCCL_NVLS_ENABLE");
    if (!peers || (!is_cut(l->options.topology) &&
                   !lint_speaks_of(s->text, "CUDA_VISIBLE_DEVICES=MIG-|NVIDIA_VISIBLE_DEVICES=MIG-")))
        return;
    lint_find(
        l, NT_MIG_INSTANCES, s,
        "GPUs are cut into instances (MIG) here: between them there is neither peer access nor NVLink, despite this; "
        "before 2.30.3 NCCL refuses two instances of one GPU in a communicator (\"Duplicate GPU detected\").",
        "Switch MIG off for jobs of several GPUs, and remove it.");
}

void lint_check_costs(struct lint *l, const struct lint_setting *s)
{
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++)
        if (lint_is(s, leftovers[i].names))
            leftovers[i].check(l, s);
    check_plugin_value(l, s);
    check_missing_file(l, s);
    check_instances(l, s);
    check_predicted(l, s);
}
