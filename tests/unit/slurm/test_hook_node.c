/* What the prolog finds in a /sys of this test's own. */
#include <time.h>

#include "tests/lib/unit.h"
#include "tests/unit/slurm/one_store.h"

static struct hook_report report;

static void make(const char *dir)
{
    char command[1024];
    snprintf(command, sizeof command, "mkdir -p '%s/sys/%s'", store.root, dir);
    assert_int_equal(system(command), 0);
}

static void hca(const char *name, const char *state, const char *rate)
{
    char path[256];
    snprintf(path, sizeof path, "class/infiniband/%s/ports/1", name);
    make(path);
    snprintf(path, sizeof path, "sys/class/infiniband/%s/ports/1/state", name);
    store_write(&store, path, state);
    snprintf(path, sizeof path, "sys/class/infiniband/%s/ports/1/rate", name);
    store_write(&store, path, rate);
}

static void device(const char *address, const char *vendor, const char *kind)
{
    char path[256];
    snprintf(path, sizeof path, "bus/pci/devices/%s", address);
    make(path);
    snprintf(path, sizeof path, "sys/bus/pci/devices/%s/vendor", address);
    store_write(&store, path, vendor);
    snprintf(path, sizeof path, "sys/bus/pci/devices/%s/class", address);
    store_write(&store, path, kind);
}

static void conf(const char *more)
{
    char text[2048];
    snprintf(text, sizeof text, "store=%s\nplugin=%s\n%s", store.conf.store, store.conf.plugin, more);
    store_write(&store, "slurm.conf", text);
}

/* A node of class a as it should be. */
static int set_up(void **state)
{
    unsetenv("SLURM_HET_JOB_ID");
    setenv("SLURM_JOB_START_TIME", "9000", 1);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURMD_NODENAME", "n0", 1);
    setenv("SLURM_JOB_NODELIST", "n[0-2]", 1);
    untrusted = store_new(&store) || getuid() != 0;
    hca("mlx5_0", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
    hca("mlx5_1", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
    device("0000:17:00.0", "0x10de\n", "0x030200\n");
    device("0000:18:00.0", "0x10de\n", "0x030200\n");
    device("0000:18:01.0", "0x1002\n", "0x120000\n"); /* of another vendor */
    device("0000:19:00.0", "0x10de\n", "0x068000\n"); /* an NVSwitch is no GPU */
    device("0000:20:00.0", "0x1a03\n", "0x030000\n"); /* nor is the console */
    make("module/nvidia");
    conf("");
    return 0;
}

static void expect(const char *log)
{
    char sysfs[1024];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    snprintf(sysfs, sizeof sysfs, "%s", store_path(&store, "sys"));
    char path[1024];
    snprintf(path, sizeof path, "%s", store_path(&store, "slurm.conf"));
    struct hook_options o = {.conf = path, .sysfs = sysfs, .run = "/nowhere", .limit_ms = 1000};
    memset(&report, 0, sizeof report);
    hook_prolog(&o, &report);
    assert_true(report.done);
    assert_string_equal(report.log, log);
}

static void remove_file(const char *name)
{
    char command[1024];
    snprintf(command, sizeof command, "rm -r '%s/sys/%s'", store.root, name);
    assert_int_equal(system(command), 0);
}

TEST_CASE(sound)
{
    expect("");
    setenv("SLURMD_NODENAME", "n2", 1); /* class b asks for nothing */
    expect("");
}

TEST_CASE(findings)
{
    remove_file("class/infiniband/mlx5_1");
    expect("HCA mlx5_1 is missing");
    hca("mlx5_1", "1: DOWN\n", "400 Gb/sec (4X NDR)\n");
    expect("port mlx5_1/1 is DOWN");
    hca("mlx5_1", "4: ACTIVE\n", "200 Gb/sec (4X HDR)\n");
    expect("port mlx5_1/1 runs at 200 of 400 Gb/s");
    hca("mlx5_1", "4: ACTIVE\n", "800 Gb/sec (4X XDR)\n");
    expect("");
    hca("mlx5_1", "4: ACTIVE", "399.9 Gb/sec");
    expect("port mlx5_1/1 runs at 399.9 of 400 Gb/s");
    hca("mlx5_1", "4: ACTIVE\n", "400\n");
    expect("");
    remove_file("class/infiniband/mlx5_1/ports/1/rate");
    expect("port mlx5_1/1 runs at 0 of 400 Gb/s");
    remove_file("class/infiniband/mlx5_1/ports/1/state");
    expect("port mlx5_1/1 is missing");
    hca("mlx5_1", "2: INIT\n", "400 Gb/sec (4X NDR)\n");
    expect("port mlx5_1/1 is INIT");
    hca("mlx5_1", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
    device("0000:30:00.0", "0x10de\n", "0x030200\n"); /* more than it had */
    expect("");
    remove_file("bus/pci/devices/0000:30:00.0");
    remove_file("bus/pci/devices/0000:18:00.0");
    expect("1 of 2 GPUs are there");
    device("0000:18:00.0", "0x10de\n", "0x120000\n"); /* an accelerator is one, too */
    expect("");
    remove_file("bus/pci/devices/0000:18:00.0");
    remove_file("module/nvidia");
    expect("1 of 2 GPUs are there; driver nvidia is not loaded");
    remove_file("class/infiniband");
    expect("HCA mlx5_0 is missing; HCA mlx5_1 is missing; 1 of 2 GPUs are there; driver nvidia is not loaded");
}

/* What tasks read, to the byte. */
TEST_CASE(the_answer)
{
    struct sha256 sha;
    char hex[SHA256_HEX], *want = NULL;
    static const char csv[] = "allreduce,0,-1,ring,simple,4,-1,-1\n";
    expect("");
    sha256_init(&sha);
    sha256_update(&sha, csv, sizeof csv - 1);
    sha256_hex(&sha, hex);
    assert_true(asprintf(&want,
                         "nccltune-job/1\nnodes 3\nmixed 1\npolicy default\nstate profile\njob 7\nprofile " STORE_HASH
                         "\nclass a\nplugin %s\ndir %s/profiles/" STORE_HASH "\ntable %s\n"
                         "common NCCL_IB_QPS_PER_CONNECTION=4\nlocal NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\nend\n",
                         store.conf.plugin, store.conf.store, hex) > 0);
    assert_string_equal(report.out, want);
    free(want);
    assert_string_equal(report.warning, "");
    conf("policy=fail\n");
    expect("");
    assert_non_null(strstr(report.out, "\npolicy fail\nstate profile\n"));
    conf("scontrol=/opt/scontrol\n");
    expect("");
    assert_string_equal(report.scontrol, "/opt/scontrol");
}

/* Lines that no profile may set are left out, and the first of them is said; findings go before. */
TEST_CASE(settings_that_are_dropped)
{
    char *text = NULL;
    size_t bytes = 0;
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    for (int local = 1; local >= 0; local--) { /* then the common ones, too */
        FILE *map = open_memstream(&text, &bytes);
        fputs("nccltune-hook/1\nprofile " STORE_HASH "\n", map);
        store_file_line(&store, map, "nccl.conf",
                        local ? "NCCL_IB_TC=3\n" : "NCCL_IB_TC=3\nLD_PRELOAD=/x\nNCCL_NET_PLUGIN=x\n");
        store_file_line(&store, map, "nccl.d/a.conf", "NCCL_IB_HCA=$(reboot)\n");
        fputs("class a x 2 4318\nclass b x -1 0\nmodule a nvidia\nhost n0 a\nhost n1 a\nhost n2 b\nend\n", map);
        fclose(map);
        store_write(&store, "profiles/" STORE_HASH "/hook.map", text);
        free(text);
        expect(
            local
                ? "1 lines of settings dropped, first nccl.d/a.conf:1: NCCL_IB_HCA has a value with unusual characters"
                : "3 lines of settings dropped, first nccl.conf:2: LD_PRELOAD is not a variable that a profile may "
                  "set");
        assert_non_null(strstr(report.out, "common NCCL_IB_TC=3\nend\n"));
    }
    remove_file("module/nvidia");
    expect("driver nvidia is not loaded");
}

TEST_CASE(policy)
{
    remove_file("module/nvidia");
    conf("policy=drain\n");
    expect("driver nvidia is not loaded");
    assert_string_equal(report.reason, ""); /* not in the list that drains */
    conf("policy=drain\ndrain=driver\n");
    expect("driver nvidia is not loaded");
    assert_string_equal(report.reason, "nccltune: driver nvidia is not loaded");
    conf("drain=driver\n");
    expect("driver nvidia is not loaded");
    assert_string_equal(report.reason, "");
}

TEST_CASE(the_profile_itself)
{
    conf("policy=drain\ndrain=profile\n");
    /* A job that spans a stranger has nothing, which is no fault of this node's; Slurm calling it what it is not, is.
     */
    setenv("SLURM_JOB_NODELIST", "n0,stranger", 1);
    expect("");
    setenv("SLURM_JOB_NODELIST", "n0", 1);
    setenv("SLURMD_NODENAME", "stranger", 1);
    expect("node stranger is not in profile aaaaaaaaaaaa");
    assert_string_equal(report.reason, "nccltune: node stranger is not in profile aaaaaaaaaaaa");
    setenv("SLURMD_NODENAME", "n0", 1);
    /* A configuration that cannot be believed drains nothing. */
    conf("policy=drain\ndrain=profile,nonsense\n");
    char log[2048];
    snprintf(log, sizeof log, "%s:4: drain: expected some of hca,port,rate,gpu,driver,profile",
             store_path(&store, "slurm.conf"));
    expect(log);
    assert_string_equal(report.reason, "");
    conf("");
    store_write(&store, "schedule", "1 none all\n");
    expect("");
}

/* Whatever Slurm leaves out is said. The job may have other nodes, which have a profile. */
TEST_CASE(a_job_that_cannot_be_told)
{
    static const char *const names[] = {"SLURM_JOB_NODELIST", "SLURMD_NODENAME", "SLURM_JOB_ID"};
    unsetenv("SLURM_NODELIST");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char log[64], *before = strdup(getenv(names[i]));
        snprintf(log, sizeof log, "%s is not set", names[i]);
        unsetenv(names[i]);
        expect(log);
        assert_non_null(strstr(report.out, "nodes 2\n"));
        assert_non_null(strstr(report.out, "state unknown\n"));
        setenv(names[i], before, 1);
        free(before);
    }
}

/* An epilog looks for what the job's profile had, and says it, whatever has been scheduled since. */
TEST_CASE(epilog)
{
    struct err why = {0};
    char path[1024], sysfs[1024], run[1024];
    expect("");
    snprintf(path, sizeof path, "%s", store_path(&store, "slurm.conf"));
    snprintf(sysfs, sizeof sysfs, "%s", store_path(&store, "sys"));
    snprintf(run, sizeof run, "%s", store_path(&store, "run"));
    struct hook_options o = {.conf = path, .sysfs = sysfs, .run = run};
    assert_int_equal(hook_answer_write(run, "7", report.out, &why), 0);
    store_write(&store, "schedule", "1 none all\n");
    remove_file("module/nvidia");
    memset(&report, 0, sizeof report);
    hook_epilog(&o, &report);
    assert_true(report.done);
    assert_string_equal(report.log, "driver nvidia is not loaded");
    assert_string_equal(report.reason, "");
}

/* Without what it needs an epilog says so; from where nodes meet it takes what is this one's. */
TEST_CASE(what_an_epilog_cannot_have)
{
    char path[1024], text[1100];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    snprintf(path, sizeof path, "%s", store_path(&store, "slurm.conf"));
    struct hook_options o = {.conf = path, .sysfs = "/nowhere", .run = "/nowhere"};
    make("../meet/7.0");
    store_write(&store, "meet/7.0/n0.node", STORE_HASH "\n");
    snprintf(text, sizeof text, "policy=nothing\nmeet=%s\n", store_path(&store, "meet"));
    conf(text);
    memset(&report, 0, sizeof report);
    hook_epilog(&o, &report);
    assert_true(report.done);
    assert_string_equal(report.log, ""); /* no answer, no profile, nothing to compare */
    assert_int_equal(access(store_path(&store, "meet/7.0"), F_OK), -1);
    struct err why = {0};
    o.run = strcpy((char[1024]){""}, store_path(&store, "run"));
    assert_int_equal(hook_answer_write(o.run, "7", "nccltune-job/1\nnodes 2\nstate unknown\nwhy w\nend\n", &why), 0);
    hook_epilog(&o, &report);
    assert_string_equal(report.log, ""); /* the prolog has said it */
    unsetenv("SLURM_JOB_ID");
    report.done = 0;
    hook_epilog(&o, &report);
    assert_true(report.done);
    assert_string_equal(report.log, "SLURM_JOB_ID is not set");
    setenv("SLURM_JOB_ID", "7", 1);
    conf("nonsense\n");
    hook_epilog(&o, &report);
    assert_non_null(strstr(report.log, "slurm.conf:3: expected"));
}

/* By hand: a job of this node alone, now. */
TEST_CASE(by_hand)
{
    char path[1024], sysfs[1024];
    if (untrusted)
        skip_because(NEEDS_OWN_STORE);
    snprintf(path, sizeof path, "%s", store_path(&store, "slurm.conf"));
    snprintf(sysfs, sizeof sysfs, "%s", store_path(&store, "sys"));
    struct hook_options o = {.conf = path, .sysfs = sysfs, .run = "/nowhere", .limit_ms = 1000};
    setenv("SLURM_HET_JOB_ID", "5", 1);
    setenv("SLURM_JOB_START_TIME", "1", 1); /* before there was a profile */
    memset(&report, 0, sizeof report);
    hook_check_node(&o, &report);
    assert_true(report.done);
    assert_string_equal(report.log, "");
    static const char head[] = "nccltune-job/1\nnodes 1\nmixed 0\npolicy default\nstate profile\njob 0\n";
    assert_memory_equal(report.out, head, sizeof head - 1);
    assert_string_equal(getenv("SLURM_JOB_NODELIST"), "n0");
    assert_null(getenv("SLURM_HET_JOB_ID"));
    long long start = strtoll(getenv("SLURM_JOB_START_TIME"), NULL, 10);
    assert_true(start <= time(NULL) && start > time(NULL) - 60);
    unsetenv("SLURMD_NODENAME");
    memset(&report, 0, sizeof report);
    hook_check_node(&o, &report);
    assert_string_equal(getenv("SLURM_JOB_NODELIST"), "");
    assert_string_equal(report.log, "SLURMD_NODENAME is not set");
}

/* policy=nothing: the other nodes are waited for, for a part of the limit. */
TEST_CASE(a_node_that_does_not_come)
{
    char text[1100];
    struct timespec began, now;
    make("../meet");
    snprintf(text, sizeof text, "policy=nothing\nmeet=%s\n", store_path(&store, "meet"));
    conf(text);
    clock_gettime(CLOCK_MONOTONIC, &began);
    expect("");
    clock_gettime(CLOCK_MONOTONIC, &now);
    assert_non_null(strstr(report.out, "state nothing\n"));
    assert_non_null(strstr(report.out, "why 2 of its nodes did not answer in time\n"));
    assert_true(now.tv_sec - began.tv_sec < 5); /* 0.4 of a second, on a machine that has time */
}

TEST_CASES_EACH(test_hook_node, set_up, store_tear_down)
