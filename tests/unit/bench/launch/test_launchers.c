/* The launcher's command line, and whose launch this is. */
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "tests/lib/unit.h"

static const char *const launchers[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",           "PMI_RANK",
                                        "SLURM_STEP_NUM_TASKS", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"};

/* The tests themselves may run within a launch. */
static int forget_launchers(void **state)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        unsetenv(launchers[i]);
    return 0;
}

/* The words joined by blanks, `true` standing for mpirun. */
static char *command(struct arena *a, struct bench_setup s, struct mpirun *m)
{
    struct err e;
    s.mpirun = "true";
    assert_int_equal(mpirun_command(&s, "/opt/worker", a, m, &e), 0);
    char *text = arena_strdup(a, "");
    for (int i = 0; m->argv[i]; i++)
        text = arena_printf(a, "%s%s%s", text, i ? " " : "", m->argv[i]);
    return text;
}

TEST_CASE(places)
{
    struct arena *a = arena_new();
    struct mpirun m;
    assert_string_equal(command(a, (struct bench_setup){.hosts = "n1,n2,n3"}, &m),
                        "true -H n1:1,n2:1,n3:1 -np 3 --oversubscribe /opt/worker");
    assert_int_equal(m.nodes, 3);
    assert_string_equal(command(a, (struct bench_setup){.hosts = "n1,n-2.x", .ranks_per_node = 8}, &m),
                        "true -H n1:8,n-2.x:8 -np 16 --oversubscribe /opt/worker");
    assert_string_equal(command(a, (struct bench_setup){.hosts = "n[1-2], g[08-09]", .ranks_per_node = 8}, &m),
                        "true -H n1:8,n2:8,g08:8,g09:8 -np 32 --oversubscribe /opt/worker");
    assert_int_equal(m.nodes, 4);
    assert_string_equal(command(a, (struct bench_setup){.ranks_per_node = 3}, &m),
                        "true -np 3 --oversubscribe /opt/worker");
    assert_int_equal(m.nodes, 1);
    assert_string_equal(
        command(a, (struct bench_setup){.ranks_per_node = 1, .mpirun_args = "--mca btl 'tcp, self'"}, &m),
        "true -np 1 --oversubscribe --mca btl tcp, self /opt/worker");
    command(a, (struct bench_setup){0}, &m);
    assert_true(m.ranks_per_node >= 2 && m.ranks_per_node <= 8);
    arena_free(a);
}

TEST_CASE(ranks_follow_the_gpus)
{
    struct arena *a = arena_new();
    struct mpirun m;
    struct topo_class class = {.ngpus = 4};
    struct topology t = {.classes = &class, .nclasses = 1};
    command(a, (struct bench_setup){.hosts = "a,b", .topology = &t}, &m);
    assert_int_equal(m.ranks_per_node, 4);
    command(a, (struct bench_setup){.hosts = "a,b", .topology = &t, .ranks_per_node = 2}, &m);
    assert_int_equal(m.ranks_per_node, 2);
    arena_free(a);
}

TEST_CASE(hostfile_and_slurm)
{
    struct arena *a = arena_new();
    struct mpirun m;
    char path[] = "/tmp/test_launchers_XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    fputs("# nodes\nn1 slots=4\n\n  n2\n", f);
    fclose(f);
    char expected[128];
    snprintf(expected, sizeof expected, "true --hostfile %s --map-by ppr:1:node --oversubscribe /opt/worker", path);
    assert_string_equal(command(a, (struct bench_setup){.hostfile = path}, &m), expected);
    assert_int_equal(m.nodes, 2);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("n[1-3] slots=4\nm1\n", f);
    fclose(f);
    assert_string_equal(command(a, (struct bench_setup){.hostfile = path}, &m),
                        "true -H n1:1,n2:1,n3:1,m1:1 -np 4 --oversubscribe /opt/worker");
    unlink(path);
    struct err e;
    struct bench_setup gone = {.mpirun = "true", .hostfile = path};
    assert_int_equal(mpirun_command(&gone, "w", a, &m, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, path));
    setenv("SLURM_JOB_NUM_NODES", "16", 1);
    assert_string_equal(command(a, (struct bench_setup){0}, &m),
                        "true --map-by ppr:1:node --oversubscribe /opt/worker");
    assert_int_equal(m.nodes, 16);
    assert_string_equal(command(a, (struct bench_setup){.launcher = "srun", .ranks_per_node = 4}, &m),
                        "srun -N 16 -n 64 --ntasks-per-node=4 --mpi=pmix --export=ALL /opt/worker");
    assert_int_equal(m.ranks_per_node, 4);
    setenv("SLURM_JOB_NUM_NODES", "many", 1);
    command(a, (struct bench_setup){0}, &m);
    assert_int_equal(m.nodes, 1);
    forget_launchers(NULL);
    arena_free(a);
}

/* A job of Slurm on a machine without mpirun. */
TEST_CASE(srun_where_there_is_nothing_else)
{
    struct arena *a = arena_new();
    struct bench_setup s = {0}, asked = {.launcher = "mpirun"};
    struct mpirun m;
    struct err e;
    char dir[] = "/tmp/test_launchers_XXXXXX", *path = arena_strdup(a, getenv("PATH"));
    assert_non_null(mkdtemp(dir));
    const char *srun = arena_printf(a, "%s/srun", dir);
    assert_int_equal(symlink("/bin/true", srun), 0);
    setenv("PATH", dir, 1);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_JOB_NUM_NODES", "2", 1);
    int found = mpirun_command(&s, "/opt/worker", a, &m, &e),
        lacking = mpirun_command(&asked, "/opt/worker", a, &m, &e);
    unsetenv("SLURM_JOB_ID");
    int outside = mpirun_command(&s, "/opt/worker", a, &m, &e);
    setenv("PATH", path, 1);
    unlink(srun);
    rmdir(dir);
    forget_launchers(NULL);
    assert_int_equal(found, 0);
    assert_int_equal(lacking, ERR_LACKS);
    assert_int_equal(outside, ERR_LACKS);
    arena_free(a);
}

TEST_CASE(what_makes_no_sense)
{
    static const char *const hosts[] = {"",     ",",  "a,",  ",a",   "a,,b",  "n[1",
                                        "a;rm", "-x", "a:4", "me@a", "$(id)", "a/b"};
    struct arena *a = arena_new();
    struct mpirun m;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        struct bench_setup s = {.mpirun = "true", .hosts = hosts[i]};
        struct err e = {0};
        assert_int_equal(mpirun_command(&s, "w", a, &m, &e), ERR_USAGE);
        assert_non_null(strstr(e.text, "--hosts"));
    }
    struct bench_setup quote = {.mpirun = "true", .mpirun_args = "a 'b"}, none = {.mpirun = "no-such-mpirun"};
    struct err e;
    assert_int_equal(mpirun_command(&quote, "w", a, &m, &e), ERR_USAGE);
    assert_int_equal(mpirun_command(&none, "w", a, &m, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "no-such-mpirun"));
    arena_free(a);
}

static int has(const struct mpirun *m, const char *variable)
{
    for (int i = 0; m->env[i]; i++)
        if (!strcmp(m->env[i], variable))
            return 1;
    return 0;
}

TEST_CASE(environment)
{
    struct arena *a = arena_new();
    struct mpirun m;
    command(a, (struct bench_setup){.ranks_per_node = 4096}, &m);
    assert_true(has(&m, "OMPI_MCA_coll_tuned_use_dynamic_rules=1"));
    assert_true(has(&m, "OMPI_MCA_mpi_yield_when_idle=1"));
    assert_int_equal(has(&m, "OMPI_ALLOW_RUN_AS_ROOT=1"), geteuid() == 0);
    assert_int_equal(has(&m, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"), geteuid() == 0);
    command(a, (struct bench_setup){.ranks_per_node = 1}, &m);
    assert_false(has(&m, "OMPI_MCA_mpi_yield_when_idle=1"));
    arena_free(a);
}

TEST_CASE(whose_launch_this_is)
{
    struct err e;
    assert_int_equal(mpirun_attached_rank(&e), -1);
    for (int i = 0; i < 3; i++) {
        setenv(launchers[i], "7", 1);
        assert_int_equal(mpirun_attached_rank(&e), 7);
        setenv(launchers[i], "seven", 1);
        assert_int_equal(mpirun_attached_rank(&e), -1);
        unsetenv(launchers[i]);
    }
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    assert_int_equal(mpirun_attached_rank(&e), -1);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    assert_int_equal(mpirun_attached_rank(&e), -2);
    assert_non_null(strstr(e.text, "--mpi=pmix"));
    setenv("PMIX_RANK", "0", 1);
    assert_int_equal(mpirun_attached_rank(&e), 0);
    forget_launchers(NULL);
}

TEST_CASES_WITHIN(test_launchers, forget_launchers, NULL)
