/* core/arena.c: alignment, zeroing, large blocks, growing arrays. */
#include "core/arena.h"
#include "tests/lib/unit.h"

TEST_CASE(aligned_and_zeroed)
{
    struct arena *a = arena_new();
    for (size_t n = 1; n < 300000; n = n * 3 + 1) {
        unsigned char *p = arena_alloc(a, n);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
    arena_free(a);
    arena_free(NULL);
}

TEST_CASE(strings)
{
    struct arena *a = arena_new();
    assert_null(arena_strdup(a, NULL));
    assert_string_equal(arena_strdup(a, "mlx5_0"), "mlx5_0");
    assert_string_equal(arena_strndup(a, "mlx5_0", 4), "mlx5");
    assert_string_equal(arena_strndup(a, "ib", 99), "ib");
    assert_string_equal(arena_printf(a, "%s:%d", "mlx5_0", 1), "mlx5_0:1");
    arena_free(a);
}

TEST_CASE(growing)
{
    struct arena *a = arena_new();
    int *v = NULL;
    for (int i = 0; i < 5000; i++) {
        v = arena_grow(a, v, (size_t)i, sizeof *v);
        v[i] = i;
    }
    for (int i = 0; i < 5000; i++)
        assert_int_equal(v[i], i);
    arena_free(a);
}

TEST_CASES(test_arena)
