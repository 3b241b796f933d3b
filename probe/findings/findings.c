/* All findings of a topology: the kinds of every table, errors first. */
#include "probe/findings/findings.h"

#include <string.h>

#include "core/json.h"
#include "probe/findings/findings_internal.h"

static const struct finding_rule *const tables[] = {findings_of_cluster, findings_of_ports, findings_of_nodes,
                                                    findings_of_peers, findings_of_signs};
#define TABLES (sizeof tables / sizeof *tables)

static const struct finding_rule *find_rule(int i)
{
    for (size_t k = 0; k < TABLES; k++)
        for (const struct finding_rule *r = tables[k]; r->kind.id; r++)
            if (i-- == 0)
                return r;
    return NULL;
}

const struct finding_kind *findings_kind(int i)
{
    const struct finding_rule *r = find_rule(i);
    return r ? &r->kind : NULL;
}

void findings_list(int json, FILE *out)
{
    const struct finding_rule *r;
    struct arena *a = arena_new();
    cJSON *all = json ? cJSON_CreateArray() : NULL;
    for (int i = 0; (r = find_rule(i)); i++) {
        const struct finding_kind *k = &r->kind;
        const char *threshold = threshold_text(&r->threshold, a);
        if (json) {
            cJSON *o = json_append(all);
            finding_kind_json(o, k);
            json_add_str(o, "threshold", threshold);
            continue;
        }
        fprintf(out, "%-22s %-7s  %s%s%s\n", k->id, finding_severity_name(k->severity), k->title, threshold ? " " : "",
                threshold ? threshold : "");
    }
    if (json)
        json_print(all, out);
    arena_free(a);
}

/* Adds a finding when the classes differ in what the rule's text says of them. */
static void compare_classes(struct search *s)
{
    const char *first = NULL;
    int differ = 0;
    for (int i = 0; i < s->t->nclasses; i++) {
        const char *own = s->rule->differs(s, i);
        if (!own)
            continue;
        differ |= first && strcmp(first, own) != 0;
        first = first ? first : own;
        named(s, "%s: %s", s->t->classes[i].name, own);
    }
    if (differ)
        found_named(s, "%s", s->rule->sentence);
}

static void search_rule(struct search *s, const struct finding_rule *r)
{
    s->rule = r;
    for (int i = 0; i < s->t->nclasses && r->in_class; i++) {
        s->roles = s->verdicts[i];
        s->subject = s->t->classes[i].name;
        s->n = 0;
        r->in_class(s, &s->t->classes[i]);
    }
    s->subject = "cluster";
    s->n = 0;
    if (r->in_cluster && !s->t->alternatives)
        r->in_cluster(s);
    if (r->differs && !s->t->alternatives)
        compare_classes(s);
}

void findings_attach(struct topology *t)
{
    struct search s = {.t = t, .a = t->arena, .found = {.arena = t->arena}};
    s.verdicts = arena_alloc(s.a, (size_t)t->nclasses * sizeof *s.verdicts);
    for (int i = 0; i < t->nclasses; i++)
        s.verdicts[i] = roles_of(&t->classes[i], s.a);
    for (int severity = FINDING_ERROR; severity > FINDING_OK; severity--)
        for (size_t k = 0; k < TABLES; k++)
            for (const struct finding_rule *r = tables[k]; r->kind.id; r++)
                if (r->kind.severity == (enum finding_severity)severity)
                    search_rule(&s, r);
    t->findings = s.found.list;
    t->nfindings = s.found.n;
}
