/* One page to pass on: findings, the picture, the matrix in colours, and the text. Nothing in it is loaded from
 * elsewhere. */
#include <stdio.h>

#include "core/file.h"
#include "core/page.h"
#include "core/xml.h"
#include "probe/format/format.h"
#include "probe/format/html.h"
#include "probe/topology/topology.h"

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

void probe_page_matrices(const struct topology *t, FILE *out)
{
    const int most = 16; /* classes */
    struct arena *a = arena_new();
    for (int i = 0; i < t->nclasses && i < most; i++)
        put_matrix(out, t, i, a);
    arena_free(a);
}

void probe_page_picture(const struct topology *t, FILE *out)
{
    struct err why_not = {0};
    page_paper(out);
    if (format_svg.write(t, out, &why_not))
        page_put(out, "p", why_not.text);
    page_paper_end(out);
}

static int write_html(const struct topology *t, FILE *out, struct err *e)
{
    struct file_out text;
    int rc = file_out_begin(&text, e);
    if (rc)
        return rc;
    rc = format_text.write(t, text.stream, e);
    if (!rc && fflush(text.stream))
        rc = err_errno(e, "out of memory");
    if (!rc) {
        char count[32];
        snprintf(count, sizeof count, "%d finding%s", t->nfindings, t->nfindings == 1 ? "" : "s");
        page_begin(out, t->source ? t->source : "topology");
        page_part(out, "findings", count);
        page_findings(out, t->findings, t->nfindings);
        page_part(out, "picture", "Picture");
        probe_page_picture(t, out);
        page_part(out, "paths", "Paths");
        probe_page_matrices(t, out);
        page_part(out, "text", "Text");
        page_put(out, "pre", text.data);
        page_end(out);
        rc = ferror(out) ? err_set(e, ERR_FAILED, "the page cannot be written") : 0;
    }
    file_out_abandon(&text);
    return rc;
}

const struct probe_format format_html = {"html", "a page with findings, picture, matrix and text", write_html};
