/* The next tuner (NCCLTUNE_NEXT_TUNER): NCCL asks the plugin, the plugin asks a vendor's tuner, in every pair of
 * versions of the interface. What the outcome has to be is what NCCL gets from the vendor's tuner without the plugin.
 */
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>

#include "tests/doubles/vendor_tuner.h"
#include "tests/unit/tuner/loader_double.h"

#define MIB ((size_t)1 << 20)

static const char nothing[] = "# no rules\n";

static const size_t sizes[] = {0, 8, 4096, 65535, 65536, MIB, 4 * MIB - 1, 4 * MIB, 64 * MIB, SIZE_MAX};
#define SIZES (sizeof sizes / sizeof *sizes)

static const char *vendor_path(int version)
{
    static char path[PATH_MAX + 32];
    char own[PATH_MAX];
    CHECK(realpath("build/tests/doubles", own));
    if (version)
        snprintf(path, sizeof path, "%s/vendor_tuner_v%d.so", own, version);
    else
        snprintf(path, sizeof path, "%s/vendor_tuner.so", own);
    return path;
}

static struct vendor_tuner_seen *vendor_seen(int version)
{
    void *lib = dlopen(vendor_path(version), RTLD_NOW | RTLD_LOCAL);
    CHECK(lib);
    struct vendor_tuner_seen *seen = dlsym(lib, "vendor_tuner_seen");
    CHECK(seen);
    return seen;
}

/* The vendor's tuner as NCCL itself would have it, of the version that the plugin is to take. */
static struct loader vendor_alone(int minor, int version)
{
    char symbol[32];
    struct loader l = {.minor = minor, .api = version};
    snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", version);
    l.tuner = dlsym(dlopen(vendor_path(version), RTLD_NOW | RTLD_LOCAL), symbol);
    CHECK(l.tuner);
    return l;
}

enum { VERSIONS = 7 }; /* of the interface */
static struct nccl_nvl_domains two_domains = {2, 8, 8};
static _Thread_local double some_constants[256];

static int open_communicator(struct loader *l, size_t ranks, size_t nodes)
{
    some_constants[0] = 7;
    some_constants[VENDOR_TUNER_LAST(l->api)] = 9;
    some_constants[NCCL_CONSTANTS_V7 - 1] = l->api >= 7 ? 11 : 0;
    return init(l, ranks, nodes, &two_domains, (struct nccl_constants *)some_constants);
}

static struct loader chained(const char *table, int minor, const char *next)
{
    use_table(table);
    setenv("NCCLTUNE_NEXT_TUNER", next, 1);
    struct loader l = load(minor);
    CHECK(open_communicator(&l, 16, 2) == NCCLTUNE_SUCCESS);
    return l;
}

/* A table as NCCL's: dear and cheap cells, some that are not to be had. */
static struct question offered(int coll, size_t bytes, int collnet, int nvls)
{
    struct question q = question(coll, bytes);
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++)
            q.cost[a][p] = 10.0F + (float)(a * 3 + p) * 1.5F;
    q.cost[ALGO_PAT][PROTO_LL] = q.cost[ALGO_PAT][PROTO_LL128] = -1;
    for (int a = ALGO_COLLNET_DIRECT; a <= ALGO_NVLS_TREE; a++)
        for (int p = 0; p < PROTO_COUNT; p++)
            if (p != PROTO_SIMPLE || (a < ALGO_NVLS ? !collnet : !nvls))
                q.cost[a][p] = -1;
    q.collnet = collnet;
    q.nvls = nvls;
    q.reg_buff = 1;
    return q;
}

/* The same question to the vendor alone, asked through the vendor's own version. Between tables and names there is no
 * common answer to compare bit for bit: there the choice is what counts. */
static void same_outcome(const struct loader *chain, const struct loader *alone, const struct question *asked)
{
    struct question with = *asked, without = *asked;
    int names = chain->api <= 2, vendor_names = alone->api <= 2;
    CHECK(ask(chain, &with) == 0);
    if (names == vendor_names) {
        CHECK(ask(alone, &without) == 0);
        CHECK(same_bytes(with.cost, without.cost, sizeof with.cost));
        CHECK(with.algo == without.algo && with.proto == without.proto && with.channels == without.channels);
        return;
    }
    int decided = asked->coll == COLL_ALLREDUCE && asked->bytes < 4 * MIB, small = asked->bytes < 65536;
    CHECK(with.channels == (!decided ? 0 : small ? 2 : 8));
    if (decided) {
        CHECK(with.algo == (small ? ALGO_TREE : ALGO_RING));
        CHECK(with.proto == (small ? PROTO_LL : PROTO_SIMPLE));
    } else if (!names) {
        CHECK(same_bytes(with.cost, asked->cost, sizeof with.cost));
    }
}

/* Where no row of ours matches, whatever was asked: bit for bit the vendor's. */
static void answers_as_the_vendor(int pair)
{
    int minor = releases[pair / VERSIONS], version = pair % VERSIONS + 1;
    struct loader chain = chained("reduce,1,1,ring,ll,1,-1,-1\n", minor, vendor_path(version));
    struct loader alone = vendor_alone(minor, version);
    CHECK(open_communicator(&alone, 16, 2) == NCCLTUNE_SUCCESS);
    struct vendor_tuner_seen *seen = vendor_seen(version);
    CHECK(seen->inits == 2 && seen->api == version && seen->ranks == 16 && seen->nodes == 2);
    CHECK(logged.warnings == 0 && strstr(logged.text, "asks tuner vendor double"));
    for (int coll = 0; coll < COLL_COUNT; coll++)
        for (size_t i = 0; i < SIZES; i++)
            for (int support = 0; support < 4; support++) {
                struct question q = offered(coll, sizes[i], support & 1, support >> 1);
                same_outcome(&chain, &alone, &q);
                CHECK(seen->coll == coll && seen->bytes == sizes[i] && seen->pipe_ops == 1);
                if (version <= 2)
                    CHECK(seen->collnet == (support & 1) && seen->nvls == support >> 1);
            }
    CHECK(seen->calls > 0 && seen->wrong == 0);
    for (int one = ALGO_NVLS; one <= ALGO_NVLS_TREE && chain.api > 2 && version <= 2; one++) {
        struct question q = offered(COLL_ALLREDUCE, 4096, 0, 1);
        q.cost[one][PROTO_SIMPLE] = -1;
        CHECK(ask(&chain, &q) == 0 && seen->nvls == 1);
    }
    destroy(&chain);
    destroy(&alone);
    CHECK(seen->destroys == (chain.api == 1 && version > 1 ? 1 : 2) && seen->wrong == 0);
}

/* What init is told: everything that NCCL's version passes, the plain case for what it does not. */
static void passes_on_what_init_is_told(int pair)
{
    int minor = releases[pair / VERSIONS], version = pair % VERSIONS + 1;
    struct loader l = chained(nothing, minor, vendor_path(version));
    struct vendor_tuner_seen *seen = vendor_seen(version);
    CHECK(seen->inits == 1);
    if (version >= 5 && l.api >= 5) {
        CHECK(seen->comm == 7 && seen->domains == 2 && seen->min_ranks == 8 && seen->max_ranks == 8);
        double *last = &some_constants[VENDOR_TUNER_LAST(l.api)];
        CHECK(seen->constants == 7 && seen->last == 9 && some_constants[0] == 42 && *last == 43);
        CHECK(some_constants[NCCL_CONSTANTS_V7 - 1] == (l.api >= 7 ? 11 : 0)); /* no tuner touches it */
    } else {
        CHECK(some_constants[0] == 7);
    }
    if (version >= 5 && l.api < 5)
        CHECK(seen->comm == 0 && seen->domains == 2 && seen->min_ranks == 8 && seen->constants == 0);
    struct question q = offered(COLL_ALLREDUCE, 4096, 0, 0);
    CHECK(ask(&l, &q) == 0);
    if (version >= 4)
        CHECK(seen->reg_buff == (l.api >= 4));
    struct loader uneven = l;
    CHECK(open_communicator(&uneven, 17, 2) == 0);
    if (version >= 5 && l.api > 1 && l.api < 5)
        CHECK(seen->domains == 2 && seen->min_ranks == 8 && seen->max_ranks == 9);
    destroy(&uneven);
    destroy(&l);
}

/* A row of ours decides its own cell, over whatever the vendor has made the cheapest; the rest stays the vendor's. */
static void a_row_decides_its_own(int pair)
{
    int minor = releases[pair / VERSIONS], version = pair % VERSIONS + 1;
    struct loader l = chained("allreduce,0,4096,ring,simple,5,-1,-1\n"
                              "allreduce,65536,65536,tree,simple,-1,-1,-1\n",
                              minor, vendor_path(version));
    struct question q = offered(COLL_ALLREDUCE, 4096, 1, 1);
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_RING && q.proto == PROTO_SIMPLE && q.channels == 5);
    q = offered(COLL_ALLREDUCE, 65536, 1, 1);
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_TREE && q.proto == PROTO_SIMPLE && q.channels == 8);
    q = offered(COLL_ALLREDUCE, 8192, 1, 1);
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_TREE && q.proto == PROTO_LL && q.channels == 2);
    destroy(&l);
}

/* A combination that the vendor has taken away (its fabric corrupts it) is not brought back by a row. */
static void what_the_vendor_forbids_stays_forbidden(int version)
{
    struct loader l = chained("allgather,0,-1,ring,ll128,5,-1,-1\n"
                              "allgather,0,-1,ring,simple,6,-1,-1\n",
                              NCCL_2_28, vendor_path(version));
    struct question q = offered(COLL_ALLGATHER, 4096, 0, 0);
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_RING && q.proto == PROTO_SIMPLE && q.channels == 6);
    destroy(&l);
}

/* 2.31 takes a negative cost for the smallest: where a row decides, nothing undercuts it. */
static void nothing_undercuts_a_row(int version)
{
    struct loader l = chained("allgather,0,-1,ring,simple,6,-1,-1\n", NCCL_2_31, vendor_path(version));
    struct question q = offered(COLL_ALLGATHER, 4096, 0, 0);
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_RING && q.proto == PROTO_SIMPLE);
    destroy(&l);
}

/* A vendor that makes a cell cheap which NCCL does not offer: no row of ours picks it, and where one decides it is
 * gone. */
static void wild_vendors_do_not_lead_rows_astray(int version)
{
    setenv("VENDOR_TUNER_FAULT", "wild", 1);
    struct loader l = chained("allreduce,0,-1,nvls,simple,5,-1,-1\n"
                              "allreduce,0,-1,ring,ll,6,-1,-1\n",
                              NCCL_2_28, vendor_path(version));
    struct question q = offered(COLL_ALLREDUCE, 4096, 0, 0);
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_RING && q.proto == PROTO_LL && q.channels == 6);
    destroy(&l);
}

static size_t chunk(const struct loader *l, size_t bytes, size_t given)
{
    const struct nccl_tuner_v6 *v6 = l->tuner;
    CHECK(l->api == 6 &&
          v6->get_chunk_size(l->context, COLL_ALLREDUCE, bytes, ALGO_RING, PROTO_SIMPLE, 1, &given) == 0);
    return given;
}

static void chunks_are_the_vendors_first(int version)
{
    struct loader l =
        chained("allreduce,8388608,8388608,ring,simple,1,-1,-1,-1,-1,65536\n", NCCL_2_30, vendor_path(version));
    CHECK(chunk(&l, 1000, 4096) == 4096);
    CHECK(chunk(&l, MIB, 4096) == (version >= 6 ? 131072 : 4096));
    CHECK(chunk(&l, 8 * MIB, 4096) == 65536);
    destroy(&l);
}

/* ---- contexts -----------------------------------------------------------------------------------------------------
 */

static void every_communicator_has_its_own_context(int release)
{
    struct loader first = chained(nothing, releases[release], vendor_path(0)), second = first, third = first;
    CHECK(open_communicator(&second, 16, 2) == 0 && open_communicator(&third, 8, 1) == 0);
    struct vendor_tuner_seen *seen = vendor_seen(0);
    CHECK(seen->inits == 3 && (first.api == 1 || (first.context != second.context && second.context != third.context)));
    CHECK(destroy(&second) == 0 && seen->destroys == 1);
    struct question q = offered(COLL_ALLREDUCE, 4096, 0, 0);
    CHECK(ask(&first, &q) == 0 && q.algo == ALGO_TREE);
    CHECK(destroy(&first) == 0 && destroy(&third) == 0);
    CHECK(first.api == 1 || destroy(&third) == 0); /* once too often */
    CHECK(seen->destroys == 3 && seen->wrong == 0);
}

static void a_null_context_is_a_context(int version)
{
    setenv("VENDOR_TUNER_FAULT", "empty", 1);
    struct loader l = chained(nothing, NCCL_2_28, vendor_path(version));
    struct question q = offered(COLL_ALLREDUCE, 4096, 0, 0);
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_TREE && q.proto == PROTO_LL);
    destroy(&l);
    CHECK(vendor_seen(version)->destroys == 1);
}

/* ---- faults -------------------------------------------------------------------------------------------------------
 */

static int count_of(const char *text)
{
    int n = 0;
    for (const char *at = logged.text; (at = strstr(at, text)); at++)
        n++;
    return n;
}

static void left_out_once(const char *fault, int minor, int version, const char *said)
{
    setenv("VENDOR_TUNER_FAULT", fault, 1);
    struct loader l = chained("allreduce,65536,65536,ring,simple,5,-1,-1\n", minor, vendor_path(version)), other = l;
    CHECK(logged.warnings == 1 && strstr(logged.text, said));
    struct question q = offered(COLL_ALLREDUCE, 4096, 0, 0), asked = q;
    CHECK(ask(&l, &q) == 0 && q.channels == 0 && same_bytes(q.cost, asked.cost, sizeof q.cost));
    q = offered(COLL_ALLREDUCE, 65536, 0, 0);
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_RING && q.proto == PROTO_SIMPLE && q.channels == 5);
    CHECK(open_communicator(&other, 8, 1) == 0 && count_of("left out") == 1 && logged.warnings == 1);
    CHECK(vendor_seen(version)->calls == 0 && vendor_seen(version)->inits == 1);
    destroy(&l);
    destroy(&other);
}

static void a_failing_init_is_left_out(int pair)
{
    left_out_once("init", releases[pair / VERSIONS], pair % VERSIONS + 1, "its init failed (result 3)");
}

static void a_crashing_init_is_left_out(int pair)
{
    left_out_once("crash", releases[pair / VERSIONS], pair % VERSIONS + 1, "its init crashed (signal 11)");
}

static void an_aborting_init_is_left_out(int version)
{
    left_out_once("abort", NCCL_2_28, version, "its init crashed (signal 6)");
}

static int handled;

static void handle(int number)
{
    handled = number;
}

/* The program's own handlers are back after a crash. */
static void handlers_come_back(int unused)
{
    (void)unused;
    struct sigaction own = {.sa_handler = handle}, now;
    sigaction(SIGSEGV, &own, NULL);
    setenv("VENDOR_TUNER_FAULT", "crash", 1);
    struct loader l = chained(nothing, NCCL_2_28, vendor_path(4));
    CHECK(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == handle);
    raise(SIGSEGV);
    CHECK(handled == SIGSEGV);
    destroy(&l);
}

static void handle_with_place(int number, siginfo_t *info, void *machine)
{
    handled = info && machine ? number : -1;
}

enum { PLAIN, WITH_PLACE, IGNORED, DEADLY };

/* A crash of another thread, while the vendor's init is guarded, goes where it would have gone. */
static void other_threads_crash_as_ever(int kind)
{
    struct sigaction own = {.sa_handler = kind == PLAIN ? handle : kind == IGNORED ? SIG_IGN : SIG_DFL};
    if (kind == WITH_PLACE)
        own = (struct sigaction){.sa_sigaction = handle_with_place, .sa_flags = SA_SIGINFO};
    setenv("VENDOR_TUNER_FAULT", kind == DEADLY ? "thread-crash" : "thread", 1);
    sigaction(SIGSEGV, &own, NULL);
    use_table(nothing); /* removed by who lives on */
    pid_t child = kind == DEADLY ? fork() : 0;
    if (!child) {
        struct loader l = chained(nothing, NCCL_2_28, vendor_path(4));
        CHECK(handled == (kind == PLAIN || kind == WITH_PLACE ? SIGSEGV : 0) && logged.warnings == 0);
        destroy(&l);
    }
    int status = 0;
    if (kind == DEADLY && child)
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* A communicator that has the vendor's tuner keeps it when a later one cannot have it. */
static void a_second_init_that_fails(int version)
{
    setenv("VENDOR_TUNER_FAULT", "second", 1);
    struct loader l = chained(nothing, NCCL_2_28, vendor_path(version)), other = l;
    CHECK(open_communicator(&other, 8, 1) == 0 && logged.warnings == 1);
    struct question q = offered(COLL_ALLREDUCE, 4096, 0, 0), asked = q, later = q;
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_TREE && q.channels == 2);
    CHECK(ask(&other, &later) == 0 && same_bytes(later.cost, asked.cost, sizeof asked.cost));
    destroy(&l);
    destroy(&other);
    CHECK(vendor_seen(version)->destroys == 1);
}

/* As without the plugin: NCCL fails the collective. */
static void a_failing_call_is_passed_on(int pair)
{
    setenv("VENDOR_TUNER_FAULT", "call", 1);
    struct loader l = chained(nothing, releases[pair / VERSIONS], vendor_path(pair % VERSIONS + 1));
    struct question q = offered(COLL_ALLREDUCE, 4096, 0, 0);
    CHECK(ask(&l, &q) == 3);
    destroy(&l);
}

/* ---- which one ----------------------------------------------------------------------------------------------------
 */

static void goes_on_without(const char *value, const char *said)
{
    struct loader l = chained("allreduce,65536,65536,ring,simple,5,-1,-1\n", NCCL_2_28, value);
    CHECK(logged.warnings == (said ? 1 : 0) && (!said || strstr(logged.text, said)));
    struct question q = offered(COLL_ALLREDUCE, 4096, 0, 0), asked = q;
    CHECK(ask(&l, &q) == 0 && same_bytes(q.cost, asked.cost, sizeof q.cost));
    destroy(&l);
}

static void what_cannot_be_had_is_said(int unused)
{
    (void)unused;
    static const struct {
        const char *value, *said;
    } cases[] = {
        {"/nonexistent/tuner.so", "/nonexistent/tuner.so"},
        {"build/tests/doubles/vendor_tuner.so", "not an absolute path"},
        {"nobody", "nobody"},
        {"libc.so.6", "has no tuner"},
        {"none", NULL},
        {"NONE", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (!child) {
            goes_on_without(cases[i].value, cases[i].said);
            exit(0);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
}

/* By another name (a link has the same inode), and as a copy. */
static void never_itself(int copy)
{
    const char *so = getenv("NCCLTUNE_PLUGIN_SO");
    char own[PATH_MAX], other[PATH_MAX], command[3 * PATH_MAX];
    CHECK(realpath(so ? so : "build/libnccl-tuner-nccltune.so", own));
    write_table("", 0);
    snprintf(other, sizeof other, "%s/libnccl-tuner.so", table_dir);
    snprintf(command, sizeof command, "%s '%s' '%s'", copy ? "cp" : "ln -s", own, other);
    CHECK(system(command) == 0);
    goes_on_without(other, "is nccltune itself");
    unlink(other);
}

/* ---- auto ---------------------------------------------------------------------------------------------------------
 */

/* The loader's path is read at the start of a program: this one starts itself again with it. */
static void in_directory_of(const char *library, const char *target, int release, const char *expected)
{
    char command[4 * PATH_MAX], self[PATH_MAX];
    CHECK(realpath("/proc/self/exe", self));
    write_table("", 0);
    atexit(remove_table);
    snprintf(command, sizeof command, "ln -s '%s' '%s/%s'", target, table_dir, library);
    CHECK(system(command) == 0);
    snprintf(command, sizeof command, "LD_LIBRARY_PATH='%s' '%s' auto %d '%s'", table_dir, self, release, expected);
    int status = system(command);
    snprintf(command, sizeof command, "%s/%s", table_dir, library);
    unlink(command);
    CHECK(status == 0);
}

/* In the program that was started again: what was taken, by its version; 0 for none. */
static int run_auto(int release, const char *expected)
{
    const char *net = getenv("LOADED_NET");
    if (net)
        CHECK(dlopen(net, RTLD_NOW | RTLD_LOCAL));
    const char *table = getenv("AUTO_TABLE");
    use_table(table ? table : nothing);
    setenv("NCCLTUNE_NEXT_TUNER", table ? "" : "auto", 1);
    setenv("NCCLTUNE", getenv("AUTO_OFF") ? "off" : "", 1);
    struct loader l = load(releases[release]);
    CHECK(open_communicator(&l, 16, 2) == NCCLTUNE_SUCCESS);
    char said[64];
    snprintf(said, sizeof said, "interface version %s", expected);
    int taken = strstr(logged.text, said) != NULL, any = strstr(logged.text, "interface version") != NULL;
    destroy(&l);
    return logged.warnings == 0 && (*expected == '0' ? !any : taken) ? 0 : 1;
}

static char *version_text(int version)
{
    static char text[4];
    snprintf(text, sizeof text, "%d", version);
    return text;
}

/* libnccl-tuner.so with all versions: the newest that this release knows, which is what NCCL calls us with. 2.19 loads
 * nothing that is not named. */
static void takes_the_standard_name(int release)
{
    int api = load(releases[release]).api;
    in_directory_of("libnccl-tuner.so", vendor_path(0), release, version_text(api == 1 ? 0 : api));
}

/* An older version alone: down to 2 from 2.22 on. */
static void takes_older_versions(int release)
{
    int api = load(releases[release]).api;
    in_directory_of("libnccl-tuner.so", vendor_path(2), release, version_text(api == 1 ? 0 : 2));
}

/* NCCL would not load what it does not know: version 6 is for 2.30 and later. */
static void leaves_newer_versions(int release)
{
    int api = load(releases[release]).api;
    in_directory_of("libnccl-tuner.so", vendor_path(6), release, version_text(api >= 6 ? 6 : 0));
}

static void takes_the_network_plugin_that_is_loaded(int release)
{
    int api = load(releases[release]).api;
    setenv("LOADED_NET", "libnccl-net.so", 1);
    in_directory_of("libnccl-net.so", vendor_path(3), release, version_text(api >= 3 ? 3 : 0));
}

static void takes_the_network_plugin_that_is_named(int release)
{
    int api = load(releases[release]).api;
    setenv("NCCL_NET_PLUGIN", "other,vendor", 1);
    setenv("LOADED_NET", "libnccl-net-vendor.so", 1);
    in_directory_of("libnccl-net-vendor.so", vendor_path(3), release, version_text(api >= 3 ? 3 : 0));
}

static void leaves_a_network_plugin_that_is_not_loaded(int release)
{
    in_directory_of("libnccl-net.so", vendor_path(3), release, "0");
}

/* Without the variable: as the table says, and without a table as without the plugin. */
static void the_table_decides_where_nothing_is_set(int release)
{
    int api = load(releases[release]).api;
    char *taken = version_text(api == 1 ? 0 : api);
    setenv("AUTO_TABLE", "# next-tuner: auto\n", 1);
    in_directory_of("libnccl-tuner.so", vendor_path(0), release, taken);
    setenv("AUTO_TABLE", "# next-tuner: none\n", 1);
    in_directory_of("libnccl-tuner.so", vendor_path(0), release, "0");
    setenv("AUTO_TABLE", "allreduce,0,0,ring,simple,5,-1,-1\n", 1);
    in_directory_of("libnccl-tuner.so", vendor_path(0), release, "0");
    setenv("AUTO_TABLE", "# next-tuner: auto\n", 1);
    setenv("AUTO_OFF", "1", 1);
    in_directory_of("libnccl-tuner.so", vendor_path(0), release, taken);
}

/* Installed under the standard name itself, the plugin would find itself. */
static void auto_never_finds_itself(int release)
{
    const char *so = getenv("NCCLTUNE_PLUGIN_SO");
    char own[PATH_MAX];
    CHECK(realpath(so ? so : "build/libnccl-tuner-nccltune.so", own));
    in_directory_of("libnccl-tuner.so", own, release, "0");
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

static void *one_communicator(void *arg)
{
    struct loader l = *(struct loader *)arg;
    for (int round = 0; round < 50; round++) {
        CHECK(open_communicator(&l, 16, 2) == 0);
        for (size_t i = 0; i < 200; i++) {
            struct question q = offered(COLL_ALLREDUCE, i % 3 * 40000, 1, 0);
            CHECK(ask(&l, &q) == 0);
            CHECK(i % 3 == 0 ? q.algo == ALGO_RING && q.channels == 5 : q.channels == (i % 3 == 1 ? 2 : 8));
        }
        destroy(&l);
    }
    return NULL;
}

/* Ranks as threads of one process, each with a communicator, opened and closed side by side. */
static void threads_share_the_next_tuner(int version)
{
    pthread_t threads[8];
    setenv("VENDOR_TUNER_QUIET", "1", 1);
    struct loader l = chained("allreduce,0,0,ring,simple,5,-1,-1\n", NCCL_2_28, vendor_path(version));
    l.silent = 1;
    for (size_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, one_communicator, &l) == 0);
    for (size_t i = 0; i < 8; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    destroy(&l);
    struct vendor_tuner_seen *seen = vendor_seen(version);
    CHECK(seen->inits == 401 && seen->destroys == 401 && seen->wrong == 0);
}

/* ---- all of them --------------------------------------------------------------------------------------------------
 */

#define PAIRS   ((int)(RELEASES * VERSIONS))
#define TEST(f) static void test_##f(void **state)
#define EACH(f, from, to)                    \
    TEST(f)                                  \
    {                                        \
        (void)state;                         \
        for (int i = (from); i <= (to); i++) \
            in_child(f, i);                  \
    }

EACH(answers_as_the_vendor, 0, PAIRS - 1)
EACH(passes_on_what_init_is_told, 0, PAIRS - 1)
EACH(a_row_decides_its_own, 0, PAIRS - 1)
EACH(what_the_vendor_forbids_stays_forbidden, 3, VERSIONS)
EACH(nothing_undercuts_a_row, 2, VERSIONS)
EACH(wild_vendors_do_not_lead_rows_astray, 3, VERSIONS)
EACH(chunks_are_the_vendors_first, 1, VERSIONS)
EACH(every_communicator_has_its_own_context, 0, (int)RELEASES - 1)
EACH(a_null_context_is_a_context, 2, VERSIONS)
EACH(a_failing_init_is_left_out, 0, PAIRS - 1)
EACH(a_crashing_init_is_left_out, 0, PAIRS - 1)
EACH(an_aborting_init_is_left_out, 1, VERSIONS)
EACH(handlers_come_back, 0, 0)
EACH(other_threads_crash_as_ever, PLAIN, DEADLY)
EACH(a_second_init_that_fails, 2, VERSIONS)
EACH(a_failing_call_is_passed_on, 0, PAIRS - 1)
EACH(what_cannot_be_had_is_said, 0, 0)
EACH(never_itself, 0, 1)
EACH(takes_the_standard_name, 0, (int)RELEASES - 1)
EACH(takes_older_versions, 0, (int)RELEASES - 1)
EACH(leaves_newer_versions, 0, (int)RELEASES - 1)
EACH(takes_the_network_plugin_that_is_loaded, 0, (int)RELEASES - 1)
EACH(takes_the_network_plugin_that_is_named, 0, (int)RELEASES - 1)
EACH(leaves_a_network_plugin_that_is_not_loaded, 0, (int)RELEASES - 1)
EACH(the_table_decides_where_nothing_is_set, 0, (int)RELEASES - 1)
EACH(auto_never_finds_itself, 0, (int)RELEASES - 1)
EACH(threads_share_the_next_tuner, 2, VERSIONS)

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "auto"))
        return run_auto((int)strtol(argv[2], NULL, 10), argv[3]);
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_as_the_vendor),
        cmocka_unit_test(test_passes_on_what_init_is_told),
        cmocka_unit_test(test_a_row_decides_its_own),
        cmocka_unit_test(test_what_the_vendor_forbids_stays_forbidden),
        cmocka_unit_test(test_nothing_undercuts_a_row),
        cmocka_unit_test(test_wild_vendors_do_not_lead_rows_astray),
        cmocka_unit_test(test_chunks_are_the_vendors_first),
        cmocka_unit_test(test_every_communicator_has_its_own_context),
        cmocka_unit_test(test_a_null_context_is_a_context),
        cmocka_unit_test(test_a_failing_init_is_left_out),
        cmocka_unit_test(test_a_crashing_init_is_left_out),
        cmocka_unit_test(test_an_aborting_init_is_left_out),
        cmocka_unit_test(test_handlers_come_back),
        cmocka_unit_test(test_other_threads_crash_as_ever),
        cmocka_unit_test(test_a_second_init_that_fails),
        cmocka_unit_test(test_a_failing_call_is_passed_on),
        cmocka_unit_test(test_what_cannot_be_had_is_said),
        cmocka_unit_test(test_never_itself),
        cmocka_unit_test(test_takes_the_standard_name),
        cmocka_unit_test(test_takes_older_versions),
        cmocka_unit_test(test_leaves_newer_versions),
        cmocka_unit_test(test_takes_the_network_plugin_that_is_loaded),
        cmocka_unit_test(test_takes_the_network_plugin_that_is_named),
        cmocka_unit_test(test_leaves_a_network_plugin_that_is_not_loaded),
        cmocka_unit_test(test_the_table_decides_where_nothing_is_set),
        cmocka_unit_test(test_auto_never_finds_itself),
        cmocka_unit_test(test_threads_share_the_next_tuner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
