/* Real agents over TCP on this machine, for the tests of the set of agents and of what it has them run. */
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/locate.h"
#include "core/progress.h"
#include "tests/doubles/nccl_setup.h"
#include "tests/lib/unit.h"

#define MANY 1100

static struct agents set;
static struct arena *arena;
static struct err e;
static pid_t started[MANY];
static int nstarted;
static rlim_t most_files; /* of an agent; 0: as many as this process */

static inline int begin(void **state)
{
    arena = arena_new();
    memset(&e, 0, sizeof e);
    nstarted = 0;
    return 0;
}

static inline int end(void **state)
{
    agents_close(&set);
    for (int i = 0; i < nstarted; i++) {
        kill(started[i], SIGKILL);
        waitpid(started[i], NULL, 0);
    }
    arena_free(arena);
    return 0;
}

static inline void want(int agents)
{
    assert_int_equal(agents_begin(&set, agents, &e), 0);
    assert_int_equal(agents_listen(&set, &e), 0);
}

/* A real agent that goes to `places` with the secret `variable`. */
static inline pid_t start_agent(const char *places, const char *variable)
{
    const char *worker = locate_program("nccltune-worker", arena, &e);
    assert_non_null(worker);
    pid_t pid = fork();
    if (!pid) {
        putenv((char *)variable);
        if (most_files)
            setrlimit(RLIMIT_NOFILE, &(struct rlimit){most_files, most_files});
        if (!getenv("TEST_AGENTS_LOUD"))
            fclose(stderr);
        execl(worker, worker, "agent", "--connect", places, NULL);
        _exit(127);
    }
    started[nstarted++] = pid;
    return pid;
}

static inline void start_honest(int n)
{
    for (int i = 0; i < n; i++)
        start_agent(agents_places(&set, arena), agents_secret_variable(&set, arena));
}

static inline int gather(double patience_s)
{
    return agents_gather(&set, progress_now_s() + patience_s, NULL, &e);
}

static int begin_doubles(void **state)
{
    return doubles_begin("channels 1\n", "1");
}

static int end_doubles(void **state)
{
    doubles_end();
    return 0;
}
