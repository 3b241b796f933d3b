/* What the XML importers' fuzzers share: parse, import, then use the result in every way that others use it. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "probe/findings/findings.h"
#include "probe/format/format.h"
#include "probe/import/import.h"
#include "probe/import/readers.h"
#include "probe/machines/hardware.h"
#include "probe/machines/machines.h"
#include "probe/topology/build.h"

/* Traps when a topology cannot be written, or what is written is not read back. */
static inline void fuzz_use(struct topology *t)
{
    struct err e = {0};
    FILE *nowhere = fopen("/dev/null", "w");
    const char *const others[] = {"svg", "nccl-xml"};
    findings_attach(t);
    cJSON *doc = topo_to_json(t);
    struct topology *again = topo_new();
    if (!nowhere || probe_formats[0]->write(t, nowhere, &e) || topo_add_json(again, doc, "input", &e))
        __builtin_trap();
    for (int i = 0; i < 2; i++)
        probe_format_find(others[i])->write(again, nowhere, &e);
    /* Twice the same: no more classes, whichever way they are merged. */
    if (topo_add_json(again, doc, "input", &e))
        __builtin_trap();
    classes_merge(again);
    if (again->nclasses > t->nclasses)
        __builtin_trap();
    merge_nodes(again);
    /* Whatever its GPUs may be taken for. */
    for (const struct hw_gpu *g = hw_gpus; g->name && machine_complete_gpus(again, g->name, &e); g++)
        ;
    findings_attach(again);
    if (again->nclasses > 1 || probe_formats[0]->write(again, nowhere, &e))
        __builtin_trap();
    fclose(nowhere);
    cJSON_Delete(doc);
    topo_free(again);
}

static inline int fuzz_import(const uint8_t *data, size_t size,
                              int (*import)(struct topology *, const struct xml_node *, const char *, const char *,
                                            struct err *))
{
    struct arena *a = arena_new();
    struct topology *t = topo_new();
    struct err e = {0};
    char *text = arena_alloc(a, size + 1);
    if (size)
        memcpy(text, data, size);
    const struct xml_node *roots = xml_parse(text, size, "input", a, &e);
    if (roots && !import(t, roots, "host", "input", &e))
        fuzz_use(t);
    else if (!e.code)
        __builtin_trap();
    topo_free(t);
    arena_free(a);
    return 0;
}
