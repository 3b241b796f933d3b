/* core/delivered.c: what of an environment a profile has put there. */
#include "core/delivered.h"
#include "tests/lib/bare_env.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

static void assert_removed(const char *expected)
{
    struct arena *a = arena_new();
    assert_string_equal(delivered_remove(a), expected);
    assert_null(delivered_beyond(DELIVERED_NOTHING));
    arena_free(a);
}

static void assert_is(const char *name, const char *value)
{
    if (value)
        assert_string_equal(getenv(name), value);
    else
        assert_null(getenv(name));
}

/* A listed variable that the user has changed since is the user's. */
TEST_CASE(lists_are_exact)
{
    bare_env();
    assert_removed("");
    setenv("NCCLTUNE_SET", "NCCLTUNE_JOB=7:-|NCCL_IB_TC=77|NCCL_ALGO=Ring|NCCL_NET=|broken|=x", 1);
    setenv("NCCLTUNE_SOURCED", "|OMPI_MCA_btl_tcp_if_include=eth0|NCCL_IB_SL=2", 1);
    setenv("NCCL_IB_TC", "77", 1);
    setenv("NCCL_ALGO", "Tree", 1);
    setenv("NCCL_IB_SL", "2", 1);
    setenv("OMPI_MCA_btl_tcp_if_include", "eth0", 1);
    setenv("OMPI_MCA_btl_tcp_if_exclude", "eth0", 1);
    setenv("NCCLTUNE", "explain", 1);
    assert_removed("NCCL_IB_TC, OMPI_MCA_btl_tcp_if_include, NCCL_IB_SL");
    assert_is("NCCL_ALGO", "Tree");
    assert_is("OMPI_MCA_btl_tcp_if_exclude", "eth0");
    assert_is("NCCLTUNE", NULL);
}

TEST_CASE(vendors_plugins_stay)
{
    bare_env();
    setenv("NCCL_TUNER_PLUGIN", "/opt/nccltune/libvendor.so", 1);
    setenv("NCCL_ENV_PLUGIN", "/opt/libnccl-tuner-nccltune.so", 1);
    assert_string_equal(delivered_beyond(DELIVERED_TABLE), "NCCL_ENV_PLUGIN");
    assert_removed("NCCL_ENV_PLUGIN");
    assert_is("NCCL_TUNER_PLUGIN", "/opt/nccltune/libvendor.so");
}

/* Without a list, what has the value that the profile's files give it. A directory is no profile without its manifest.
 */
TEST_CASE(a_launch_has_some_on_purpose)
{
    bare_env();
    setenv("NCCL_TUNER_PLUGIN", "nccltune", 1);
    assert_string_equal(delivered_beyond(DELIVERED_NOTHING), "NCCL_TUNER_PLUGIN");
    assert_null(delivered_beyond(DELIVERED_PLUGIN));
    setenv("NCCLTUNE_HASH", "0123", 1);
    assert_string_equal(delivered_beyond(DELIVERED_PLUGIN), "NCCLTUNE_HASH");
    assert_null(delivered_beyond(DELIVERED_TABLE));
}

TEST_CASE(a_profile_says_what_is_its_own)
{
    struct scratch s = scratch_new();
    const char *rules = scratch_write(&s, "openmpi.rules", "0\n", 2);
    scratch_write(&s, "nccl.conf", "# NCCL_A=1\nNCCL_B=2\n", 21);
    bare_env();
    setenv("NCCL_B", "2", 1);
    setenv("OMPI_MCA_coll_tuned_dynamic_rules_filename", rules, 1);
    assert_removed("");
    scratch_write(&s, "manifest.json", "{}", 2);
    scratch_write(&s, "decisions.json", "{}", 2);
    assert_removed("OMPI_MCA_coll_tuned_dynamic_rules_filename, NCCL_B");
    setenv("NCCL_B", "3", 1);
    setenv("NCCLTUNE_PROFILE", scratch_path(&s, ""), 1);
    assert_removed("NCCLTUNE_PROFILE");
    assert_is("NCCL_B", "3");
    scratch_free(&s);
}

TEST_CASE(the_block_goes_and_the_rest_stays)
{
    char text[] = "A=1\n" DELIVERED_BEGIN ": written by x\nB=2\n" DELIVERED_END "\nC=3\n",
         lone[] = "A=1\n" DELIVERED_BEGIN "\n";
    assert_true(delivered_cut(text));
    assert_string_equal(text, "A=1\nC=3\n");
    assert_false(delivered_cut(text));
    assert_false(delivered_cut(lone));
}

TEST_CASES(test_delivered)
