/* Where the ranks of groups are. libc only: workers link it. */
#include "bench/results/shape.h"

int bench_shape_same(const struct bench_shape *x, const struct bench_shape *y)
{
    return x->nodes == y->nodes && x->ranks == y->ranks && x->others == y->others && x->load == y->load;
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
