/* The doctor on an empty site, and on one that is installed and then damaged. */
#include <sys/stat.h>

#include "envgen/decide/decide.h"
#include "envgen/doctor/doctor.h"
#include "envgen/generate/generate.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define FIXTURES "tests/fixtures/envgen"

static struct scratch s;
static struct doctor_options options;

static int set_up(void **state)
{
    s = scratch_new();
    options = (struct doctor_options){.site = {.store = scratch_path(&s, "store"),
                                               .nccl_conf = scratch_path(&s, "nccl.conf"),
                                               .plugin = scratch_path(&s, "plugin.so")},
                                      .hook = scratch_path(&s, "hook")};
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(&s);
    return 0;
}

/* The first line about `subject` is of this kind and holds this text. */
static void expect(const struct doctor *d, const char *subject, enum finding_severity severity, const char *text)
{
    for (int i = 0; i < d->found.n; i++)
        if (!strcmp(d->found.list[i].subject, subject)) {
            if (d->found.list[i].severity != severity || !strstr(d->found.list[i].text, text))
                fail_msg("%s: %s: %s", finding_severity_name(d->found.list[i].severity), subject,
                         d->found.list[i].text);
            return;
        }
    fail_msg("nothing is said about %s", subject);
}

TEST_CASE(nothing_installed)
{
    struct doctor *d = doctor_run(&options);
    expect(d, "plugin", FINDING_ERROR, "No such file");
    expect(d, "profile", FINDING_NOTE, "none is installed");
    for (int i = 0; i < d->found.n; i++) /* one line says it */
        assert_true(strcmp(d->found.list[i].subject, "table") != 0 &&
                    strcmp(d->found.list[i].subject, "nccl.conf") != 0);
    expect(d, "hook", FINDING_NOTE, "No such file");
    assert_int_equal(finding_count(d->found.list, d->found.n, FINDING_ERROR), 1);
    doctor_free(d);
}

static void install(void)
{
    static const char *const results[] = {FIXTURES "/results.jsonl"};
    struct err e = {0};
    struct install_scope all = {0};
    struct install_done done;
    char plugin[4096];
    assert_non_null(realpath("build/libnccl-tuner-nccltune.so", plugin));
    options.site.plugin = arena_strdup(s.arena, plugin);
    options.site.conf = INSTALL_CONF_ALL;
    options.site.arena = s.arena;
    struct env_generate g = {.topology = FIXTURES "/topology.json",
                             .results = results,
                             .nresults = 1,
                             .margin = ENV_MARGIN,
                             .out = scratch_path(&s, "profile")};
    if (env_generate(&g, NULL, NULL, &e) || install_profile(&options.site, g.out, &all, &done, &e))
        fail_msg("%s", e.text);
}

static void hook_says(const char *lines, int status)
{
    const char *text =
        arena_printf(s.arena, "#!/bin/sh\n[ \"$1\" = check ] || exit 9\nprintf '%%b' '%s'\nexit %d\n", lines, status);
    chmod(scratch_write(&s, "hook", text, strlen(text)), 0755);
}

TEST_CASE(installed)
{
    install();
    hook_says("profile abc, this node is of class a\\n", 0);
    struct doctor *d = doctor_run(&options);
    expect(d, "profile", FINDING_OK, "all its files are whole");
    expect(d, "table", FINDING_OK, "0 broken lines");
    expect(d, "slurm", FINDING_ERROR, "no job gets the profile");
    expect(d, "hook", FINDING_OK, "profile abc");
    doctor_free(d);
    scratch_write(&s, "store/current/tuner.csv", "nonsense\n", 9);
    hook_says("not known: it is broken\\nHCA mlx5_0 is missing\\n", 1);
    scratch_write(&s, "nccl.conf", "# nccltune end\n", 15);
    options.site.plugin = scratch_write(&s, "plugin.so", "x", 1);
    d = doctor_run(&options);
    expect(d, "plugin", FINDING_ERROR, "cannot be loaded");
    expect(d, "profile", FINDING_ERROR, "tuner.csv");
    expect(d, "table", FINDING_ERROR, "tuner.csv:1:");
    for (int i = 0; i < d->found.n; i++) /* the sum, too */
        assert_true(strcmp(d->found.list[i].subject, "table") != 0 || d->found.list[i].severity == FINDING_ERROR);
    expect(d, "nccl.conf", FINDING_ERROR, "marker");
    expect(d, "hook", FINDING_ERROR, "it is broken");
    expect(d, "node", FINDING_ERROR, "mlx5_0 is missing");
    doctor_free(d);
}

TEST_CASES_EACH(test_doctor, set_up, tear_down)
