/* slurm/hook_answer.c: what the prolog leaves for tasks, to the byte; lines that are none, and places where nothing can
 * be left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/skip.h"
#include "tests/unit/slurm/store.h"

static struct hook_answer a, b;
static struct hook_why why;
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

static void what_is_printed(void **state)
{
    (void)state;
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
    why = (struct hook_why){""};
    return hook_answer_parse(&b, text, "F", &why);
}

static void what_is_read(void **state)
{
    (void)state;
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

static void lines_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *why;
    } bad[] = {{"", "F:1: expected 'nccltune-job/1'"},
               {"nccltune-job/2\nend\n", "F:1: expected 'nccltune-job/1'"},
               {"nccltune-job/1\n", "F has no end"},
               {"nccltune-job/1\nend\nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\nnodes 3\nfrob 1\nend\n", "F:3: not a line that this version knows"},
               {"nccltune-job/1\nnodes\nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\nnodes x\nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\nnodes 1073741825\nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\nmixed 2\nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\nstate tuned\nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\npolicy drain\nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\njob \nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\ncommon A\nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\nlocal .A=1\nend\n", "F:2: not a line that this version knows"},
               {"nccltune-job/1\nlocal =1\nend\n", "F:2: not a line that this version knows"}};
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

static void places_where_nothing_can_be_left(void **state)
{
    (void)state;
    static struct store store;
    char path[1100], said[1200];
    struct stat st;
    if (store_new(&store) || getuid() != 0)
        skip_because(NEEDS_OWN_STORE);
    const char *run = store.root;
    why = (struct hook_why){""};
    assert_int_equal(hook_answer_read(run, "7", &b, &why), 1);
    assert_int_equal(hook_answer_write(run, "7", full, &why), 0);
    assert_int_equal(hook_answer_read(run, "7", &b, &why), 0);
    assert_true(b.nodes == 3 && !strcmp(b.dir, "/d"));
    assert_int_equal(stat(store_path(&store, "7"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(hook_write(run, "8", "x", 12345, 0400, &why), 0);
    assert_int_equal(stat(store_path(&store, "8"), &st), 0);
    assert_true((st.st_mode & 07777) == 0400 && st.st_uid == 12345 && st.st_size == 1);
    assert_string_equal(why.text, "");
    mkdir(store_path(&store, "9"), 0755);
    assert_int_equal(hook_answer_write(run, "9", full, &why), -1);
    snprintf(said, sizeof said, "%s/9: Is a directory", run);
    assert_string_equal(why.text, said);
    snprintf(path, sizeof path, "%s/.9.%ld", run, (long)getpid());
    assert_int_equal(access(path, F_OK), -1); /* nothing is left beside it */
    why = (struct hook_why){""};
    assert_int_equal(hook_answer_write(store_path(&store, "7"), "1", full, &why), -1);
    snprintf(said, sizeof said, "%s/7 cannot be made", run);
    assert_string_equal(why.text, said);
    assert_int_equal(symlink("/tmp", store_path(&store, "link")), 0);
    why = (struct hook_why){""};
    assert_int_equal(hook_answer_write(store.path, "1", full, &why), -1); /* nothing that somebody else could move */
    assert_non_null(strstr(why.text, "/link cannot be made"));
    store_free(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed),
        cmocka_unit_test(what_is_read),
        cmocka_unit_test(lines_that_are_none),
        cmocka_unit_test(places_where_nothing_can_be_left),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
