/* The hash over what identical machines share: every field that does not move, in the order of the tables. */
#include <stdio.h>
#include <string.h>

#include "probe/topology/fields.h"

/* Text on its way into the hash, collected so that short pieces cost little. */
struct stream {
    struct sha256 sha;
    size_t used;
    char text[4096];
};

static void flush(struct stream *s)
{
    sha256_update(&s->sha, s->text, s->used);
    s->used = 0;
}

static void put_text(struct stream *s, const char *text)
{
    size_t n = strlen(text) + 1; /* the '\0' as well: it separates */
    if (s->used + n > sizeof s->text)
        flush(s);
    if (n > sizeof s->text) {
        sha256_update(&s->sha, text, n);
        return;
    }
    memcpy(s->text + s->used, text, n);
    s->used += n;
}

/* Whole numbers as such; a fraction with all its digits. Speeds are whole, mostly. */
static void put_number(struct stream *s, double value)
{
    char text[32];
    long long whole = value > -1e15 && value < 1e15 ? (long long)value : 0;
    if ((double)whole < value || (double)whole > value)
        snprintf(text, sizeof text, "%.17g", value);
    else {
        char *p = text + sizeof text - 1;
        unsigned long long rest = whole < 0 ? -(unsigned long long)whole : (unsigned long long)whole;
        *p = 0;
        do
            *--p = (char)('0' + rest % 10);
        while (rest /= 10);
        if (whole < 0)
            *--p = '-';
        put_text(s, p);
        return;
    }
    put_text(s, text);
}

static void put_texts(struct stream *s, const char *const *texts, int n)
{
    for (int i = 0; i < n; i++)
        put_text(s, texts[i]);
}

/* What is unknown is left out, so that a field that a later version adds changes no hash of a machine without it. */
static void put_field(struct stream *s, const struct json_field *f, const void *at)
{
    if (!json_is_known(f, at))
        return;
    put_text(s, f->key);
    if (f->kind == &json_as_text)
        put_text(s, *(const char *const *)at);
    else if (f->kind == &json_as_texts)
        put_texts(s, *(const char *const *const *)at, *json_count((void *)at));
    else
        put_number(s, f->kind->value(at));
}

static void put_record(struct stream *s, const struct json_field *fields, const void *record)
{
    for (const struct json_field *f = fields; f->key; f++)
        if (!(f->mark & TOPO_MOVES))
            put_field(s, f, (const char *)record + f->at);
}

/* Bridges and what is attached to them without being a device: there today, gone tomorrow with a container. */
static int comes_and_goes(const struct json_field *fields, const void *record)
{
    const struct topo_netdev *d = record;
    return fields == topo_netdev_fields && d->object < 0 &&
           (d->kind == TOPO_NET_BRIDGE || (d->kind == TOPO_NET_VIRTUAL && d->master));
}

void topo_class_hash(const struct topo_class *c, char hex[SHA256_HEX])
{
    struct stream s;
    s.used = 0;
    sha256_init(&s.sha);
    put_record(&s, topo_class_fields, c);
    for (const struct json_field *l = topo_list_fields; l->key; l++) {
        const void *array = (const char *)c + l->at;
        const char *record = *(const char *const *)array;
        int n = l->mark & TOPO_MOVES ? 0 : *json_count((void *)array);
        put_text(&s, l->key);
        for (int k = 0; k < n; k++, record += l->record->size) {
            if (comes_and_goes(l->record->fields, record))
                continue;
            put_text(&s, "");
            put_record(&s, l->record->fields, record);
        }
    }
    flush(&s);
    sha256_hex(&s.sha, hex);
}

void topo_hash(const struct topology *t, char hex[SHA256_HEX])
{
    struct sha256 s;
    sha256_init(&s);
    for (int i = 0; i < t->nclasses; i++) {
        topo_class_hash(&t->classes[i], hex);
        sha256_update(&s, hex, SHA256_HEX - 1);
    }
    sha256_hex(&s, hex);
}
