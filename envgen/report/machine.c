/* What is there and in what condition: findings, topology, fabric, noise, versions. */
#include <stdlib.h>
#include <string.h>

#include "core/xml.h"
#include "envgen/report/page.h"
#include "envgen/report/report_internal.h"

#define MOST_MATRICES 16

/* ---- findings ---------------------------------------------------------------------------------------------------- */

void report_draw_findings(struct report *r, FILE *out)
{
    struct findings all = {.arena = r->a};
    for (int i = 0; r->t && i < r->t->nfindings; i++)
        *finding_add(&all, FINDING_NOTE, NULL, NULL, "%s", "") = r->t->findings[i];
    for (int i = 0; r->fabric && i < r->verdict.nfaults; i++)
        finding_add(&all, FINDING_ERROR, "fabric-fault", verbs_fault_name(r->fabric, &r->verdict.faults[i]), "%s",
                    verbs_fault_text(r->fabric, &r->verdict.faults[i]));
    for (int i = 0; r->fabric && i < r->verdict.found.n; i++)
        *finding_add(&all, FINDING_NOTE, NULL, NULL, "%s", "") = r->verdict.found.list[i];
    page_put(out, "h3", "Machine and fabric");
    page_findings(out, all.list, all.n);
    if (!all.n)
        page_put(out, "p", r->t ? "No fault was found." : "The profile has no topology.");
    if (!r->measured)
        return;
    page_put(out, "h3", "What disturbed the measurement");
    page_findings(out, r->measured->noise.list, r->measured->noise.n);
    if (!r->measured->noise.n)
        page_put(out, "p", "No disturbance is recorded; logs of other programs never have one.");
}

/* ---- topology and fabric ----------------------------------------------------------------------------------------- */

int report_has_picture(const struct report *r)
{
    return r->t && r->t->nclasses && (r->t->classes[0].ngpus || r->t->classes[0].nports);
}

/* The nearer, the greener. */
static const char *colour_of(const struct topo_path *p)
{
    static const char *const colours[] = {
        [WORD_SELF] = "#dddddd", [WORD_LINKS] = "#7fc97f", [WORD_PIX] = "#b5dfa0", [WORD_PXB] = "#dcecb0",
        [WORD_PHB] = "#f7eeb5",  [WORD_NODE] = "#f6dba0",  [WORD_SYS] = "#f2bf9b", [WORD_UNKNOWN] = "#ffffff"};
    return colours[p->word];
}

static void put_matrix(FILE *out, const struct topology *t, int class_index, struct arena *a)
{
    const struct path_matrix *m = path_matrix(&t->classes[class_index], a);
    char word[PATH_WORD];
    if (m->n < 2)
        return;
    page_put(out, "h3", text_hosts(t, class_index, a));
    const char **heads = arena_alloc(a, ((size_t)m->n + 2) * sizeof *heads);
    heads[0] = "";
    for (int i = 0; i < m->n; i++)
        heads[i + 1] = m->ends[i].label;
    page_table(out, "matrix", heads);
    for (int i = 0; i < m->n; i++) {
        fputs("<tr><th>", out);
        xml_put(out, m->ends[i].label, XML_WHOLE);
        fputs("</th>", out);
        for (int k = 0; k < m->n; k++) {
            const struct topo_path *p = path_between(m, i, k);
            fprintf(out, "<td style=\"background:%s\"", colour_of(p));
            if (p->GBps > 0)
                fprintf(out, " title=\"%.4g GB/s\"", p->GBps);
            fprintf(out, ">%s</td>", path_word(word, p));
        }
        fputs("</tr>\n", out);
    }
    page_table_end(out);
}

void report_draw_picture(const struct topology *t, const struct picture_mark *mark, FILE *out)
{
    struct err why_not = {0};
    page_paper(out);
    if (picture_write(t, mark, out, &why_not))
        page_put(out, "p", why_not.text);
    page_paper_end(out);
}

static void draw_machine(struct report *r, FILE *out)
{
    report_draw_picture(r->t, NULL, out);
    for (int i = 0; i < r->t->nclasses && i < MOST_MATRICES; i++)
        put_matrix(out, r->t, i, r->a);
}

const struct report_part report_machine = {"machine", "Machine", report_has_picture, draw_machine};

static int has_fabric(const struct report *r)
{
    return r->fabric && r->fabric->rails;
}

static void draw_fabric(struct report *r, FILE *out)
{
    char *text;
    size_t bytes;
    FILE *words = open_memstream(&text, &bytes);
    if (!words)
        return;
    verbs_print(r->fabric, &r->verdict, 0, words);
    fclose(words);
    page_put(out, "pre", text);
    free(text);
}

const struct report_part report_fabric = {"fabric", "Fabric", has_fabric, draw_fabric};

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static void put_fact(FILE *out, const char *what, const char *value)
{
    if (value && *value)
        PAGE_ROW(out, NULL, what, value);
}

/* The firmware of its ports, each once. */
static const char *firmware_of(const struct topo_class *c, struct arena *a)
{
    const char *text = "";
    for (int i = 0; i < c->nports; i++) {
        const char *one = c->ports[i].firmware ? arena_printf(a, "%s %s", c->ports[i].hca, c->ports[i].firmware) : NULL;
        if (one && !strstr(text, one))
            text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", one);
    }
    return text;
}

static void put_class(struct report *r, int class_index, FILE *out)
{
    const struct topo_class *c = &r->t->classes[class_index];
    page_put(out, "h3", text_hosts(r->t, class_index, r->a));
    PAGE_TABLE(out, "facts", "", "");
    put_fact(out, "machine", c->product);
    put_fact(out, "processors", c->cpu);
    put_fact(out, "GPU driver", c->driver);
    put_fact(out, "CUDA, at most", c->cuda);
    put_fact(out, "GPU memory and NICs", c->gdr_route);
    put_fact(out, "IOMMU", c->iommu);
    put_fact(out, "hypervisor", c->hypervisor);
    put_fact(out, "container", c->container);
    put_fact(out, "firmware", firmware_of(c, r->a));
    for (int i = 0; i < c->nlibraries; i++)
        put_fact(out, "library", c->libraries[i]);
    for (int i = 0; i < c->nnotes; i++)
        put_fact(out, "note", c->notes[i]);
    page_table_end(out);
}

static void draw_environment(struct report *r, FILE *out)
{
    const int most = 64; /* classes */
    PAGE_TABLE(out, "facts", "", "");
    put_fact(out, "nccltune", r->p->manifest.tool);
    put_fact(out, "written", r->p->manifest.created);
    for (int i = 0; i < r->p->manifest.nlibraries; i++)
        put_fact(out, "measured with", r->p->manifest.libraries[i]);
    put_fact(out, "settings are for", r->d->nccl_source);
    put_fact(out, "topology", r->d->topology);
    page_table_end(out);
    for (int i = 0; r->t && i < r->t->nclasses && i < most; i++)
        put_class(r, i, out);
}

const struct report_part report_environment = {"environment", "Environment", NULL, draw_environment};
