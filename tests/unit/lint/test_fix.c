/* Corrections: what --fix makes of a document, that a corrected document needs no further correction, and that shells
 * still take the result. */
#include "lint/lint.h"
#include "tests/lib/unit.h"

static char *fixed_text(const char *kind, const char *text, int all, int *fixed)
{
    struct lint_options o = {.rccl = -1};
    struct lint *l = lint_new(&o);
    struct lint_fixed out;
    assert_int_equal(lint_read_text(l, "case", text, strlen(text), kind, NULL), 0);
    lint_check(l);
    assert_int_equal(lint_fix(l, 0, all, &out, NULL), 0);
    assert_string_equal(out.path, "case");
    assert_int_equal(out.bytes, strlen(out.text));
    *fixed = out.fixed;
    lint_free(l);
    return out.text;
}

TEST_CASE(corrections)
{
    static const struct {
        const char *kind, *before, *after;
    } rows[] = {
        {"shell", "export NCCL_DMABUF_ENABLE=true\n", "export NCCL_DMABUF_ENABLE=1\n"},
        /* InfiniBand is on today, and jobs may live by that */
        {"shell", "export NCCL_IB_DISABLE=true\n", "export NCCL_IB_DISABLE=true\n"},
        {"shell", "export NCCL_BUFFSIZE=\"8M\"  # big\n", "export NCCL_BUFFSIZE=\"8388608\"  # big\n"},
        {"shell", "NCCL_NET_GDR_LEVEL='phb' ./a\n", "NCCL_NET_GDR_LEVEL='PHB' ./a\n"},
        {"shell", "export NCCL_BUFFSIZE=${B:-4K}\n", "export NCCL_BUFFSIZE=${B:-4096}\n"},
        {"shell", "export NCCL_IB_HCA=mlx5_0,mlx5_1\n", "export NCCL_IB_HCA==mlx5_0,mlx5_1\n"},
        {"shell", "export NCCL_IB_HCA=^mlx5_1\n", "export NCCL_IB_HCA=^=mlx5_1\n"},
        {"shell", "export NCCL_ASYNC_ERROR_HANDLING=1\n", "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n"},
        {"shell", "if x; then\n  export NCCL_TREE_THRESHOLD=0\nfi\n",
         "if x; then\n  : # nccltune lint, NT101: export NCCL_TREE_THRESHOLD=0\nfi\n"},
        {"shell", "export NCCL_TREE_THRESHOLD=0 NCCL_CROSS_NIC=1\n", "export NCCL_TREE_THRESHOLD=0 NCCL_CROSS_NIC=1\n"},
        {"shell", "export NCCL_PROTOCOL=^LL\n", "export NCCL_PROTOCOL=^LL\n"},
        {"env", "NCCL_LL_THRESHOLD=0\n", "# nccltune lint, NT101: NCCL_LL_THRESHOLD=0\n"},
        {"conf", "export NCCL_CROSS_NIC=\"1\"\n", "NCCL_CROSS_NIC=1\n"},
        {"conf", "NCCL_CROSS_NIC = 1 # x\nNCCL_IB_SL=1\n", "NCCL_CROSS_NIC=1\nNCCL_IB_SL=1\n"},
        {"conf", "NCCL_LL_THRESHOLD=0\n", "# nccltune lint, NT101: NCCL_LL_THRESHOLD=0\n"},
        {"docker", "FROM x\nENV NCCL_BUFFSIZE=4M\n", "FROM x\nENV NCCL_BUFFSIZE=4194304\n"},
        {"yaml", "env:\n- name: NCCL_DMABUF_ENABLE\n  value: \"true\"\n",
         "env:\n- name: NCCL_DMABUF_ENABLE\n  value: \"1\"\n"},
        {"yaml", "é: ü\nenv: {NCCL_CROSSNIC: '1'}\n", "é: ü\nenv: {NCCL_CROSS_NIC: '1'}\n"},
        {"json", "{\"é\": {\"NCCL_BUFFSIZE\": \"8M\"}}", "{\"é\": {\"NCCL_BUFFSIZE\": \"8388608\"}}"},
        {"shell", "export NCCL_CROSS_NIC=1\n", "export NCCL_CROSS_NIC=1\n"},
        /* the rest of a list is devices, and nothing else */
        {"shell", "export NCCL_IB_HCA==mlx5_2, mlx5_3\n", "export NCCL_IB_HCA==mlx5_2,mlx5_3\n"},
        {"shell", "export NCCL_IB_HCA==mlx5_2:1,  mlx5_3:1, mlx5_4 A=1 # x\n",
         "export NCCL_IB_HCA==mlx5_2:1,mlx5_3:1,mlx5_4 A=1 # x\n"},
        {"shell", "export NCCL_IB_HCA==mlx5_2, mlx5_3;\n", "export NCCL_IB_HCA==mlx5_2, mlx5_3;\n"},
        {"shell", "export NCCL_IB_HCA==mlx5_2, MORE\n", "export NCCL_IB_HCA==mlx5_2, MORE\n"},
        {"shell", "export NCCL_IB_HCA==mlx5_2, mlx5_3, MORE\n", "export NCCL_IB_HCA==mlx5_2, mlx5_3, MORE\n"},
        {"shell", "export NCCL_IB_HCA==mlx5_2, $X3\n", "export NCCL_IB_HCA==mlx5_2, $X3\n"},
        {"shell", "export NCCL_IB_HCA==mlx5_2, \\\n mlx5_3\n", "export NCCL_IB_HCA==mlx5_2, \\\n mlx5_3\n"},
        /* words that NCCL knows, where there is one */
        {"shell", "export NCCL_ALGO=ring,Trees,tree\n", "export NCCL_ALGO=ring,tree\n"},
        {"shell", "export NCCL_PROTO=^LL256,simple\n", "export NCCL_PROTO=^simple\n"},
        {"shell", "export NCCL_PROTO=LL256\n", "export NCCL_PROTO=LL256\n"},
        {"yaml", "command: [\"bash\", \"-c\", \"export NCCL_IB_HCA==mlx5_2, mlx5_3 && ./a\"]\n",
         "command: [\"bash\", \"-c\", \"export NCCL_IB_HCA==mlx5_2,mlx5_3 && ./a\"]\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int fixed, again;
        char *once = fixed_text(rows[i].kind, rows[i].before, 1, &fixed);
        assert_string_equal(once, rows[i].after);
        assert_int_equal(fixed > 0, strcmp(rows[i].before, rows[i].after) != 0);
        char *twice = fixed_text(rows[i].kind, once, 1, &again);
        assert_string_equal(twice, once);
        assert_int_equal(again, 0);
        free(once);
        free(twice);
    }
}

/* Without "all" the next run does what the last one did. */
TEST_CASE(unasked_nothing_changes)
{
    static const struct {
        const char *before, *after;
    } rows[] = {
        {"export NCCL_IB_DISABLE=true\n", "export NCCL_IB_DISABLE=true\n"},
        {"export NCCL_BUFFSIZE=8M\n", "export NCCL_BUFFSIZE=8M\n"},
        {"export NCCL_CROSSNIC=1\n", "export NCCL_CROSSNIC=1\n"},
        {"export NCCL_SHM_DISABLE=no\n", "export NCCL_SHM_DISABLE=0\n"},
        {"export NCCL_P2P_LEVEL=3\n", "export NCCL_P2P_LEVEL=PHB\n"},
        {"export NCCL_TREE_THRESHOLD=0\n", ": # nccltune lint, NT101: export NCCL_TREE_THRESHOLD=0\n"},
        {"export NCCL_BLOCKING_WAIT=1\n", "export TORCH_NCCL_BLOCKING_WAIT=1\n"},
        {"export NCCL_BLOCKING_WAIT=1\nexport TORCH_NCCL_BLOCKING_WAIT=0\n",
         "export NCCL_BLOCKING_WAIT=1\nexport TORCH_NCCL_BLOCKING_WAIT=0\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int fixed;
        char *out = fixed_text("shell", rows[i].before, 0, &fixed);
        assert_string_equal(out, rows[i].after);
        free(out);
    }
}

/* A name that is there already is not made twice; the finding says so. */
TEST_CASE(no_key_comes_twice)
{
    struct lint_options o = {.rccl = -1};
    struct finding f;
    static const char text[] = "{\"env\": {\"NCCL_CROSSNIC\": \"1\", \"NCCL_CROSS_NIC\": \"0\"}}";
    int fixed;
    char *out = fixed_text("json", text, 1, &fixed);
    struct lint *l = lint_new(&o);
    assert_string_equal(out, text);
    assert_int_equal(lint_read_text(l, "x", text, strlen(text), "json", NULL), 0);
    lint_check(l);
    assert_int_equal(lint_finding(l, 0, &f), 1);
    assert_non_null(strstr(f.advice, "NCCL_CROSS_NIC is set here, too"));
    lint_free(l);
    free(out);
}

/* A document with a NUL byte is none: nothing of it is kept, and nothing is corrected. */
TEST_CASE(binary_stays)
{
    struct lint_options o = {.rccl = -1};
    struct lint *l = lint_new(&o);
    char text[8192];
    struct lint_fixed out;
    memset(text, 'x', sizeof text);
    text[10] = 0;
    assert_int_not_equal(lint_read_text(l, "x", text, sizeof text, NULL, NULL), 0);
    assert_int_equal(lint_fix(l, 0, 1, &out, NULL), 0);
    assert_int_equal(out.bytes, 0);
    assert_int_equal(out.fixed, 0);
    free(out.text);
    lint_free(l);
}

/* Every document of every format: the result reads as before, and a second correction finds nothing to do. */
TEST_CASE(formats_take_the_result)
{
    static const struct {
        const char *kind, *before, *after;
    } rows[] = {
        {"python", "import os\nos.environ[\"NCCL_BUFFSIZE\"] = \"8M\"\n",
         "import os\nos.environ[\"NCCL_BUFFSIZE\"] = \"8388608\"\n"},
        {"lua", "setenv('NCCL_NET_GDR_LEVEL', 'phb')\n", "setenv('NCCL_NET_GDR_LEVEL', 'PHB')\n"},
        {"toml", "[env]\nNCCL_DMABUF_ENABLE = \"true\"\n", "[env]\nNCCL_DMABUF_ENABLE = \"1\"\n"},
        {"hcl", "env = { NCCL_BUFFSIZE = \"8M\" }\n", "env = { NCCL_BUFFSIZE = \"8388608\" }\n"},
        {"ini", "[Service]\nEnvironment=\"NCCL_BUFFSIZE=8M\"\n", "[Service]\nEnvironment=\"NCCL_BUFFSIZE=8388608\"\n"},
        {"ini", "[env]\nNCCL_LL_THRESHOLD = 0\n", "[env]\n# nccltune lint, NT101: NCCL_LL_THRESHOLD = 0\n"},
        {"make", "export NCCL_BUFFSIZE := 8M\n", "export NCCL_BUFFSIZE := 8388608\n"},
        {"csh", "setenv NCCL_LL_THRESHOLD 0\n", ": # nccltune lint, NT101: setenv NCCL_LL_THRESHOLD 0\n"},
        {"yaml", "run: |\n  export NCCL_LL_THRESHOLD=0\n  ./a\n",
         "run: |\n  : # nccltune lint, NT101: export NCCL_LL_THRESHOLD=0\n  ./a\n"},
        {"yaml", "cmd: \"export NCCL_BUFFSIZE=\\\"8M\\\"; ./a\"\n",
         "cmd: \"export NCCL_BUFFSIZE=\\\"8388608\\\"; ./a\"\n"},
        {"json", "{\"cmd\": \"export NCCL_CROSSNIC=1\\n./a\"}", "{\"cmd\": \"export NCCL_CROSS_NIC=1\\n./a\"}"},
        {"yaml", "env:\n  {{- if x }}\n  NCCL_BUFFSIZE: 8M\n  {{- end }}\n  A: {{ b }}\n",
         "env:\n  {{- if x }}\n  NCCL_BUFFSIZE: 8388608\n  {{- end }}\n  A: {{ b }}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int fixed, again;
        char *once = fixed_text(rows[i].kind, rows[i].before, 1, &fixed);
        assert_string_equal(once, rows[i].after);
        assert_int_equal(fixed, 1);
        char *twice = fixed_text(rows[i].kind, once, 1, &again);
        assert_string_equal(twice, once);
        free(once);
        free(twice);
    }
}

TEST_CASE(shells_take_the_result)
{
    static const char before[] = "set -eu\n"
                                 "if true; then\n"
                                 "    export NCCL_TREE_THRESHOLD=0\n"
                                 "else\n"
                                 "    export NCCL_BUFFSIZE=8M \\\n"
                                 "        NCCL_CHECKS_DISABLE=1\n"
                                 "fi\n"
                                 "f() {\n"
                                 "    export NCCL_LL_THRESHOLD=1\n"
                                 "}\n"
                                 "f\n";
    static const char *const shells[] = {"bash -n", "dash -n", "bash", "dash"};
    int fixed;
    char *after = fixed_text("shell", before, 1, &fixed);
    assert_int_equal(fixed, 3);
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        FILE *p = popen(shells[i], "w");
        assert_non_null(p);
        fputs(after, p);
        assert_int_equal(pclose(p), 0);
    }
    free(after);
}

TEST_CASES(test_fix)
