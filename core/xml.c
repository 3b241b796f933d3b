/* XML documents as a tree. */
#include "core/xml.h"

#include <errno.h>
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST    64
#define MOST_NODES 300000

#define MOST_BYTES ((size_t)16 << 20) /* attributes take seven times as many */

struct reading {
    XML_Parser parser;
    const char *file;
    long first_line; /* of what this parser was given */
    struct arena *a;
    struct err *e;
    struct xml_node *roots, *current, *last; /* `last`: the element most recently closed */
    int depth, nodes, failed;
    char *text; /* of the current element, as long as it has no child */
    size_t text_used, text_size;
};

static void fail_parse(struct reading *r, const char *sentence)
{
    long line = r->first_line + (long)XML_GetCurrentLineNumber(r->parser) - 1;
    if (!r->failed)
        err_at(r->e, r->file, line, (long)XML_GetCurrentColumnNumber(r->parser) + 1, "%s", sentence);
    r->failed = 1;
    XML_StopParser(r->parser, XML_FALSE);
}

static void on_start(void *context, const char *name, const char **attributes)
{
    struct reading *r = context;
    if (r->failed)
        return;
    if (++r->depth > DEEPEST || ++r->nodes > MOST_NODES) {
        fail_parse(r, r->depth > DEEPEST ? "nested deeper than 64 elements" : "more than 300,000 elements");
        return;
    }
    struct xml_node *n = ARENA_NEW(r->a, struct xml_node);
    n->name = arena_strdup(r->a, name);
    size_t words = 0;
    while (attributes[words])
        words++;
    n->attributes = arena_alloc(r->a, (words + 1) * sizeof *n->attributes);
    for (size_t i = 0; i < words; i++)
        n->attributes[i] = arena_strdup(r->a, attributes[i]);
    n->parent = r->current;
    n->line = r->first_line + (long)XML_GetCurrentLineNumber(r->parser) - 1;
    if (r->last)
        r->last->next = n;
    else if (r->current)
        r->current->first = n;
    else
        r->roots = n;
    r->current = n;
    r->last = NULL;
    r->text_used = 0;
}

static void on_end(void *context, const char *name)
{
    struct reading *r = context;
    (void)name;
    if (r->failed)
        return;
    struct xml_node *n = r->current;
    if (!n->first && r->text_used)
        n->text = arena_strndup(r->a, r->text, r->text_used);
    r->text_used = 0;
    r->last = n;
    r->current = n->parent;
    r->depth--;
}

static void on_text(void *context, const char *s, int len)
{
    struct reading *r = context;
    size_t n = (size_t)len;
    if (r->failed || (!r->text_used && strspn(s, " \t\r\n") >= n))
        return;
    if (r->text_used + n > r->text_size) {
        size_t size = (r->text_used + n) * 2;
        char *bigger = realloc(r->text, size);
        if (!bigger) {
            fail_parse(r, "out of memory");
            return;
        }
        r->text = bigger;
        r->text_size = size;
    }
    memcpy(r->text + r->text_used, s, n);
    r->text_used += n;
}

/* "<!DOCTYPE topology SYSTEM "hwloc2.dtd">" is what hwloc writes; declarations are how entity bombs begin. */
static void on_doctype(void *context, const char *name, const char *system, const char *public, int internal_subset)
{
    struct reading *r = context;
    (void)name;
    (void)system;
    (void)public;
    if (internal_subset)
        fail_parse(r, "a DOCTYPE with declarations of its own is refused");
}

/* Blanks out comments. NULL, or where one begins that has no end. */
static const char *blank_comments(char *text, size_t bytes)
{
    char *end = text + bytes, *at = text;
    while ((at = memmem(at, (size_t)(end - at), "<!--", 4))) {
        char *close = memmem(at + 4, (size_t)(end - at - 4), "-->", 3);
        if (!close)
            return at;
        for (; at < close + 3; at++)
            if (*at != '\n')
                *at = ' ';
    }
    return NULL;
}

/* Parses from `text` to the end of its top element; the bytes read, 0 after an error. */
static size_t parse_one(struct reading *r, const char *text, size_t bytes)
{
    size_t used = bytes;
    r->parser = XML_ParserCreate(NULL);
    if (!r->parser) {
        r->failed = 1;
        err_set(r->e, ERR_FAILED, "%s: out of memory", r->file);
        return 0;
    }
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_start, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
    if (XML_Parse(r->parser, text, (int)bytes, 1) != XML_STATUS_OK && !r->failed) {
        XML_Index at = XML_GetCurrentByteIndex(r->parser);
        if (XML_GetErrorCode(r->parser) == XML_ERROR_JUNK_AFTER_DOC_ELEMENT && at > 0 && text[at] == '<')
            used = (size_t)at;
        else
            fail_parse(r, XML_ErrorString(XML_GetErrorCode(r->parser)));
    }
    XML_ParserFree(r->parser);
    return r->failed ? 0 : used;
}

struct xml_node *xml_parse(char *text, size_t bytes, const char *file, struct arena *a, struct err *e)
{
    struct reading r = {.file = file, .first_line = 1, .a = a, .e = e};
    if (bytes > MOST_BYTES)
        return err_null(e, ERR_FAILED, "%s: larger than the %zu MiB that are read of XML", file, MOST_BYTES >> 20);
    const char *unclosed = blank_comments(text, bytes);
    if (unclosed) {
        err_at(e, file, 1 + err_lines_before(text, unclosed), 0, "expected \"-->\": this comment has no end");
        return NULL;
    }
    while (bytes && !r.failed) {
        size_t used = parse_one(&r, text, bytes);
        r.first_line += err_lines_before(text, text + used);
        text += used;
        bytes -= used;
    }
    free(r.text);
    if (!r.failed && !r.roots)
        err_at(e, file, 0, 0, "expected an XML element");
    return r.failed ? NULL : r.roots;
}

const char *xml_attribute(const struct xml_node *n, const char *name)
{
    for (const char **a = n->attributes; *a; a += 2)
        if (!strcmp(a[0], name))
            return a[1];
    return NULL;
}

long long xml_int(const struct xml_node *n, const char *name, long long low, long long high, long long otherwise)
{
    const char *s = xml_attribute(n, name);
    char *end;
    errno = 0;
    long long v = s ? strtoll(s, &end, 0) : 0;
    return !s || end == s || *end || errno || v < low || v > high ? otherwise : v;
}

int xml_is(const struct xml_node *n, const char *name)
{
    return !strcmp(n->name, name);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void xml_put(FILE *out, const char *s, int most)
{
    static const char *const marks[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    for (const unsigned char *p = (const unsigned char *)s; p && *p; p++) {
        const char *mark = *p < sizeof marks / sizeof *marks ? marks[*p] : NULL;
        if (most-- <= 0 && (*p & 0xc0) != 0x80) {
            fputs("…", out);
            return;
        }
        if (mark)
            fputs(mark, out);
        else if ((*p >= 0x20 && *p != 0x7f) || *p == '\n' || *p == '\t')
            fputc(*p, out);
    }
}
