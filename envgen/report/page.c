#include "envgen/report/page.h"

#include <ctype.h>
#include <string.h>

#include "core/xml.h"

#define FIGURE 10 /* longer cells that begin with a digit are words */
#define SHORT  32 /* cells that are not broken into lines */

extern const char page_css[], page_js[]; /* the files of these names, by the Makefile */

void page_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "script-src 'unsafe-inline'\"/>\n<meta name=\"color-scheme\" content=\"light dark\"/>\n",
          out);
    page_put(out, "title", title);
    fprintf(out, "<style>/*<![CDATA[*/\n%s/*]]>*/</style></head><body>\n<header>", page_css);
    page_put(out, "h1", title);
    fputs("</header>\n<main>\n<section hidden=\"hidden\">", out);
}

void page_end(FILE *out)
{
    fprintf(out, "</section></main>\n<script>/*<![CDATA[*/\n%s/*]]>*/</script></body></html>\n", page_js);
}

void page_part(FILE *out, const char *id, const char *name)
{
    fprintf(out, "</section>\n<section id=\"%s\">", id);
    page_put(out, "h2", name);
}

void page_put(FILE *out, const char *element, const char *words)
{
    fprintf(out, "<%s>", element);
    xml_put(out, words, XML_WHOLE);
    fprintf(out, "</%.*s>\n", (int)strcspn(element, " "), element);
}

void page_table(FILE *out, const char *class, const char *const *heads)
{
    fprintf(out, "<div class=\"wide\"><table class=\"%s\"><thead><tr>", class ? class : "");
    for (; *heads; heads++)
        page_put(out, "th", *heads);
    fputs("</tr></thead><tbody>\n", out);
}

void page_row(FILE *out, const char *class, const char *const *cells, int n)
{
    fprintf(out, class ? "<tr class=\"%s\">" : "<tr>", class);
    for (int i = 0; i < n; i++) {
        const char *cell = cells[i] ? cells[i] : "";
        size_t length = strlen(cell);
        fputs(isdigit((unsigned char)*cell) && length < FIGURE ? "<td class=\"n\">"
              : length < SHORT                                 ? "<td>"
                                                               : "<td class=\"l\">",
              out);
        xml_put(out, cell, XML_WHOLE);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

void page_table_end(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

static int reads_same(const struct finding *a, const struct finding *b)
{
    const char *const pairs[][2] = {
        {a->id, b->id}, {a->text, b->text}, {a->evidence, b->evidence}, {a->advice, b->advice}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i][0] ? pairs[i][0] : "", pairs[i][1] ? pairs[i][1] : "") != 0)
            return 0;
    return a->severity == b->severity && !a->subject == !b->subject;
}

/* Of those that differ in the subject alone, the first, with the subjects of all; `end` is where the list ends. */
static void put_finding(FILE *out, const struct finding *list, const struct finding *f, const struct finding *end)
{
    const char *severity = finding_severity_name(f->severity), *comma = "";
    for (const struct finding *before = list; before < f; before++)
        if (reads_same(before, f))
            return;
    fprintf(out, "<tr class=\"%s\"><td>%s</td><td>", severity, severity);
    xml_put(out, f->id, XML_WHOLE);
    fputs("</td><td>", out);
    for (const struct finding *same = f; same < end; same++)
        if (reads_same(same, f)) {
            fputs(comma, out);
            xml_put(out, same->subject, XML_WHOLE);
            comma = " ";
        }
    fputs("</td><td class=\"l\">", out);
    xml_put(out, f->text, XML_WHOLE);
    fputs(f->evidence ? ": " : "", out);
    xml_put(out, f->evidence, XML_WHOLE);
    fputs("</td><td class=\"l\">", out);
    xml_put(out, f->advice, XML_WHOLE);
    fputs("</td></tr>\n", out);
}

void page_findings(FILE *out, const struct finding *list, int n)
{
    if (!n)
        return;
    PAGE_TABLE(out, "findings", "", "kind", "subject", "what", "what to do");
    for (int severity = FINDING_SEVERITIES - 1; severity >= 0; severity--)
        for (int i = 0; i < n; i++)
            if ((int)list[i].severity == severity)
                put_finding(out, list, &list[i], list + n);
    page_table_end(out);
}

void page_paper(FILE *out)
{
    fputs("<div class=\"wide\"><div class=\"paper\">", out);
}

void page_paper_end(FILE *out)
{
    fputs("</div></div>\n", out);
}
