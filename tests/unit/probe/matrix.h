/* Comparing a class's matrix with one that a person wrote down from looking at the machine's file. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/import/import.h"
#include "probe/topology/topology.h"

/* "GPU0 X NV12 PIX\n…": one row a line, single blanks between the words. */
static inline const char *matrix_words(const struct topo_class *c, struct arena *a)
{
    char word[PATH_WORD];
    const struct path_matrix *m = path_matrix(c, a);
    const char *all = "";
    for (int i = 0; i < m->n; i++) {
        all = arena_printf(a, "%s%s", all, m->ends[i].label);
        for (int k = 0; k < m->n; k++)
            all = arena_printf(a, "%s %s", all, path_word(word, path_between(m, i, k)));
        all = arena_printf(a, "%s\n", all);
    }
    return all;
}

/* The same in NCCL's classes. */
static inline const char *matrix_classes(const struct topo_class *c, struct arena *a)
{
    const struct path_matrix *m = path_matrix(c, a);
    const char *all = "";
    for (int i = 0; i < m->n; i++) {
        all = arena_printf(a, "%s%s", all, m->ends[i].label);
        for (int k = 0; k < m->n; k++)
            all = arena_printf(a, "%s %s", all, path_class_name(path_between(m, i, k)->class_));
        all = arena_printf(a, "%s\n", all);
    }
    return all;
}

static inline struct topology *load_one(const char *path)
{
    struct err e = {0};
    struct topology *t = probe_files(&path, 1, NULL, &e);
    if (!t)
        print_error("%s\n", e.text);
    assert_non_null(t);
    return t;
}

#define FIXTURE "tests/fixtures/probe/"

static inline void assert_words(const char *path, const char *expected)
{
    struct topology *t = load_one(path);
    assert_string_equal(matrix_words(&t->classes[0], t->arena), expected);
    topo_free(t);
}

static inline void assert_note(const struct topo_class *c, const char *part)
{
    for (int i = 0; i < c->nnotes; i++)
        if (strstr(c->notes[i], part))
            return;
    fail_msg("no note says '%s'", part);
}
