/* core/gpu_driver.c with the driver's doubles, which are loaded under their names before it asks for them. */
#include <dlfcn.h>

#include "core/gpu_driver.h"
#include "tests/doubles/nccl_setup.h"
#include "tests/lib/unit.h"

static struct gpu g;
static struct err why;

static int begin(void **state)
{
    struct arena *a = arena_new();
    int rc = doubles_begin("channels 1\n", "2");
    if (!rc && (!dlopen(arena_printf(a, "%s/libcuda.so.1", getenv("LD_LIBRARY_PATH")), RTLD_NOW) ||
                !dlopen(arena_printf(a, "%s/libamdhip64.so", getenv("LD_LIBRARY_PATH")), RTLD_NOW)))
        rc = -1;
    arena_free(a);
    return rc;
}

static int end(void **state)
{
    doubles_end();
    return 0;
}

TEST_CASE(both_drivers)
{
    for (int hip = 0; hip < 2; hip++) {
        int n = 0, device = -1;
        char name[32];
        g = (struct gpu){0};
        if (gpu_load(&g, hip, &why))
            fail_msg("%s", why.text);
        assert_int_equal(g.hip, hip);
        assert_true(g.count(&n) == 0 && n == 2);
        assert_true(g.device(&device, 1) == 0 && device == 1);
        assert_true(g.name(name, sizeof name, device) == 0 &&
                    !strcmp(name, hip ? "GPU double of AMD's" : "GPU double"));
        assert_true(gpu_cache_bytes(&g, 0) > 1000000);
        for (size_t at = offsetof(struct gpu, init); at < offsetof(struct gpu, capture_begin); at += sizeof(void *))
            assert_non_null(*(void **)(void *)((char *)&g + at));
        assert_true(g.host_us && g.graph_drop);
    }
}

TEST_CASE(one_that_does_not_start)
{
    setenv("DRIVER_DOUBLE_GPUS", "0", 1);
    assert_int_equal(gpu_load(&g, 0, &why), ERR_FAILED);
    static const char words[] = "the GPU driver does not start: ";
    assert_memory_equal(why.text, words, sizeof words - 1);
    assert_true(strlen(why.text) > sizeof words);
    setenv("DRIVER_DOUBLE_GPUS", "2", 1);
}

static int attribute_rc, attribute_value, asked;

static int attribute(int *value, int number, int device)
{
    asked = number;
    *value = attribute_value + device;
    return attribute_rc;
}

static const char *words;

static int error_text(int code, const char **text)
{
    *text = words;
    return code == 9;
}

TEST_CASE(smaller_questions)
{
    struct gpu one = {.attribute = attribute, .error_text = error_text};
    attribute_value = 4096;
    assert_true(gpu_cache_bytes(&one, 3) == 4099 && asked == 38);
    one.hip = 1;
    assert_true(gpu_cache_bytes(&one, 0) == 4096 && asked == 19);
    attribute_rc = 1;
    assert_int_equal(gpu_cache_bytes(&one, 0), 0);
    attribute_rc = 0;
    attribute_value = -1;
    assert_int_equal(gpu_cache_bytes(&one, 0), 0);
    words = "no more";
    assert_string_equal(gpu_error(&one, 1), "no more");
    assert_string_equal(gpu_error(&one, 9), "unknown driver error");
    words = NULL;
    assert_string_equal(gpu_error(&one, 1), "unknown driver error");
    for (int code = 0; code < 100; code++)
        assert_int_equal(gpu_is_taken(code), code == 46 || code == 54);
}

TEST_CASES_WITHIN(test_gpu_driver, begin, end)
