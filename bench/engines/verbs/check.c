/* bench --check: a brief measurement, held against a profile's. */
#include <sys/stat.h>
#include <unistd.h>

#include "bench/engines/verbs/options.h"
#include "bench/engines/verbs/run.h"
#include "bench/engines/verbs/verbs_internal.h"
#include "bench/fabric/check.h"
#include "core/json.h"

static struct verbs_fabric *load_baseline(const char *profile, struct arena *a, struct err *e)
{
    struct stat st;
    int directory = !stat(profile, &st) && S_ISDIR(st.st_mode);
    const char *path = directory ? arena_printf(a, "%s/fabric.json", profile) : profile;
    if (directory && access(path, F_OK)) {
        err_set(e, ERR_FAILED,
                "%s holds no fabric.json, so there is nothing to compare with: no port was measured for it, as on one "
                "node without RDMA; 'nccltune bench --engine verbs -o FILE' makes one for --check FILE",
                profile);
        return NULL;
    }
    return verbs_fabric_load(path, e);
}

static int print_check(const struct verbs_check *c, const char *profile, const struct bench_document *d, struct err *e)
{
    if (d->json) {
        cJSON *doc = cJSON_CreateObject();
        cJSON_AddNumberToObject(doc, "compared", c->compared);
        json_add_strs(doc, "worse", c->worse, c->nworse);
        return json_save(doc, NULL, e);
    }
    if (c->nworse)
        fprintf(d->out, "Worse than in %s:\n", profile);
    else
        fprintf(d->out, "Nothing is worse than in %s: %d tries compared.\n", profile, c->compared);
    for (int i = 0; i < c->nworse; i++)
        fprintf(d->out, "  %s\n", c->worse[i]);
    return fflush(d->out) ? err_errno(e, "standard output cannot be written") : 0;
}

/* One measurement, held against the profile's. What seemed worse in an `earlier` one (NULL: none) counts as it went
 * better: something else may have been in the way for a moment. */
static int compare(const struct verbs_task *t, const struct bench_document *d, const struct verbs_fabric *then,
                   const struct verbs_fabric *earlier, struct verbs_fabric **now, struct verbs_check *c, struct err *e)
{
    *now = verbs_run(t, d->progress, d->stop, e);
    if (!*now)
        return e->code;
    if (!(*now)->complete)
        return err_set(e, ERR_FAILED, "not everything was measured within the budget of %.0f s", t->budget_s);
    if (earlier)
        verbs_check_better(*now, earlier);
    return verbs_check(*now, then, d->margin < 0 ? VERBS_CHECK_RATIO : 1 - d->margin, c, e);
}

int verbs_document_check(const struct bench_document *d, struct err *e)
{
    const struct verbs_options *own = d->setup->own;
    struct arena *a = arena_new();
    struct verbs_fabric *then = load_baseline(own->check, a, e), *now = NULL;
    struct verbs_task t = {.setup = *d->setup,
                           .brief = 1,
                           .schedule = own->schedule,
                           .sweep_bytes = own->sweep_bytes,
                           .budget_s = d->budget_s};
    struct verbs_check c = {0};
    int code = then ? 0 : e->code;
    if (!code) {
        t.ports = own->ports ? own->ports : verbs_check_ports(then, a);
        code = compare(&t, d, then, NULL, &now, &c, e);
    }
    if (!code && c.nworse) {
        struct verbs_fabric *first = now;
        now = NULL;
        code = compare(&t, d, then, first, &now, &c, e);
        verbs_fabric_free(first);
    }
    if (!code)
        code = print_check(&c, own->check, d, e);
    if (!code && c.nworse)
        code = ERR_FAILED;
    verbs_fabric_free(now);
    verbs_fabric_free(then);
    arena_free(a);
    return code;
}
