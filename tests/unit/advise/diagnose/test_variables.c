/* NCCL's variables in scripts and logs. */
#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

static void expect(const char *text, const char *name, const char *value)
{
    struct diagnosis *d = read_text(text);
    const struct diag_variable *found = NULL;
    for (int i = 0; i < d->nvariables; i++)
        if (!strcmp(d->variables[i].name, name))
            found = &d->variables[i];
    if (!value) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found->value, value);
    }
    diagnose_free(d);
}

TEST_CASE(as_scripts_and_logs_have_them)
{
    expect("export NCCL_IB_HCA=mlx5_0,mlx5_1\n", "NCCL_IB_HCA", "mlx5_0,mlx5_1");
    expect("mpirun -x NCCL_IB_HCA==mlx5_0:1 -x NCCL_DEBUG=INFO ./a\n", "NCCL_IB_HCA", "=mlx5_0:1");
    expect("mpirun -x NCCL_IB_HCA==mlx5_0:1 -x NCCL_DEBUG=INFO ./a\n", "NCCL_DEBUG", "INFO");
    expect("NCCL_SOCKET_IFNAME='eth0' NCCL_ALGO=\"Ring\" python train.py\n", "NCCL_ALGO", "Ring");
    expect("h:1:2 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.\n", "NCCL_IB_GID_INDEX", "3");
    expect("export NCCL_ALGO=Ring\nexport NCCL_ALGO=Tree\n", "NCCL_ALGO", "Tree");
}

TEST_CASE(what_is_none)
{
    expect("  # export NCCL_ALGO=Ring\nNCCL_PROTO=LL\n", "NCCL_ALGO", NULL);
    expect("export MY_NCCL_ALGO=Ring\nNCCL_PROTO=LL\n", "NCCL_ALGO", NULL);
    expect("export NCCL_ALGO=$ALGO\nNCCL_PROTO=LL\n", "NCCL_ALGO", NULL);
    expect("NCCL_PROTO=LL\nNCCL_ALGO is not set\n", "NCCL_ALGO", NULL);
    expect("NCCL_PROTO=LL\nPlease set `NCCL_ALGO=\"Ring\"`\n", "NCCL_ALGO", NULL);
}

/* Lint's word on them, by the release that the log names. */
TEST_CASE(lint_is_asked)
{
    struct diagnosis *d =
        read_text("NCCL version 2.21.5+cuda12.4\na:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Rng.\n");
    const struct diag_result *r = diagnose_finish(d);
    int told = 0;
    for (int i = 0; i < r->nfindings; i++)
        told |= strstr(r->findings[i].text, "NCCL_ALGO=Rng") && !strcmp(r->findings[i].place, "log:2");
    assert_true(told);
    diagnose_free(d);
}

/* More than there is room for: the first stay. */
TEST_CASE(too_many)
{
    char text[4096] = "";
    for (int i = 0; i < 2 * DIAG_VARIABLES; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "export NCCL_X%d=%d\n", i, i);
    expect(text, "NCCL_X31", "31");
    expect(text, "NCCL_X32", NULL);
}

TEST_CASES(test_variables)
