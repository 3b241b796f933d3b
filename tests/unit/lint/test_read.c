/* The readers: how a document's kind is recognised, which settings each finds, and what is no document at all. */
#include "lint/lint_internal.h"
#include "tests/lib/unit.h"

/* "NAME=value NAME=? …": '?' for an unknown value, '-' in front for one that is taken away. */
static char *settings_of(const char *name, const char *kind, const char *text, char *out, size_t size)
{
    struct lint_options o = {.rccl = 0};
    struct lint *l = lint_new(&o);
    struct err e = {0};
    out[0] = '\0';
    if (lint_read_text(l, name, text, strlen(text), kind, &e))
        snprintf(out, size, "error: %.400s", e.text);
    for (size_t i = 0; i < l->nsettings && strncmp(out, "error", 5) != 0; i++) {
        const struct lint_setting *s = l->settings[i];
        snprintf(out + strlen(out), size - strlen(out), "%s%s%s=%s", i ? " " : "", s->how == LINT_UNSET ? "-" : "",
                 s->name, s->value ? s->value : "?");
    }
    lint_free(l);
    return out;
}

TEST_CASE(settings_are_found)
{
    static const struct {
        const char *name, *kind, *text, *settings;
    } rows[] = {
        {"a.sh", NULL, "export NCCL_A=1 NCCL_B=\"x y\" C=2\n", "NCCL_A=1 NCCL_B=x y"},
        {"a.sh", NULL, "export NCCL_A='x'\"y\"z\n", "NCCL_A=xyz"},
        {"a.sh", NULL, "export NCCL_A=x\\ y\n", "NCCL_A=x y"},
        {"a.sh", NULL, "export NCCL_A=$X NCCL_B=`x` NCCL_C=$(x \")\") NCCL_D=\"a${Y}\" NCCL_E=1\n",
         "NCCL_A=? NCCL_B=? NCCL_C=? NCCL_D=? NCCL_E=1"},
        {"a.sh", NULL, "export NCCL_A=${NCCL_A:-1} NCCL_B=\"${B-x}\" NCCL_C=${C:-$D} NCCL_D=${D:+1}\n",
         "NCCL_A=1 NCCL_B=x NCCL_C=? NCCL_D=?"},
        {"a.sh", NULL, "unset NCCL_A; export -n NCCL_B\n", "-NCCL_A=?"},
        {"a.sh", NULL, "export NCCL_A=(1 2)\nNCCL_B=\"<path>\"\nNCCL_C={{x}}\n", "NCCL_A=? NCCL_B=? NCCL_C=?"},
        {"a.sh", NULL, "cat <<'A' <<B\nexport NCCL_A=1\nA\nexport NCCL_B=2\nB\nexport NCCL_C=3\n",
         "NCCL_A=1 NCCL_B=2 NCCL_C=3"},
        {"a.sh", NULL, "cat <<< NCCL_A=1\nexport NCCL_B=2\n", "NCCL_B=2"},
        {"a.sh", NULL, "(( x = 1 << 3 ))\nexport NCCL_B=2\n", "NCCL_B=2"},
        {"a.sh", NULL, "case $x in\na) export NCCL_A=1 ;;\n*) export NCCL_A=2 ;;\nesac\n", "NCCL_A=1 NCCL_A=2"},
        {"a.sh", NULL, "mpirun -x NCCL_A=1 -x NCCL_B -x \"NCCL_C=a b\" -e X=1 ./x\n", "NCCL_A=1 NCCL_C=a b"},
        {"a.sh", NULL, "docker run --env NCCL_A=1,2 --env=\"NCCL_B=3\" -e=NCCL_C=4 x\n",
         "NCCL_A=1,2 NCCL_B=3 NCCL_C=4"},
        {"a.sh", NULL, "apptainer exec --env NCCL_A=1,NCCL_B=2 x\n", "NCCL_A=1 NCCL_B=2"},
        {"a.sh", NULL, "srun --export NCCL_A=1,NCCL_B=\"2,3\" x\n", "NCCL_A=1 NCCL_B=2,3"},
        {"a.sh", NULL, "sed -e NCCL_A=1\nmake NCCL_HOME=/x\n", ""},
        {"a.sh", NULL, "sudo -E env NCCL_A=1 ./x NCCL_B=2\n", "NCCL_A=1"},
        {"a.sh", NULL, "ssh n bash -lc \"NCCL_A=1 ./x\"\n", "NCCL_A=1"},
        {"a.sh", NULL, "export NCCL_A='unclosed\n", "NCCL_A=?"},
        {"x.env", NULL, "NCCL_A=1\n# NCCL_B=2\nNCCL_C=\"3\"\n", "NCCL_A=1 NCCL_C=3"},
        {"nccl.conf", NULL, "NCCL_A=1\n#NCCL_B=2\nNCCL_C\n", "NCCL_A=1"},
        {"/etc/nccl.conf", NULL, "NCCL_A=\"1\"\n", "NCCL_A=?"},
        {"Dockerfile", NULL, "FROM a\nENV NCCL_A=1 \\\n# remark\n  NCCL_B=2\nENV NCCL_C three\nARG NCCL_D=4\n",
         "NCCL_A=1 NCCL_B=2 NCCL_C=three"},
        {"x", NULL, "FROM a\nENV NCCL_A=1\n", "NCCL_A=1"},
        {"p.yaml", NULL, "env:\n  NCCL_A: 1\n  NCCL_B: null\n  NCCL_C: $(X)\n", "NCCL_A=1 NCCL_C=?"},
        {"p.yaml", NULL, "env:\n  - name: NCCL_A\n    value: '1'\n  - name: NCCL_B\n    valueFrom: {x: y}\n",
         "NCCL_A=1"},
        {"x", NULL, "kind: Pod\nspec:\n  env:\n  - {name: NCCL_A, value: x}\n", "NCCL_A=x"},
        {"p.yaml", NULL, "a: &x {NCCL_A: 1}\nb: *x\n*y : 2\n", "NCCL_A=1"},
        {"p.yaml", NULL, "a: [\n", "error: p.yaml:2:1: not valid YAML: "},
        {"m.json", NULL, "{\"a\": {\"NCCL_A\": \"1\", \"NCCL_B\": 2, \"NCCL_C\": true, \"NCCL_D\": null}}",
         "NCCL_A=1 NCCL_B=2 NCCL_C=true"},
        {"m.json", NULL, "{\"NCCL_A\": \"1\"", "error: m.json:1:"},
        {"x", NULL, "{\"NCCL_A\": \"1\"}", "NCCL_A=1"},
        {"x", "pdf", "NCCL_A=1\n", "error: unknown kind of document 'pdf'"},
        {"a.sh", NULL, "", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char out[512];
        settings_of(rows[i].name, rows[i].kind, rows[i].text, out, sizeof(out));
        int same = strncmp(rows[i].settings, "error", 5) ? !strcmp(out, rows[i].settings)
                                                         : !strncmp(out, rows[i].settings, strlen(rows[i].settings));
        if (!same)
            fail_msg("%s: expected '%s', found '%s':\n%s", rows[i].name, rows[i].settings, out, rows[i].text);
    }
}

/* Documents as people have them: kind recognised, and every finding of each. */
TEST_CASE(fixtures)
{
    static const struct {
        const char *file, *kind, *codes;
    } rows[] = {
        {"job.sbatch", "shell", "NT301 NT101 NT202 NT205 NT311 NT602"},
        {"nccl.conf", "conf", "NT601 NT218 NT603"},
        {"clean.conf", "conf", ""},
        {"Dockerfile", "docker", "NT104 NT301 NT610"},
        {"pod.yaml", "yaml", "NT201 NT207 NT311"},
        {"env.json", "json", "NT202 NT206"},
        {"train.env", "env", "NT309 NT312"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char path[128], codes[256] = "";
        struct lint_options o = {.rccl = -1};
        struct finding f;
        struct err e = {0};
        struct lint *l = lint_new(&o);
        snprintf(path, sizeof(path), "tests/fixtures/lint/%s", rows[i].file);
        if (lint_read_file(l, path, NULL, &e))
            fail_msg("%s", e.text);
        assert_string_equal(l->texts[0]->doc.kind, rows[i].kind);
        lint_check(l);
        for (size_t n = 0; lint_finding(l, n, &f); n++)
            snprintf(codes + strlen(codes), sizeof(codes) - strlen(codes), "%s%s", n ? " " : "", f.id);
        if (strcmp(codes, rows[i].codes) != 0)
            fail_msg("%s: expected '%s', found '%s'", path, rows[i].codes, codes);
        lint_free(l);
    }
}

TEST_CASE(binary_is_refused)
{
    struct lint_options o = {.rccl = 0};
    struct lint *l = lint_new(&o);
    struct err e = {0};
    assert_int_equal(lint_read_text(l, "x", "NCCL_A=1\0", 9, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "NUL byte"));
    assert_int_equal(lint_read_file(l, "/nonexistent/job.sh", NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "/nonexistent/job.sh"));
    lint_free(l);
}

/* A document made to be slow or deep ends in good time all the same. */
TEST_CASE(hostile_documents_end)
{
    static const char *const units[] = {"export NCCL_A=1\n", "if ",        "cat <<A\n", "bash -c '", "$(", "a=(",
                                        "NCCL_A=1 ",         "{\"a\":",    "- ",        "\"",        "[[", "<<",
                                        "case x in ",        "${NCCL_A:-", "\\\n"};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        for (size_t k = 0; lint_kind(k); k++) {
            size_t n = strlen(units[i]), count = 20000;
            char *text = malloc(n * count + 1);
            for (size_t c = 0; c < count; c++)
                memcpy(text + c * n, units[i], n + 1);
            struct lint_options o = {.rccl = 0};
            struct lint *l = lint_new(&o);
            struct err e;
            lint_read_text(l, "hostile", text, n * count, lint_kind(k), &e);
            lint_check(l);
            assert_true(lint_settings(l) <= LINT_MOST_SETTINGS);
            lint_free(l);
            free(text);
        }
}

/* What a job has in the end: what is set again, taken away or never reaches the ranks does not count. */
TEST_CASE(what_is_in_force)
{
    static const char text[] = "export NCCL_IB_HCA=mlx5_0\nexport NCCL_ALGO=Ring\nNCCL_PROTO=LL\n"
                               "export NCCL_IB_HCA=mlx5_0,mlx5_1\nunset NCCL_ALGO\n"
                               "export NCCL_SOCKET_IFNAME=$IFACE\nbash -c \"export NCCL_BUFFSIZE=1\"\nsrun ./train\n";
    static const char block[] = "NCCL_MIN_CTAS=8\0PATH=/bin\0NCCL_IB_HCA=mlx5_3";
    struct arena *a = arena_new();
    struct err e = {0};
    size_t n;
    struct lint *l = lint_new(&(struct lint_options){.rccl = -1});
    assert_int_equal(lint_read_text(l, "job.sh", text, sizeof text - 1, "shell", &e), 0);
    const struct lint_value *v = lint_in_force(l, a, &n);
    assert_int_equal(n, 3);
    assert_string_equal(v[0].name, "NCCL_PROTO");
    assert_string_equal(v[0].lost, "the shell does not export");
    assert_string_equal(v[1].name, "NCCL_IB_HCA");
    assert_string_equal(v[1].value, "mlx5_0,mlx5_1");
    assert_null(v[1].lost);
    assert_string_equal(v[2].name, "NCCL_SOCKET_IFNAME");
    assert_null(v[2].value);
    assert_int_equal(lint_read_environ(l, "process", block, sizeof block, &e), 0);
    v = lint_in_force(l, a, &n);
    assert_int_equal(n, 4);
    assert_string_equal(v[3].value, "mlx5_3");
    lint_free(l);
    /* Passed by one launch is passed; what srun starts has what srun passes. */
    static const struct {
        const char *launches, *lost;
    } rows[] = {
        {"srun --export=NONE ./a\n", "srun in line 2 does not pass"},
        {"srun --export=PATH torchrun a.py\n", "srun in line 2 does not pass"},
        {"srun --export=NONE ./a\nsrun ./b\n", NULL},
        {"srun --export=NCCL_ALGO ./a\n", NULL},
        {"mpirun -H a,b ./a\n", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *script = arena_printf(a, "export NCCL_ALGO=Ring\n%s", rows[i].launches);
        l = lint_new(&(struct lint_options){.rccl = -1});
        assert_int_equal(lint_read_text(l, "job.sh", script, strlen(script), "shell", &e), 0);
        v = lint_in_force(l, a, &n);
        assert_int_equal(n, 1);
        assert_true(!v[0].lost == !rows[i].lost && (!v[0].lost || !strcmp(v[0].lost, rows[i].lost)));
        lint_free(l);
    }
    arena_free(a);
}

/* Of nccl.conf the first line counts, and the environment before it; a line that sets another name sets nothing. */
TEST_CASE(what_is_in_force_of_a_conf)
{
    static const char conf[] = "NCCL_ALGO=Tree\nNCCL_ALGO=Ring\nexport NCCL_PROTO=LL\nNCCL_IB_HCA =mlx5_0\n"
                               " NCCL_SHM_DISABLE=1\nNCCL_BUFFSIZE\nNCCL_NTHREADS=128\n";
    static const char script[] = "export NCCL_NTHREADS=256\nsetenv NCCL_IB_TC 106\nset NCCL_IB_SL=1\nsrun ./train\n";
    struct arena *a = arena_new();
    struct err e = {0};
    size_t n;
    struct lint *l = lint_new(&(struct lint_options){.rccl = -1});
    assert_int_equal(lint_read_text(l, "nccl.conf", conf, sizeof conf - 1, "conf", &e), 0);
    const struct lint_value *v = lint_in_force(l, a, &n);
    assert_int_equal(n, 2);
    assert_string_equal(v[0].value, "Tree");
    assert_string_equal(v[1].value, "128");
    assert_int_equal(lint_read_text(l, "job.sh", script, sizeof script - 1, "shell", &e), 0);
    v = lint_in_force(l, a, &n);
    assert_int_equal(n, 2);
    assert_string_equal(v[0].name, "NCCL_ALGO");
    assert_string_equal(v[1].value, "256");
    lint_free(l);
    arena_free(a);
}

TEST_CASES(test_read)
