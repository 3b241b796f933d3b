/* Where a job's coordinator is and what its key is, by the environment alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/bare_env.h"
#include "tuner/online/settings.h"

static struct online_settings s;
static struct secret secret;
static char why[640];

static void set(const char *name, const char *value)
{
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static int torchrun(void **state)
{
    (void)state;
    bare_env();
    set("NCCLTUNE_ONLINE", "tune");
    set("NCCLTUNE_KEY", "sixteen bytes at least");
    set("RANK", "3");
    set("WORLD_SIZE", "8");
    set("MASTER_ADDR", "pod-0.job");
    set("MASTER_PORT", "29500");
    return 0;
}

static int read_settings(void)
{
    return online_settings_read(&s, why, sizeof why);
}

static void off_unless_asked_for(void **state)
{
    (void)state;
    assert_int_equal(read_settings(), 0);
    set("NCCLTUNE", "off");
    assert_int_equal(read_settings(), -1);
    assert_string_equal(why, "");
    set("NCCLTUNE", "on");
    set("NCCLTUNE_ONLINE", "observe");
    assert_int_equal(read_settings(), -1);
    assert_string_equal(why, "");
}

static void by_launchers(void **state)
{
    (void)state;
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.host, "pod-0.job");
    assert_true(s.port >= 15000 && s.port < 25000);
    assert_true(s.rank == 3 && s.ranks == 8);
    uint16_t port = s.port;
    set("MASTER_PORT", "29501"); /* another job on the same nodes */
    read_settings();
    assert_int_not_equal(s.port, port);
    bare_env();
    set("NCCLTUNE_ONLINE", "tune");
    set("NCCLTUNE_KEY", "sixteen bytes at least");
    set("SLURM_PROCID", "9"), set("SLURM_NTASKS", "16"), set("SLURM_JOB_ID", "77");
    set("SLURM_JOB_NODELIST", "gpu[007-009,12],x");
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.host, "gpu007");
    set("SLURM_STEP_NODELIST", "login-a,gpu3");
    read_settings();
    assert_string_equal(s.host, "login-a");
    set("NCCLTUNE_ONLINE_ADDRESS", "[fd00::1]:99");
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.host, "fd00::1");
    assert_int_equal(s.port, 99);
    set("NCCLTUNE_ONLINE_ADDRESS", "fd00::1");
    read_settings();
    assert_string_equal(s.host, "fd00::1");
    assert_int_not_equal(s.port, 1);
    set("NCCLTUNE_ONLINE_ADDRESS", "h:70000");
    assert_int_equal(read_settings(), -1);
    assert_non_null(strstr(why, "HOST:PORT"));
}

/* What is where the coordinator listens; no port: the job's own, -1: nothing of it. */
static void addresses(void **state)
{
    (void)state;
    static char long_host[ONLINE_HOST + 1];
    static const struct {
        const char *text, *host;
        int port;
    } cases[] = {{"h", "h", 0},
                 {"h:1", "h", 1},
                 {"h:65535", "h", 65535},
                 {"h:00022", "h", 22},
                 {"[::1]", "::1", 0},
                 {"[::1]:7", "::1", 7},
                 {"a:b:c", "a:b:c", 0},
                 {"::1", "::1", 0},
                 {"h:65536", NULL, -1},
                 {"h:0", NULL, -1},
                 {"h:", NULL, -1},
                 {":5", NULL, -1},
                 {"h:1b", NULL, -1},
                 {"h:-1", NULL, -1},
                 {"[]", NULL, -1},
                 {"h:99999999999999", NULL, -1},
                 {"[fd00::2", "[fd00::2", 0},
                 {"1.2.3.4:80", "1.2.3.4", 80},
                 {"", "pod-0.job", 0}};
    assert_int_equal(read_settings(), 0);
    int derived = s.port;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set("NCCLTUNE_ONLINE_ADDRESS", cases[i].text);
        if (read_settings() != (cases[i].port < 0 ? -1 : 0))
            fail_msg("%s: %s", cases[i].text, why);
        if (cases[i].port >= 0) {
            assert_string_equal(s.host, cases[i].host);
            assert_int_equal(s.port, cases[i].port ? cases[i].port : derived);
        }
    }
    memset(long_host, 'h', ONLINE_HOST);
    set("NCCLTUNE_ONLINE_ADDRESS", long_host);
    assert_int_equal(read_settings(), -1);
    set("NCCLTUNE_ONLINE_ADDRESS", long_host + 1);
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.host, long_host + 1);
}

/* The first of a list of Slurm's; of a job on one node its own. */
static void first_hosts(void **state)
{
    (void)state;
    static const char *const lists[][2] = {{"a", "a"},
                                           {"a,b", "a"},
                                           {"n[1,3]", "n1"},
                                           {"n[01-16,20],login", "n01"},
                                           {"n-1[007]", "n-1007"},
                                           {"x[12345678901234567890]", "x"},
                                           {"y[1234567890123456789]", "y1234567890123456789"}};
    set("MASTER_ADDR", NULL);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        set("SLURM_JOB_NODELIST", lists[i][0]);
        assert_int_equal(read_settings(), 0);
        assert_string_equal(s.host, lists[i][1]);
    }
    set("SLURM_STEP_NODELIST", "step");
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.host, "step");
    set("SLURM_STEP_NODELIST", ""), set("SLURM_JOB_NODELIST", "");
    assert_int_equal(read_settings(), -1);
    set("LOCAL_WORLD_SIZE", "8");
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.host, "127.0.0.1");
}

/* Ranks of another release must find one another, too: neither the port nor the secret changes. */
static void the_same_for_ever(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {0x6f, 0xba, 0x33, 0x94, 0x91, 0xcb, 0x0c, 0x93, 0x3d, 0x41, 0xa5,
                                          0xf2, 0x9e, 0x0d, 0x48, 0x32, 0x51, 0x63, 0x42, 0xae, 0x30, 0xdd,
                                          0x79, 0x54, 0x08, 0xfb, 0x34, 0x7d, 0xb7, 0xaf, 0xe2, 0x75};
    set("TORCHELASTIC_RUN_ID", "run");
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.job, "run/29500/8");
    assert_int_equal(s.port, 19434);
    assert_int_equal(online_settings_secret(&s, &secret, why, sizeof why), 0);
    assert_memory_equal(secret.bytes, bytes, sizeof bytes);
}

static void alone(void **state)
{
    (void)state;
    set("WORLD_SIZE", "1"), set("RANK", "0"), set("NCCLTUNE_KEY", NULL);
    assert_int_equal(read_settings(), 0);
    assert_int_equal(s.ranks, 1);
}

/* Word by word: what is missing, and what it is called. */
static void what_is_missing_is_said(void **state)
{
    (void)state;
    static char long_path[ONLINE_PATH + 1] = "/";
    char whole[640];
    set("NCCLTUNE_KEY", NULL);
    assert_int_equal(read_settings(), -1);
    assert_string_equal(why,
                        "NCCLTUNE_ONLINE=tune needs a key that the job's ranks know one another by: set "
                        "NCCLTUNE_ONLINE_KEY_FILE, or have Slurm's prolog give each job one, nccltune-hook(8); the "
                        "job runs without tuning itself");
    set("NCCLTUNE_ONLINE_KEY_FILE", "key");
    assert_int_equal(read_settings(), -1);
    assert_string_equal(why,
                        "NCCLTUNE_ONLINE_KEY_FILE=key is not an absolute path; the job runs without tuning itself");
    memset(long_path + 1, 'k', ONLINE_PATH - 1);
    set("NCCLTUNE_ONLINE_KEY_FILE", long_path);
    assert_int_equal(read_settings(), -1);
    snprintf(whole, sizeof whole,
             "NCCLTUNE_ONLINE_KEY_FILE=%.200s is not an absolute path; the job runs without tuning itself", long_path);
    assert_string_equal(why, whole);
    long_path[ONLINE_PATH - 1] = 0;
    set("NCCLTUNE_ONLINE_KEY_FILE", long_path);
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.key_file, long_path);
    set("MASTER_ADDR", NULL);
    assert_int_equal(read_settings(), -1);
    assert_string_equal(why,
                        "NCCLTUNE_ONLINE=tune: where the job's first rank is says neither MASTER_ADDR nor Slurm: set "
                        "NCCLTUNE_ONLINE_ADDRESS=HOST:PORT; the job runs without tuning itself");
}

/* What keeps a job's secret and port apart from those of the next. */
static void jobs_have_names(void **state)
{
    (void)state;
    bare_env();
    set("NCCLTUNE_ONLINE", "tune"), set("NCCLTUNE_KEY", "sixteen bytes at least");
    set("SLURM_PROCID", "9"), set("SLURM_NTASKS", "16"), set("SLURM_JOB_NODELIST", "a");
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.job, "//16");
    set("SLURM_JOB_ID", "77"), set("SLURM_STEP_ID", "3");
    read_settings();
    assert_string_equal(s.job, "77/3/16");
    set("MASTER_PORT", "5");
    read_settings();
    assert_string_equal(s.job, "77/5/16");
    set("SLURM_JOB_NODELIST", NULL);
    assert_int_equal(read_settings(), -1);
    set("SLURM_STEP_NUM_NODES", "1"); /* all of them are here */
    assert_int_equal(read_settings(), 0);
    assert_string_equal(s.host, "127.0.0.1");
}

/* Of 16 to 4,096 bytes, ends of lines apart. */
static void a_key_from_the_environment(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        int rc;
    } cases[] = {{1, -1}, {15, -1}, {16, 0}, {4096, 0}, {4097, -1}, {4098, -1}, {20000, -1}};
    static char key[20001];
    struct secret other;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(key, 'k', cases[i].bytes);
        key[cases[i].bytes] = 0;
        set("NCCLTUNE_KEY", key);
        assert_int_equal(read_settings(), 0);
        assert_int_equal(online_settings_secret(&s, &secret, why, sizeof why), cases[i].rc);
        assert_string_equal(
            why, cases[i].rc ? "NCCLTUNE_KEY: a key has 16 to 4096 bytes; the job runs without tuning itself" : "");
    }
    set("NCCLTUNE_KEY", "a key of many bytes");
    assert_int_equal(online_settings_secret(&s, &secret, why, sizeof why), 0);
    set("NCCLTUNE_KEY", "a key of many bytes\r\n\n");
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), 0);
    assert_memory_equal(&secret, &other, sizeof secret);
    set("NCCLTUNE_KEY", NULL);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), -1);
}

static void write_key(const char *path, const char *key, mode_t mode)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(key, f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static void a_key_from_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/test_settings_XXXXXX";
    struct secret other;
    close(mkstemp(path));
    set("NCCLTUNE_ONLINE_KEY_FILE", path);
    write_key(path, "a key of many bytes\n", 0600);
    assert_int_equal(read_settings(), 0);
    assert_int_equal(online_settings_secret(&s, &secret, why, sizeof why), 0);
    write_key(path, "a key of many bytes", 0640); /* the line's end is nothing; a group of the site's may read it */
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), 0);
    assert_memory_equal(&secret, &other, sizeof secret);
    set("MASTER_PORT", "1"); /* another job, another secret */
    assert_int_equal(read_settings(), 0);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), 0);
    assert_memory_not_equal(&secret, &other, sizeof secret);
    write_key(path, "a key of many bytes", 0604);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), -1);
    assert_non_null(strstr(why, "chmod 600"));
    write_key(path, "\r\n\r\n", 0600);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), -1);
    assert_non_null(strstr(why, "16 to 4096 bytes"));
    char most[4099];
    memset(most, 'k', sizeof most);
    most[4097] = 0;
    write_key(path, most, 0600);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), -1);
    most[4096] = '\n';
    write_key(path, most, 0600);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), 0);
    write_key(path, "sixteen bytes .k", 0600);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), 0);
    write_key(path, "fifteen bytes k", 0600);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), -1);
    write_key(path, "short", 0600);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), -1);
    assert_non_null(strstr(why, "16 to 4096 bytes"));
    unlink(path);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), -1);
    assert_non_null(strstr(why, "No such file"));
    set("NCCLTUNE_ONLINE_KEY_FILE", "/tmp");
    assert_int_equal(read_settings(), 0);
    assert_int_equal(online_settings_secret(&s, &other, why, sizeof why), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(off_unless_asked_for, torchrun),
        cmocka_unit_test_setup(by_launchers, torchrun),
        cmocka_unit_test_setup(addresses, torchrun),
        cmocka_unit_test_setup(first_hosts, torchrun),
        cmocka_unit_test_setup(the_same_for_ever, torchrun),
        cmocka_unit_test_setup(alone, torchrun),
        cmocka_unit_test_setup(what_is_missing_is_said, torchrun),
        cmocka_unit_test_setup(jobs_have_names, torchrun),
        cmocka_unit_test_setup(a_key_from_the_environment, torchrun),
        cmocka_unit_test_setup(a_key_from_a_file, torchrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
