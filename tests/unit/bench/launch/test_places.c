/* bench/launch/places.c: which nodes are meant, by what a user says or the surroundings do. */
#include <sys/stat.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "tests/lib/unit.h"

static struct arena *arena;
static struct places where;
static char file[] = "/tmp/test_places_XXXXXX", own[] = "/tmp/test_places_XXXXXX";

static const char *const surroundings[] = {"SLURM_JOB_NUM_NODES",
                                           "SLURM_NNODES",
                                           "SLURM_JOB_NODELIST",
                                           "SLURM_NODELIST",
                                           "SLURMD_NODENAME",
                                           "PBS_NODEFILE",
                                           "LSB_DJOB_HOSTFILE",
                                           "FLUX_URI",
                                           "OMPI_MCA_orte_default_hostfile",
                                           "PRTE_MCA_prte_default_hostfile"};

static int forget(void **state)
{
    for (size_t i = 0; i < sizeof surroundings / sizeof *surroundings; i++)
        unsetenv(surroundings[i]);
    return 0;
}

static void write_to(char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int begin(void **state)
{
    arena = arena_new();
    close(mkstemp(file));
    close(mkstemp(own));
    write_to(file, "f1 slots=2\nf1\nf2\n");
    write_to(own, "o1\no1\no2\n");
    return forget(state);
}

static int end(void **state)
{
    arena_free(arena);
    return unlink(file) | unlink(own);
}

static void find(const struct bench_setup *setup)
{
    struct err e = {0};
    if (places_find(setup, arena, &where, &e))
        fail_msg("%s", e.text);
}

static void assert_found(const char *hosts, int nodes, int said, int given)
{
    const char *text = "";
    for (int i = 0; where.hosts && i < where.nodes; i++)
        text = arena_printf(arena, "%s%s%s", text, i ? "," : "", where.hosts[i]);
    assert_int_equal(where.hosts != NULL, hosts != NULL);
    assert_string_equal(text, hosts ? hosts : "");
    assert_true(where.nodes == nodes && where.said == said && where.given == given);
}

TEST_CASE(by_what_a_user_says)
{
    struct err e = {0};
    setenv("SLURM_JOB_NUM_NODES", "7", 1);
    setenv("PBS_NODEFILE", file, 1);
    find(&(struct bench_setup){.hosts = "n[1-2],x", .hostfile = own});
    assert_found("n1,n2,x", 3, 1, 0);
    find(&(struct bench_setup){.hostfile = own});
    assert_true(where.nodes >= 2 && where.said && !where.given);
    assert_int_equal(places_find(&(struct bench_setup){.hosts = "a,,b"}, arena, &where, &e), ERR_USAGE);
    assert_int_equal(places_find(&(struct bench_setup){.hostfile = "/no/such"}, arena, &where, &e), ERR_FAILED);
}

TEST_CASE(by_agents_that_are_lent)
{
    struct agent items[2] = {{.host = "a1"}, {.host = "a2"}};
    struct agents lent = {.items = items, .count = 2};
    setenv("PBS_NODEFILE", file, 1);
    find(&(struct bench_setup){.lent = &lent});
    assert_found("a1,a2", 2, 0, 1);
    find(&(struct bench_setup){.lent = &lent, .hosts = "a2"});
    assert_found("a2", 1, 1, 0);
}

/* The first variable that is set, with a node once. Slurm's word counts more; a file that is none counts for nothing.
 */
TEST_CASE(by_a_file_of_the_job)
{
    static const char *const names[] = {"PBS_NODEFILE", "PRTE_MCA_prte_default_hostfile",
                                        "OMPI_MCA_orte_default_hostfile"};
    assert_null(places_mpirun_file());
    for (int i = 0; i < 3; i++) {
        setenv(names[i], i == 1 ? own : file, 1);
        assert_string_equal(places_mpirun_file(), i == 1 ? own : file);
        find(&(struct bench_setup){0});
        assert_found(i == 1 ? "o1,o2" : "f1,f2", 2, 0, 1);
    }
    setenv("SLURM_NNODES", "3", 1);
    find(&(struct bench_setup){0});
    assert_found(NULL, 3, 0, 1);
    forget(NULL);
    setenv("PBS_NODEFILE", "/no/such", 1);
    find(&(struct bench_setup){0});
    assert_found(NULL, 1, 0, 0);
    setenv("PBS_NODEFILE", "", 1);
    assert_null(places_mpirun_file());
    write_to(file, "a\nb\nb\na\n");
    setenv("PBS_NODEFILE", file, 1);
    find(&(struct bench_setup){0});
    assert_found("a,b", 2, 0, 1);
}

/* Neither is a file that mpirun knows of. */
TEST_CASE(by_lsf_and_flux)
{
    char dir[] = "/tmp/test_places_XXXXXX";
    const char *path = getenv("PATH"), *flux = arena_printf(arena, "%s/flux", mkdtemp(dir));
    write_to(file, "f1\nf1\nf2\n");
    setenv("LSB_DJOB_HOSTFILE", file, 1);
    find(&(struct bench_setup){0});
    assert_found("f1,f2", 2, 0, 1);
    assert_null(places_mpirun_file());
    forget(NULL);
    write_to(arena_strdup(arena, flux), "#!/bin/sh\n[ \"$*\" = 'getattr hostlist' ] && echo 'n[1-3],x'\n");
    chmod(flux, 0755);
    setenv("PATH", arena_printf(arena, "%s:%s", dir, path), 1);
    find(&(struct bench_setup){0});
    assert_found(NULL, 1, 0, 0);
    setenv("FLUX_URI", "local:///run/flux/local", 1);
    find(&(struct bench_setup){0});
    assert_found("n1,n2,n3,x", 4, 0, 1);
    setenv("SLURM_NNODES", "3", 1);
    find(&(struct bench_setup){0});
    assert_found(NULL, 3, 0, 1);
    unlink(flux);
    forget(NULL);
    setenv("FLUX_URI", "local:///run/flux/local", 1);
    setenv("PATH", dir, 1);
    find(&(struct bench_setup){0});
    assert_found(NULL, 1, 0, 0);
    setenv("PATH", path, 1);
    rmdir(dir);
}

TEST_CASE(by_slurm)
{
    static const struct {
        const char *nodes, *older, *list, *hosts;
        int count;
    } rows[] = {{"2", "9", "n[1-2]", "n1,n2", 2},
                {NULL, "2", "n[1-2]", "n1,n2", 2},
                {"", "2", "n[1-2]", "n1,n2", 2},
                {"1", NULL, "n1", "n1", 1},
                {"3", NULL, "n[1-2]", NULL, 3},
                {"2", NULL, "n[1", NULL, 2},
                {"2", NULL, NULL, NULL, 2},
                {"0", NULL, "n1", NULL, 0},
                {"-1", NULL, "n1", NULL, 0},
                {"x", NULL, "n1", NULL, 0},
                {"1048576", NULL, NULL, NULL, 1048576},
                {"1048577", NULL, NULL, NULL, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        forget(NULL);
        if (rows[i].nodes)
            setenv("SLURM_JOB_NUM_NODES", rows[i].nodes, 1);
        if (rows[i].older)
            setenv("SLURM_NNODES", rows[i].older, 1);
        if (rows[i].list)
            setenv(i % 2 ? "SLURM_NODELIST" : "SLURM_JOB_NODELIST", rows[i].list, 1);
        find(&(struct bench_setup){0});
        assert_found(rows[i].hosts, rows[i].count ? rows[i].count : 1, 0, rows[i].count > 0);
    }
    forget(NULL);
    setenv("SLURM_JOB_NUM_NODES", "1", 1);
    setenv("SLURM_JOB_NODELIST", "first", 1);
    setenv("SLURM_NODELIST", "second", 1);
    find(&(struct bench_setup){0});
    assert_found("first", 1, 0, 1);
}

/* In the place of libc's. */
static const char *here;
int gethostname(char *name, size_t bytes)
{
    snprintf(name, bytes, "%s", here);
    return 0;
}

TEST_CASE(this_machine_and_no_other)
{
    static const struct {
        const char *here, *slurm, *host;
        int alone;
    } rows[] = {{"n1", NULL, "n1", 1},         {"n1.site", NULL, "n1.site", 1}, {"n1.site", NULL, "n1", 1},
                {"n1.site", NULL, "n", 0},     {"n1.site", NULL, "n1.", 0},     {"n1", NULL, "n1.site", 0},
                {"n12.site", NULL, "n1", 0},   {"n1.site", NULL, "n2", 0},      {"n1", NULL, "localhost", 1},
                {"n1", "slurm1", "slurm1", 1}, {"n1", "slurm1", "slurm2", 0},   {"n1", NULL, "n2", 0},
                {"n1.site", NULL, "m1", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        forget(NULL);
        here = rows[i].here;
        if (rows[i].slurm)
            setenv("SLURMD_NODENAME", rows[i].slurm, 1);
        find(&(struct bench_setup){.hosts = rows[i].host});
        if (where.here != rows[i].alone)
            fail_msg("row %zu", i);
        find(&(struct bench_setup){.hosts = arena_printf(arena, "%s,%s", rows[i].host, rows[i].host)});
        assert_int_equal(where.here, rows[i].alone);
    }
    find(&(struct bench_setup){0});
    assert_true(where.here);
    setenv("SLURM_JOB_NUM_NODES", "2", 1);
    find(&(struct bench_setup){0});
    assert_false(where.here);
}

TEST_GROUP(main, forget, NULL, begin, end)
