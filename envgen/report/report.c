/* What the page is made of, in the order of its tabs. */
#include "envgen/report/report.h"

#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/hostlist.h"
#include "envgen/report/page.h"
#include "envgen/report/report_internal.h"
#include "probe/findings/findings.h"

static const struct report_part *const parts[] = {
    &report_summary, &report_calls,  &report_decisions,   &report_settings,
    &report_machine, &report_fabric, &report_environment, &report_install,
};

static const char *file_of(const struct report *r, const char *name)
{
    const char *path = arena_printf(r->a, "%s/%s", r->p->dir, name);
    return access(path, F_OK) ? NULL : path;
}

static int read_files(struct report *r, struct err *e)
{
    const char *topology = file_of(r, "topology.json"), *journal = file_of(r, "results.jsonl"),
               *fabric = file_of(r, "fabric.json");
    if (topology && !(r->t = topo_load(topology, e)))
        return e->code;
    if (r->t)
        findings_attach(r->t);
    if (journal && !(r->measured = bench_results_load(journal, NULL, e)))
        return e->code;
    if (fabric && !(r->fabric = verbs_fabric_load(fabric, e)))
        return e->code;
    if (r->fabric)
        r->verdict = verbs_decide(r->fabric, r->d->nccl_high ? r->d->nccl_high : VERBS_NCCL_NEWEST);
    return 0;
}

static const char *title_of(const struct report *r)
{
    const struct topology *t = r->t;
    if (!t || !t->nhosts)
        return arena_printf(r->a, "nccltune: %s", r->p->dir);
    const char **names = arena_alloc(r->a, (size_t)t->nhosts * sizeof *names);
    for (int i = 0; i < t->nhosts; i++)
        names[i] = t->hosts[i].name;
    const char *hosts = hostlist_fold(names, t->nhosts, r->a);
    if (strlen(hosts) > 80)
        hosts = arena_printf(r->a, "%d nodes", t->nhosts);
    return arena_printf(r->a, "nccltune: %s%s%s%s", hosts, t->source ? " (" : "", t->source ? t->source : "",
                        t->source ? ")" : "");
}

static void draw_page(struct report *r, FILE *out)
{
    page_begin(out, title_of(r));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i]->has || parts[i]->has(r)) {
            page_part(out, parts[i]->id, parts[i]->name);
            parts[i]->draw(r, out);
        }
    page_end(out);
}

int env_report_write(const struct env_profile *p, FILE *out, struct err *e)
{
    struct report r = {.p = p, .d = p->decisions, .a = arena_new()};
    int rc = read_files(&r, e);
    if (!rc) {
        r.model = explain_model_new(p, 0);
        draw_page(&r, out);
        rc = ferror(out) ? err_set(e, ERR_FAILED, "cannot write the report") : 0;
    }
    explain_model_free(r.model);
    verbs_fabric_free(r.fabric);
    bench_results_free(r.measured);
    topo_free(r.t);
    arena_free(r.a);
    return rc;
}

int env_report_save(const struct env_profile *p, const char *path, struct err *e)
{
    struct file_out out;
    file_out_begin(&out);
    return file_out_end(&out, path ? path : arena_printf(p->arena, "%s/" ENV_REPORT, p->dir),
                        env_report_write(p, out.stream, e), e);
}
