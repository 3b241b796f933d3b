/* Which settings are delivered, and which are taken for a hook's own. */
#include "slurm/hook.h"
#include "tests/lib/unit.h"

static struct hook_settings settings;

static void add(const char *line)
{
    char text[4096];
    memset(&settings, 0, sizeof settings);
    snprintf(text, sizeof text, "%s", line);
    hook_settings_add(&settings, "nccl.conf", text);
}

TEST_CASE(takes)
{
    static const char *const good[] = {
        "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1",
        "NCCL_SOCKET_IFNAME==eth0",
        "NCCL_IB_QPS_PER_CONNECTION=4",
        "NCCL_TOPO_FILE=/etc/nccltune/topo.xml",
        "NCCL_CROSS_NIC=1",
        "FI_CXI_RDZV_PROTO=alt_read",
        "OFI_NCCL_EAGER_MAX_SIZE=-1",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        add(good[i]);
        if (settings.count != 1 || settings.dropped)
            fail_msg("'%s' was dropped: %s", good[i], settings.first.text);
        assert_string_equal(settings.items[0].value, strchr(good[i], '=') + 1);
    }
}

TEST_CASE(drops)
{
    static const char *const bad[] = {
        "LD_PRELOAD=/tmp/x.so",
        "PATH=/tmp",
        "NCCL_IB_HCA",
        "=x",
        "NCCL_NOT_A_VARIABLE=1",
        "NCCL_NET_PLUGIN=/tmp/x.so",
        "NCCL_TUNER_PLUGIN=/tmp/x.so",
        "NCCL_ENV_PLUGIN=/tmp/x.so",
        "NCCL_DEBUG_FILE=/root/.ssh/authorized_keys",
        "NCCL_TOPO_DUMP_FILE=/etc/passwd",
        "NCCL_IB_HCA=",
        "NCCL_IB_HCA=a b",
        "NCCL_IB_HCA=$(reboot)",
        "NCCL_IB_HCA=`reboot`",
        "NCCL_IB_HCA='x'",
        "NCCL_IB_HCA=\"x\"",
        "NCCL_IB_HCA=a\rb",
        "NCCL_IB_HCA=a|NCCL_CROSS_NIC=1",
        "NCCL_IB_HCA=a\\",
        "NCCL_IB_HCA=\x1b[2J",
        "NCCL_IB_HCA=m\xc3\xa4",
        " NCCL_IB_HCA=a",
        "NCCL_IB_HCA =a",
        "export NCCL_IB_HCA=a",
        "unset NCCL_IB_HCA",
        "FI_PROVIDER_PATH=/tmp/x",
        "FI_PROVIDER=/tmp/x.so",
        "OFI_NCCL_NO_SUCH_NAME=1",
        "HSA_FORCE_FINE_GRAIN_PCIE=1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        add(bad[i]);
        if (settings.count || settings.dropped != 1 || !settings.first.text[0])
            fail_msg("'%s' was taken", bad[i]);
    }
}

TEST_CASE(long_values)
{
    char line[2048] = "NCCL_IB_HCA=";
    size_t n = strlen(line);
    memset(line + n, 'a', HOOK_VALUE - 1);
    add(line);
    assert_int_equal(settings.count, 1);
    line[n + HOOK_VALUE - 1] = 'a';
    add(line);
    assert_int_equal(settings.count, 0);
}

TEST_CASE(comments_and_repeats)
{
    add("# NCCL_IB_HCA=a\n\nNCCL_IB_HCA=a\nNCCL_CROSS_NIC=1\nNCCL_IB_HCA=b\nrubbish\n");
    assert_int_equal(settings.count, 2);
    assert_string_equal(hook_settings_find(&settings, "NCCL_IB_HCA")->value, "b");
    assert_int_equal(settings.dropped, 1);
    assert_non_null(strstr(settings.first.text, "nccl.conf:6:"));
}

TEST_CASE(own)
{
    memset(&settings, 0, sizeof settings);
    hook_settings_ours(&settings, "NCCL_IB_HCA==a:1,b:1|NCCLTUNE_HASH=abc||nonsense|LD_PRELOAD=x|FI_X=1|NCCL_X=");
    assert_int_equal(settings.count, 3);
    assert_string_equal(hook_settings_find(&settings, "NCCL_IB_HCA")->value, "=a:1,b:1");
    assert_string_equal(hook_settings_find(&settings, "NCCLTUNE_HASH")->value, "abc");
    assert_string_equal(hook_settings_find(&settings, "NCCL_X")->value, "");
    hook_settings_ours(&settings, NULL);
    assert_int_equal(settings.count, 3);
    char longest[HOOK_VALUE + 16] = "NCCL_Y=", name[HOOK_WORD + 16] = "NCCL_";
    memset(longest + 7, 'y', HOOK_VALUE);
    hook_settings_ours(&settings, longest);
    assert_null(hook_settings_find(&settings, "NCCL_Y"));
    longest[7 + HOOK_VALUE - 1] = 0;
    hook_settings_ours(&settings, longest);
    assert_int_equal(strlen(hook_settings_find(&settings, "NCCL_Y")->value), HOOK_VALUE - 1);
    memset(name + 5, 'N', HOOK_WORD - 5);
    strcpy(name + HOOK_WORD, "=1");
    hook_settings_ours(&settings, name);
    assert_int_equal(settings.count, 4);
    hook_settings_ours(&settings, "FI_PROVIDER=efa");
    assert_string_equal(hook_settings_find(&settings, "FI_PROVIDER")->value, "efa");
}

TEST_CASES(test_hook_settings)
