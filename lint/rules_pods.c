/* What the pods of a manifest lack: an RDMA device, the right to lock memory, shared memory. A container is judged only
 * where the manifest itself shows that it needs them; what a template fills in is not known, so templates are not. */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "lint/lint_internal.h"

#define MOST_NODES  200000 /* that are looked at, of a document: aliases may repeat them */
#define MOST_LEVELS 64

struct pods {
    struct lint *l;
    const struct lint_view *v;
    yaml_document_t *doc;
    size_t *lines, nlines;
    int room;
    int rdma, uses_nccl; /* of the whole text: RDMA is set up; it runs collectives */
};

/* A container, and the pod that it is in. */
struct container {
    yaml_node_t *self, *pod, *metadata;
    yaml_node_t *gpus; /* the key of its limits or requests */
    long ngpus;
    int rdma, extended; /* resources: an RDMA device; anything that is not a GPU, a CPU or memory */
};

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static const char *text_of(const yaml_node_t *n)
{
    return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : "";
}

static yaml_node_t *get_value(const struct pods *p, const yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++)
        if (!strcmp(text_of(yaml_document_get_node(p->doc, pair->key)), key))
            return yaml_document_get_node(p->doc, pair->value);
    return NULL;
}

static int is_true(const yaml_node_t *n)
{
    return !strcmp(text_of(n), "true");
}

/* Return whether a scalar below the node, or a key, contains one of the words. */
static int mentions(struct pods *p, const yaml_node_t *n, const char *words, int level)
{
    if (!n || level == MOST_LEVELS || p->room-- <= 0)
        return 0;
    if (n->type == YAML_SCALAR_NODE)
        return word_in(words, WORD_OCCURS, text_of(n), strlen(text_of(n)));
    if (n->type == YAML_SEQUENCE_NODE)
        for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++)
            if (mentions(p, yaml_document_get_node(p->doc, *i), words, level + 1))
                return 1;
    if (n->type == YAML_MAPPING_NODE)
        for (yaml_node_pair_t *i = n->data.mapping.pairs.start; i < n->data.mapping.pairs.top; i++)
            if (mentions(p, yaml_document_get_node(p->doc, i->key), words, level + 1) ||
                mentions(p, yaml_document_get_node(p->doc, i->value), words, level + 1))
                return 1;
    return 0;
}

/* ---- one container ----------------------------------------------------------------------------------------------- */

static void take_resource(struct container *c, yaml_node_t *key, const yaml_node_t *value)
{
    const char *name = text_of(key);
    const size_t n = strlen(name);
    if (!strncmp(name, "nvidia.com/gpu", strlen("nvidia.com/gpu")) || !strcmp(name, "amd.com/gpu")) {
        c->gpus = key;
        c->ngpus = strtol(text_of(value), NULL, 10);
    } else if (!word_in("cpu|memory|ephemeral-storage|hugepages-|nvidia.com/mig", WORD_BEGINS, name, n)) {
        c->extended = 1;
        c->rdma |= word_in("rdma|roce|infiniband|/ib|mlnx|hca", WORD_OCCURS, name, n);
    }
}

static void take_resources(const struct pods *p, struct container *c)
{
    static const char *const parts[] = {"requests", "limits"};
    const yaml_node_t *resources = get_value(p, c->self, "resources");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const yaml_node_t *list = get_value(p, resources, parts[i]);
        if (list && list->type == YAML_MAPPING_NODE)
            for (yaml_node_pair_t *k = list->data.mapping.pairs.start; k < list->data.mapping.pairs.top; k++)
                take_resource(c, yaml_document_get_node(p->doc, k->key), yaml_document_get_node(p->doc, k->value));
    }
}

/* A finding stands where the container asks for its GPUs. */
static void find_lack(const struct pods *p, const struct container *c, enum lint_rule rule, const char *says,
                      const char *advice)
{
    struct lint_setting *at = ARENA_NEW(p->l->arena, struct lint_setting);
    const size_t line = c->gpus->start_mark.line;
    size_t offset = line < p->nlines ? p->lines[line] + c->gpus->start_mark.column : p->v->to;
    at->text = p->v->t;
    at->name = arena_strdup(p->l->arena, text_of(c->gpus));
    at->how = LINT_DECLARED;
    at->name_at = lint_at(p->v, offset < p->v->to ? offset : p->v->to);
    lint_find(p->l, rule, at, "%s", advice, says);
}

static void judge_container(struct pods *p, struct container *c)
{
    static const char runs[] =
        "torchrun|mpirun|_perf|deepspeed|accelerate|torch.distributed|vllm|tensor-parallel|sglang";
    const yaml_node_t *security = get_value(p, c->self, "securityContext");
    take_resources(p, c);
    if (c->ngpus < 1)
        return;
    const int has_all = is_true(get_value(p, security, "privileged"));
    if (p->rdma && !has_all && !c->extended && !get_value(p, c->pod, "resourceClaims") &&
        !mentions(p, c->pod, "/dev/infiniband", 0) &&
        !mentions(p, get_value(p, c->metadata, "annotations"), "networks", 0))
        find_lack(p, c, NT_NO_RDMA_RESOURCE,
                  "The manifest sets up NCCL's RDMA transport, but this container has no RDMA device: NCCL falls back "
                  "to TCP.",
                  "Add the RDMA device plugin's resource to its limits, such as rdma/hca_shared_devices_a: 1.");
    if (c->rdma && !has_all && !mentions(p, get_value(p, security, "capabilities"), "IPC_LOCK|SYS_RESOURCE|ALL", 0) &&
        !mentions(p, get_value(p, c->self, "command"), "ulimit", 0) &&
        !mentions(p, get_value(p, c->self, "args"), "ulimit", 0))
        find_lack(p, c, NT_NO_IPC_LOCK,
                  "This container has an RDMA device and no IPC_LOCK: if the container runtime limits locked memory to "
                  "64 KiB or 8 MiB, NCCL cannot register its buffers.",
                  "Add securityContext: {capabilities: {add: [IPC_LOCK]}}, or give the runtime LimitMEMLOCK=infinity.");
    if (c->ngpus > 1 && !is_true(get_value(p, c->pod, "hostIPC")) &&
        !mentions(p, get_value(p, c->self, "volumeMounts"), "/dev/shm", 0) &&
        (p->uses_nccl || mentions(p, get_value(p, c->self, "command"), runs, 0) ||
         mentions(p, get_value(p, c->self, "args"), runs, 0)))
        find_lack(p, c, NT_SMALL_SHM,
                  arena_printf(p->l->arena,
                               "This container has %ld GPUs and the container runtime's /dev/shm of 64 MiB: NCCL's "
                               "start fails when that is full.",
                               c->ngpus),
                  "Mount a volume {name: shm, emptyDir: {medium: Memory}} at /dev/shm.");
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* Judge the containers of every pod below the node; `metadata` is that of the nearest object around it. */
static void walk_node(struct pods *p, yaml_node_t *n, yaml_node_t *metadata, int level)
{
    if (!n || level == MOST_LEVELS || p->room-- <= 0)
        return;
    if (n->type == YAML_SEQUENCE_NODE)
        for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++)
            walk_node(p, yaml_document_get_node(p->doc, *i), metadata, level + 1);
    if (n->type != YAML_MAPPING_NODE)
        return;
    yaml_node_t *own = get_value(p, n, "metadata"), *containers = get_value(p, n, "containers");
    metadata = own ? own : metadata;
    if (containers && containers->type == YAML_SEQUENCE_NODE)
        for (yaml_node_item_t *i = containers->data.sequence.items.start; i < containers->data.sequence.items.top;
             i++) {
            struct container c = {.self = yaml_document_get_node(p->doc, *i), .pod = n, .metadata = metadata};
            judge_container(p, &c);
        }
    for (yaml_node_pair_t *i = n->data.mapping.pairs.start; i < n->data.mapping.pairs.top; i++)
        walk_node(p, yaml_document_get_node(p->doc, i->value), metadata, level + 1);
}

/* Objects whose pods have what is written and no more. Others are completed from templates. */
static const char whole_pods[] =
    "Pod|Job|CronJob|Deployment|DaemonSet|MPIJob|StatefulSet|PyTorchJob|JobSet|RayJob|LeaderWorkerSet|RayCluster|TFJob|"
    "TrainingRuntime|ClusterTrainingRuntime";

/* What the settings of the whole text say: RDMA is set up and not switched off. */
static void take_settings(struct pods *p)
{
    int off = 0;
    for (size_t i = p->v->t->first; i < p->l->nsettings; i++) {
        const struct lint_setting *s = p->l->settings[i];
        const char *value = s->value ? s->value : "";
        p->uses_nccl |= !strncmp(s->name, "NCCL_", 5);
        if (!strcmp(s->name, "NCCL_IB_DISABLE"))
            off |= strcmp(value, "0") != 0;
        else if (!strcmp(s->name, "NCCL_NET"))
            off |= strcasecmp(value, "IB") != 0;
        else if (!strcmp(s->name, "NCCL_IB_HCA") && word_in("eth|en|none|^", WORD_BEGINS, value, strlen(value)))
            off = 1; /* what people write against RDMA */
        else
            p->rdma |= !strncmp(s->name, "NCCL_IB_", 8);
    }
    p->rdma &= !off;
}

void lint_check_pods(struct lint *l, const struct lint_view *v)
{
    struct pods p = {.l = l, .v = v, .room = MOST_NODES};
    yaml_parser_t parser;
    yaml_document_t doc;
    if (v->t->templated || l->depth || !memmem(v->s + v->from, v->to - v->from, "containers:", 11) ||
        !memmem(v->s + v->from, v->to - v->from, ".com/gpu", 8) || !yaml_parser_initialize(&parser))
        return;
    p.doc = &doc;
    p.lines = lint_index_lines(l->arena, v->s, v->from, v->to, &p.nlines);
    take_settings(&p);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)v->s + v->from, v->to - v->from);
    for (int more = 1; more;) {
        more = yaml_parser_load(&parser, &doc);
        yaml_node_t *root = more ? yaml_document_get_root_node(&doc) : NULL;
        const char *kind = text_of(get_value(&p, root, "kind"));
        p.uses_nccl |= word_in("MPIJob|PyTorchJob", WORD_IS, kind, strlen(kind));
        if (word_in(whole_pods, WORD_IS, kind, strlen(kind)))
            walk_node(&p, root, NULL, 0);
        if (more)
            yaml_document_delete(&doc);
        more = root != NULL;
    }
    yaml_parser_delete(&parser);
}
