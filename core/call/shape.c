/* Shapes of groups: reading and writing them, where their ranks are, and those that jobs make. libc only: the worker
 * links it. */
#include "core/call/shape.h"

#include <string.h>

#include "core/units.h"

static int read_count(const char *text, size_t n, long *value)
{
    char digits[16];
    if (!n || n >= sizeof digits)
        return -1;
    memcpy(digits, text, n);
    digits[n] = 0;
    return unit_parse_int(digits, 1, BENCH_SHAPE_MOST, value, "", NULL);
}

int bench_shape_parse(const char *text, struct bench_shape *s, const char *what, struct err *e)
{
    long nodes, per_node, groups = 1;
    size_t n = strcspn(text, "x"), first = strcspn(text, "*");
    int bad = n >= first || read_count(text, n, &nodes) || read_count(text + n + 1, first - n - 1, &per_node) ||
              nodes * per_node > BENCH_SHAPE_MOST || nodes * per_node < 2;
    int all = !strcmp(text + first, "*all");
    if (!bad && text[first] && !all)
        bad = read_count(text + first + 1, strlen(text + first + 1), &groups);
    if (bad)
        return err_set(e, ERR_USAGE,
                       "%s: '%s' is not a shape; expected NODESxRANKS[*GROUPS-AT-ONCE] such as 2x8, 1x4*2, 4x1*all",
                       what, text);
    *s = (struct bench_shape){(int)nodes, (int)(nodes * per_node), all ? BENCH_SHAPE_ALL : (int)groups - 1};
    return 0;
}

const char *bench_shape_text(const struct bench_shape *s, struct arena *a)
{
    const char *group = arena_printf(a, "%dx%d", s->nodes, s->ranks / s->nodes);
    if (s->others == BENCH_SHAPE_ALL)
        return arena_printf(a, "%s*all", group);
    return s->others ? arena_printf(a, "%s*%d", group, s->others + 1) : group;
}

/* ---- where the ranks of groups are ---- */

int bench_shape_same(const struct bench_shape *x, const struct bench_shape *y)
{
    return x->nodes == y->nodes && x->ranks == y->ranks && x->others == y->others;
}

int bench_shape_room(const struct bench_shape *s, const struct bench_shape *whole)
{
    if (s->nodes < 1 || whole->nodes < 1 || whole->ranks % whole->nodes || s->ranks % s->nodes || s->ranks < s->nodes)
        return 0;
    return whole->nodes / s->nodes * (whole->ranks / whole->nodes / (s->ranks / s->nodes));
}

int bench_shape_group(const struct bench_shape *s, const struct bench_shape *whole, int rank)
{
    int room = bench_shape_room(s, whole);
    if (!room)
        return -1;
    int on_node = whole->ranks / whole->nodes, per_node = s->ranks / s->nodes, places = on_node / per_node;
    int block = rank / on_node / s->nodes, place = rank % on_node / per_node;
    int group = block * places + place;
    return place < places && group < room && group <= s->others ? group : -1;
}

/* ---- what jobs make ---- */

static void add_shape(const struct bench_shape *whole, struct bench_shape out[BENCH_SHAPES], int *n, int nodes,
                      int per_node, int alone)
{
    struct bench_shape s = {nodes, nodes * per_node, 0};
    int room = bench_shape_room(&s, whole), known = s.ranks < 2 || !room;
    s.others = alone || !room ? 0 : room - 1;
    for (int i = 0; i < *n; i++)
        known |= bench_shape_same(&out[i], &s);
    if (!known && *n < BENCH_SHAPES)
        out[(*n)++] = s;
}

/* Data parallel over all, tensor parallel within a node, one rank a node (sharded data parallel over the rails), parts
 * of nodes; then the smaller node counts, and what is alone on its nodes. */
int bench_shapes_usual(const struct bench_shape *whole, struct bench_shape out[BENCH_SHAPES])
{
    int n = 0;
    if (whole->nodes < 1 || whole->ranks % whole->nodes)
        return 0;
    int on_node = whole->ranks / whole->nodes;
    add_shape(whole, out, &n, whole->nodes, on_node, 0);
    add_shape(whole, out, &n, 1, on_node, 0);
    add_shape(whole, out, &n, whole->nodes, 1, 0);
    for (int ranks = 4; ranks >= 2; ranks /= 2)
        add_shape(whole, out, &n, 1, ranks < on_node ? ranks : on_node, 0);
    for (int nodes = whole->nodes / 2; nodes >= 2; nodes /= 2)
        add_shape(whole, out, &n, nodes, on_node, 0);
    for (int ranks = 4; ranks >= 2; ranks /= 2)
        add_shape(whole, out, &n, whole->nodes, ranks < on_node ? ranks : on_node, 0);
    for (int nodes = whole->nodes / 2; nodes >= 2; nodes /= 2)
        add_shape(whole, out, &n, nodes, 1, 0);
    add_shape(whole, out, &n, whole->nodes, 1, 1);
    return n;
}
