/* NCCL's environment interface: whose value counts, and what a profile may not set. Each case loads the plugin anew in
 * a child, because it reads the profile once. */
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tuner/plugin/abi.h"

struct nccl_env_v2 {
    const char *name;
    int (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix, nccl_logger log);
    int (*finalize)(void);
    const char *(*get_env)(const char *name);
};

static char profile[] = "/tmp/nccltune-env-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", profile, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int set_up(void **state)
{
    char path[256];
    assert_non_null(mkdtemp(profile));
    snprintf(path, sizeof path, "%s/nccl.d", profile);
    mkdir(path, 0755);
    put("nccl.conf", "# common\nNCCL_CROSS_NIC=1\nNCCL_IB_TC=3\nNCCL_NET_PLUGIN=/x.so\nNCCL_DEBUG_FILE=/x\n"
                     "LD_PRELOAD=/x.so\nNCCL_TOPO_FILE=/opt/topo.xml\nno setting\nNCCL_X");
    put("nccl.d/a.conf", "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\nNCCL_IB_TC=4\n");
    return 0;
}

static int tear_down(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", profile);
    return system(command);
}

/* In a child with these variables; wants[] are name and value in turns, NULL for unset, ended by a NULL name. */
static void expect(const char *const *variables, const char *const *wants)
{
    pid_t pid = fork();
    if (pid == 0) {
        const char *path = getenv("NCCLTUNE_PLUGIN_SO");
        void *lib = dlopen(path ? path : "build/libnccl-tuner-nccltune.so", RTLD_NOW | RTLD_LOCAL);
        const struct nccl_env_v2 *p = lib ? dlsym(lib, "ncclEnvPlugin_v2") : NULL;
        if (!p || !dlsym(lib, "ncclEnvPlugin_v1"))
            _exit(99);
        for (; *variables; variables++)
            putenv((char *)*variables);
        if (p->init(2, 30, 7, "", NULL))
            _exit(98);
        for (int i = 0; wants[i]; i += 2) {
            const char *found = p->get_env(wants[i]);
            if (!found != !wants[i + 1] || (found && strcmp(found, wants[i + 1]) != 0))
                _exit(1 + i / 2);
        }
        _exit(p->finalize());
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status))
        fail_msg("question %d has another answer", WEXITSTATUS(status));
}

static char *variable(const char *name)
{
    static char text[2][256];
    static int turn;
    turn = !turn;
    snprintf(text[turn], sizeof text[turn], "%s=%s", name, profile);
    return text[turn];
}

TEST_CASE(answers)
{
    expect((const char *[]){variable("NCCLTUNE_PROFILE"), "NCCL_CROSS_NIC=0", "NCCL_ALGO=", NULL},
           (const char *[]){"NCCL_CROSS_NIC", "0", "NCCL_ALGO", "", "NCCL_IB_TC", "3", "NCCL_IB_HCA", NULL,
                            "NCCL_TOPO_FILE", "/opt/topo.xml", "NCCL_PROTO", NULL, NULL});
    expect((const char *[]){variable("NCCLTUNE_PROFILE"), "NCCLTUNE_CLASS=a", NULL},
           (const char *[]){"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1", "NCCL_IB_TC", "4", "NCCL_CROSS_NIC", "1", NULL});
}

TEST_CASE(never_sets)
{
    expect((const char *[]){variable("NCCLTUNE_PROFILE"), NULL},
           (const char *[]){"NCCL_NET_PLUGIN", NULL, "NCCL_DEBUG_FILE", NULL, "LD_PRELOAD", NULL, "NCCL_X", NULL,
                            "no setting", NULL, NULL});
}

TEST_CASE(nothing_to_say)
{
    static const char *const none[] = {"NCCL_CROSS_NIC", NULL, "NCCL_IB_HCA", NULL, NULL};
    expect((const char *[]){NULL}, none);
    expect((const char *[]){"NCCLTUNE_PROFILE=/nowhere", NULL}, none);
    expect((const char *[]){"NCCLTUNE_PROFILE=relative", NULL}, none);
    expect((const char *[]){variable("NCCLTUNE_PROFILE"), "NCCLTUNE=off", NULL}, none);
    expect((const char *[]){variable("NCCLTUNE_PROFILE"), "NCCLTUNE_CLASS=../nccl.d/a", NULL},
           (const char *[]){"NCCL_IB_HCA", NULL, NULL});
}

/* The class of this host, by the profile's map, whatever else was exported here: another class's name, or its settings
 * as a hook elsewhere set them. What the user set stays. */
TEST_CASE(this_node)
{
    char host[128] = "", map[512];
    gethostname(host, sizeof host - 1);
    snprintf(map, sizeof map, "nccltune-hook/1\nprofile x\nclass a x 0 0\nhost not%s b\nhost %s2 b\nhost %s a\nend\n",
             host, host, host);
    put("hook.map", map);
    expect((const char *[]){variable("NCCLTUNE_PROFILE"), "NCCLTUNE_CLASS=b", NULL},
           (const char *[]){"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1", NULL});
    expect((const char *[]){variable("NCCLTUNE_PROFILE"), "NCCL_IB_HCA==mlx5_9:1", "NCCL_CROSS_NIC=2",
                            "NCCLTUNE_SET=NCCLTUNE_JOB=7:-|NCCL_IB_HCA==mlx5_9:1|NCCL_CROSS_NIC=2", NULL},
           (const char *[]){"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1", "NCCL_CROSS_NIC", "2", NULL});
    expect(
        (const char *[]){variable("NCCLTUNE_PROFILE"), "NCCL_IB_HCA=mine", "NCCLTUNE_SET=NCCL_IB_HCA==mlx5_9:1", NULL},
        (const char *[]){"NCCL_IB_HCA", "mine", NULL});
    put("hook.map", "host");
    expect((const char *[]){variable("NCCLTUNE_PROFILE"), NULL}, (const char *[]){"NCCL_IB_HCA", NULL, NULL});
}

TEST_CASE(large)
{
    char path[256];
    snprintf(path, sizeof path, "%s/nccl.conf", profile);
    assert_int_equal(truncate(path, (64 << 10) + 1), 0);
    expect((const char *[]){variable("NCCLTUNE_PROFILE"), NULL}, (const char *[]){"NCCL_CROSS_NIC", NULL, NULL});
}

TEST_CASES_WITHIN(test_env, set_up, tear_down)
