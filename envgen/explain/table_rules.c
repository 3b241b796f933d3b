/* The rules of tuner.csv that a call meets. */

#include "core/coll.h"
#include "core/json.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "envgen/decide/decide.h"
#include "envgen/explain/explain_internal.h"

static int matches(const struct env_table_rule *r, const struct env_question *q)
{
    return r->coll == q->coll && q->bytes >= r->min_bytes && q->bytes <= r->max_bytes &&
           (!q->nodes || (q->nodes >= r->nodes_low && q->nodes <= r->nodes_high)) &&
           (!q->ranks || (q->ranks >= r->ranks_low && q->ranks <= r->ranks_high));
}

static void print_rule(const struct env_profile *p, const struct env_table_rule *r, FILE *out)
{
    const char *algorithm = algo_name(r->algorithm), *protocol = proto_name(r->protocol);
    int written = r->basis != ENV_PREDICTED || p->decisions->predicted;
    fprintf(out, "  %s: algorithm %s, protocol %s", written ? "tuner.csv" : "not written",
            algorithm ? algorithm : "any", protocol ? protocol : "any");
    if (r->channels > 0)
        fprintf(out, ", %ld channels", r->channels);
    if (r->chunk_bytes > 0)
        fprintf(out, ", chunks of %ld bytes", r->chunk_bytes);
    fprintf(out, "\n    %s: %s\n", env_table_rule_basis(r, p->arena), env_comment(p->arena, r->why));
}

int explain_rules(const struct env_profile *p, const struct env_question *q, FILE *out)
{
    struct env_table_rules rules = {0};
    struct err ignored = {0};
    char size[UNIT_TEXT];
    int found = 0;
    if (env_table_rules_of(p->decisions, p->arena, &rules, &ignored))
        return 0;
    for (int i = 0; i < rules.count; i++) {
        if (!matches(rules.items[i], q))
            continue;
        if (!found++)
            fprintf(out, "\nNCCL's tuner plugin, %s of %s:\n", coll_name(q->coll), unit_bytes(size, q->bytes));
        print_rule(p, rules.items[i], out);
    }
    return found;
}

static void add_count(cJSON *o, const char *low_key, const char *high_key, int low, int high)
{
    cJSON_AddNumberToObject(o, low_key, low);
    cJSON_AddNumberToObject(o, high_key, high);
}

cJSON *explain_rules_json(const struct env_profile *p, const struct env_question *q)
{
    static const char *const bases[] = {"measured", "agreed", "fitted", "extrapolated", "predicted"};
    struct env_table_rules rules = {0};
    struct err ignored = {0};
    cJSON *array = cJSON_CreateArray();
    if (env_table_rules_of(p->decisions, p->arena, &rules, &ignored))
        rules.count = 0;
    for (int i = 0; i < rules.count; i++) {
        const struct env_table_rule *r = rules.items[i];
        if (!matches(r, q))
            continue;
        cJSON *o = json_append(array);
        json_add_str(o, "basis", bases[r->basis]);
        cJSON_AddBoolToObject(o, "written", r->basis != ENV_PREDICTED || p->decisions->predicted);
        add_count(o, "nodes_low", "nodes_high", r->nodes_low, r->nodes_high);
        add_count(o, "ranks_low", "ranks_high", r->ranks_low, r->ranks_high);
        json_add_str(o, "algorithm", algo_name(r->algorithm));
        json_add_str(o, "protocol", proto_name(r->protocol));
        cJSON_AddNumberToObject(o, "channels", (double)r->channels);
        cJSON_AddNumberToObject(o, "chunk_bytes", (double)r->chunk_bytes);
        json_add_str(o, "why", r->why);
    }
    return array;
}
