/* What NCCL's log and a job's variables contradict of the profile that jobs should have. */
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/advise/diagnose/feed.h"

#define INFO "h:1:2 [0] NCCL INFO "
#define HCAS INFO "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>\n" INFO "Using network IB\n"
#define OURS INFO "TUNER/Plugin: Using tuner plugin nccltune\n"

static struct env_setting settings[] = {
    {.family = "nccl", .name = "NCCL_IB_HCA", .value = "=mlx5_0:1,mlx5_1:1"},
    {.family = "nccl", .name = "NCCL_IB_QPS_PER_CONNECTION", .value = "4"},
    {.family = "nccl", .name = "NCCL_IB_TC", .value = NULL},
};
static char dir[] = "/tmp/nccltune-against-XXXXXX";
static struct env_decisions decisions = {.nccl_low = 22700, .nccl_high = 22899, .settings = settings, .nsettings = 3};
static struct env_profile profile = {.dir = dir, .decisions = &decisions};

static int set_up(void **state)
{
    char path[64];
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/tuner.csv", dir);
    FILE *f = fopen(path, "w");
    return !f || fclose(f);
}

static int tear_down(void **state)
{
    char path[64];
    snprintf(path, sizeof path, "%s/tuner.csv", dir);
    return unlink(path) || rmdir(dir);
}

static const struct {
    const char *log, *id, *text; /* text NULL: no such finding */
} cases[] = {
    {HCAS OURS, "plugin-not-loaded", NULL},
    {HCAS INFO "TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin.\n", "plugin-not-loaded",
     "the profile has a tuner table, but NCCL found no tuner plugin and uses its own tuner"},
    {HCAS INFO "TUNER/Plugin: Failed to find ncclTunerPlugin_v2 symbol, using internal tuner instead.\n",
     "plugin-not-loaded", "the profile has a tuner table, but NCCL found no"},
    {HCAS INFO "TUNER/Plugin: Using tuner plugin nccl_ofi_tuner\n", "plugin-not-loaded",
     "the profile has a tuner table, but NCCL asks the tuner nccl_ofi_tuner"},
    /* A log that says nothing of tuners, as with NCCL_DEBUG_SUBSYS, proves nothing. */
    {HCAS, "plugin-not-loaded", NULL},
    {HCAS OURS INFO "nccltune: no table found; NCCL's own choices stay\n", "table-not-used",
     "the tuner plugin leaves its table out: no table found"},
    {HCAS OURS INFO "nccltune: off (NCCLTUNE=off)\n", "table-not-used", "the tuner plugin leaves its table out: off"},
    {HCAS OURS INFO "nccltune: /p/tuner.csv: 12 rules, sha256 12ab, NCCL 2.27\n", "table-not-used", NULL},
    {"NCCL version 2.21.5+cuda12.4\n" HCAS, "other-release", "the job runs NCCL 2.21.5, and the profile is for 2.27"},
    {"NCCL version 2.28.3+cuda12.9\n" HCAS, "other-release", NULL},
    {HCAS, "unused-hcas", NULL},
    {INFO "NET/IB : Using [0]mlx5_0:1/IB; OOB eth0:10.0.0.1<0>\n", "unused-hcas",
     "NCCL uses 1 of the 2 HCAs that the profile names: not mlx5_1"},
    {INFO "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_10:1/IB; OOB eth0:10.0.0.1<0>\n", "unused-hcas",
     "NCCL uses 1 of the 2 HCAs that the profile names: not mlx5_1"},
    {INFO "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB; OOB eth0:10.0.0.1<0>\n", "unused-hcas",
     "NCCL uses 3 HCAs, and the profile names 2"},
    {INFO "NET/IB : No device found.\n" INFO "Using network Socket\n", "unused-hcas",
     "the profile names HCAs (=mlx5_0:1,mlx5_1:1), but NCCL uses sockets"},
    {HCAS "export NCCL_IB_QPS_PER_CONNECTION=1\n", "other-values",
     "the job has other values than the profile: NCCL_IB_QPS_PER_CONNECTION=1 (profile: 4)"},
    {HCAS INFO "NCCL_IB_QPS_PER_CONNECTION set by environment to 4.\n", "other-values", NULL},
    {HCAS INFO "NCCL_IB_TC set by environment to 106.\n", "other-values", NULL},
};

TEST_CASE(each_contradiction_is_said)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diagnosis *d = read_text(cases[i].log);
        diagnose_expect(d, &(struct diag_expected){.profile = &profile});
        const struct diag_finding *f = finding_of(diagnose_finish(d), cases[i].id);
        if (!f != !cases[i].text)
            fail_msg("case %zu: %s", i, f ? f->text : "nothing is found");
        if (f && strncmp(f->text, cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("case %zu: %s", i, f->text);
        diagnose_free(d);
    }
}

/* Without a profile none of it. */
TEST_CASE(without_a_profile)
{
    struct diagnosis *d = read_text(HCAS INFO "TUNER/Plugin: Using internal tuner plugin.\nexport NCCL_ALGO=Ring\n");
    const struct diag_result *r = diagnose_finish(d);
    assert_null(finding_of(r, "plugin-not-loaded"));
    assert_null(finding_of(r, "other-values"));
    diagnose_free(d);
}

TEST_CASES_WITHIN(test_against, set_up, tear_down)
