/* Text into a diagnosis, as if it were a file called "log". */
#pragma once

#include <stdio.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

static inline int feed_bytes(struct diagnosis *d, const char *text, size_t bytes, struct err *e)
{
    FILE *f = fmemopen((void *)(uintptr_t)text, bytes ? bytes : 1, "rb");
    if (!bytes)
        fgetc(f);
    int rc = diagnose_stream(d, f, "log", e);
    fclose(f);
    return rc;
}

static inline int feed(struct diagnosis *d, const char *text, struct err *e)
{
    return feed_bytes(d, text, strlen(text), e);
}

/* The diagnosis of a text that must be readable. */
static inline struct diagnosis *read_text(const char *text)
{
    struct diagnosis *d = diagnose_new();
    struct err e = {0};
    if (feed(d, text, &e))
        fail_msg("%s", e.text);
    return d;
}

/* The phase of the primary source by its name; NULL when it is not there. */
static inline const struct diag_phase *phase_of(const struct diag_result *r, const char *name)
{
    const struct diag_source *s = r->primary >= 0 ? &r->sources[r->primary] : NULL;
    for (int i = 0; s && i < s->nphases; i++)
        if (!strcmp(s->phases[i].name, name))
            return &s->phases[i];
    return NULL;
}

static inline const struct diag_finding *finding_of(const struct diag_result *r, const char *id)
{
    for (int i = 0; i < r->nfindings; i++)
        if (!strcmp(r->findings[i].id, id))
            return &r->findings[i];
    return NULL;
}
