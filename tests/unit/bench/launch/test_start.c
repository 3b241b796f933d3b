/* Launchers of which only the command line is real: what is chosen, what it is called with, what stays off it. */
#include <sys/stat.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/file.h"
#include "core/progress.h"
#include "tests/lib/unit.h"

static char dir[] = "/tmp/test_start_XXXXXX";
static struct arena *arena;

static const char *const surroundings[] = {"SLURM_JOB_ID",
                                           "SLURM_JOB_NUM_NODES",
                                           "SLURM_NNODES",
                                           "SLURM_JOB_NODELIST",
                                           "SLURM_NODELIST",
                                           "NCCLTUNE_SSH",
                                           "SLURMD_NODENAME",
                                           "OMPI_MCA_orte_default_hostfile",
                                           "PBS_NODEFILE",
                                           "PRTE_MCA_prte_default_hostfile",
                                           "OMPI_MCA_mca_base_env_list"};

static int forget(void **state)
{
    for (size_t i = 0; i < sizeof surroundings / sizeof *surroundings; i++)
        unsetenv(surroundings[i]);
    return 0;
}

/* A launcher that writes down how it was called, with what it has in its environment and on its standard input. */
static void make(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "#!/bin/sh\n"
            "{ echo \"${0##*/} $*\"; echo \"secret=$SECRET overlap=$SLURM_OVERLAP per_task=$SLURM_GPUS_PER_TASK "
            "bind=$OMPI_MCA_hwloc_base_binding_policy\"; cat; } >%s/said.$$\n"
            "mv %s/said.$$ %s/said.$(ls %s | grep -c '^said')\n"
            "echo banner; echo first >&2; echo last >&2; exit 7\n",
            dir, dir, dir, dir);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
}

static int begin(void **state)
{
    arena = arena_new();
    assert_non_null(mkdtemp(dir));
    make("mpirun");
    make("srun");
    make("ssh");
    char path[4096];
    snprintf(path, sizeof path, "%s:%s", dir, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("NCCL_IB_HCA", "=mlx5_0", 1);
    setenv("SLURM_GPUS_PER_TASK", "1", 1);
    return forget(NULL);
}

static int end(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    arena_free(arena);
    return system(command);
}

/* What the launchers of `setup` were called with, by file; how they ended goes into `why`. */
static char *started(struct bench_setup setup, int each, const char *name, char why[BENCH_DETAIL])
{
    const char *const argv[] = {"/opt/worker", "agent", "--connect", "10.0.0.1:4711,127.0.0.1:4711", NULL};
    const char *const env[] = {"SECRET=s3cret", NULL};
    char command[128], *text;
    size_t bytes;
    struct err e = {0};
    struct start *s = start_open(&setup, &(struct start_agent){argv, env}, each, &e);
    if (!s)
        fail_msg("%s", e.text);
    double until_s = progress_now_s() + 20;
    while (!start_ended(s, why) && progress_now_s() < until_s)
        start_listen(s);
    assert_non_null(strstr(why, arena_printf(arena, "%s exited", name)));
    start_close(s, 5);
    snprintf(command, sizeof command, "cd %s && cat said.* >all; rm -f said.*", dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(file_read_text(arena_printf(arena, "%s/all", dir), FILE_LIMIT, arena, &text, &bytes, &e), 0);
    return text;
}

static char *called(struct bench_setup setup, const char *name, char why[BENCH_DETAIL])
{
    return started(setup, 0, name, why);
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

TEST_CASE(by_srun)
{
    char why[BENCH_DETAIL];
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_JOB_NUM_NODES", "3", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
    char *text = called((struct bench_setup){0}, "srun", why);
    assert_says(text, "srun -N 3 -n 3 --ntasks-per-node=1 --mpi=none --export=ALL --no-kill /opt/worker agent");
    assert_says(text, "secret=s3cret overlap=1 per_task= ");
    assert_says(why, "srun exited with code 7: first / last");
    assert_says(called((struct bench_setup){.hosts = "n[2-3]"}, "srun", why), "-N 2 -n 2 ");
    assert_says(called((struct bench_setup){.hosts = "n[2-3]"}, "srun", why), "-w n2,n3 --no-kill /opt/worker");
    assert_says(called((struct bench_setup){.launcher = "ssh"}, "ssh", why), "ssh -o BatchMode=yes");
    forget(NULL);
}

TEST_CASE(by_ssh)
{
    char why[BENCH_DETAIL];
    char *text = called((struct bench_setup){.hosts = "n1"}, "ssh", why);
    assert_says(text, "ConnectTimeout=10 n1 '/opt/worker' 'agent' '--connect' '10.0.0.1:4711,127.0.0.1:4711' '--as' "
                      "'n1' '--stdin'\n");
    assert_says(text, "NCCL_IB_HCA==mlx5_0\n");
    assert_says(text, "SECRET=s3cret\n\n");
    assert_says(text, "secret= ");
    assert_says(why, "n1: ssh exited with code 7: first / last");
    /* Whichever ends first, says so. */
    called((struct bench_setup){.hosts = "n[1-2]"}, "ssh", why);
    assert_says(why, ": ssh exited with code 7: first");
    setenv("NCCLTUNE_SSH", "mpirun 'a b'", 1);
    assert_says(called((struct bench_setup){.hosts = "n1"}, "ssh", why), "mpirun a b n1 ");
    forget(NULL);
}

TEST_CASE(by_mpirun)
{
    char why[BENCH_DETAIL], path[128];
    char *text = called((struct bench_setup){.hosts = "n[1-2]", .mpirun_args = "--mca x y"}, "mpirun", why);
    assert_says(text, "mpirun -H n1:1,n2:1 -np 2 --oversubscribe --mca x y -x SECRET ");
    assert_says(text, " -x NCCL_IB_HCA ");
    assert_says(text, " /opt/worker agent --connect 10.0.0.1:4711,127.0.0.1:4711\n");
    assert_says(text, "secret=s3cret");
    assert_says(text, "bind=none\n");
    assert_null(strstr(text, "SECRET=s3cret"));
    /* Beside a list of the site's, or one on its command line, mpirun refuses -x. */
    setenv("OMPI_MCA_mca_base_env_list", "A;B=1", 1);
    text = called((struct bench_setup){.hosts = "n1", .mpirun = "mpirun"}, "mpirun", why);
    assert_says(text, " --mca mca_base_env_list SECRET;");
    assert_says(text, ";NCCL_IB_HCA");
    assert_says(text, ";A;B=1 /opt/worker");
    assert_null(strstr(text, " -x "));
    struct err e = {0};
    const char *const argv[] = {"/opt/worker", NULL}, *const env[] = {NULL};
    assert_null(start_open(&(struct bench_setup){.hosts = "n1", .mpirun_args = "-x C"},
                           &(struct start_agent){argv, env}, 0, &e));
    assert_non_null(strstr(e.text, "mca_base_env_list is set, here to 'A;B=1'"));
    forget(NULL);
    text = called((struct bench_setup){.hosts = "n1", .mpirun_args = "--mca mca_base_env_list  'C;D' --mca x y"},
                  "mpirun", why);
    assert_says(text, " --mca mca_base_env_list SECRET;");
    assert_says(text, ";C;D --mca x y /opt/worker");
    assert_null(strstr(text, " -x "));
    /* The launcher of an MPIJob: mpirun knows the file. */
    snprintf(path, sizeof path, "%s/hostfile", dir);
    FILE *f = fopen(path, "w");
    fputs("job-worker-0.job.ns.svc slots=8\njob-worker-1.job.ns.svc slots=8\n", f);
    fclose(f);
    setenv("OMPI_MCA_orte_default_hostfile", path, 1);
    assert_int_equal(places_count(&(struct bench_setup){0}, NULL), 2);
    assert_says(called((struct bench_setup){0}, "mpirun", why), "mpirun --map-by ppr:1:node --oversubscribe -x");
    /* PBS writes a node once a slot. */
    forget(NULL);
    f = fopen(path, "w");
    fputs("n1\nn1\nn2\nn2\n", f);
    fclose(f);
    setenv("PBS_NODEFILE", path, 1);
    assert_int_equal(places_count(&(struct bench_setup){0}, NULL), 2);
    forget(NULL);
}

/* Where one for all has failed. */
TEST_CASE(one_for_each)
{
    char why[BENCH_DETAIL];
    assert_false(start_is_common(&(struct bench_setup){.hosts = "n1,n2"}));
    assert_true(start_is_common(&(struct bench_setup){.hosts = "n1,n2", .mpirun_args = "--mca x y"}));
    char *text = started((struct bench_setup){.hosts = "n1", .mpirun_args = "--mca x y"}, 1, "mpirun", why);
    assert_says(text, "mpirun -H n1:1 -np 1 --oversubscribe --mca x y");
    assert_says(text, "--as n1\n");
    assert_says(why, "n1: mpirun exited with code 7: first / last");
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_JOB_NUM_NODES", "1", 1);
    setenv("SLURM_JOB_NODELIST", "n2", 1);
    text = started((struct bench_setup){0}, 1, "srun", why);
    assert_says(text, "srun -N 1 -n 1 --ntasks-per-node=1 --mpi=none --export=ALL -w n2 --no-kill /opt/worker agent");
    assert_says(text, "--as n2\n");
    forget(NULL);
}

/* One that there is not is mpirun, which says what is missing. */
TEST_CASE(launchers_by_name)
{
    static const char *const names[] = {"auto", "mpirun", "srun", "ssh", NULL};
    char why[BENCH_DETAIL];
    for (int i = 0; i < 5; i++)
        if (names[i])
            assert_string_equal(start_launcher_name(i), names[i]);
        else
            assert_null(start_launcher_name(i));
    called((struct bench_setup){.hosts = "n1", .launcher = "carrier-pigeon"}, "mpirun", why);
}

TEST_CASE(this_machine_alone)
{
    char name[65] = "";
    gethostname(name, sizeof name - 1);
    assert_true(places_need_no_launcher(&(struct bench_setup){0}));
    assert_true(places_need_no_launcher(&(struct bench_setup){.hosts = name}));
    assert_true(places_need_no_launcher(&(struct bench_setup){.hosts = "localhost"}));
    assert_false(places_need_no_launcher(&(struct bench_setup){.hosts = "elsewhere"}));
    assert_false(places_need_no_launcher(&(struct bench_setup){.hosts = "n1,n2"}));
    assert_false(places_need_no_launcher(&(struct bench_setup){.hosts = name, .launcher = "ssh"}));
    /* A login node with an allocation of one node. */
    setenv("SLURM_JOB_NUM_NODES", "1", 1);
    setenv("SLURM_JOB_NODELIST", "gpu7", 1);
    assert_false(places_need_no_launcher(&(struct bench_setup){0}));
    setenv("SLURMD_NODENAME", "gpu7", 1);
    assert_true(places_need_no_launcher(&(struct bench_setup){0}));
    forget(NULL);
}

/* What is started may be listened to, as far as there is room, and what it complains about be asked for. */
TEST_CASE(what_is_started)
{
    const char *const argv[] = {"/opt/worker", NULL}, *const env[] = {NULL};
    struct pollfd fds[8];
    struct err e = {0};
    char why[BENCH_DETAIL] = "x";
    assert_int_equal(start_room(NULL), 0);
    assert_int_equal(start_pollfds(NULL, fds, 8), 0);
    assert_int_equal(start_ended(NULL, why), 0);
    assert_int_equal(start_node_ended(NULL, "n1", 0, why), 0);
    assert_string_equal(start_complaint(NULL, why), "");
    start_listen(NULL);
    start_close(NULL, 1);
    struct start *s = start_open(&(struct bench_setup){.hosts = "n1,n2"}, &(struct start_agent){argv, env}, 0, &e);
    assert_non_null(s);
    assert_int_equal(start_room(s), 4);
    static const int rooms[] = {0, 1, 2, 3, 4, 8}, used[] = {0, 0, 2, 2, 4, 4};
    for (int i = 0; i < 6; i++)
        assert_int_equal(start_pollfds(s, fds, rooms[i]), used[i]);
    for (int i = 0; i < 4; i++)
        assert_true(fds[i].fd > 2 && fds[i].events == POLLIN);
    assert_int_equal(start_node_ended(s, "n3", 0, why), 0);
    assert_int_equal(start_node_ended(s, "n1", 20, why), 1);
    assert_int_equal(start_node_ended(s, "n2", 20, why), 1);
    assert_string_equal(why, "ssh exited with code 7: first / last");
    assert_string_equal(start_complaint(s, why), "first / last");
    start_listen(s);
    assert_int_equal(start_pollfds(s, fds, 8), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(fds[i].fd, -1); /* closed at their end */
    assert_true(start_ended(s, why));
    assert_string_equal(why, "n1: ssh exited with code 7: first / last");
    start_close(s, 1);
    assert_int_equal(system(arena_printf(arena, "rm -f %s/said*", dir)), 0);
}

TEST_CASE(what_agents_take_along)
{
    static const char *const along[] = {"NCCL_TEST", "RCCL_TEST", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"};
    static const char *const not_along[] = {"NCCL", "XNCCL_TEST", "LD_LIBRARY_PATHX", "NCCL_A-B", "CONDA"};
    char why[BENCH_DETAIL];
    for (int i = 0; i < 5; i++) {
        setenv(along[i], "/test", 1);
        setenv(not_along[i], "/test", 1);
    }
    setenv("NCCL_LINES", "a\nb", 1);
    char *text = called((struct bench_setup){.hosts = "n1"}, "ssh", why);
    for (int i = 0; i < 5; i++) {
        assert_says(text, arena_printf(arena, "\n%s=/test\n", along[i]));
        assert_null(strstr(text, arena_printf(arena, "\n%s=", not_along[i])));
    }
    assert_null(strstr(text, "NCCL_LINES"));
    text = called((struct bench_setup){.hosts = "n1", .launcher = "mpirun"}, "mpirun", why);
    for (int i = 0; i < 5; i++) {
        assert_says(text, arena_printf(arena, " -x %s ", along[i]));
        assert_null(strstr(text, arena_printf(arena, " -x %s ", not_along[i])));
        unsetenv(not_along[i]);
        if (i != 2)
            unsetenv(along[i]);
    }
    unsetenv("NCCL_LINES");
    unsetenv("LD_LIBRARY_PATH");
}

/* What the site has mpirun take along is asked of the ompi_info beside it. */
TEST_CASE(the_sites_list_is_that_of_the_same_mpirun)
{
    static const char *const lists[] = {"Q;R", "", "Q='x'"};
    char why[BENCH_DETAIL], info[128];
    snprintf(info, sizeof info, "%s/ompi_info", dir);
    for (int i = 0; i < 3; i++) {
        FILE *f = fopen(info, "w");
        assert_non_null(f);
        fprintf(f, "#!/bin/sh\necho mca:mca:base:param:mca_base_env_list:value:\"%s\"\necho next:line\n", lists[i]);
        fclose(f);
        assert_int_equal(chmod(info, 0755), 0);
        const char *mpirun = arena_printf(arena, "%s/mpirun", dir);
        char *text = called((struct bench_setup){.hosts = "n1", .mpirun = mpirun}, "mpirun", why);
        assert_int_equal(strstr(text, " --mca mca_base_env_list SECRET;") != NULL, i == 0);
        assert_int_equal(strstr(text, ";Q;R /opt/worker") != NULL, i == 0);
        assert_int_equal(strstr(text, " -x SECRET ") != NULL, i > 0);
    }
    unlink(info);
}

TEST_CASE(commands_that_are_none)
{
    const char *const argv[] = {"/opt/worker", NULL}, *const env[] = {NULL};
    const struct start_agent what = {argv, env};
    struct err e = {0};
    setenv("NCCLTUNE_SSH", "  ", 1);
    assert_null(start_open(&(struct bench_setup){.hosts = "n1", .launcher = "ssh"}, &what, 0, &e));
    assert_string_equal(e.text, "--ssh-command is empty");
    assert_int_equal(e.code, ERR_USAGE);
    unsetenv("NCCLTUNE_SSH");
    assert_null(start_open(&(struct bench_setup){.hosts = "n1", .ssh = "a 'b"}, &what, 0, &e));
    assert_int_equal(e.code, ERR_USAGE);
    const char *broken = arena_printf(arena, "%s/broken", dir);
    FILE *f = fopen(broken, "w");
    assert_non_null(f);
    fputs("#!/no/such/interpreter\n", f);
    fclose(f);
    assert_int_equal(chmod(broken, 0755), 0);
    assert_null(start_open(&(struct bench_setup){.hosts = "n1", .ssh = broken}, &what, 0, &e));
    assert_int_equal(e.code, ERR_LACKS);
    /* "auto" is as good as nothing. */
    char why[BENCH_DETAIL];
    called((struct bench_setup){.hosts = "n1", .launcher = "auto"}, "ssh", why);
}

TEST_CASE(what_makes_no_sense)
{
    const char *const argv[] = {"/opt/wor'ker", NULL}, *const env[] = {NULL};
    const struct start_agent what = {argv, env};
    struct err e = {0};
    assert_null(start_open(&(struct bench_setup){.hosts = "n1,n2"}, &what, 0, &e));
    assert_says(e.text, "quote");
    assert_null(start_open(&(struct bench_setup){.launcher = "ssh"}, &what, 0, &e));
    assert_says(e.text, "--hosts");
    assert_null(start_open(&(struct bench_setup){.hosts = "a;b"}, &what, 0, &e));
    assert_int_equal(e.code, ERR_USAGE);
    assert_null(start_open(&(struct bench_setup){.hosts = "n1", .mpirun = "no-such-mpirun"}, &what, 0, &e));
    assert_int_equal(e.code, ERR_LACKS);
    assert_int_equal(places_count(&(struct bench_setup){.hosts = "a,,b"}, &e), 0);
}

TEST_CASES_WITHIN(test_start, begin, end)
