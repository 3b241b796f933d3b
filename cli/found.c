/* The head takes in the others; the others serve. Who is alone starts agents. */
#include "cli/found.h"

#include "bench/engines/mpi.h"
#include "bench/launch/mpirun.h"
#include "cli/cli.h"

#define PATIENCE_S 60.0

static int take_in(struct cli_found *c, struct bench_setup *setup, const char *name, volatile sig_atomic_t *stop)
{
    struct err e = {0};
    c->head = 1;
    if (c->found.nodes < 2)
        return -1;
    if (agents_open_found(&c->agents, &c->found, PATIENCE_S, stop, &e)) {
        int code = cli_fail(name, &e);
        cli_found_end(c, setup, code);
        return code;
    }
    setup->lent = &c->agents;
    return -1;
}

int cli_found_begin(struct cli_found *c, struct bench_setup *setup, const char *dir, const char *name,
                    volatile sig_atomic_t *stop, struct arena *a)
{
    struct err e = {0};
    int code = ERR_FAILED;
    *c = (struct cli_found){.agents = {.listener = -1}};
    if (setup->launcher || setup->hosts || setup->hostfile)
        return -1;
    switch (found_begin(&c->found, dir, PATIENCE_S, a, &code, &e)) {
    case FOUND_ALONE:
        return -1;
    case FOUND_HEAD:
        return take_in(c, setup, name, stop);
    case FOUND_SERVED:
        return code;
    case FOUND_RANK: /* comes back only when it fails */
        bench_engine_mpi.join(&e);
        return cli_fail(name, &e);
    default:
        return cli_fail(name, &e);
    }
}

int cli_found_start(struct cli_found *c, struct bench_setup *setup, volatile sig_atomic_t *stop,
                    struct agents_absent **absent, int *nabsent, struct arena *a, struct err *e)
{
    struct bench_setup *again = ARENA_NEW(a, struct bench_setup);
    *nabsent = 0;
    if (setup->lent)
        return 0;
    *again = *setup;
    int rc = agents_open_some(&c->agents, again, PATIENCE_S, stop, absent, nabsent, a, e);
    if (!rc)
        setup->lent = &c->agents;
    return rc;
}

void cli_found_end(struct cli_found *c, struct bench_setup *setup, int code)
{
    int32_t status = code;
    if (c->agents.arena) {
        agents_send(&c->agents, -1, AGENT_EXIT, AGENT_ALL, &status, sizeof status);
        agents_close(&c->agents);
    }
    if (c->head)
        found_end(&c->found, code);
    setup->lent = NULL;
    c->head = 0;
}

int cli_found_become_ranks(struct cli_found *c, struct bench_setup *setup, struct err *e)
{
    if (!c->head)
        agents_close(&c->agents); /* they would be in the way of mpirun's in an allocation */
    setup->lent = NULL;
    if (c->head && mpirun_attached_rank(NULL) < 0)
        return err_set(
            e, ERR_LACKS,
            "host memory is measured by ranks of MPI, and %s started none: say srun --mpi=pmix or mpirun, or "
            "--engine nccl where there are GPUs",
            c->found.launcher);
    if (c->head)
        cli_found_end(c, setup, FOUND_BECOME_RANK);
    return 0;
}
