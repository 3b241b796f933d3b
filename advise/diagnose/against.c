/* What NCCL's log and the job's variables contradict: the profile that jobs should have, the machine's topology. */
#include <string.h>
#include <unistd.h>

#include "advise/diagnose/rules.h"
#include "core/vars/catalogue.h"

static int has_table(const struct diagnosis *d)
{
    const struct env_profile *p = d->expected.profile;
    return p && !access(arena_printf(d->arena, "%s/tuner.csv", p->dir), F_OK);
}

static int no_plugin(const struct judge *j, struct diag_hit *h)
{
    const struct diag_nccl *n = &j->d->nccl;
    if (!has_table(j->d) || strstr(n->plugin, "nccltune"))
        return 0;
    if (*n->plugin)
        return diag_hit(h, 0.3, n->tuner_place, "the profile has a tuner table, but NCCL asks the tuner %s", n->plugin);
    return n->own_tuner && diag_hit(h, 0.3, n->tuner_place,
                                    "the profile has a tuner table, but NCCL found no tuner plugin and uses its own "
                                    "tuner");
}

static int no_table(const struct judge *j, struct diag_hit *h)
{
    return *j->d->nccl.no_table &&
           diag_hit(h, 0.3, j->d->nccl.tuner_place, "the tuner plugin leaves its table out: %s", j->d->nccl.no_table);
}

static int other_release(const struct judge *j, struct diag_hit *h)
{
    const struct diag_nccl *n = &j->d->nccl;
    const struct env_profile *p = j->d->expected.profile;
    char version[24], low_text[ENV_VERSION], high_text[ENV_VERSION];
    int low, high;
    snprintf(version, sizeof version, "%.*s", (int)strcspn(n->version, "+-"), n->version);
    if (!p || !*version || !p->decisions->nccl_high || env_version_parse(version, &low, &high) ||
        (low / 100 >= p->decisions->nccl_low / 100 && low / 100 <= p->decisions->nccl_high / 100))
        return 0;
    return diag_hit(h, 0.2, n->place, "the job runs NCCL %s, and the profile is for %s to %s", version,
                    env_version_text(low_text, p->decisions->nccl_low),
                    env_version_text(high_text, p->decisions->nccl_high));
}

/* The profile's value for nodes of any class; NULL: it sets none. */
static const char *expected_value(const struct diagnosis *d, const char *name)
{
    const struct env_decisions *x = d->expected.profile ? d->expected.profile->decisions : NULL;
    for (int i = 0; x && i < x->nsettings; i++)
        if (!strcmp(x->settings[i].name, name) && x->settings[i].value)
            return x->settings[i].value;
    return NULL;
}

static int is_local(const struct diagnosis *d, const char *name)
{
    const struct env_decisions *x = d->expected.profile->decisions;
    int n = 0;
    for (int i = 0; i < x->nsettings; i++)
        n += !strcmp(x->settings[i].name, name) && x->settings[i].value;
    return n > 1; /* classes have values of their own */
}

static int other_values(const struct judge *j, struct diag_hit *h)
{
    const char *list = "", *place = "";
    for (int i = 0; i < j->d->nvariables; i++) {
        const struct diag_variable *v = &j->d->variables[i];
        const char *value = expected_value(j->d, v->name);
        if (!value || !strcmp(value, v->value) || is_local(j->d, v->name))
            continue;
        place = *list ? place : v->place;
        list = arena_printf(j->d->arena, "%s%s%s=%s (profile: %s)", list, *list ? ", " : "", v->name, v->value, value);
    }
    return *list && diag_hit(h, 0.2, place, "the job has other values than the profile: %.400s", list);
}

/* "=mlx5_0:1,mlx5_1:1": names that NCCL's log has not. */
static int other_hcas(const struct judge *j, struct diag_hit *h)
{
    const struct diag_nccl *n = &j->d->nccl;
    const char *list = expected_value(j->d, "NCCL_IB_HCA"), *missing = "";
    int all = 0, used = 0;
    if (!list || *list == '^' || is_local(j->d, "NCCL_IB_HCA") || n->nhcas == DIAG_HCAS)
        return 0;
    if (!n->nhcas)
        return !strncmp(n->network, "Socket", 6) &&
               diag_hit(h, 0.5, n->socket_place, "the profile names HCAs (%.200s), but NCCL uses sockets", list);
    for (const char *p = list + (*list == '='); *p; p += *p == ',') {
        size_t len = strcspn(p, ":,");
        int named = diag_is_used(n, p, len);
        all++;
        used += named;
        if (!named)
            missing = arena_printf(j->d->arena, "%s%s%.*s", missing, *missing ? ", " : "", (int)len, p);
        p += strcspn(p, ",");
    }
    if (*missing)
        return diag_hit(h, 0.4, n->place, "NCCL uses %d of the %d HCAs that the profile names: not %.200s", used, all,
                        missing);
    return n->nhcas > all && diag_hit(h, 0.2, n->place, "NCCL uses %d HCAs, and the profile names %d", n->nhcas, all);
}

#define HOOKS "see that the Slurm hooks or the container bring the profile: nccltune doctor --job"
const struct diag_rule diag_profile_rules[] = {
    {"plugin-not-loaded", no_plugin, DIAG_MEASURED,
     "NCCL_TUNER_PLUGIN and LD_LIBRARY_PATH inside the container must reach libnccl-tuner-nccltune.so (NCCL 2.19 or "
     "newer)",
     "nccltune doctor --job"},
    {"table-not-used", no_table, DIAG_MEASURED, HOOKS, "nccltune doctor --job"},
    {"other-release", other_release, DIAG_MEASURED, "measure again with this NCCL, or start jobs with the profile's",
     "nccltune tune -o profile"},
    {"other-values", other_values, DIAG_MEASURED,
     "take them out of the script, so that the profile's count; nccltune explain PROFILE NAME says why", ""},
    {"unused-hcas", other_hcas, DIAG_MEASURED,
     "look at NCCL_IB_HCA in the job, and whether the ports are up in the "
     "container",
     "nccltune lint --env; nccltune probe"},
};
const size_t diag_profile_rules_count = sizeof diag_profile_rules / sizeof *diag_profile_rules;
