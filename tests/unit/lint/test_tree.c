/* A directory with all below it, what git would ignore, and the baseline. */
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "lint/lint_internal.h"
#include "tests/lib/unit.h"

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
    put("source.pas", "int NCCL_IB_TIMEOUT = 40;\n");
    return 0;
}

static int remove_tree(void **state)
{
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

TEST_CASE(what_git_ignores_is_passed_by)
{
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

TEST_CASE(a_missing_directory_is_said)
{
    struct lint_options o = {.rccl = 0};
    struct lint *l = lint_new(&o);
    struct err e = {0};
    size_t looked = 0;
    assert_int_not_equal(lint_read_tree(l, "/nowhere/at/all", &looked, &e), 0);
    assert_non_null(strstr(e.text, "/nowhere/at/all"));
    lint_free(l);
}

TEST_CASES_WITHIN(test_tree, make_tree, remove_tree)
