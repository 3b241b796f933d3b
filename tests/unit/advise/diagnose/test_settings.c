/* advise/diagnose/settings.c: costly settings, however they are printed. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

TEST_CASE(spellings)
{
    static const struct {
        const char *line, *id; /* NULL: nothing is found */
    } cases[] = {
        {"  'use_dynamic_bsz': False,", "use_dynamic_bsz"},
        {"actor_rollout_ref.actor.use_dynamic_bsz=False \\", "use_dynamic_bsz"},
        {"overlap_comm: true", NULL},
        {"my_use_dynamic_bsz: false", NULL},
        {"use_dynamic_bsz_2: false", NULL},
        {"use_dynamic_bsz is false", NULL},
        {"\"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}", "offload_optimizer"},
        {"\"offload_optimizer\": {\"device\": \"none\"}", NULL},
        {"gpu_memory_utilization=0.35", "gpu_memory_utilization"},
        {"gpu_memory_utilization=0.8", NULL},
        {"export NCCL_IB_DISABLE=1", "NCCL_IB_DISABLE"},
        {"export NCCL_IB_DISABLE=10", NULL},
        {"NCCL_IB_DISABLE=0", NULL},
        {"  # export NCCL_IB_DISABLE=1", NULL},
        {"Please set `NCCL_P2P_DISABLE=\"1\"` and `NCCL_IB_DISABLE=1`", NULL},
        {"'param_offload': True}", "param_offload"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diagnosis *d = diagnose_new();
        struct err e = {0};
        feed(d, cases[i].line, &e);
        const struct diag_result *r = diagnose_finish(d);
        if (cases[i].id ? !finding_of(r, cases[i].id) : d->nsettings)
            fail_msg("%s", cases[i].line);
        diagnose_free(d);
    }
}

TEST_CASE(first_place_counts)
{
    struct diagnosis *d = read_text("x\nparam_offload: True\nparam_offload: True\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_int_equal(r->nfindings, 1);
    assert_string_equal(r->findings[0].place, "log:2");
    diagnose_free(d);
}

TEST_CASES(test_settings)
