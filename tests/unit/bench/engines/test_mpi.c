/* bench/engines/mpi.c over doubles of mpirun and of nccltune-bench: scripts that write down what they are asked, and
 * answer what a file says. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "core/coll.h"
#include "tests/lib/folder.h"
#include "tests/lib/unit.h"

static const char mpirun_double[] = "#!/bin/sh\n"
                                    "echo \"$*\" >%s/args\n"
                                    "for last; do :; done\n"
                                    "exec \"$last\"\n";
/* Says its hello, or why not; then an answer for each request. */
static const char worker_double[] = "#!/bin/sh\n"
                                    "cd %s || exit\n"
                                    "[ \"$1\" != --describe ] || exec cat describe\n"
                                    "env | grep -E '^OMPI_MCA_(coll_tuned_use|btl|many)' | sort >env\n"
                                    "echo $$ >pid\n"
                                    "echo a launcher speaks, too\n"
                                    "cat hello\n"
                                    "[ ! -f last ] || { cat last >&2; exit 3; }\n"
                                    "while read -r line; do\n"
                                    "  echo \"$line\" >>asked\n"
                                    "  while read -r said; do\n"
                                    "    case $said in\n"
                                    "    sleep) sleep 0.3 ;;\n"
                                    "    die*) echo \"${said#die }\" >&2; exit 3 ;;\n"
                                    "    *) echo \"$said\" ;;\n"
                                    "    esac\n"
                                    "  done <answer\n"
                                    "done\n"
                                    "echo >left\n";

static const char *const launchers[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",           "PMI_RANK",
                                        "SLURM_STEP_NUM_TASKS", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"};
static struct bench_setup setup;
static struct bench_plan plan;
static struct err e;

static int is_there(const char *name)
{
    return !access(at(name), F_OK);
}

static void put_program(const char *name, const char *script)
{
    put(name, script);
    assert_int_equal(chmod(at(name), 0755), 0);
}

static int begin(void **state)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        unsetenv(launchers[i]);
    arena = arena_new();
    strcpy(dir, "/tmp/test_mpi_XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    put_program("mpirun", arena_printf(arena, mpirun_double, dir));
    put_program("worker", arena_printf(arena, worker_double, dir));
    put("describe", "{\"library\":\"Open MPI 9\",\"variables\":{\"coll_tuned_allreduce_algorithm\":{\"ring\":4}}}\n");
    put("hello", "{\"hello\":{\"library\":\"Open MPI 9\",\"nodes\":3,\"ranks\":6}}\n");
    setenv("NCCLTUNE_BENCH", at("worker"), 1);
    setup = (struct bench_setup){.mpirun = at("mpirun"), .ranks_per_node = 2};
    memset(&plan, 0x5a, sizeof plan);
    e = (struct err){0};
    return 0;
}

static int end(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    arena_free(arena);
    return system(command);
}

static void make_plan(void)
{
    if (bench_engine_mpi.measures->plan(&setup, arena, &plan, &e))
        fail_msg("%s", e.text);
}

/* ---- the plan ---- */

TEST_CASE(what_can_be_tried)
{
    const char *own = "eth7,ib0"; /* --interfaces */
    make_plan();
    assert_string_equal(plan.library, "Open MPI 9");
    assert_int_equal(plan.ncalls, 8);
    assert_int_equal(plan.nlaunches, 1);
    assert_int_equal(plan.one_session, 0);
    setup.hosts = "a,b";
    setup.own = &own;
    make_plan();
    assert_int_equal(plan.nlaunches, 3);
    assert_string_equal(plan.launches[1].label, "eth7");
    assert_string_equal(plan.launches[2].label, "ib0");
    setenv("OMPI_COMM_WORLD_RANK", "0", 1); /* within somebody's launch there is nothing to choose */
    setup.mpirun = "/no/mpirun";
    make_plan();
    assert_int_equal(plan.nlaunches, 1);
    assert_int_equal(plan.one_session, 1);
}

TEST_CASE(jobs_are_launched_as_they_are)
{
    const struct bench_setting on = {"btl", "tcp"};
    const struct bench_knobs job = {"today", &on, 1};
    setup.jobs = &job;
    setup.njobs = 1;
    make_plan();
    assert_int_equal(plan.ncalls, 7);
    assert_int_equal(plan.nlaunches, 2);
    assert_string_equal(plan.launches[1].label, "today");
    put("describe", "{}\n");
    assert_int_equal(bench_engine_mpi.measures->plan(&setup, arena, &plan, &e), ERR_FAILED);
    assert_int_equal(plan.nlaunches, 0);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    assert_int_equal(bench_engine_mpi.measures->plan(&setup, arena, &plan, &e), ERR_USAGE);
    assert_string_equal(e.text, "this needs a launch for each environment: start it without mpirun or srun");
}

TEST_CASE(what_cannot_be_planned)
{
    setup.mpirun = "/no/mpirun";
    assert_int_equal(bench_engine_mpi.measures->plan(&setup, arena, &plan, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "/no/mpirun"));
    assert_int_equal(plan.ncalls, 0);
    setenv("NCCLTUNE_BENCH", "/no/worker", 1);
    assert_int_equal(bench_engine_mpi.measures->plan(&setup, arena, &plan, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "/no/worker"));
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    assert_int_equal(bench_engine_mpi.measures->plan(&setup, arena, &plan, &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "srun started 2 copies"));
    bench_engine_mpi.measures->finish(&plan);
    bench_engine_mpi.measures->finish(&(struct bench_plan){0});
}

/* ---- sessions ---- */

static struct bench_session *open_with(const struct bench_knobs *launch, double patience_s)
{
    static volatile sig_atomic_t stop;
    return bench_engine_mpi.measures->open(&plan, launch, patience_s, &stop, &e);
}

static struct bench_session *must_open(void)
{
    struct bench_session *s = open_with(&plan.launches[0], 60);
    if (!s)
        fail_msg("%s", e.text);
    return s;
}

TEST_CASE(a_launch_has_its_settings)
{
    enum { MANY = 300 };
    struct bench_setting settings[MANY + 1] = {{"btl_tcp_if_include", "ib0"}};
    const char *env = "OMPI_MCA_btl_tcp_if_include=ib0\nOMPI_MCA_coll_tuned_use_dynamic_rules=1\n";
    for (int i = 0; i < MANY; i++) {
        settings[i + 1] = (struct bench_setting){arena_printf(arena, "many_%03d", i), "1"};
        env = arena_printf(arena, "%sOMPI_MCA_many_%03d=1\n", env, i);
    }
    make_plan();
    struct bench_session *s = open_with(&(struct bench_knobs){"ib0", settings, MANY + 1}, 60);
    assert_non_null(s);
    assert_int_equal(s->nodes, 3);
    assert_int_equal(s->ranks, 6);
    bench_engine_mpi.measures->close(s, 0);
    assert_string_equal(got("args"), arena_printf(arena, "-np 2 --oversubscribe %s\n", at("worker")));
    assert_string_equal(got("env"), env);
    assert_true(is_there("left")); /* in good order */
    unlink(at("left"));
    s = must_open();
    bench_engine_mpi.measures->close(s, 1);
    assert_false(is_there("left"));
    assert_int_equal(kill((pid_t)strtol(got("pid"), NULL, 10), 0), -1); /* it is gone */
    bench_engine_mpi.measures->finish(&plan);
}

TEST_CASE(a_launch_that_does_not_begin)
{
    static const struct {
        const char *hello, *last;
        double patience_s;
        const char *why;
    } rows[] = {{"{\"error\":\"MPI_Init failed\"}\n", NULL, 60, "MPI_Init failed"},
                {"{\"hello\":{\"library\":\"x\"}}\n", NULL, 60, "worker: expected an answer, found: {\"hello\""},
                {"", "no slots\n", 60, "the launch exited with code 3: no slots"},
                {"", NULL, 0.2, "no process has answered within 0 s of the start"}};
    static volatile sig_atomic_t stop = 1;
    make_plan();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put("hello", rows[i].hello);
        unlink(at("last"));
        if (rows[i].last)
            put("last", rows[i].last);
        e = (struct err){0};
        assert_null(open_with(&plan.launches[0], rows[i].patience_s));
        if (strncmp(e.text, rows[i].why, strlen(rows[i].why)) != 0)
            fail_msg("'%s' instead of '%s'", e.text, rows[i].why);
        assert_int_equal(e.code, ERR_FAILED);
        assert_false(is_there("left"));
    }
    assert_null(bench_engine_mpi.measures->open(&plan, &plan.launches[0], 60, &stop, &e));
    assert_string_equal(e.text, "interrupted");
    unlink(at("mpirun"));
    assert_null(open_with(&plan.launches[0], 60));
    assert_int_equal(e.code, ERR_LACKS);
}

/* What was reported, as text. */
struct told {
    const struct bench_session *session;
    const char *text;
};

static void take(void *user, int shot, enum bench_status status, double us, const char *detail)
{
    struct told *t = user;
    t->text = arena_printf(arena, "%s%d %s %g %s;", t->text, shot, bench_status_name(status),
                           status == BENCH_OK ? us : 0, detail);
}

/* Of more shots than there are only those that were asked for have patience. */
static enum bench_outcome ask(struct bench_session *s, const char *answer, double first_s, double second_s,
                              const char **told, char detail[BENCH_DETAIL])
{
    static const struct bench_setting ring = {"coll_tuned_allreduce_algorithm", "4"};
    static const struct bench_knobs knobs[] = {{BENCH_DEFAULT, NULL, 0}, {"ring", &ring, 1}};
    const struct bench_shot shots[8] = {{&knobs[0], 5, first_s}, {&knobs[1], 7, second_s}};
    const struct bench_batch b = {
        .coll = COLL_ALLREDUCE, .bytes = 4096, .samples = 3, .check = 1, .shots = shots, .nshots = 2};
    static volatile sig_atomic_t stop;
    struct told t = {s, ""};
    put("answer", answer);
    *detail = 0;
    enum bench_outcome outcome = bench_engine_mpi.measures->measure(s, &b, &stop, take, &t, detail);
    *told = t.text;
    return outcome;
}

TEST_CASE(questions_and_answers)
{
    static const struct {
        const char *answer;
        double first_s, second_s; /* patience */
        enum bench_outcome outcome;
        const char *told, *detail;
    } rows[] = {
        {"{\"done\":true}\n", 60, 60, BENCH_ANSWERED, "", ""},
        {"{\"call\":0,\"us\":2.5}\n{\"call\":1,\"us\":3.5}\n{\"done\":true}\n", 60, 60, BENCH_ANSWERED,
         "0 ok 2.5 ;1 ok 3.5 ;", ""},
        {"{\"call\":1,\"status\":\"wrong\",\"detail\":\"rank 1\"}\n{\"done\":true}\n", 60, 60, BENCH_ANSWERED,
         "1 wrong 0 rank 1;", ""},
        {"sleep\n{\"done\":true}\n", 60, 0.01, BENCH_ANSWERED, "", ""}, /* patience is that of who is next */
        {"{\"call\":1,\"us\":2.5}\nsleep\n{\"done\":true}\n", 60, 0.01, BENCH_ANSWERED, "1 ok 2.5 ;", ""},
        {"{\"call\":0,\"us\":2.5}\n", 60, 0.2, BENCH_SILENT, "0 ok 2.5 ;", "no answer within 0.2 s"},
        {"{\"call\":2,\"us\":2.5}\n", 60, 60, BENCH_DIED, "", "an unexpected answer"},
        {"{\"hello\":{\"library\":\"x\",\"nodes\":1,\"ranks\":1}}\n", 60, 60, BENCH_DIED, "", "an unexpected answer"},
        {"{\"error\":\"out of memory\"}\n", 60, 60, BENCH_DIED, "", "out of memory"},
        {"{\"call\":0}\n", 60, 60, BENCH_DIED, "", "worker: expected an answer, found: {\"call\":0}"},
    };
    make_plan();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char detail[BENCH_DETAIL];
        const char *told;
        struct bench_session *s = must_open();
        assert_int_equal(ask(s, rows[i].answer, rows[i].first_s, rows[i].second_s, &told, detail), rows[i].outcome);
        assert_string_equal(told, rows[i].told);
        assert_string_equal(detail, rows[i].detail);
        bench_engine_mpi.measures->close(s, 1);
        assert_string_equal(got("asked"),
                            "{\"collective\":\"allreduce\",\"bytes\":4096,\"samples\":3,\"check\":true,\"calls\":["
                            "{\"settings\":{},\"iterations\":5},"
                            "{\"settings\":{\"coll_tuned_allreduce_algorithm\":\"4\"},\"iterations\":7}]}\n");
        unlink(at("asked"));
    }
}

TEST_CASE(a_launch_that_dies_or_is_interrupted)
{
    char detail[BENCH_DETAIL];
    const char *told;
    static volatile sig_atomic_t stop = 1;
    static const struct bench_knobs knobs = {BENCH_DEFAULT, NULL, 0};
    const struct bench_shot shot = {&knobs, 1, 60};
    const struct bench_batch b = {.coll = COLL_ALLREDUCE, .bytes = 4096, .samples = 1, .shots = &shot, .nshots = 1};
    make_plan();
    struct bench_session *s = must_open();
    put("answer", "");
    assert_int_equal(bench_engine_mpi.measures->measure(s, &b, &stop, take, NULL, detail), BENCH_STOPPED);
    assert_string_equal(detail, "interrupted");
    bench_engine_mpi.measures->close(s, 1);
    s = must_open();
    assert_int_equal(ask(s, "{\"call\":0,\"us\":2.5}\ndie rank 1 is gone\n", 60, 60, &told, detail), BENCH_DIED);
    assert_string_equal(told, "0 ok 2.5 ;");
    assert_string_equal(detail, "exited with code 3: rank 1 is gone");
    assert_int_equal(ask(s, "", 60, 60, &told, detail), BENCH_DIED);
    assert_string_equal(detail, "exited with code 3");
    bench_engine_mpi.measures->close(s, 1);
}

/* Under somebody else's mpirun there is one session, whose worker takes this rank's place. */
TEST_CASE(the_only_session)
{
    char detail[BENCH_DETAIL];
    const char *told;
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    make_plan();
    struct bench_session *s = must_open();
    assert_ptr_equal(must_open(), s);
    bench_engine_mpi.measures->close(s, 0);
    assert_false(is_there("left"));
    assert_int_equal(ask(s, "{\"done\":true}\n", 60, 60, &told, detail), BENCH_ANSWERED);
    bench_engine_mpi.measures->finish(&plan);
    assert_true(is_there("left"));
    assert_false(is_there("args")); /* of mpirun */
    assert_string_equal(got("env"), "OMPI_MCA_coll_tuned_use_dynamic_rules=1\n");
    unlink(at("left"));
    s = must_open();
    bench_engine_mpi.measures->close(s, 1);
    assert_false(is_there("left"));
    bench_engine_mpi.measures->finish(&plan); /* it is gone already */
    bench_engine_mpi.measures->close(must_open(), 1);
}

/* ---- ranks ---- */

/* In a process of its own, which may become a worker: what join says, or 100 from that on. */
static int joined(const char *rank)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        setenv("OMPI_COMM_WORLD_RANK", rank, 1);
        if (!freopen("/dev/null", "r", stdin) || !freopen(at("said"), "w", stdout))
            _exit(101);
        _exit(bench_engine_mpi.measures->join(&e));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
}

TEST_CASE(other_ranks_become_workers)
{
    assert_int_equal(bench_engine_mpi.measures->join(&e), 0);
    assert_int_equal(joined("0"), 0);
    assert_false(is_there("left"));
    put("last", "");
    assert_int_equal(joined("1"), 3); /* the worker's */
    assert_string_equal(got("env"), "OMPI_MCA_coll_tuned_use_dynamic_rules=1\n");
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    assert_int_equal(bench_engine_mpi.measures->join(&e), ERR_USAGE);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    put_program("worker", "no program");
    assert_int_equal(bench_engine_mpi.measures->join(&e), ERR_FAILED);
    assert_string_equal(e.text, arena_printf(arena, "%s: cannot be started: Exec format error", at("worker")));
    setenv("NCCLTUNE_BENCH", "/no/worker", 1);
    assert_int_equal(bench_engine_mpi.measures->join(&e), ERR_LACKS);
}

TEST_CASES_EACH(test_mpi, begin, end)
