/* One page to pass on: findings, the picture, the matrix in colours, and the text. Nothing in it is loaded from
 * elsewhere. */
#include <stdio.h>
#include <stdlib.h>

#include "core/page.h"
#include "core/xml.h"
#include "probe/format/format.h"
#include "probe/format/html.h"
#include "probe/format/text.h"
#include "probe/topology/paths.h"

/* What another exporter writes; NULL after an error, free otherwise. */
static char *written(const struct probe_format *format, const struct topology *t, struct err *e)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream) {
        err_set(e, ERR_FAILED, "out of memory");
        return NULL;
    }
    int rc = format->write(t, stream, e);
    if (fclose(stream) || rc) {
        free(text);
        return NULL;
    }
    return text;
}

/* The nearer, the greener. */
static const char *colour_of(const struct path *p)
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
            const struct path *p = path_between(m, i, k);
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
    char *svg = written(&format_svg, t, &why_not);
    page_paper(out);
    if (svg)
        fputs(svg, out);
    else
        page_put(out, "p", why_not.text);
    page_paper_end(out);
    free(svg);
}

static int write_html(const struct topology *t, FILE *out, struct err *e)
{
    char *text = written(&format_text, t, e), count[32];
    if (!text)
        return ERR_FAILED;
    snprintf(count, sizeof count, "%d finding%s", t->nfindings, t->nfindings == 1 ? "" : "s");
    page_begin(out, t->source ? t->source : "topology");
    page_part(out, "findings", count);
    page_findings(out, t->findings, t->nfindings);
    page_part(out, "picture", "Picture");
    probe_page_picture(t, out);
    page_part(out, "paths", "Paths");
    probe_page_matrices(t, out);
    page_part(out, "text", "Text");
    page_put(out, "pre", text);
    page_end(out);
    free(text);
    return ferror(out) ? err_set(e, ERR_FAILED, "the page cannot be written") : 0;
}

const struct probe_format format_html = {"html", "a page with findings, picture, matrix and text", write_html};
