/* What the catalogue knows about a variable: what it is, and its default release by release. */
#include <string.h>

#include "core/edit_distance.h"
#include "core/json.h"
#include "core/vars/catalogue.h"
#include "envgen/explain/explain_internal.h"

/* The release that was asked for, else the oldest and the newest that the profile is for. */
struct releases {
    int low, high;
};

static struct releases releases_of(const struct env_decisions *d, const struct env_question *q)
{
    if (q->nccl)
        return (struct releases){q->nccl, q->nccl};
    if (d->nccl_low)
        return (struct releases){d->nccl_low, d->nccl_high};
    return (struct releases){ENV_OLDEST_IN_USE, ENV_NEWEST};
}

static const char *variable_name(int i)
{
    const struct env_var *v = env_var_at((size_t)i);
    return v ? v->name : NULL;
}

int explain_is_unknown(const char *name)
{
    return (!strncmp(name, "NCCL_", 5) || !strncmp(name, "RCCL_", 5)) && !env_var_find(name) && !env_other_find(name);
}

const char *explain_nearest_variable(const char *name)
{
    return edit_distance_nearest(name, variable_name);
}

static void print_default(const struct env_var *v, int release, FILE *out)
{
    char text[ENV_VALUE], version[ENV_VERSION];
    env_version_text(version, release);
    if (env_default_at(v, release, text))
        fprintf(out, "      without it, NCCL %s takes: %s%s%s%s\n", version, text, v->effective ? " (" : "",
                v->effective ? v->effective : "", v->effective ? ")" : "");
    else
        fprintf(out, "      NCCL %s does not read it\n", version);
}

void explain_catalogued(const struct env_decisions *d, const struct env_question *q, const char *name, FILE *out)
{
    const struct env_var *v = env_var_find(name);
    const struct env_other *o = env_other_find(name);
    const struct releases r = releases_of(d, q);
    char newest[ENV_VERSION];
    if (v) {
        fprintf(out, "      what it is: %s\n", v->meaning);
        print_default(v, r.low, out);
        if (r.high != r.low)
            print_default(v, r.high, out);
        if (r.high / 100 > ENV_NEWEST / 100)
            fprintf(out, "      (the newest that is known here is %s)\n", env_version_text(newest, ENV_NEWEST));
        if (v->interacts)
            fprintf(out, "      see also: %s\n", v->interacts);
    }
    if (o)
        fprintf(out, "      belongs to %s%s%s%s%s\n", o->owner, o->note ? ": " : "", o->note ? o->note : "",
                o->use ? "; instead: " : "", o->use ? o->use : "");
}

/* ---- as JSON ----------------------------------------------------------------------------------------------------- */

static void add_release(cJSON *o, const char *key, int release)
{
    char text[ENV_VERSION];
    if (release)
        json_add_str(o, key, env_version_text(text, release));
}

static void add_range(cJSON *o, const struct env_var *v)
{
    int number = v->grammar == ENV_G_INT || v->grammar == ENV_G_FLAG;
    if (number && v->low != ENV_ANY_LOW)
        cJSON_AddNumberToObject(o, "low", (double)v->low);
    if (number && v->high != ENV_ANY_HIGH)
        cJSON_AddNumberToObject(o, "high", (double)v->high);
}

static void add_defaults(cJSON *o, const struct env_var *v)
{
    cJSON *array = cJSON_AddArrayToObject(o, "defaults");
    char text[ENV_VALUE];
    int since;
    for (size_t n = 0; env_default_change(v, n, &since, text); n++) {
        cJSON *change = json_append(array);
        add_release(change, "since", since);
        json_add_str(change, "value", text);
    }
}

static void add_default_in(cJSON *array, const struct env_var *v, int release)
{
    char text[ENV_VALUE];
    cJSON *o = json_append(array);
    int read = env_default_at(v, release, text);
    add_release(o, "nccl", release);
    cJSON_AddBoolToObject(o, "read", read);
    json_add_str(o, "default", read ? text : NULL);
}

static void add_catalogued(cJSON *o, const struct env_var *v, const struct releases *r)
{
    static const char *const kinds[] = {"bool", "int", "string", "enum", "list"};
    static const char *const scopes[] = {"process", "communicator", "plugin"};
    static const char *const agrees[] = {"no", "yes", "advised", "unknown"};
    json_add_str(o, "kind", kinds[v->kind]);
    json_add_str(o, "scope", scopes[v->scope]);
    json_add_str(o, "same_on_all_ranks", agrees[v->agree]);
    json_add_str(o, "meaning", v->meaning);
    add_release(o, "since", v->flags & ENV_OLDER ? 0 : v->since);
    add_release(o, "last", v->last);
    cJSON_AddBoolToObject(o, "documented", (v->flags & ENV_DOCUMENTED) != 0);
    cJSON_AddBoolToObject(o, "effective", !(v->flags & ENV_DEAD));
    add_range(o, v);
    add_defaults(o, v);
    json_add_str(o, "automatic", v->effective);
    json_add_str(o, "config_field", v->field);
    json_add_str(o, "see_also", v->interacts);
    cJSON *array = cJSON_AddArrayToObject(o, "in_releases");
    add_default_in(array, v, r->low);
    if (r->high != r->low)
        add_default_in(array, v, r->high);
}

cJSON *explain_catalogued_json(const struct env_decisions *d, const struct env_question *q)
{
    const char *name = q->variable;
    const struct env_var *v = env_var_find(name);
    const struct env_other *other = env_other_find(name);
    const struct releases r = releases_of(d, q);
    if (!v && !other && !explain_is_unknown(name))
        return NULL;
    cJSON *o = cJSON_CreateObject();
    json_add_str(o, "name", name);
    cJSON_AddBoolToObject(o, "known", v || other);
    if (!v && !other)
        json_add_str(o, "did_you_mean", explain_nearest_variable(name));
    if (v)
        add_catalogued(o, v, &r);
    if (other) {
        json_add_str(o, "belongs_to", other->owner);
        json_add_str(o, "instead", other->use);
        json_add_str(o, "note", other->note);
    }
    return o;
}
