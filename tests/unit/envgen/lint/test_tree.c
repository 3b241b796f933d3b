/* A directory with all below it, what git would ignore, and the baseline. */
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

#include "core/file.h"
#include "envgen/lint/lint_internal.h"

static char root[] = "/tmp/nccltune-lint-XXXXXX";

static void put(const char *path, const char *text)
{
    char full[256], *slash;
    snprintf(full, sizeof full, "%s/%s", root, path);
    slash = strrchr(full, '/');
    *slash = '\0';
    assert_int_equal(file_mkdirs(full, NULL), 0);
    *slash = '/';
    assert_int_equal(file_write(full, text, strlen(text), NULL), 0);
}

static int make_tree(void **state)
{
    (void)state;
    if (!mkdtemp(root))
        return -1;
    static const char job[] = "export NCCL_IB_TIMEOUT=40\n";
    put(".git/config", "[core]\n");
    put(".git/hooks/run.sh", job);
    put(".git/info/exclude", "excluded.sh\n");
    put(".gitignore", "build/\n*.log.sh\n/only-top.sh\n!kept.log.sh\ndocs/**/old.sh\n# remark\n");
    put("a.sh", job);
    put("build/b.sh", job);
    put("c.log.sh", job);
    put("kept.log.sh", job);
    put("only-top.sh", job);
    put("deep/only-top.sh", job);
    put("docs/x/y/old.sh", job);
    put("docs/old.sh", job);
    put("docs/new.sh", job);
    put("deep/.gitignore", "d.sh\n!excluded.sh\n");
    put("deep/d.sh", job);
    put("deep/excluded.sh", job);
    put("excluded.sh", job);
    put(".github/workflows/t.yml", "env:\n  NCCL_IB_TIMEOUT: 40\n");
    put(".cache/e.sh", job);
    put("no-names.sh", "echo hello\n");
    put("tool", "#!/bin/sh\nexport NCCL_IB_TIMEOUT=40\n");
    put("data.bin", "NCCL_IB_TIMEOUT=40");
    put("source.c", "int NCCL_IB_TIMEOUT = 40;\n");
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static struct lint *read_tree(const char *below)
{
    struct lint_options o = {.rccl = 0};
    struct lint *l = lint_new(&o);
    size_t looked = 0;
    char path[256];
    snprintf(path, sizeof path, "%s%s", root, below);
    assert_int_equal(lint_read_tree(l, path, &looked, NULL), 0);
    assert_true(looked > 0);
    lint_check(l);
    return l;
}

static void assert_documents(const char *below, const char *const *names)
{
    struct lint *l = read_tree(below);
    struct lint_document d;
    size_t n = 0;
    for (; lint_document(l, n, &d); n++) {
        assert_non_null(names[n]);
        assert_string_equal(d.name + strlen(root) + 1, names[n]);
        assert_int_equal(d.settings, 1);
    }
    assert_null(names[n]);
    lint_free(l);
}

static void what_git_ignores_is_passed_by(void **state)
{
    (void)state;
    static const char *const all[] = {".github/workflows/t.yml",
                                      "a.sh",
                                      "deep/excluded.sh",
                                      "deep/only-top.sh",
                                      "docs/new.sh",
                                      "kept.log.sh",
                                      "tool",
                                      NULL};
    static const char *const below[] = {"deep/excluded.sh", "deep/only-top.sh", NULL};
    assert_documents("", all);
    assert_documents("/deep/", below);
}

static void a_missing_directory_is_said(void **state)
{
    (void)state;
    struct lint_options o = {.rccl = 0};
    struct lint *l = lint_new(&o);
    struct err e = {0};
    size_t looked = 0;
    assert_int_not_equal(lint_read_tree(l, "/nowhere/at/all", &looked, &e), 0);
    assert_non_null(strstr(e.text, "/nowhere/at/all"));
    lint_free(l);
}

static void known_findings_are_left_out(void **state)
{
    (void)state;
    char path[128];
    struct lint_options o = {.rccl = 0};
    struct finding f;
    struct err e = {0};
    snprintf(path, sizeof path, "%s/known.json", root);
    static const char before[] = "export NCCL_IB_TIMEOUT=40\nexport NCCL_IB_TIMEOUT=40\n";
    static const char after[] = "# moved\nexport NCCL_IB_TIMEOUT=40\n./a\nexport NCCL_IB_TIMEOUT=40\n./b\n"
                                "export NCCL_IB_TIMEOUT=40\nexport NCCL_BUFFSIZE=8M\n";
    struct lint *l = lint_new(&o);
    lint_read_text(l, "job.sh", before, strlen(before), NULL, NULL);
    lint_check(l);
    assert_int_equal(lint_write_baseline(l, path, &e), 0);
    assert_int_equal(lint_apply_baseline(l, path, &e), 0);
    assert_int_equal(l->known, 2);
    assert_int_equal(lint_finding(l, 0, &f), 0);
    lint_free(l);
    l = lint_new(&o);
    lint_read_text(l, "job.sh", after, strlen(after), NULL, NULL);
    lint_check(l);
    assert_int_equal(lint_apply_baseline(l, path, &e), 0);
    assert_int_equal(l->known, 2); /* as often as then, and no third one */
    assert_int_equal(lint_finding(l, 0, &f), 1);
    assert_int_equal(f.line, 6);
    assert_int_equal(lint_finding(l, 1, &f), 1);
    assert_string_equal(f.id, "NT202");
    assert_int_equal(lint_finding(l, 2, &f), 0);
    assert_int_not_equal(lint_apply_baseline(l, "/nowhere.json", &e), 0);
    lint_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_git_ignores_is_passed_by),
        cmocka_unit_test(a_missing_directory_is_said),
        cmocka_unit_test(known_findings_are_left_out),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
