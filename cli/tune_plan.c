/* What a tune will do: the nodes, who is left out and why, the engine and its candidates, how long it takes. */

#include <stdio.h>

#include "bench/engines/engines.h"
#include "cli/tune.h"
#include "core/json.h"
#include "core/units.h"

/* ---- for people -------------------------------------------------------------------------------------------------- */

/* "class0 n[0-1], class1 n2": the hosts of every class. */
static const char *by_class(const struct topology *t, int served, struct arena *a)
{
    const char *text = "";
    for (int c = 0, n; c < t->nclasses; c++) {
        const char *hosts = topo_hosts(t, c, served, a, &n);
        if (n)
            text = arena_printf(a, "%s%s%s %s", text, *text ? ", " : "", t->classes[c].name, hosts);
    }
    return text;
}

static void print_part(const struct tune *t, const struct tune_part *p, FILE *out)
{
    int n;
    fprintf(out, "profile      %s\n", p->generate.out);
    if (p->because) {
        topo_hosts(p->topology, -1, 0, t->arena, &n);
        fprintf(out, "measured     %d node%s: %s\n", n, n == 1 ? "" : "s", by_class(p->topology, 0, t->arena));
        topo_hosts(p->topology, -1, 1, t->arena, &n);
    }
    if (p->because && n)
        fprintf(out, "served       %d more node%s: %s\n", n, n == 1 ? "" : "s", by_class(p->topology, 1, t->arena));
    if (p->plan)
        bench_plan_print(p->plan, out);
    else
        fputs("engine       none: nothing can be measured here; only the topology decides\n", out);
    if (p->because)
        fprintf(out, "             %s\n", p->because);
}

static void print_left(const char *title, const struct cluster_left_out *left, FILE *out)
{
    for (int i = 0; i < left->n; i++)
        fprintf(out, "%-12s %s: %s\n", i ? "" : title, left->list[i].name, left->list[i].why);
}

void tune_plan_print(const struct tune *t, FILE *out)
{
    for (int i = 0; i < t->nparts; i++) {
        if (i)
            fputc('\n', out);
        print_part(t, &t->parts[i], out);
    }
    print_left("left out", &t->groups.left, out);
    print_left("not served", &t->unserved, out);
}

/* ---- as JSON ----------------------------------------------------------------------------------------------------- */

static cJSON *hosts_json(const struct topology *t, int served)
{
    cJSON *array = cJSON_CreateArray();
    for (int i = 0; i < t->nhosts; i++) {
        if (!t->hosts[i].served != !served)
            continue;
        cJSON *o = json_append(array);
        json_add_str(o, "name", t->hosts[i].name);
        json_add_str(o, "class", t->classes[t->hosts[i].class_index].name);
    }
    return array;
}

int tune_plan_json(const struct tune *t, struct err *e)
{
    cJSON *doc = cJSON_CreateObject(), *parts = cJSON_AddArrayToObject(doc, "profiles");
    for (int i = 0; i < t->nparts; i++) {
        const struct tune_part *p = &t->parts[i];
        cJSON *o = json_append(parts);
        json_add_str(o, "profile", p->generate.out);
        if (p->because) {
            cJSON_AddItemToObject(o, "measured", hosts_json(p->topology, 0));
            cJSON_AddItemToObject(o, "served", hosts_json(p->topology, 1));
            json_add_str(o, "because", p->because);
        }
        if (p->plan)
            cJSON_AddItemToObject(o, "plan", cJSON_Duplicate(p->plan, 1));
    }
    json_add_each(doc, "left_out", t->groups.left.list, t->groups.left.n, sizeof(struct topo_missing),
                  topo_put_missing);
    json_add_each(doc, "not_served", t->unserved.list, t->unserved.n, sizeof(struct topo_missing), topo_put_missing);
    return json_save(doc, "-", e);
}

/* ---- before a run ------------------------------------------------------------------------------------------------ */

static void log_part(struct tune *t, const struct tune_part *p)
{
    char text[UNIT_TEXT];
    int n, open = p->bench.budget_open && !(p->left_s > 0);
    const char *hosts = topo_hosts(p->topology, -1, 0, t->arena, &n);
    if (p->plan)
        log_info(&t->log, "measuring %s (%d node%s) for %s%s%s with the %s engine%s%s; %s", hosts, n, n == 1 ? "" : "s",
                 open ? "" : "at most ", unit_seconds(text, p->left_s > 0 ? p->left_s : p->bench.budget_s),
                 open ? ", or longer where a start is slow (at most 1 h)," : "", p->bench.engine,
                 t->nparts > 1 ? ", into " : "", t->nparts > 1 ? p->generate.out : "", p->because);
    hosts = topo_hosts(p->topology, -1, 1, t->arena, &n);
    if (n)
        log_info(&t->log, "%s (%d node%s) will get the same profile without measuring: alike", hosts, n,
                 n == 1 ? "" : "s");
}

void tune_plan_log(struct tune *t)
{
    for (int i = 0; i < t->groups.left.n; i++)
        log_warn(&t->log, "%s is left out: %s", t->groups.left.list[i].name, t->groups.left.list[i].why);
    for (int i = 0; i < t->groups.nshared; i++)
        log_warn(&t->log, "most nodes have this error, so it leaves none out: %s", t->groups.shared[i]);
    for (int i = 0; i < t->unserved.n; i++)
        log_warn(&t->log, "%s is not served: %s", t->unserved.list[i].name, t->unserved.list[i].why);
    for (int i = 0; i < t->nparts && t->parts[i].because; i++)
        log_part(t, &t->parts[i]);
}
