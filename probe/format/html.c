/* One page to pass on: findings, the picture, the matrix in colours, and the text. Nothing in it is loaded from
 * elsewhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/finding.h"
#include "core/xml.h"
#include "probe/format/format.h"
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

static void put_findings(FILE *out, const struct topology *t)
{
    fprintf(out, "<h2>%d finding%s</h2>\n", t->nfindings, t->nfindings == 1 ? "" : "s");
    if (t->nfindings)
        fputs("<table><tr><th></th><th>kind</th><th>subject</th><th>what</th><th>what to do</th></tr>\n", out);
    for (int i = 0; i < t->nfindings; i++) {
        const struct finding *f = &t->findings[i];
        const char *severity = finding_severity_name(f->severity);
        fprintf(out, "<tr class=\"%s\"><td>%s</td><td>%s</td><td>", severity, severity, f->id);
        xml_put(out, f->subject, XML_WHOLE);
        fputs("</td><td>", out);
        xml_put(out, f->text, XML_WHOLE);
        fputs(f->evidence ? ": " : "", out);
        xml_put(out, f->evidence, XML_WHOLE);
        fputs("</td><td>", out);
        xml_put(out, f->advice, XML_WHOLE);
        fputs("</td></tr>\n", out);
    }
    if (t->nfindings)
        fputs("</table>\n", out);
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
    fputs("<h2>", out);
    xml_put(out, text_hosts(t, class_index, a), XML_WHOLE);
    fputs("</h2>\n<table class=\"matrix\"><tr><th></th>", out);
    for (int i = 0; i < m->n; i++) {
        fputs("<th>", out);
        xml_put(out, m->ends[i].label, XML_WHOLE);
        fputs("</th>", out);
    }
    for (int i = 0; i < m->n; i++) {
        fputs("</tr>\n<tr><th>", out);
        xml_put(out, m->ends[i].label, XML_WHOLE);
        fputs("</th>", out);
        for (int k = 0; k < m->n; k++) {
            const struct path *p = path_between(m, i, k);
            fprintf(out, "<td style=\"background:%s\"", colour_of(p));
            if (p->GBps > 0)
                fprintf(out, " title=\"%.4g GB/s\"", p->GBps);
            fprintf(out, ">%s</td>", path_word(word, p));
        }
    }
    fputs("</tr></table>\n", out);
}

static void put_matrices(FILE *out, const struct topology *t)
{
    const int most = 16; /* classes */
    struct arena *a = arena_new();
    for (int i = 0; i < t->nclasses && i < most; i++)
        put_matrix(out, t, i, a);
    arena_free(a);
}

static int write_html(const struct topology *t, FILE *out, struct err *e)
{
    struct err no_picture = {0};
    char *svg = written(&format_svg, t, &no_picture), *text = written(&format_text, t, e);
    if (text) {
        fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>nccltune probe</title>\n<style>"
              "body{font-family:sans-serif;margin:2em}svg{max-width:100%;height:auto}table{border-collapse:collapse}"
              "td,th{border:1px solid #ccc;padding:.3em .6em;text-align:left}.error td:first-child{background:#f4c6c6}"
              ".warning td:first-child{background:#f5e6a8}.matrix td,.matrix th{padding:.1em .35em;font-size:80%;"
              "text-align:center}</style></head><body>\n<h1>",
              out);
        xml_put(out, t->source ? t->source : "topology", XML_WHOLE);
        fputs("</h1>\n", out);
        put_findings(out, t);
        fputs("<h2>Picture</h2>\n", out);
        if (svg)
            fputs(svg, out);
        else
            xml_put(out, no_picture.text, XML_WHOLE);
        put_matrices(out, t);
        fputs("<h2>Text</h2>\n<pre>", out);
        xml_put(out, text, XML_WHOLE);
        fputs("</pre></body></html>\n", out);
    }
    int rc = !text ? ERR_FAILED : ferror(out) ? err_set(e, ERR_FAILED, "the page cannot be written") : 0;
    free(svg);
    free(text);
    return rc;
}

const struct probe_format format_html = {"html", "a page with findings, picture, matrix and text", write_html};
