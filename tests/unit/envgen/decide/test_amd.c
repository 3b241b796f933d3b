/* What is said about RCCL's variables, by the topology's GPUs; nothing of it is a setting. */
#include "envgen/decide/steps.h"
#include "tests/lib/unit.h"

static struct env_decisions *advise(const char *arch, const char *measured)
{
    struct topo_gpu gpu = {.arch = arch, .sm = arch ? 0 : 90};
    struct topo_class c = {.name = "class0", .gpus = &gpu, .ngpus = 1};
    struct topology t = {.classes = &c, .nclasses = 1};
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    if (measured) {
        d->settings = ARENA_NEW(d->arena, struct env_setting);
        d->settings[0] = (struct env_setting){"nccl", measured, "112", "measured on GPUs", "faster", 0};
        d->nsettings = 1;
    }
    env_amd_advice(d, &t);
    return d;
}

static const char *why(const struct env_decisions *d, const char *name)
{
    const char *found = NULL;
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].name, name)) {
            assert_null(found);
            found = d->settings[i].why;
        }
    return found;
}

TEST_CASE(by_architecture)
{
    struct env_decisions *d = advise("gfx942", NULL);
    assert_non_null(strstr(why(d, "HSA_NO_SCRATCH_RECLAIM"), "differs between releases"));
    assert_non_null(strstr(why(d, "NCCL_MIN_NCHANNELS"), "112"));
    assert_non_null(strstr(why(d, "NCCL_PXN_DISABLE"), "default is 1"));
    assert_non_null(why(d, "RCCL_MSCCL_ENABLE"));
    for (int i = 0; i < d->nsettings; i++)
        assert_null(d->settings[i].value);
    env_decisions_free(d);
    d = advise("gfx90a", NULL);
    assert_non_null(strstr(why(d, "HSA_NO_SCRATCH_RECLAIM"), "7.13"));
    assert_null(why(d, "NCCL_MIN_NCHANNELS"));
    env_decisions_free(d);
    d = advise("gfx1100", NULL);
    assert_non_null(strstr(why(d, "HSA_NO_SCRATCH_RECLAIM"), "other GPUs"));
    env_decisions_free(d);
}

TEST_CASE(nothing_for_others)
{
    struct env_decisions *d = advise(NULL, NULL);
    assert_int_equal(d->nsettings, 0);
    env_decisions_free(d);
}

TEST_CASE(a_measurement_goes_first)
{
    struct env_decisions *d = advise("gfx942", "NCCL_MIN_NCHANNELS");
    assert_string_equal(why(d, "NCCL_MIN_NCHANNELS"), "faster");
    assert_string_equal(d->settings[0].value, "112");
    env_decisions_free(d);
}

TEST_CASES(test_amd)
