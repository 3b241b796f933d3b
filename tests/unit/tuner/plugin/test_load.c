/* Where the plugin finds its table, when it refuses one, and what it says in the log. */
#include <limits.h>
#include <sys/stat.h>

#include "core/hash.h"
#include "tests/unit/tuner/loader_double.h"
#include "tuner/table/index.h"

static char plugin_path[PATH_MAX];

static const char rule[] = "allreduce,0,-1,tree,simple,8,-1,-1\n";

static int table_is_used(const struct loader *l)
{
    struct question q = question(COLL_ALLREDUCE, 4096);
    CHECK(ask(l, &q) == NCCLTUNE_SUCCESS);
    CHECK((q.algo == ALGO_TREE && q.channels == 8) || (q.algo == ALGO_RING && q.channels == 0));
    return q.algo == ALGO_TREE;
}

static int opens(struct loader *l)
{
    *l = load(NCCL_2_28);
    return init(l, 16, 2, NULL, NULL);
}

static int says(const char *text)
{
    return strstr(logged.text, text) != NULL;
}

/* ---- sources --------------------------------------------------------------------------------------------------- */

static void an_empty_hash_is_none(int unused)
{
    (void)unused;
    struct loader l;
    use_table(rule);
    setenv("NCCLTUNE_HASH", "", 1);
    CHECK(opens(&l) == 0 && table_is_used(&l) && logged.warnings == 0);
}

static void profile_comes_first(int unused)
{
    (void)unused;
    struct loader l;
    use_table(rule);
    setenv("NCCL_TUNER_CONFIG_FILE", "/nonexistent/tuner.csv", 1);
    setenv("NCCLTUNE_PROFILE", table_dir, 1);
    CHECK(opens(&l) == 0 && table_is_used(&l) && logged.warnings == 0);
}

/* Not even when there is a good table further down: ranks that can read the first would decide differently. */
static void a_named_table_is_the_only_one(int unused)
{
    (void)unused;
    struct loader l;
    use_table(rule);
    setenv("NCCLTUNE_PROFILE", "/nonexistent", 1);
    CHECK(opens(&l) == 0 && !table_is_used(&l));
    CHECK(logged.warnings == 1 && says("/nonexistent/tuner.csv"));
}

/* A directory's path that leaves no room for the file, said as what it is. */
static void a_path_can_be_too_long(int unused)
{
    (void)unused;
    struct loader l;
    char path[8192];
    use_table(rule);
    memset(path, 'd', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = 0;
    setenv("NCCLTUNE_PROFILE", path, 1);
    CHECK(opens(&l) == 0 && !table_is_used(&l));
    CHECK(logged.warnings == 1 && says("NCCLTUNE_PROFILE is longer than a path can be"));
}

/* The end of a directory is wherever its file system likes. */
static void a_directory_is_no_table(int unused)
{
    (void)unused;
    struct loader l;
    setenv("NCCL_TUNER_CONFIG_FILE", "/tmp", 1);
    CHECK(opens(&l) == 0 && !table_is_used(&l));
    CHECK(logged.warnings == 1 && says("cannot read /tmp: it is a directory; name the tuner.csv in it"));
}

static void relative_paths_are_refused(int unused)
{
    (void)unused;
    struct loader l;
    use_table(rule);
    CHECK(chdir(table_dir) == 0);
    setenv("NCCL_TUNER_CONFIG_FILE", "tuner.csv", 1);
    setenv("NCCLTUNE_PLUGIN_SO", plugin_path, 1);
    CHECK(opens(&l) == 0 && !table_is_used(&l) && logged.warnings == 1 && says("absolute path"));
}

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 22];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    CHECK(in && out);
    size_t n = fread(bytes, 1, sizeof bytes, in);
    CHECK(n > 0 && n < sizeof bytes && fwrite(bytes, 1, n, out) == n && fclose(out) == 0);
    fclose(in);
}

static char copied[128];

static void remove_copy(void)
{
    unlink(copied);
}

static void looks_beside_itself(int unused)
{
    (void)unused;
    struct loader l;
    use_table(rule);
    unsetenv("NCCL_TUNER_CONFIG_FILE");
    snprintf(copied, sizeof copied, "%s/libnccl-tuner-nccltune.so", table_dir);
    copy(plugin_path, copied);
    atexit(remove_copy);
    setenv("NCCLTUNE_PLUGIN_SO", copied, 1);
    CHECK(opens(&l) == 0 && table_is_used(&l) && says(table_path));
}

/* The table lies beside the plugin and in the current directory, but the plugin was loaded by a relative name. */
static void never_reads_the_current_directory(int unused)
{
    (void)unused;
    struct loader l;
    use_table(rule);
    unsetenv("NCCL_TUNER_CONFIG_FILE");
    snprintf(copied, sizeof copied, "%s/libnccl-tuner-nccltune.so", table_dir);
    copy(plugin_path, copied);
    atexit(remove_copy);
    CHECK(chdir(table_dir) == 0);
    setenv("NCCLTUNE_PLUGIN_SO", "./libnccl-tuner-nccltune.so", 1);
    CHECK(opens(&l) == 0);
    CHECK(!says(table_path) && !says("./tuner.csv"));
}

/* Most places are looked at in vain, which is nobody's fault; with a hash it is. */
static void no_table_is_no_fault(int with_hash)
{
    struct loader l;
    clear_environment();
    if (access("/etc/nccltune/tuner.csv", F_OK) == 0)
        return;
    if (with_hash)
        setenv("NCCLTUNE_HASH", "0123456789abcdef", 1);
    CHECK(opens(&l) == (with_hash ? NCCLTUNE_INVALID_USAGE : NCCLTUNE_SUCCESS));
    CHECK(logged.warnings == with_hash && says(with_hash ? "but there is no table" : "no table found"));
}

static void off_is_off(int unused)
{
    (void)unused;
    struct loader l;
    use_table(rule);
    setenv("NCCLTUNE", "off", 1);
    setenv("NCCLTUNE_HASH", "0123456789abcdef", 1);
    CHECK(opens(&l) == 0 && !table_is_used(&l) && logged.warnings == 0 && logged.infos == 1);
}

/* ---- bad tables ------------------------------------------------------------------------------------------------ */

static void unreadable_tables_are_left_alone(int kind)
{
    struct loader l;
    use_table(rule);
    unlink(table_path);
    if (kind == 0)
        CHECK(mkfifo(table_path, 0600) == 0); /* would block a reader */
    else if (kind == 1)
        CHECK(mkdir(table_path, 0700) == 0);
    else if (kind == 2)
        CHECK(fclose(fopen(table_path, "w")) == 0);
    else if (kind == 3)
        write_table("allreduce\0,0", 12);
    else if (kind == 4)
        CHECK(fclose(fopen(table_path, "w")) == 0 && truncate(table_path, (off_t)1 << 30) == 0);
    else if (kind == 5)
        write_table("nonsense\nmore of it\n", 20);
    else if (kind == 6)
        write_table("# nccltune-tuner/2\nallreduce,0,-1,tree,simple,8,-1,-1\n", 54);
    else if (kind == 7)
        write_table("allreduce,0,-1,tree,simple,8,-1,-1\n# nccltune-tuner/2\n", 54);
    else
        setenv("NCCL_TUNER_CONFIG_FILE", kind == 8 ? "/dev/null" : "/dev/zero", 1);
    CHECK(opens(&l) == 0 && !table_is_used(&l));
    CHECK(logged.warnings == (kind == 5 ? 3 : 1) && says("NCCL's own choices stay"));
    CHECK(init(&l, 8, 1, NULL, NULL) == 0 && logged.warnings == (kind == 5 ? 3 : 1)); /* once a process */
    rmdir(table_path);
}

static void broken_lines_are_named_and_capped(int unused)
{
    static const char broken[] = "allreduce,0,-1,warp,simple,8,-1,-1\n";
    (void)unused;
    char text[4096], want[192];
    size_t used = 0;
    struct loader l;
    for (int i = 0; i <= 50; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", i < 50 ? broken : rule);
    use_table(text);
    CHECK(opens(&l) == 0 && table_is_used(&l));
    CHECK(logged.warnings == 21 && says("30 more lines"));
    snprintf(want, sizeof want, "%s:20:16: algorithm is \"warp\", expected", table_path);
    CHECK(says(want) && !says("tuner.csv:21:") && says("1 rule (50 lines skipped)"));
}

static void the_log_is_short(int unused)
{
    (void)unused;
    struct loader l;
    char hash[SHA256_HEX];
    use_table(rule);
    sha256_of(rule, strlen(rule), hash);
    hash[12] = 0;
    CHECK(opens(&l) == 0 && logged.infos == 1 && logged.warnings == 0);
    CHECK(says(table_path) && says(hash) && says("1 rule,") && says("2 nodes, 16 ranks"));
    for (int i = 0; i < 1000; i++)
        CHECK(table_is_used(&l));
    CHECK(logged.infos == 1 && logged.warnings == 0 && logged.others == 0);
}

/* ---- NCCLTUNE_HASH --------------------------------------------------------------------------------------------- */

enum {
    HASH_WHOLE,
    HASH_SHORT,
    HASH_NAMED,
    HASH_UPPER,
    HASH_TOO_SHORT,
    HASH_OTHER,
    HASH_FIRST,
    HASH_TOO_LONG,
    HASH_NO_TABLE
};

static void hash_decides(int kind)
{
    char hash[SHA256_HEX], value[128];
    struct loader l;
    use_table(rule);
    sha256_of(rule, strlen(rule), hash);
    if (kind == HASH_SHORT || kind == HASH_NAMED || kind == HASH_UPPER)
        hash[16] = 0;
    if (kind == HASH_TOO_SHORT)
        hash[15] = 0;
    char *other = kind == HASH_OTHER ? &hash[3] : kind == HASH_FIRST ? &hash[0] : NULL;
    if (other)
        *other = *other == '0' ? '1' : '0';
    for (char *c = hash; kind == HASH_UPPER && *c; c++)
        if (*c >= 'a')
            *c -= 'a' - 'A';
    snprintf(value, sizeof value, "%s%s%s", kind == HASH_NAMED ? "sha256:" : "", hash,
             kind == HASH_TOO_LONG ? "0" : "");
    setenv("NCCLTUNE_HASH", value, 1);
    if (kind == HASH_NO_TABLE)
        setenv("NCCL_TUNER_CONFIG_FILE", "/nonexistent/tuner.csv", 1);
    int rc = opens(&l);
    if (kind <= HASH_UPPER) {
        CHECK(rc == NCCLTUNE_SUCCESS && table_is_used(&l));
        return;
    }
    CHECK(rc == NCCLTUNE_INVALID_USAGE && !l.context && logged.warnings == 1 && says("NCCLTUNE_HASH"));
    CHECK(init(&l, 8, 1, NULL, NULL) == NCCLTUNE_INVALID_USAGE); /* every communicator, not only the first */
    struct loader oldest = load(NCCL_2_19);
    CHECK(init(&oldest, 8, 1, NULL, NULL) == NCCLTUNE_INVALID_USAGE);
    CHECK(destroy(&l) == NCCLTUNE_SUCCESS);
}

/* ---- the prepared form ----------------------------------------------------------------------------------------- */

static char prepared_path[128];

static void remove_prepared(void)
{
    unlink(prepared_path);
}

/* tuner.bin of `text` beside the table, and its hash pinned. */
static void use_prepared(const char *text)
{
    char hash[SHA256_HEX];
    struct tuner_table t;
    size_t bytes = 0;
    sha256_of(text, strlen(text), hash);
    CHECK(!tuner_table_parse(&t, text, strlen(text), NULL, NULL));
    void *data = tuner_binary_make(&t, hash, &bytes);
    tuner_table_free(&t);
    snprintf(prepared_path, sizeof prepared_path, "%s/tuner.bin", table_dir);
    FILE *f = fopen(prepared_path, "w");
    CHECK(data && f && fwrite(data, 1, bytes, f) == bytes && !fclose(f) && !chmod(prepared_path, 0644));
    free(data);
    atexit(remove_prepared);
}

enum {
    PREPARED_PINNED,
    PREPARED_LARGE,
    PREPARED_NOT_PINNED,
    PREPARED_STALE,
    PREPARED_WRITABLE,
    PREPARED_OF_ANOTHER_USER,
    PREPARED_LINK,
    PREPARED_DAMAGED,
    PREPARED_KINDS
};

/* Where it is the pinned table and nobody else can have written it, tuner.csv is not even read; else it is all there
 * is.
 */
static void the_prepared_form_spares_the_text(int kind)
{
    static char text[1 << 20];
    char hash[SHA256_HEX], elsewhere[160];
    struct loader l;
    size_t used = (size_t)snprintf(text, sizeof text, "%s", rule);
    for (int i = 0; kind == PREPARED_LARGE && i < 12000; i++) /* mapped */
        used += (size_t)snprintf(text + used, sizeof text - used, "reduce,%d,%d,ring,ll,%d,2,16\n", 100 * i,
                                 100 * i + 50, 1 + i % 32);
    use_table(text);
    sha256_of(text, strlen(text), hash);
    use_prepared(kind == PREPARED_STALE ? "allreduce,0,-1,ring,ll,1,-1,-1\n" : text);
    if (kind != PREPARED_NOT_PINNED)
        setenv("NCCLTUNE_HASH", hash, 1);
    if (kind == PREPARED_WRITABLE)
        CHECK(!chmod(prepared_path, 0664));
    if (kind == PREPARED_OF_ANOTHER_USER && chown(prepared_path, 12345, 12345))
        exit(0); /* only root can try */
    if (kind == PREPARED_DAMAGED)
        CHECK(!truncate(prepared_path, 700));
    snprintf(elsewhere, sizeof elsewhere, "%s/other", table_dir);
    if (kind == PREPARED_LINK)
        CHECK(!rename(prepared_path, elsewhere) && !symlink(elsewhere, prepared_path));
    int is_used = kind <= PREPARED_LARGE;
    if (is_used)
        unlink(table_path);
    CHECK(opens(&l) == NCCLTUNE_SUCCESS && table_is_used(&l) && logged.warnings == 0);
    CHECK(says("/tuner.bin: ") == is_used && says("/tuner.csv: ") == !is_used);
    CHECK(kind == PREPARED_LARGE ? says("12001 rules") : says("1 rule,"));
    unlink(elsewhere);
}

/* What a Slurm hook says where it could not tell what the job gets, table or not. */
static void refuses_with_the_hooks_sentence(int with_table)
{
    struct loader l;
    if (with_table)
        use_table(rule);
    setenv("NCCLTUNE_REFUSE", "node n1 cannot tell", 1);
    CHECK(opens(&l) == NCCLTUNE_INVALID_USAGE && !l.context && logged.warnings == 1 && says("node n1 cannot tell"));
    CHECK(destroy(&l) == NCCLTUNE_SUCCESS);
}

/* ---- NCCL versions --------------------------------------------------------------------------------------------- */

static const char *double_path(void)
{
    const char *path = getenv("NCCLTUNE_FAKE_NCCL");
    return path ? path : "build/tests/doubles/fake_nccl.so";
}

static void *double_library(const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(lib);
    return lib;
}

/* init as called by a library that says it is NCCL `version`. */
static int opens_in_nccl(struct loader *l, int version)
{
    void *nccl = double_library(double_path());
    void (*set_version)(int);
    int (*init_there)(const struct nccl_tuner_v5 *, void **, nccl_logger);
    *(void **)&set_version = dlsym(nccl, "fake_nccl_set_version");
    *(void **)&init_there = dlsym(nccl, "fake_nccl_init");
    CHECK(set_version && init_there);
    set_version(version);
    *l = load(NCCL_2_28);
    return init_there(l->tuner, &l->context, remember);
}

static const char versioned[] = "# nccltune-tuner/1\n# nccl: 2.27, 2.28\nallreduce,0,-1,tree,simple,8,-1,-1\n";

static void a_measured_version_fits(int unused)
{
    (void)unused;
    struct loader l;
    use_table(versioned);
    CHECK(opens_in_nccl(&l, 22809) == 0 && table_is_used(&l) && says("NCCL 2.28") && logged.warnings == 0);
}

static void another_version_makes_it_inert(int unused)
{
    (void)unused;
    struct loader l;
    use_table(versioned);
    CHECK(opens_in_nccl(&l, 23007) == 0 && !table_is_used(&l));
    CHECK(logged.warnings + logged.infos == 1 && says("NCCL 2.30"));
    CHECK(init(&l, 8, 1, NULL, NULL) == 0 && logged.warnings + logged.infos == 1);
}

/* A table for any release holds for those that the plugin was tested with, and one that names its release for that. */
static void an_untested_version_makes_it_inert(int which)
{
    static const struct {
        int version, is_used;
        const char *table, *any;
    } cases[] = {
        {23007, 1, "allreduce,0,-1,tree,simple,8,-1,-1\n", "0"},
        {23100, 0, "allreduce,0,-1,tree,simple,8,-1,-1\n", "0"},
        {30000, 0, "allreduce,0,-1,tree,simple,8,-1,-1\n", "0"},
        {23100, 1, "allreduce,0,-1,tree,simple,8,-1,-1\n", "1"},
        {23100, 1, "# nccl: 2.31\nallreduce,0,-1,tree,simple,8,-1,-1\n", "0"},
    };
    struct loader l;
    use_table(cases[which].table);
    setenv("NCCLTUNE_ANY_VERSION", cases[which].any, 1);
    CHECK(opens_in_nccl(&l, cases[which].version) == 0 && table_is_used(&l) == cases[which].is_used);
    CHECK(says("newer than the tested releases, up to 2.30") == !cases[which].is_used);
    CHECK(logged.warnings == !cases[which].is_used);
    CHECK(opens_in_nccl(&l, cases[which].version) == 0 && logged.warnings == !cases[which].is_used);
}

static void any_version_can_be_allowed(int unused)
{
    (void)unused;
    struct loader l;
    use_table(versioned);
    setenv("NCCLTUNE_ANY_VERSION", "1", 1);
    CHECK(opens_in_nccl(&l, 23007) == 0 && table_is_used(&l));
}

static void an_unknown_version_fits(int unused)
{
    (void)unused;
    struct loader l;
    use_table(versioned);
    CHECK(opens(&l) == 0 && table_is_used(&l) && says("unknown version"));
}

/* NCCL linked into something that hides its symbols, while one libnccl is loaded. */
static void the_only_nccl_loaded_tells(int unused)
{
    (void)unused;
    struct loader l;
    use_table(versioned);
    int (*get_version)(int *), version = 0;
    *(void **)&get_version = dlsym(double_library(double_path()), "ncclGetVersion");
    CHECK(get_version && get_version(&version) == 0 && version == 22809);
    CHECK(opens(&l) == 0 && table_is_used(&l) && says("NCCL 2.28"));
}

/* Two NCCLs in one process, as Python packages bring them along: the one that calls counts. */
static void the_calling_nccl_counts(int version)
{
    struct loader l;
    use_table(versioned);
    snprintf(copied, sizeof copied, "%s/libother_nccl.so", table_dir);
    copy(double_path(), copied);
    atexit(remove_copy);
    void (*set_version)(int);
    *(void **)&set_version = dlsym(double_library(copied), "fake_nccl_set_version");
    CHECK(set_version);
    set_version(version ? 22809 : 23007);
    CHECK(opens_in_nccl(&l, version ? 23007 : 22809) == 0 && table_is_used(&l) == !version);
}

static void an_unfit_version_is_no_error_with_a_hash(int unused)
{
    (void)unused;
    struct loader l;
    char hash[SHA256_HEX];
    use_table(versioned);
    sha256_of(versioned, strlen(versioned), hash);
    setenv("NCCLTUNE_HASH", hash, 1);
    CHECK(opens_in_nccl(&l, 23007) == NCCLTUNE_SUCCESS && !table_is_used(&l));
}

/* ---- once a process, and again after NCCL has unloaded the plugin ---------------------------------------------- */

static void the_file_is_read_once(int unused)
{
    (void)unused;
    struct loader l;
    use_table(rule);
    CHECK(opens(&l) == 0);
    write_table("allreduce,0,-1,ring,ll,-1,-1,-1\n", 32);
    CHECK(init(&l, 64, 8, NULL, NULL) == 0 && table_is_used(&l));
}

static void unloading_starts_afresh(int unused)
{
    (void)unused;
    use_table(rule);
    for (int i = 0; i < 3; i++) {
        const char *path = getenv("NCCLTUNE_PLUGIN_SO");
        void *lib = dlopen(path ? path : "build/libnccl-tuner-nccltune.so", RTLD_NOW | RTLD_LOCAL);
        CHECK(lib);
        struct loader l = {.minor = NCCL_2_28, .api = 5, .tuner = dlsym(lib, "ncclTunerPlugin_v5")};
        CHECK(init(&l, 16, 2, NULL, NULL) == 0 && table_is_used(&l) == (i != 1));
        CHECK(destroy(&l) == 0);
        dlclose(lib);
        write_table(i == 0 ? "\n" : rule, i == 0 ? 1 : strlen(rule));
    }
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

#define TEST(function, kinds)                      \
    static void test_##function(void **unused)     \
    {                                              \
        (void)unused;                              \
        for (int kind = 0; kind < (kinds); kind++) \
            in_child(function, kind);              \
    }

TEST(profile_comes_first, 1)
TEST(an_empty_hash_is_none, 1)
TEST(a_named_table_is_the_only_one, 1)
TEST(a_directory_is_no_table, 1)
TEST(relative_paths_are_refused, 1)
TEST(a_path_can_be_too_long, 1)
TEST(looks_beside_itself, 1)
TEST(never_reads_the_current_directory, 1)
TEST(no_table_is_no_fault, 2)
TEST(off_is_off, 1)
TEST(unreadable_tables_are_left_alone, 10)
TEST(broken_lines_are_named_and_capped, 1)
TEST(the_log_is_short, 1)
TEST(hash_decides, HASH_NO_TABLE + 1)
TEST(the_prepared_form_spares_the_text, PREPARED_KINDS)
TEST(refuses_with_the_hooks_sentence, 2)
TEST(a_measured_version_fits, 1)
TEST(another_version_makes_it_inert, 1)
TEST(an_untested_version_makes_it_inert, 5)
TEST(any_version_can_be_allowed, 1)
TEST(an_unknown_version_fits, 1)
TEST(the_only_nccl_loaded_tells, 1)
TEST(the_calling_nccl_counts, 2)
TEST(an_unfit_version_is_no_error_with_a_hash, 1)
TEST(the_file_is_read_once, 1)
TEST(unloading_starts_afresh, 1)

int test_load(void)
{
    const char *plugin = getenv("NCCLTUNE_PLUGIN_SO");
    if (!realpath(plugin ? plugin : "build/libnccl-tuner-nccltune.so", plugin_path))
        fprintf(stderr, "no plugin at %s\n", plugin_path);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile_comes_first),
        cmocka_unit_test(test_an_empty_hash_is_none),
        cmocka_unit_test(test_a_named_table_is_the_only_one),
        cmocka_unit_test(test_a_directory_is_no_table),
        cmocka_unit_test(test_relative_paths_are_refused),
        cmocka_unit_test(test_a_path_can_be_too_long),
        cmocka_unit_test(test_looks_beside_itself),
        cmocka_unit_test(test_never_reads_the_current_directory),
        cmocka_unit_test(test_no_table_is_no_fault),
        cmocka_unit_test(test_off_is_off),
        cmocka_unit_test(test_unreadable_tables_are_left_alone),
        cmocka_unit_test(test_broken_lines_are_named_and_capped),
        cmocka_unit_test(test_the_log_is_short),
        cmocka_unit_test(test_hash_decides),
        cmocka_unit_test(test_the_prepared_form_spares_the_text),
        cmocka_unit_test(test_refuses_with_the_hooks_sentence),
        cmocka_unit_test(test_a_measured_version_fits),
        cmocka_unit_test(test_another_version_makes_it_inert),
        cmocka_unit_test(test_an_untested_version_makes_it_inert),
        cmocka_unit_test(test_any_version_can_be_allowed),
        cmocka_unit_test(test_an_unknown_version_fits),
        cmocka_unit_test(test_the_only_nccl_loaded_tells),
        cmocka_unit_test(test_the_calling_nccl_counts),
        cmocka_unit_test(test_an_unfit_version_is_no_error_with_a_hash),
        cmocka_unit_test(test_the_file_is_read_once),
        cmocka_unit_test(test_unloading_starts_afresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
