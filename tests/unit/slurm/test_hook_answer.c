/* slurm/hook_answer.c: what the prolog leaves for tasks, to the byte; lines that are none, and places where nothing can
 * be left. */
#include "tests/lib/unit.h"
#include "tests/unit/slurm/store.h"

static struct hook_answer a, b;
static struct err why;
static char text[HOOK_OUTPUT];

static const char full[] =
    "nccltune-job/1\nnodes 3\nmixed 1\npolicy nothing\nstate profile\njob 7\nwhy it is\nprofile " STORE_HASH
    "\nclass a\nplugin /p.so\ndir /d\ntable t\ncommon A=1\ncommon B=x=y z\nlocal C=\nend\n";

static void fill(void)
{
    hook_answer_clear(&a);
    a.nodes = 3, a.mixed = 1, a.policy = HOOK_NONE, a.state = HOOK_TUNED;
    strcpy(a.job, "7"), strcpy(a.why, "it is"), strcpy(a.hash, STORE_HASH), strcpy(a.class_name, "a");
    strcpy(a.plugin, "/p.so"), strcpy(a.dir, "/d"), strcpy(a.table, "t");
    hook_settings_put(&a.common, "A", "1");
    hook_settings_put(&a.common, "B", "x=y z");
    hook_settings_put(&a.local, "C", "");
}

TEST_CASE(what_is_printed)
{
    fill();
    assert_int_equal(hook_answer_print(&a, text, sizeof text), 0);
    assert_string_equal(text, full);
    assert_int_equal(hook_answer_print(&a, text, sizeof full), 0);
    assert_string_equal(text, full);
    assert_int_equal(hook_answer_print(&a, text, sizeof full - 1), -1);
    hook_answer_clear(&a);
    assert_true(!a.common.count && !a.local.count);
    assert_int_equal(hook_answer_print(&a, text, sizeof text), 0);
    assert_string_equal(text, "nccltune-job/1\nnodes 0\nmixed 0\npolicy fail\nstate unknown\nend\n");
    a.state = HOOK_NOTHING, a.policy = HOOK_DEFAULT;
    hook_answer_print(&a, text, sizeof text);
    assert_string_equal(text, "nccltune-job/1\nnodes 0\nmixed 0\npolicy default\nstate nothing\nend\n");
}

static int parse(const char *what)
{
    snprintf(text, sizeof text, "%s", what);
    why = (struct err){0};
    return hook_answer_parse(&b, text, "F", &why);
}

TEST_CASE(what_is_read)
{
    static char again[HOOK_OUTPUT];
    b.nodes = 99;
    b.common.count = b.local.dropped = 5;
    strcpy(b.table, "of another");
    assert_int_equal(parse(full), 0);
    assert_int_equal(hook_answer_print(&b, again, sizeof again), 0);
    assert_string_equal(again, full);
    assert_int_equal(b.local.dropped, 0);
    assert_int_equal(parse("nccltune-job/1\nend\n"), 0);
    assert_true(b.nodes == 0 && !b.table[0] && !b.common.count && b.state == HOOK_UNKNOWN);
}

TEST_CASE(lines_that_are_none)
{
    static const struct {
        const char *lines, *why;
    } bad[] = {{"", "F:1: expected 'nccltune-job/1'"},
               {"nccltune-job/2\nend\n", "F:1: expected 'nccltune-job/1'"},
               {"nccltune-job/1\n", "F has no end"},
               {"nccltune-job/1\nend\nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\nnodes 3\nfrob 1\nend\n", "F:3: not a line of this version"},
               {"nccltune-job/1\nnodes\nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\nnodes x\nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\nnodes 1073741825\nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\nmixed 2\nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\nstate tuned\nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\npolicy drain\nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\njob \nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\ncommon A\nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\nlocal .A=1\nend\n", "F:2: not a line of this version"},
               {"nccltune-job/1\nlocal =1\nend\n", "F:2: not a line of this version"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(bad[i].lines), -1);
        assert_string_equal(why.text, bad[i].why);
    }
    assert_int_equal(parse("nccltune-job/1\nnodes 1073741824\nmixed 1\nend\n"), 0);
    assert_true(b.nodes == 1 << 30 && b.mixed == 1);
    char line[HOOK_WORD + 64];
    for (int more = 0; more < 2; more++) { /* names that have room, and none */
        snprintf(line, sizeof line, "nccltune-job/1\nclass %0*d\nend\n", HOOK_WORD - 1 + more, 1);
        assert_int_equal(parse(line), more ? -1 : 0);
    }
}

TEST_CASE(places_where_nothing_can_be_left)
{
    static struct store store;
    char path[1100], said[1200];
    struct stat st;
    if (store_new(&store) || getuid() != 0) {
        store_free(&store);
        skip_because(NEEDS_OWN_STORE);
    }
    const char *run = store.root;
    why = (struct err){0};
    assert_int_equal(hook_answer_read(run, "7", &b, &why), 1);
    assert_int_equal(hook_answer_write(run, "7", full, &why), 0);
    assert_int_equal(hook_answer_read(run, "7", &b, &why), 0);
    assert_true(b.nodes == 3 && !strcmp(b.dir, "/d"));
    assert_int_equal(stat(store_path(&store, "7"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_string_equal(why.text, "");
    mkdir(store_path(&store, "9"), 0755);
    assert_int_equal(hook_answer_write(run, "9", full, &why), -1);
    snprintf(said, sizeof said, "%s/9: Is a directory", run);
    assert_string_equal(why.text, said);
    assert_int_equal(rmdir(store_path(&store, "9")), 0);
    snprintf(path, sizeof path, "test -z \"$(ls -A '%s' | grep 9)\"", run);
    assert_int_equal(system(path), 0); /* nothing is left beside it */
    why = (struct err){0};
    assert_int_equal(hook_answer_write(store_path(&store, "7"), "1", full, &why), -1);
    assert_non_null(strstr(why.text, "Not a directory"));
    assert_int_equal(symlink("/tmp", store_path(&store, "link")), 0);
    why = (struct err){0};
    assert_int_equal(hook_answer_write(store.path, "1", full, &why), -1); /* nothing that somebody else could move */
    assert_non_null(strstr(why.text, "/link is not root's alone"));
    store_free(&store);
}

static int prepare_group(void **state)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return 0;
}

TEST_CASES_WITHIN(test_hook_answer, prepare_group, NULL)
