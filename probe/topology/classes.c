/* Identical nodes become one class: by the hash of what does not move. What differs within the class stays with the
 * host. */
#include "probe/topology/classes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/topology/build.h"
#include "probe/topology/differences.h"

struct class_slot {
    int class_index; /* -1: free */
    char hash[SHA256_HEX];
};

void classes_index_free(struct class_index *index)
{
    free(index->slots);
    *index = (struct class_index){0};
}

static size_t place_of(const struct class_index *index, const char *hash)
{
    char head[16];
    memcpy(head, hash, 15);
    head[15] = 0;
    size_t at = (size_t)strtoull(head, NULL, 16);
    for (;; at++) {
        const struct class_slot *s = &index->slots[at % (size_t)index->nslots];
        if (s->class_index < 0 || !strcmp(s->hash, hash))
            return at % (size_t)index->nslots;
    }
}

static void grow(struct class_index *index)
{
    struct class_index bigger = {.nslots = index->nslots ? index->nslots * 2 : 64, .used = index->used};
    bigger.slots = malloc((size_t)bigger.nslots * sizeof *bigger.slots);
    if (!bigger.slots)
        abort();
    for (int i = 0; i < bigger.nslots; i++)
        bigger.slots[i].class_index = -1;
    for (int i = 0; i < index->nslots; i++)
        if (index->slots[i].class_index >= 0)
            bigger.slots[place_of(&bigger, index->slots[i].hash)] = index->slots[i];
    free(index->slots);
    *index = bigger;
}

int classes_find(struct class_index *index, const struct topo_class *c, int next)
{
    char hash[SHA256_HEX];
    if (index->used * 2 >= index->nslots)
        grow(index);
    topo_class_hash(c, hash);
    struct class_slot *s = &index->slots[place_of(index, hash)];
    if (s->class_index < 0) {
        s->class_index = next;
        memcpy(s->hash, hash, sizeof hash);
        index->used++;
    }
    return s->class_index;
}

static void copy_texts(struct topology *t, const char ***to, int *nto, const char *const *from, int nfrom)
{
    for (int i = 0; i < nfrom; i++)
        build_text(t, to, nto, from[i]);
}

static int same_texts(const char *const *x, int nx, const char *const *y, int ny)
{
    int same = nx == ny;
    for (int i = 0; i < nx && same; i++)
        same = !strcmp(x[i], y[i]);
    return same;
}

static void note_differences(struct topology *t, const struct topo_class *first, const struct topo_class *own,
                             struct topo_host *h)
{
    struct arena *a = arena_new();
    const char **sentences;
    int n = differences_within(first, own, a, &sentences);
    copy_texts(t, &h->differs, &h->ndiffers, sentences, n);
    if (!h->nlibraries && !same_texts(first->libraries, first->nlibraries, own->libraries, own->nlibraries))
        copy_texts(t, &h->libraries, &h->nlibraries, own->libraries, own->nlibraries);
    arena_free(a);
}

void classes_add_host(struct topology *t, int class_index, const struct topo_class *own, const struct topo_host *from,
                      const char *name)
{
    build_host(t, name, class_index);
    struct topo_host *h = &t->hosts[t->nhosts - 1];
    copy_texts(t, &h->addresses, &h->naddresses, from->addresses, from->naddresses);
    copy_texts(t, &h->errors, &h->nerrors, from->errors, from->nerrors);
    copy_texts(t, &h->signs, &h->nsigns, from->signs, from->nsigns);
    h->clique = arena_strdup(t->arena, from->clique);
    note_differences(t, &t->classes[class_index], own, h);
}

void classes_merge(struct topology *t)
{
    struct class_index index = {0};
    int *where = calloc((size_t)t->nclasses + 1, sizeof *where), n = 0;
    struct topo_class *all = calloc((size_t)t->nclasses + 1, sizeof *all);
    if (!where || !all)
        abort();
    if (t->nclasses)
        memcpy(all, t->classes, (size_t)t->nclasses * sizeof *all);
    for (int i = 0; i < t->nclasses; i++) {
        where[i] = classes_find(&index, &all[i], n);
        if (where[i] < n)
            continue;
        t->classes[n] = all[i];
        t->classes[n].name = arena_printf(t->arena, "class%d", n);
        n++;
    }
    for (int i = 0; i < t->nhosts; i++) {
        struct topo_host *h = &t->hosts[i];
        int before = h->class_index;
        h->class_index = where[before];
        note_differences(t, &t->classes[where[before]], &all[before], h);
    }
    t->nclasses = n;
    free(where);
    free(all);
    classes_index_free(&index);
}
