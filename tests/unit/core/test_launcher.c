/* core/launcher.c */
#include "core/launcher.h"
#include "tests/lib/unit.h"

static const char *of_list(const void *arg, const char *name)
{
    for (const char *const *v = arg; *v; v++)
        if (!strncmp(*v, name, strlen(name)) && (*v)[strlen(name)] == '=')
            return *v + strlen(name) + 1;
    return NULL;
}

#define FIND(found, ...) launcher_find(of_list, (const char *const[]){__VA_ARGS__, NULL}, found)

TEST_CASE(each_launcher)
{
    struct launcher_rank r;
    assert_true(FIND(&r, "OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1",
                     "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_NAMESPACE=prterun-1"));
    assert_true(r.rank == 3 && r.ranks == 8 && r.local == 1 && r.per_node == 2);
    assert_string_equal(r.job, "prterun-1");
    assert_string_equal(r.launcher, "mpirun");
    assert_int_equal(r.nodes, 0);
    assert_true(FIND(&r, "SLURM_PROCID=0", "SLURM_NTASKS=1"));
    assert_true(r.rank == 0 && r.ranks == 1 && r.local == -1 && r.per_node == 0 && !r.job);
    assert_true(FIND(&r, "RANK=17", "WORLD_SIZE=32", "SLURM_PROCID=2", "SLURM_NTASKS=4", "SLURM_LOCALID=0",
                     "GROUP_WORLD_SIZE=4"));
    assert_true(r.rank == 17 && r.ranks == 32 && r.local == -1 && r.nodes == 4);
    assert_string_equal(r.launcher, "torchrun");
}

TEST_CASE(srun_with_pmi)
{
    struct launcher_rank r;
    assert_true(FIND(&r, "PMI_RANK=5", "PMI_SIZE=8", "SLURM_PROCID=5", "SLURM_NTASKS=8", "SLURM_LOCALID=1",
                     "SLURM_NTASKS_PER_NODE=4", "SLURM_JOB_ID=77", "SLURM_STEP_NUM_NODES=2"));
    assert_int_equal(r.nodes, 2);
    assert_true(r.rank == 5 && r.local == 1 && r.per_node == 4);
    assert_string_equal(r.job, "77");
}

TEST_CASE(none)
{
    struct launcher_rank r;
    assert_false(FIND(&r, "HOME=/"));
    assert_false(FIND(&r, "RANK=3"));
    assert_false(FIND(&r, "RANK=3", "WORLD_SIZE=3"));
    assert_false(FIND(&r, "RANK=-1", "WORLD_SIZE=3"));
    assert_false(FIND(&r, "RANK=", "WORLD_SIZE=3"));
    assert_false(FIND(&r, "RANK=0x1", "WORLD_SIZE=3"));
    assert_false(FIND(&r, "RANK=1", "WORLD_SIZE=4294967304"));
    assert_true(FIND(&r, "RANK=1", "WORLD_SIZE=3", "LOCAL_RANK=9", "LOCAL_WORLD_SIZE=2(x3)"));
    assert_true(r.local == -1 && r.per_node == 0);
}

TEST_CASE(numbers)
{
    static const struct {
        const char *text;
        int number;
    } rows[] = {{"0", 0},
                {"7", 7},
                {"007", 7},
                {"109", 109},
                {"16777216", 1 << 24},
                {"16777217", -1},
                {"99999999999999999999", -1},
                {"", -1},
                {NULL, -1},
                {"1x", -1},
                {"-1", -1},
                {"/", -1},
                {":", -1},
                {" 1", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(launcher_number(rows[i].text), rows[i].number);
}

TEST_CASES(test_launcher)
