/* The generate stage on hand-written input: a whole profile, or the old one untouched. */
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "envgen/generate/generate.h"
#include "envgen/profile/profile.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

#define FIXTURES "tests/fixtures/envgen"

static const char *const results[] = {FIXTURES "/results.jsonl", FIXTURES "/more.jsonl"};

static struct env_generate options(const char *out, int nresults)
{
    return (struct env_generate){.topology = FIXTURES "/topology.json",
                                 .results = results,
                                 .nresults = nresults,
                                 .margin = ENV_MARGIN,
                                 .out = out};
}

static int run(const struct env_generate *g, struct err *e)
{
    *e = (struct err){0};
    return env_generate(g, NULL, NULL, e);
}

static char *sums(struct scratch *s, const char *dir)
{
    int code;
    return scratch_run(s, arena_printf(s->arena, "cd '%s' && ls -a && sha256sum *", dir), &code);
}

TEST_CASE(a_whole_profile)
{
    struct scratch s = scratch_new();
    struct err e;
    const char *out = scratch_path(&s, "a/b/profile");
    struct env_generate g = options(out, 1);
    assert_int_equal(run(&g, &e), 0);
    struct env_profile *p = env_profile_open(out, &e);
    assert_non_null(p);
    static const char *const names[] = {"decisions.json", "nccl.conf",  "nccl.sh",       "openmpi-mca-params.conf",
                                        "openmpi.rules",  "openmpi.sh", "results.jsonl", "topology.json",
                                        "tuner.bin",      "tuner.csv"};
    assert_int_equal(p->manifest.nfiles, 10);
    for (int i = 0; i < 10; i++)
        assert_string_equal(p->manifest.files[i].name, names[i]);
    assert_string_equal(p->manifest.topology, p->decisions->topology);
    assert_string_equal(p->manifest.libraries[0], "Open MPI 4.1.4");
    const struct env_shape *shape = &p->decisions->shapes[0];
    assert_string_equal(shape->launches[shape->chosen].knobs.label, "ib3");
    assert_non_null(strstr(shape->colls[0].ranges[0].points[0].options[0].lines, "results.jsonl:"));
    env_profile_free(p);
    int code;
    scratch_run(&s, arena_printf(s.arena, "test $(ls -a '%s' | wc -l) = 13", out), &code); /* nothing left over */
    assert_int_equal(code, 0);
    scratch_free(&s);
}

TEST_CASE(the_same_input_gives_the_same_profile)
{
    struct scratch s = scratch_new();
    struct err e;
    const char *out = scratch_path(&s, "profile");
    struct env_generate g = options(out, 1);
    assert_int_equal(run(&g, &e), 0);
    struct env_profile *first = env_profile_open(out, &e);
    g.force = 1;
    assert_int_equal(run(&g, &e), 0);
    struct env_profile *second = env_profile_open(out, &e);
    assert_string_equal(first->manifest.hash, second->manifest.hash);
    env_profile_free(first);
    env_profile_free(second);
    scratch_free(&s);
}

TEST_CASE(two_journals_are_taken_together)
{
    struct scratch s = scratch_new();
    struct err e;
    const char *out = scratch_path(&s, "profile");
    struct env_generate g = options(out, 2);
    assert_int_equal(run(&g, &e), 0);
    struct env_profile *p = env_profile_open(out, &e);
    assert_non_null(p);
    assert_int_equal(p->manifest.nfiles, 11);
    const struct env_shape *two = &p->decisions->shapes[0];
    assert_int_equal(two->ranks, 2);
    assert_non_null(strstr(two->colls[0].ranges[0].points[0].options[0].lines, "results-2.jsonl:2"));
    env_profile_free(p);
    scratch_free(&s);
}

TEST_CASE(topology_alone)
{
    struct scratch s = scratch_new();
    struct err e;
    const char *out = scratch_path(&s, "profile");
    struct env_generate g = options(out, 0);
    assert_int_equal(run(&g, &e), 0);
    struct env_profile *p = env_profile_open(out, &e);
    assert_non_null(p);
    assert_int_equal(p->manifest.nfiles, 9);
    assert_int_equal(p->decisions->nshapes, 0);
    assert_int_equal(p->decisions->nsettings, 1);
    assert_string_equal(p->decisions->settings[0].value, "=eth0");
    env_profile_free(p);
    scratch_free(&s);
}

/* Two classes of nodes: common settings in nccl.conf, what differs in nccl.d/, and both named by the manifest. */
TEST_CASE(classes_have_files_of_their_own)
{
    struct scratch s = scratch_new();
    struct err e;
    const char *out = scratch_path(&s, "profile");
    struct env_generate g = options(out, 0);
    g.topology = FIXTURES "/two-classes.json";
    assert_int_equal(run(&g, &e), 0);
    struct env_profile *p = env_profile_open(out, &e);
    assert_non_null(p);
    char *common = scratch_read(&s, scratch_path(&s, "profile/nccl.conf"));
    char *thin = scratch_read(&s, scratch_path(&s, "profile/nccl.d/thin.conf"));
    char *fat = scratch_read(&s, scratch_path(&s, "profile/nccl.d/fat.conf"));
    assert_non_null(thin);
    assert_non_null(fat);
    assert_null(strstr(common, "\nNCCL_SOCKET_IFNAME="));
    assert_non_null(strstr(common, "different values"));
    assert_non_null(strstr(thin, "\nNCCL_SOCKET_IFNAME==eth0\n"));
    assert_non_null(strstr(fat, "\nNCCL_SOCKET_IFNAME==eno1\n"));
    env_profile_free(p);
    /* the same place without classes: what belonged to the old profile alone is gone */
    g.topology = FIXTURES "/topology.json";
    g.force = 1;
    assert_int_equal(run(&g, &e), 0);
    assert_int_not_equal(access(scratch_path(&s, "profile/nccl.d/thin.conf"), F_OK), 0);
    scratch_free(&s);
}

TEST_CASE(releases_stand_in_the_profile)
{
    struct scratch s = scratch_new();
    struct err e;
    struct env_generate g = options(scratch_path(&s, "profile"), 0);
    g.nccl_low = 22700;
    g.nccl_high = 22899;
    g.predicted = 1;
    assert_int_equal(run(&g, &e), 0);
    struct env_profile *p = env_profile_open(g.out, &e);
    assert_non_null(p);
    assert_int_equal(p->decisions->nccl_low, 22700);
    assert_int_equal(p->decisions->nccl_high, 22899);
    assert_string_equal(p->decisions->nccl_source, "as asked for");
    assert_int_equal(p->decisions->predicted, 0); /* of such machines there is no record */
    assert_non_null(strstr(scratch_read(&s, scratch_path(&s, "profile/nccl.conf")), "NCCL 2.27.0 to 2.28.99"));
    env_profile_free(p);
    scratch_free(&s);
}

TEST_CASE(a_class_that_no_file_can_be_called)
{
    static const char *const names[] = {"..", "a/b", "", ".x", "x y", "$(id)", "thin"};
    struct scratch s = scratch_new();
    char *text = scratch_read(&s, FIXTURES "/two-classes.json");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *at = strstr(text, "\"fat\"");
        struct err e;
        struct env_generate g = options(scratch_path(&s, "profile"), 0);
        assert_non_null(at);
        const char *bad = arena_printf(s.arena, "%.*s\"%s\"%s", (int)(at - text), text, names[i], at + 5);
        g.topology = scratch_write(&s, "bad.json", bad, strlen(bad));
        assert_int_equal(run(&g, &e), ERR_FAILED);
        assert_int_not_equal(access(g.out, F_OK), 0);
    }
    scratch_free(&s);
}

/* What a run hands back is what a reader of its profile gets, and nothing after an error. */
TEST_CASE(what_was_made_is_what_was_written)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    struct env_generated made;
    const char *out = scratch_path(&s, "profile");
    struct env_generate g = options(out, 2);
    assert_int_equal(env_generate(&g, &made, NULL, &e), 0);
    struct env_profile *p = env_profile_open(out, &e);
    assert_non_null(p);
    assert_string_equal(made.profile.dir, p->dir);
    assert_string_equal(made.profile.manifest.hash, p->manifest.hash);
    assert_int_equal(made.profile.manifest.nfiles, p->manifest.nfiles);
    assert_true(made.points->count > 0);
    cJSON *mine = env_decisions_json(made.profile.decisions), *theirs = env_decisions_json(p->decisions);
    char *x = cJSON_Print(mine), *y = cJSON_Print(theirs);
    assert_string_equal(x, y);
    cJSON_free(x);
    cJSON_free(y);
    cJSON_Delete(mine);
    cJSON_Delete(theirs);
    env_profile_free(p);
    env_generated_free(&made);
    assert_int_not_equal(run(&g, &e), 0); /* it is complete */
    assert_null(made.profile.decisions);
    env_generated_free(&made);
    scratch_free(&s);
}

TEST_CASE(a_complete_profile_is_immutable)
{
    struct scratch s = scratch_new();
    struct err e;
    const char *out = scratch_path(&s, "profile");
    struct env_generate g = options(out, 1);
    assert_int_equal(run(&g, &e), 0);
    char *before = sums(&s, out);
    g.nresults = 0;
    assert_int_equal(run(&g, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "--force"));
    assert_string_equal(sums(&s, out), before);
    scratch_free(&s);
}

/* Input that lies in the profile already stays where it is, and the rest is built around it. */
/* All files of the profile are there, and it is not complete yet. */
static int check_files(void *user, struct env_profile *p, struct err *e)
{
    int *verdict = user;
    assert_false(env_profile_complete(p->dir));
    assert_int_equal(access(arena_printf(p->arena, "%s/tuner.csv", p->dir), F_OK), 0);
    assert_true(p->manifest.nfiles > 5);
    return *verdict ? err_set(e, *verdict, "slower") : 0;
}

TEST_CASE(what_fails_its_check_is_not_completed)
{
    struct scratch s = scratch_new();
    struct err e;
    int verdict = ERR_FAILED;
    struct env_generate g = options(scratch_path(&s, "profile"), 1);
    g.check = check_files;
    g.user = &verdict;
    assert_int_equal(run(&g, &e), ERR_FAILED);
    assert_string_equal(e.text, "slower");
    assert_false(env_profile_complete(g.out));
    verdict = 0;
    assert_int_equal(run(&g, &e), 0);
    env_profile_free(env_profile_open(g.out, &e));
    assert_true(env_profile_complete(g.out));
    scratch_free(&s);
}

TEST_CASE(input_within_the_profile)
{
    struct scratch s = scratch_new();
    struct err e;
    const char *topology = scratch_path(&s, "topology.json"), *journal = scratch_path(&s, "results.jsonl");
    int code;
    scratch_run(&s, arena_printf(s.arena, "cp " FIXTURES "/topology.json " FIXTURES "/results.jsonl '%s'", s.dir),
                &code);
    struct stat before, after;
    assert_int_equal(stat(journal, &before), 0);
    struct env_generate g = options(s.dir, 1);
    g.topology = topology;
    g.results = &journal;
    assert_int_equal(run(&g, &e), 0);
    assert_int_equal(stat(journal, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    struct env_profile *p = env_profile_open(s.dir, &e);
    assert_non_null(p);
    assert_int_equal(p->manifest.nfiles, 10);
    env_profile_free(p);
    scratch_free(&s);
}

TEST_CASE(results_of_another_topology_need_force)
{
    struct scratch s = scratch_new();
    struct err e;
    static const char foreign[] = "{\"format\": \"nccltune-results/1\", \"topology\": "
                                  "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}\n";
    const char *journal = scratch_write(&s, "foreign", foreign, strlen(foreign));
    struct env_generate g = options(scratch_path(&s, "profile"), 1);
    g.results = &journal;
    assert_int_equal(run(&g, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "another topology"));
    assert_int_not_equal(access(g.out, F_OK), 0);
    g.force = 1;
    assert_int_equal(run(&g, &e), 0);
    assert_int_equal(e.code, 0);
    scratch_free(&s);
}

/* Every kind of bad input leaves a complete profile exactly as it was, and no directory where there was none. */
TEST_CASE(bad_input_changes_nothing)
{
    struct scratch s = scratch_new();
    struct err e;
    const char *out = scratch_path(&s, "profile"), *fresh = scratch_path(&s, "fresh");
    struct env_generate good = options(out, 1);
    assert_int_equal(run(&good, &e), 0);
    char *before = sums(&s, out);
    const char *hostile = "{\"format\": \"nccltune-results/1\", \"topology\": \"\"}\n";
    for (int round = 1; round <= 5; round++)
        hostile = arena_printf(
            s.arena,
            "%s{\"engine\": \"mpi\", \"collective\": \"allreduce\", \"bytes\": 8, \"nodes\": 2, \"ranks\": 2, "
            "\"library\": \"Open MPI 4.1.4\", \"launch\": {\"label\": \"default\", \"settings\": {}}, \"call\": "
            "{\"label\": \"default\", \"settings\": {}}, \"round\": %d, \"status\": \"ok\", \"times_us\": [100]}\n"
            "{\"engine\": \"mpi\", \"collective\": \"allreduce\", \"bytes\": 8, \"nodes\": 2, \"ranks\": 2, "
            "\"library\": \"Open MPI 4.1.4\", \"launch\": {\"label\": \"x\", \"settings\": {\"btl_tcp_if_include\": "
            "\"eth0\\nreboot\"}}, \"call\": {\"label\": \"default\", \"settings\": {}}, \"round\": %d, \"status\": "
            "\"ok\", \"times_us\": [10]}\n",
            hostile, round, round);
    const char *journals[] = {
        scratch_path(&s, "missing"),
        scratch_write(&s, "empty", "", 0),
        scratch_write(&s, "binary", "\0\1\2", 3),
        scratch_write(&s, "hostile", hostile, strlen(hostile)),
        s.dir,
    };
    for (size_t i = 0; i < sizeof journals / sizeof *journals; i++) {
        struct env_generate g = options(out, 1);
        g.results = &journals[i];
        g.force = 1;
        assert_int_equal(run(&g, &e), ERR_FAILED);
        assert_true(*e.text);
        assert_string_equal(sums(&s, out), before);
        g.out = fresh;
        assert_int_equal(run(&g, &e), ERR_FAILED);
        assert_int_not_equal(access(fresh, F_OK), 0);
    }
    struct env_generate g = options(out, 1);
    g.force = 1;
    g.topology = journals[2];
    assert_int_equal(run(&g, &e), ERR_FAILED);
    assert_string_equal(sums(&s, out), before);
    scratch_free(&s);
}

TEST_CASE(a_full_disk_changes_nothing)
{
    struct scratch s = scratch_new();
    struct err e;
    if (geteuid() || mount("none", s.dir, "tmpfs", 0, "size=96k")) {
        scratch_free(&s);
        skip_because("needs root, to mount a small file system");
    }
    const char *out = scratch_path(&s, "profile");
    struct env_generate g = options(out, 0);
    int first = run(&g, &e);
    char *before = sums(&s, out);
    g.nresults = 1;
    g.force = 1;
    int second = run(&g, &e);
    char *after = sums(&s, out);
    struct env_profile *p = env_profile_open(out, NULL);
    umount(s.dir);
    assert_int_equal(first, 0);
    assert_int_equal(second, ERR_FAILED);
    assert_non_null(strstr(e.text, "No space left"));
    assert_string_equal(after, before);
    assert_non_null(p);
    env_profile_free(p);
    scratch_free(&s);
}

TEST_CASE(a_read_only_directory)
{
    struct scratch s = scratch_new();
    struct err e;
    if (geteuid() || mount("none", s.dir, "tmpfs", MS_RDONLY, "")) {
        scratch_free(&s);
        skip_because("needs root, to mount a small file system");
    }
    struct env_generate g = options(scratch_path(&s, "profile"), 1);
    int inside = run(&g, &e);
    g.out = s.dir;
    int itself = run(&g, &e);
    umount(s.dir);
    assert_int_equal(inside, ERR_FAILED);
    assert_int_equal(itself, ERR_FAILED);
    assert_non_null(strstr(e.text, "Read-only file system"));
    scratch_free(&s);
}

TEST_CASES(test_generate)
