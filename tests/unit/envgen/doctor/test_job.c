/* The doctor inside a job: one rank's view. */
#include <dlfcn.h>

#include "core/file.h"
#include "envgen/decide/decide.h"
#include "envgen/doctor/doctor_internal.h"
#include "envgen/generate/generate.h"
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"
#include "tests/unit/slurm/store.h"

#define FIXTURES "tests/fixtures/envgen"
#define PLUGIN   "build/libnccl-tuner-nccltune.so"
#define RULE     "allreduce,0,-1,ring,simple,4,-1,-1\n"

static struct scratch s;
static struct store place; /* /tmp is not trusted */
static struct topology *machine;
static char hash[SHA256_HEX];

/* A profile for hand-written results: it sets NCCL_SOCKET_IFNAME for the one class that there is. */
static int set_up(void **state)
{
    static const char *const results[] = {FIXTURES "/results.jsonl"};
    struct err e = {0};
    s = scratch_new();
    struct env_generate g = {.topology = FIXTURES "/topology.json",
                             .results = results,
                             .nresults = 1,
                             .margin = ENV_MARGIN,
                             .out = scratch_path(&s, "profile")};
    machine = topo_load(FIXTURES "/topology.json", &e);
    int rc = env_generate(&g, NULL, NULL, &e) || !machine;
    return rc || file_sha256(scratch_path(&s, "profile/tuner.csv"), hash, &e);
}

static int tear_down(void **state)
{
    topo_free(machine);
    scratch_free(&s);
    return 0;
}

#define MOST 16
static struct doctor *job(const char *const *settings)
{
    const char *environment[MOST] = {"SLURM_PROCID=3", "SLURM_NTASKS=8", "SLURMD_NODENAME=n7", "PATH=/bin"};
    int n = 4;
    for (; *settings && n + 1 < MOST; settings++)
        environment[n++] = *settings;
    struct doctor_job_options o = {.environment = environment,
                                   .system_conf = scratch_path(&s, "nccl.conf"),
                                   .system_table = scratch_path(&s, "system.csv"),
                                   .run = place.root[0] ? place.root : "/nowhere",
                                   .machine = machine};
    return doctor_job(&o);
}

/* Some line about `subject` is of this kind and holds this text, or is of this id. */
static void expect(const struct doctor *d, const char *subject, enum finding_severity severity, const char *text)
{
    for (int i = 0; i < d->found.n; i++)
        if (!strcmp(d->found.list[i].subject, subject) && d->found.list[i].severity == severity &&
            (strstr(d->found.list[i].text, text) || (d->found.list[i].id && !strcmp(d->found.list[i].id, text))))
            return;
    for (int i = 0; i < d->found.n; i++)
        print_error("%s %s: %s\n", finding_severity_name(d->found.list[i].severity), d->found.list[i].subject,
                    d->found.list[i].text);
    fail_msg("no '%s' %s '%s'", finding_severity_name(severity), subject, text);
}

static const char *set(const char *name, const char *value)
{
    return arena_printf(s.arena, "%s=%s", name, value);
}

static const char *value_in(const void *arg, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *v = arg; *v; v++)
        if (!strncmp(*v, name, n) && (*v)[n] == '=')
            return *v + n + 1;
    return NULL;
}

/* ---- other people's plugins -------------------------------------------------------------------------------------- */

#define VENDOR "build/tests/doubles/vendor_tuner.so"

/* The vendor's variable decides which tuner NCCL loads: our table is not applied, and the doctor says how it would. */
TEST_CASE(a_foreign_tuner_is_named)
{
    const char *profile = set("NCCLTUNE_PROFILE", scratch_path(&s, "profile"));
    const char *const foreign[] = {"NCCL_TUNER_PLUGIN=" VENDOR, profile, NULL};
    struct doctor *d = job(foreign);
    expect(d, "tuner", FINDING_WARNING, "is tuner 'vendor double' and not nccltune's");
    expect(d, "lint", FINDING_WARNING, "NT415");
    doctor_free(d);
    const char *const chained[] = {"NCCL_TUNER_PLUGIN=" PLUGIN, "NCCLTUNE_NEXT_TUNER=" VENDOR, profile, NULL};
    d = job(chained);
    expect(d, "tuner", FINDING_OK, "'vendor double' is asked before the table");
    doctor_free(d);
    const char *const missing[] = {"NCCL_TUNER_PLUGIN=" PLUGIN, "NCCLTUNE_NEXT_TUNER=/nowhere/tuner.so", profile, NULL};
    d = job(missing);
    expect(d, "tuner", FINDING_ERROR, "/nowhere/tuner.so cannot be loaded");
    doctor_free(d);
}

/* `over` as the profile's journal had it, against what this job's NCCL would load. */
static void compare_tuners(const char *over, const char *next, enum finding_severity severity, const char *text)
{
    struct doctor d = {.arena = arena_new()};
    const char *const settings[] = {"NCCL_TUNER_PLUGIN=" PLUGIN, next, NULL};
    d.found.arena = d.arena;
    doctor_check_others(&d, value_in, settings, over, 0);
    expect(&d, "tuner", severity, text);
    arena_free(d.arena);
}

TEST_CASE(a_profile_over_another_tuner)
{
    compare_tuners("tuner vendor double, network vendor network", "NCCLTUNE_NEXT_TUNER=" VENDOR, FINDING_OK,
                   "asked before");
    compare_tuners("tuner vendor double", NULL, FINDING_WARNING,
                   "measured over tuner 'vendor double', and jobs run here over NCCL's own choices");
    compare_tuners("", "NCCLTUNE_NEXT_TUNER=" VENDOR, FINDING_WARNING,
                   "measured over NCCL's own choices, and jobs run here over tuner 'vendor double'");
    compare_tuners("tuner other", "NCCLTUNE_NEXT_TUNER=" VENDOR, FINDING_WARNING, "over tuner 'other', and jobs");
    compare_tuners(NULL, "NCCLTUNE_NEXT_TUNER=" VENDOR, FINDING_OK, "asked before");
}

/* The double's network interface is version 8: NCCL 2.19 takes 5 to 7, 2.30 takes 6 to 12. */
TEST_CASE(network_plugins_by_release)
{
    static const struct {
        const char *nccl;
        enum finding_severity severity;
        const char *text;
    } cases[] = {{"21903", FINDING_ERROR, "has interface 8, and NCCL takes 5, 6, 7"},
                 {"22005", FINDING_OK, "plugin vendor network"},
                 {"23007", FINDING_OK, "plugin vendor network"}};
    static const char *const named[] = {"NCCL_NET_PLUGIN=" VENDOR, NULL};
    static const char *const absent[] = {"NCCL_NET_PLUGIN=nobody", NULL};
    void *nccl = dlopen("build/tests/doubles/lib/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(nccl);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("NCCL_DOUBLE_VERSION", cases[i].nccl, 1);
        struct doctor *d = job(named);
        expect(d, "network", cases[i].severity, cases[i].text);
        doctor_free(d);
    }
    struct doctor *d = job(absent);
    expect(d, "network", FINDING_WARNING, "NCCL_NET_PLUGIN=nobody cannot be loaded");
    doctor_free(d);
    unsetenv("NCCL_DOUBLE_VERSION");
    dlclose(nccl);
}

TEST_CASE(nothing_is_pinned)
{
    static const char *const none[] = {NULL};
    struct doctor *d = job(none);
    expect(d, "rank", FINDING_OK, "3 of 8, on n7");
    expect(d, "profile", FINDING_NOTE, "none is pinned");
    expect(d, "plugin", FINDING_NOTE, "NCCL_TUNER_PLUGIN is not set");
    assert_int_equal(finding_count(d->found.list, d->found.n, FINDING_ERROR), 0);
    doctor_free(d);
}

/* What the prolog left on this node against what this rank has. */
TEST_CASE(what_was_decided)
{
    const char *mine = set("NCCLTUNE_HASH", hash);
    const struct {
        const char *answer, *settings[3];
        enum finding_severity severity;
        const char *text;
    } cases[] = {
        {NULL, {NULL}, FINDING_ERROR, "no job prolog of nccltune has decided"},
        {"state profile\n", {NULL}, FINDING_ERROR, "has no end"},
        {"state nothing\nwhy two kinds of nodes\nend\n", {NULL}, FINDING_NOTE, "gets nothing: two kinds of nodes"},
        {"state unknown\nwhy no store\nend\n", {NULL}, FINDING_ERROR, "cannot decide what the job gets: no store"},
        {"state profile\ntable TABLE\nend\n", {NULL}, FINDING_ERROR, "is without: no task prolog"},
        {"state profile\ntable TABLE\nend\n", {"NCCLTUNE_SET=NCCLTUNE_JOB=7:-"}, FINDING_ERROR, "first node had none"},
        {"state profile\ntable TABLE\nend\n", {"NCCL_TUNER_PLUGIN=x"}, FINDING_ERROR, "a table of your own"},
        {"state profile\ntable TABLE\nend\n", {mine}, FINDING_OK, "the job has profile"},
    };
    if (store_new(&place) || getuid() != 0) {
        store_free(&place);
        skip_because(NEEDS_OWN_STORE);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *settings[] = {"SLURM_JOB_ID=7", cases[i].settings[0], cases[i].settings[1], NULL};
        if (cases[i].answer) {
            const char *at = strstr(cases[i].answer, "TABLE");
            const char *text = at ? arena_printf(s.arena, "nccltune-job/1\n%.*s%s%s", (int)(at - cases[i].answer),
                                                 cases[i].answer, hash, at + 5)
                                  : arena_printf(s.arena, "nccltune-job/1\n%s", cases[i].answer);
            store_write(&place, "7", text);
        }
        struct doctor *d = job(settings);
        expect(d, "prolog", cases[i].severity, cases[i].text);
        doctor_free(d);
    }
    static const char *const refused[] = {"SLURM_JOB_ID=7", "NCCLTUNE_REFUSE=node n7 cannot tell", NULL};
    struct doctor *d = job(refused);
    expect(d, "refused", FINDING_ERROR, "NCCL will not start: node n7 cannot tell");
    doctor_free(d);
    store_free(&place);
}

TEST_CASE(all_is_well)
{
    const char *dir = scratch_path(&s, "profile"), *plugin = scratch_path(&s, "plugin.so");
    char *real = realpath(PLUGIN, NULL);
    if (!real)
        skip_because("no plugin was built: " PLUGIN);
    assert_int_equal(symlink(real, plugin), 0);
    free(real);
    const char *const settings[] = {
        set("NCCL_TUNER_PLUGIN", plugin),
        set("NCCLTUNE_PROFILE", dir),
        set("NCCLTUNE_HASH", hash),
        "NCCL_SOCKET_IFNAME==eth0",
        arena_printf(s.arena, "NCCLTUNE_SET=NCCL_SOCKET_IFNAME==eth0|NCCLTUNE_PROFILE=%s|NCCLTUNE_HASH=%s", dir, hash),
        NULL};
    struct doctor *d = job(settings);
    expect(d, "profile", FINDING_OK, "set by a hook");
    expect(d, "plugin", FINDING_OK, "tuner interfaces v1 to v");
    expect(d, "table", FINDING_OK, "0 broken lines");
    expect(d, "hash", FINDING_OK, "the one that NCCLTUNE_HASH pins");
    expect(d, "machine", FINDING_OK, "class0");
    expect(d, "setting", FINDING_OK, "no setting of the profile is overridden");
    assert_int_equal(finding_count(d->found.list, d->found.n, FINDING_ERROR), 0);
    doctor_free(d);
}

/* The profile is of one node. */
TEST_CASE(what_there_is_evidence_for)
{
    static const struct {
        const char *nodes, *text;
        enum finding_severity severity;
    } rows[] = {{"1", "measured on 1 node, this job has 1; ", FINDING_OK},
                {"4", "measured on no more than 1 node, and this job has 4; 0 of the table's", FINDING_NOTE}};
    for (int i = 0; i < 2; i++) {
        struct doctor *d = job((const char *const[]){set("NCCLTUNE_PROFILE", scratch_path(&s, "profile")),
                                                     set("SLURM_STEP_NUM_NODES", rows[i].nodes), NULL});
        expect(d, "evidence", rows[i].severity, rows[i].text);
        doctor_free(d);
    }
}

TEST_CASE(much_is_wrong)
{
    const char *const settings[] = {"NCCL_TUNER_PLUGIN=/nonexistent/plugin.so",
                                    set("NCCLTUNE_PROFILE", scratch_path(&s, "profile")),
                                    "NCCLTUNE_HASH=0123456789abcdef0123",
                                    "NCCL_SOCKET_IFNAME=ib0",
                                    "NCCL_IB_TIMEOUT=300",
                                    "NCCL_ALGO=Ring",
                                    NULL};
    struct doctor *d = job(settings);
    expect(d, "profile", FINDING_OK, "set by hand");
    expect(d, "plugin", FINDING_ERROR, "/nonexistent/plugin.so cannot be loaded");
    expect(d, "hash", FINDING_ERROR, "NCCL will refuse to start");
    expect(d, "setting", FINDING_NOTE, "NCCL_SOCKET_IFNAME is ib0; the profile has =eth0: yours wins");
    expect(d, "lint", FINDING_ERROR, "NCCL_IB_TIMEOUT=300");
    expect(d, "lint", FINDING_WARNING, "NT401");
    assert_int_equal(finding_count(d->found.list, d->found.n, FINDING_ERROR), 3);
    doctor_free(d);
}

/* Fewer digits than the plugin takes are no hash, and a value is not the one that the hook has set a part of. */
TEST_CASE(nearly_right)
{
    const char *dir = scratch_path(&s, "profile");
    const char *const settings[] = {
        set("NCCLTUNE_PROFILE", dir),
        arena_printf(s.arena, "NCCLTUNE_HASH=%.15s", hash),
        arena_printf(s.arena, "NCCLTUNE_SET=NCCLTUNE_PROFILE=%.*s", (int)strlen(dir) - 1, dir),
        "NCCL_TUNER_PLUGIN=nccltune",
        "NCCL_IB_TIMEOUT=300",
        "NCCL_IB_TIMEOUT=301",
        NULL};
    struct doctor *d = job(settings);
    expect(d, "profile", FINDING_OK, "set by hand");
    expect(d, "hash", FINDING_ERROR, "NCCL will refuse to start");
    expect(d, "lint", FINDING_ERROR, "NCCL_IB_TIMEOUT=300");                      /* as getenv has it */
    assert_int_equal(finding_count(d->found.list, d->found.n, FINDING_ERROR), 3); /* the plugin cannot be loaded */
    doctor_free(d);
    const char *whole[] = {set("NCCLTUNE_PROFILE", dir), arena_printf(s.arena, "NCCLTUNE_HASH=sha256:%.16s", hash),
                           "NCCL_TUNER_PLUGIN=nccltune", NULL};
    d = job(whole);
    expect(d, "hash", FINDING_OK, "the one that NCCLTUNE_HASH pins");
    doctor_free(d);
    whole[2] = "NCCL_TUNER_PLUGIN=none";
    d = job(whole);
    expect(d, "hash", FINDING_NOTE, "no plugin reads it");
    doctor_free(d);
}

/* A node with another CPU than any class of the profile, but its GPUs and rails. */
TEST_CASE(nearly_the_machine)
{
    const char *const settings[] = {set("NCCLTUNE_PROFILE", scratch_path(&s, "profile")), NULL};
    const char *cpu = machine->classes[0].cpu;
    machine->classes[0].cpu = "GenuineIntel 6/1, another";
    struct doctor *d = job(settings);
    machine->classes[0].cpu = cpu;
    expect(d, "machine", FINDING_NOTE, "has the GPUs and rails of class0");
    expect(d, "changed", FINDING_WARNING, "CPU GenuineIntel 6/1, another instead of ");
    doctor_free(d);
}

/* What may change without making another machine of it: driver, NCCL and container, as a job with another image sees.
 */
TEST_CASE(changed_since_it_was_measured)
{
    static const char *libraries[] = {"NCCL 2.30.7 /opt/nccl/libnccl.so.2"};
    const char *const own[] = {set("NCCLTUNE_PROFILE", scratch_path(&s, "profile")), NULL};
    struct topo_class *c = &machine->classes[0];
    const struct topo_class before = *c;
    struct doctor *d = job(own);
    for (int i = 0; i < d->found.n; i++)
        assert_string_not_equal(d->found.list[i].subject, "changed");
    doctor_free(d);
    c->libraries = libraries;
    c->nlibraries = 1;
    c->memlock_bytes = 65536; /* is another in every shell */
    d = job(own);
    expect(d, "machine", FINDING_OK, "class0");
    expect(d, "changed", FINDING_WARNING,
           "measured: libraries NCCL 2.30.7 /opt/nccl/libnccl.so.2 instead of unknown; verify it again");
    doctor_free(d);
    c->driver = "560.28.03";
    d = job(own);
    *c = before;
    expect(d, "machine", FINDING_NOTE, "class0");
    expect(d, "changed", FINDING_WARNING, "GPU driver 560.28.03 instead of unknown; libraries NCCL 2.30.7");
    doctor_free(d);
}

/* torchrun under srun: one task of Slurm's a node, several ranks in it. */
TEST_CASE(ranks_of_torchrun)
{
    static const char *const settings[] = {"RANK=17", "WORLD_SIZE=32", NULL};
    struct doctor *d = job(settings);
    expect(d, "rank", FINDING_OK, "17 of 32, on n7");
    doctor_free(d);
}

TEST_CASE(broken_profiles)
{
    const char *const relative[] = {"NCCLTUNE_PROFILE=profile", NULL};
    struct doctor *d = job(relative);
    expect(d, "profile", FINDING_ERROR, "not an absolute path");
    doctor_free(d);
    scratch_write(&s, "profile/tuner.csv", RULE, strlen(RULE));
    const char *const changed[] = {set("NCCLTUNE_PROFILE", scratch_path(&s, "profile")), NULL};
    d = job(changed);
    expect(d, "profile", FINDING_ERROR, "differs from the manifest");
    expect(d, "hash", FINDING_NOTE, "NCCLTUNE_HASH is not set");
    doctor_free(d);
    const char *const off[] = {"NCCLTUNE=off", "NCCL_TUNER_PLUGIN=/nonexistent", NULL};
    d = job(off);
    expect(d, "profile", FINDING_NOTE, "NCCLTUNE=off");
    assert_int_equal(finding_count(d->found.list, d->found.n, FINDING_ERROR), 0);
    doctor_free(d);
}

/* The first to name a variable wins: the environment, the user's file, the system's. */
TEST_CASE(files_count_as_nccl_reads_them)
{
    static const char user[] = "NCCL_IB_TIMEOUT=301\nNCCL_IB_SL=302\n", site[] = "NCCL_IB_SL=303\nNCCL_IB_TC=304\n";
    const char *const settings[] = {"NCCL_IB_TIMEOUT=300",
                                    set("NCCL_CONF_FILE", scratch_write(&s, "user.conf", user, sizeof user - 1)), NULL};
    scratch_write(&s, "nccl.conf", site, sizeof site - 1);
    struct doctor *d = job(settings);
    expect(d, "lint", FINDING_ERROR, "NCCL_IB_TIMEOUT=300");
    expect(d, "lint", FINDING_ERROR, "NCCL_IB_SL=302");
    expect(d, "lint", FINDING_ERROR, "NCCL_IB_TC=304");
    doctor_free(d);
}

TEST_CASES_EACH(test_job, set_up, tear_down)
