/* Variations of a machine and their predictions. */
#include "advise/whatif/whatif.h"

#include <string.h>

#include "core/coll.h"
#include "core/vars/parse.h"
#include "envgen/predict/predict.h"
#include "model/model.h"

#define SMALLEST ((uint64_t)1 << 10)
#define LARGEST  ((uint64_t)16 << 30)
#define STEP     2

#define BLANKS " \t\n"

/* As struct nccl_setup has it. */
#define MOST_NODES 1000000

/* A leaf of rails, or of nodes, in a cluster of everyday size: 32 ports down. */
#define LEAF_PORTS 32

static const struct topo_class *class_of(const struct model_setup *s)
{
    return &s->nccl.topology->classes[s->nccl.class_index];
}

/* A further case that begins as the machine is. */
static struct whatif_case *add_case(struct whatif *w, const char *label, const char *what)
{
    struct whatif_case *c = &ARENA_ADD(w->arena, w->cases, w->ncases);
    *c = (struct whatif_case){.label = label, .what = what, .setup = w->cases[0].setup};
    return c;
}

struct whatif *whatif_new(const char *machine, int coll, const struct model_setup *base, struct err *e)
{
    struct model_setup s = *base;
    s.nccl.class_index = topo_gpu_class(s.nccl.topology);
    if (s.nccl.class_index < 0)
        return err_null(e, ERR_FAILED, "%s: no node has a GPU: nothing to predict", machine);
    if (!s.nccl.nodes)
        s.nccl.nodes = topo_class_hosts(s.nccl.topology, s.nccl.class_index);
    struct arena *a = arena_new();
    struct whatif *w = ARENA_NEW(a, struct whatif);
    *w = (struct whatif){.arena = a, .machine = arena_strdup(a, machine), .coll = coll};
    ARENA_ADD(a, w->cases, w->ncases) =
        (struct whatif_case){.label = "as it is", .what = "the machine as it is described", .setup = s};
    return w;
}

void whatif_free(struct whatif *w)
{
    if (w)
        arena_free(w->arena);
}

/* ---- HCAs ---- */

static int names_port(const char *word, size_t n, const struct topo_port *p)
{
    char full[80];
    snprintf(full, sizeof full, "%s:%d", p->hca, p->port);
    return (strlen(p->hca) == n && !strncmp(p->hca, word, n)) || (strlen(full) == n && !strncmp(full, word, n));
}

static const struct topo_port *find_port(const struct whatif *w, const char *word, size_t n, struct err *e)
{
    const struct topo_class *c = class_of(&w->cases[0].setup);
    for (int i = 0; i < c->nports; i++)
        if (names_port(word, n, &c->ports[i]))
            return &c->ports[i];
    return err_null(e, ERR_USAGE, "%s has no RDMA port '%.*s'%s%s", w->machine, (int)(n < 64 ? n : 64), word,
                    c->nports ? "; its first one is " : "", c->nports ? c->ports[0].hca : "");
}

int whatif_add_hcas(struct whatif *w, const char *list, struct err *e)
{
    const char **names = NULL;
    int n = 0;
    for (const char *p = list;; p++) {
        size_t length = strcspn(p, ",");
        const struct topo_port *port = find_port(w, p, length, e);
        if (!port)
            return ERR_USAGE;
        ARENA_ADD(w->arena, names, n) = topo_port_name(w->arena, port);
        p += length;
        if (!*p)
            break;
    }
    struct whatif_case *c =
        add_case(w, arena_printf(w->arena, "only %s", list), arena_printf(w->arena, "NCCL_IB_HCA==%s", list));
    c->setup.nccl.hcas = names;
    c->setup.nccl.nhcas = n;
    return 0;
}

/* The model of the first case, made when it is first asked for. */
static const struct model *as_it_is(struct whatif *w, struct err *e)
{
    struct whatif_case *c = &w->cases[0];
    if (!c->model) {
        struct model_setup *s = ARENA_NEW(w->arena, struct model_setup); /* cases move */
        *s = c->setup;
        c->model = model_new(s, w->arena, e);
    }
    return c->model;
}

/* The ports that NCCL uses on the machine as it is; it joins those of one card to "mlx5_0:1+mlx5_1:1". -1 after an
 * error.
 */
static int used_ports(struct whatif *w, const struct topo_port ***ports, struct err *e)
{
    const struct topo_class *c = class_of(&w->cases[0].setup);
    const struct model *m = as_it_is(w, e);
    int n = 0;
    *ports = arena_alloc(w->arena, (size_t)c->nports * sizeof **ports);
    for (int i = 0; m && i < m->nccl->nnets / m->nccl->trays; i++)
        for (const char *p = m->nccl->nets[i].name; *p; p += *p == '+') {
            size_t length = strcspn(p, "+");
            for (int k = 0; k < c->nports && n < c->nports; k++)
                if (names_port(p, length, &c->ports[k])) {
                    (*ports)[n++] = &c->ports[k];
                    break;
                }
            p += length;
        }
    return m ? n : -1;
}

/* "=mlx5_0:1,...", of the ports that are for compute traffic, if they are up; NULL. */
static const char *compute_list(const struct whatif *w, struct env_devices *devices)
{
    const struct topo_class *c = roles_assume_up(class_of(&w->cases[0].setup), w->arena);
    const char *list = roles_hca_list(c, roles_of(c, w->arena), w->arena);
    env_parse_devices(list ? list : "", devices);
    return list;
}

/* A port that is a rail: not one for storage, without which NCCL would be none the slower. */
static const struct topo_port *find_rail(const struct whatif *w, const char *hca, struct err *e)
{
    const struct topo_class *c = class_of(&w->cases[0].setup);
    const struct topo_port *port = find_port(w, hca, strlen(hca), e);
    const struct port_verdict *verdicts = roles_of(c, w->arena);
    struct env_devices compute;
    const char *list = compute_list(w, &compute);
    if (!port || !list || env_devices_select(&compute, port->hca, port->port))
        return port;
    return err_null(e, ERR_USAGE, "%s is no rail (%s, by 'nccltune probe --why %s'); those of %s are %s", hca,
                    role_name(verdicts[port - c->ports].role), port->hca, w->machine, list);
}

int whatif_add_dead(struct whatif *w, const char *hca, struct err *e)
{
    const struct topo_port *dead = find_rail(w, hca, e), **used;
    int n = dead ? used_ports(w, &used, e) : -1, left = 0;
    if (n < 0)
        return e->code;
    const char **names = arena_alloc(w->arena, (size_t)n * sizeof *names);
    for (int i = 0; i < n; i++)
        if (used[i] != dead)
            names[left++] = topo_port_name(w->arena, used[i]);
    if (left == n)
        return err_set(e, ERR_USAGE, "NCCL does not use %s on %s, so that nothing changes without it", hca, w->machine);
    struct whatif_case *c = add_case(w, arena_printf(w->arena, "without %s", hca),
                                     left ? "that HCA is missing on every node: a dead rail"
                                          : "that HCA, the only one, is missing: NCCL falls back to TCP");
    c->setup.nccl.hcas = left ? names : NULL;
    c->setup.nccl.nhcas = left;
    c->setup.nccl.sockets = !left;
    return 0;
}

/* A copy of the topology that shares everything but the objects of the one class. */
static struct topology *copy_of(struct whatif *w, struct topo_object **objects)
{
    const struct model_setup *s = &w->cases[0].setup;
    const struct topology *from = s->nccl.topology;
    struct topology *t = ARENA_NEW(w->arena, struct topology);
    *t = *from;
    t->classes = arena_alloc(w->arena, (size_t)from->nclasses * sizeof *t->classes);
    memcpy(t->classes, from->classes, (size_t)from->nclasses * sizeof *t->classes);
    struct topo_class *c = &t->classes[s->nccl.class_index];
    *objects = arena_alloc(w->arena, (size_t)c->nobjects * sizeof **objects);
    memcpy(*objects, c->objects, (size_t)c->nobjects * sizeof **objects);
    c->objects = *objects;
    return t;
}

int whatif_add_half_width(struct whatif *w, const char *hca, struct err *e)
{
    const struct topo_port *port = find_rail(w, hca, e);
    if (!port)
        return ERR_USAGE;
    const struct topo_object *nic = port->object >= 0 ? &class_of(&w->cases[0].setup)->objects[port->object] : NULL;
    if (!nic || !(nic->link_GBps > 0))
        return err_set(e, ERR_FAILED, "the topology does not tell how %s is connected", hca);
    struct topo_object *objects;
    struct topology *t = copy_of(w, &objects);
    objects[port->object].link_GBps /= 2;
    objects[port->object].link_width /= 2;
    const char *what = "its PCIe link has half its lanes, on every node";
    if (nic->link_width > 1)
        what = arena_printf(w->arena, "its PCIe link has %d lanes instead of %d, on every node",
                            objects[port->object].link_width, nic->link_width);
    struct whatif_case *c = add_case(w, arena_printf(w->arena, "%s at half width", hca), what);
    c->setup.nccl.topology = t;
    return 0;
}

/* ---- the network ---- */

int whatif_add_sockets(struct whatif *w, struct err *e)
{
    (void)e;
    add_case(w, "sockets", "a wrong GID or no RDMA: NCCL falls back to TCP")->setup.nccl.sockets = 1;
    return 0;
}

/* How many nodes a leaf holds by default: as many as it has ports for, per rail or for whole nodes. */
static int usual_leaf(const struct whatif *w, int mixed)
{
    const struct topo_class *c = class_of(&w->cases[0].setup);
    int active = 0;
    for (int i = 0; i < c->nports; i++) /* a matrix knows no states */
        active += c->ports[i].state == TOPO_STATE_ACTIVE || c->ports[i].state == TOPO_STATE_UNKNOWN;
    int nodes = mixed && active > 1 ? LEAF_PORTS / active : LEAF_PORTS;
    return nodes > 1 ? nodes : 1;
}

static struct model_switches *switches_of(struct whatif *w, struct whatif_case *c, int mixed)
{
    struct model_switches *f = &c->setup.switches;
    if (!f->nodes_per_leaf)
        f->nodes_per_leaf = usual_leaf(w, mixed);
    return f;
}

int whatif_add_mixed_rails(struct whatif *w, struct err *e)
{
    (void)e;
    struct whatif_case *c = add_case(w, "mixed rails", "");
    struct model_switches *f = switches_of(w, c, 1);
    f->mixed_rails = 1;
    c->what = arena_printf(w->arena, "a leaf serves all HCAs of %d node%s instead of one rail", f->nodes_per_leaf,
                           f->nodes_per_leaf == 1 ? "" : "s");
    return 0;
}

int whatif_add_oversubscription(struct whatif *w, double factor, struct err *e)
{
    if (!(factor >= 1 && factor <= 1000))
        return err_set(e, ERR_USAGE, "--oversubscription: expected how many times more enters a leaf than leaves it");
    struct whatif_case *c = add_case(w, arena_printf(w->arena, "%g:1 oversubscribed", factor), "");
    int said = c->setup.switches.nodes_per_leaf, nodes = c->setup.nccl.nodes;
    struct model_switches *f = switches_of(w, c, c->setup.switches.mixed_rails);
    f->oversubscription = factor;
    if (!said && f->nodes_per_leaf >= nodes && nodes > 1)
        f->nodes_per_leaf = (nodes + 1) / 2; /* so that there is an uplink */
    c->what = arena_printf(w->arena, "leaves of %d node%s whose uplinks carry 1/%g of what their ports can%s",
                           f->nodes_per_leaf, f->nodes_per_leaf == 1 ? "" : "s", factor,
                           nodes <= f->nodes_per_leaf ? "; all nodes are on one leaf" : "");
    return 0;
}

int whatif_add_nodes(struct whatif *w, int nodes, struct err *e)
{
    if (nodes < 1)
        return err_set(e, ERR_USAGE, "--more-nodes: expected numbers from 1 up");
    struct whatif_case *c = add_case(w, arena_printf(w->arena, "%d node%s", nodes, nodes == 1 ? "" : "s"),
                                     "the same nodes, another number of them");
    c->setup.nccl.nodes = nodes;
    return 0;
}

/* ---- all that make sense ---- */

int whatif_used_hcas(struct whatif *w, const char ***names, struct err *e)
{
    const struct topo_port **used;
    double best = 0;
    int n = used_ports(w, &used, e), kept = 0, listed = 0;
    struct env_devices list;
    compute_list(w, &list);
    for (int i = 0; i < n; i++)
        listed += env_devices_select(&list, used[i]->hca, used[i]->port);
    *names = arena_alloc(w->arena, ((size_t)(n > 0 ? n : 0) + 1) * sizeof **names);
    for (int i = 0; i < n; i++)
        best = used[i]->rate_Gbps > best ? used[i]->rate_Gbps : best;
    for (int i = 0; i < n; i++)
        if (used[i]->rate_Gbps >= best && (!listed || env_devices_select(&list, used[i]->hca, used[i]->port)))
            (*names)[kept++] = used[i]->hca;
    return n < 0 ? n : kept;
}

static int add_hca_cases(struct whatif *w, const char *const *hcas, int n, struct err *e)
{
    int rc = n > 1 ? whatif_add_hcas(w, hcas[0], e) : 0;
    if (n > 3 && !rc) {
        const char *half = hcas[0];
        for (int i = 1; i < n / 2; i++)
            half = arena_printf(w->arena, "%s,%s", half, hcas[i]);
        rc = whatif_add_hcas(w, half, e);
        if (!rc)
            w->cases[w->ncases - 1].label = arena_printf(w->arena, "%d of %d HCAs", n / 2, n);
    }
    if (n > 1 && !rc)
        rc = whatif_add_dead(w, hcas[n / 2], e);
    if (n && !rc) {
        whatif_add_half_width(w, hcas[0], NULL); /* not where the topology does not tell how HCAs are connected */
        rc = whatif_add_sockets(w, e);
    }
    return rc;
}

int whatif_add_usual(struct whatif *w, struct err *e)
{
    const char **hcas = NULL;
    const struct model_setup *base = &w->cases[0].setup;
    const struct model *m = as_it_is(w, e);
    int nodes = base->nccl.nodes, network = m && m->nccl->nodes > 1, mixed = base->switches.mixed_rails;
    int n = network && !base->nccl.sockets ? whatif_used_hcas(w, &hcas, e) : 0;
    if (!m || n < 0)
        return e->code;
    int rc = add_hca_cases(w, hcas, n, e);
    if (n > 1 && !mixed && !rc)
        rc = whatif_add_mixed_rails(w, e);
    if (network && !rc)
        rc = whatif_add_oversubscription(w, 2, e);
    for (int factor = 4; factor <= 16 && !rc && nodes <= MOST_NODES / factor; factor *= 4)
        rc = whatif_add_nodes(w, nodes * factor, e);
    return rc;
}

/* ---- settings ---- */

int whatif_add_job(struct whatif *w, const char *label, const struct bench_setting *settings, int n,
                   const struct tuner_table *table)
{
    struct whatif_case *c = add_case(w, label, "");
    const char *silent = "", *heard = "";
    struct bench_setting *kept = arena_alloc(w->arena, (size_t)n * sizeof *kept);
    c->table = table;
    for (int i = 0; i < n; i++)
        if (model_apply(&(struct bench_knobs){"", &settings[i], 1}, &c->setup.nccl, w->arena)) {
            silent = arena_printf(w->arena, "%s%s%s", silent, *silent ? ", " : "", settings[i].name);
        } else {
            heard = arena_printf(w->arena, "%s %s=%s", heard, settings[i].name, settings[i].value);
            kept[c->nsettings++] = settings[i];
        }
    c->settings = kept;
    c->given = settings;
    c->ngiven = n;
    c->silent = *silent ? silent : NULL;
    c->what = arena_printf(w->arena, "jobs have%s%s%s%s%s", table ? " its tuner table" : "",
                           table && *heard   ? " and"
                           : *heard || table ? ""
                                             : " nothing that the model knows of",
                           heard, *silent ? "; the model is silent on " : "", silent);
    return 0;
}

int whatif_add_settings(struct whatif *w, const char *text, struct err *e)
{
    struct bench_setting *settings = NULL;
    int n = 0, before = 1;
    for (int i = 0; i < w->ncases; i++)
        before += !strncmp(w->cases[i].label, "variables", strlen("variables"));
    for (const char *p = text + strspn(text, BLANKS); *p; p += strspn(p, BLANKS)) {
        size_t length = strcspn(p, BLANKS), name = strcspn(p, "=" BLANKS);
        if (!name || p[name] != '=')
            return err_set(e, ERR_USAGE, "'%.*s' is no NAME=VALUE", (int)(length < 64 ? length : 64), p);
        ARENA_ADD(w->arena, settings, n) = (struct bench_setting){
            arena_strndup(w->arena, p, name), arena_strndup(w->arena, p + name + 1, length - name - 1)};
        p += length;
    }
    return whatif_add_job(w, arena_printf(w->arena, "variables %d", before), settings, n, NULL);
}

/* ---- predictions ---- */

/* NCCL's choice, unless a rule of the case's table names another that NCCL offers. */
static int predict_default(const struct whatif *w, const struct whatif_case *c, uint64_t bytes, struct model_time *t)
{
    const struct nccl_model *n = c->model->nccl;
    const struct tuner_shape shape = {n->nodes, n->ranks, TUNER_UNKNOWN};
    const struct tuner_rule *r = NULL;
    while (c->table && (r = tuner_table_match(c->table, r, &shape, w->coll, bytes, 1, 0))) {
        const struct model_call asked = {w->coll, bytes, r->algo, r->proto, r->channels};
        if (!model_predict(c->model, &asked, t))
            return 0;
        r++;
    }
    return model_predict(c->model, &(struct model_call){w->coll, bytes, -1, -1, 0}, t);
}

static void predict_case(const struct whatif *w, struct whatif_case *c)
{
    struct err why = {0};
    struct model_time first;
    if (!c->model)
        c->model = model_new(&c->setup, w->arena, &why);
    c->cells = arena_alloc(w->arena, (size_t)w->nsizes * sizeof *c->cells);
    if (!c->model)
        c->problem = arena_strdup(w->arena, why.text);
    else if (c->nsettings && predict_default(w, c, SMALLEST, &first))
        c->problem = arena_printf(w->arena, "these settings leave NCCL no algorithm for %s, and such a call fails",
                                  coll_name(w->coll));
    for (int i = 0; i < w->nsizes && c->model; i++) {
        struct whatif_cell *cell = &c->cells[i];
        cell->bytes = w->sizes[i];
        if (predict_default(w, c, w->sizes[i], &cell->untouched) ||
            predict_best(c->model, w->coll, w->sizes[i], &cell->tuned))
            *cell = (struct whatif_cell){.bytes = w->sizes[i]};
    }
}

int whatif_predict(struct whatif *w, struct err *e)
{
    w->nsizes = 0;
    for (uint64_t bytes = w->bytes ? w->bytes : SMALLEST; bytes;
         bytes = w->bytes || bytes >= LARGEST ? 0 : bytes * STEP)
        ARENA_ADD(w->arena, w->sizes, w->nsizes) = bytes;
    for (int i = 0; i < w->ncases; i++)
        predict_case(w, &w->cases[i]);
    return w->cases[0].problem ? err_set(e, ERR_FAILED, "%s", w->cases[0].problem) : 0;
}

double whatif_busbw(const struct whatif *w, const struct whatif_case *c, uint64_t bytes, double us)
{
    if (!(us > 0) || !c->model)
        return 0;
    return coll_algbw_GBps((double)bytes, us) * coll_busbw_factor(w->coll, c->model->nccl->ranks);
}
