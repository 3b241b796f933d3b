/* One page to pass on: findings, the picture where Graphviz can draw it, and the text. Nothing in it is loaded from
 * elsewhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/finding.h"
#include "core/xml.h"
#include "probe/format/format.h"

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

static int write_html(const struct topology *t, FILE *out, struct err *e)
{
    struct err no_picture = {0};
    char *svg = written(&format_svg, t, &no_picture), *text = written(&format_text, t, e);
    const char *picture = svg ? strstr(svg, "<svg") : NULL;
    if (text) {
        fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>nccltune probe</title>\n<style>"
              "body{font-family:sans-serif;margin:2em}svg{max-width:100%;height:auto}table{border-collapse:collapse}"
              "td,th{border:1px solid #ccc;padding:.3em .6em;text-align:left}.error td:first-child{background:#f4c6c6}"
              ".warning td:first-child{background:#f5e6a8}</style></head><body>\n<h1>",
              out);
        xml_put(out, t->source ? t->source : "topology", XML_WHOLE);
        fputs("</h1>\n", out);
        put_findings(out, t);
        fputs("<h2>Picture</h2>\n", out);
        if (picture)
            fputs(picture, out);
        else
            xml_put(out, no_picture.text, XML_WHOLE);
        fputs("<h2>Text</h2>\n<pre>", out);
        xml_put(out, text, XML_WHOLE);
        fputs("</pre></body></html>\n", out);
    }
    int rc = !text ? ERR_FAILED : ferror(out) ? err_set(e, ERR_FAILED, "the page cannot be written") : 0;
    free(svg);
    free(text);
    return rc;
}

const struct probe_format format_html = {"html", "a page with findings, picture and text", write_html};
