/* nccltune-bench's main.c as one rank of a launch whose other ranks, clock, collectives and variables are this file's:
 * what it calls, in what order, and what it answers, as a whole. */
#include "tests/lib/whole.h"

#define main worker_main
#include "bench/nccltune-bench/main.c" /* which is in no library */
#undef main

#include "core/coll.h"

/* ---- the launch ---- */

struct ompi_predefined_datatype_t {
    char none;
} ompi_mpi_int, ompi_mpi_char, ompi_mpi_byte, ompi_mpi_double, ompi_mpi_long;
struct ompi_predefined_op_t {
    char none;
} ompi_mpi_op_sum, ompi_mpi_op_min, ompi_mpi_op_max;
struct ompi_predefined_info_t {
    char none;
} ompi_mpi_info_null;
struct ompi_predefined_communicator_t {
    const char *name;
} ompi_mpi_comm_world = {"world"}, ompi_mpi_comm_null = {"none"};
static struct ompi_predefined_communicator_t control = {"control"}, node = {"node"}, group = {"group"},
                                             tuned = {"tuned"};

static struct launch {
    const char *name, *input; /* what is read, or what rank 0 hands on */
    int rank, ranks, nodes, on_node, first_before;
    const char *other_library; /* that another rank has */
    int others_bad, first_wrong, wrong, fails_call, fails_prepare, fails_knobs;
    double others_us, call_s; /* powers of two, whose sums are exact */
} it;
static FILE *out;
static const char *rest; /* of the input */
static int tests_left, handed;
static double clock_s;

static const char *name_of(MPI_Comm c)
{
    return c ? ((const struct ompi_predefined_communicator_t *)(const void *)c)->name : "nothing";
}

static MPI_Comm handle(struct ompi_predefined_communicator_t *c)
{
    return (MPI_Comm)(void *)c;
}

int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return fprintf(out, "  init\n") < 0;
}

int MPI_T_init_thread(int required, int *provided)
{
    *provided = required;
    return fprintf(out, "  T_init %d\n", required == MPI_THREAD_SINGLE) < 0;
}

int MPI_T_finalize(void)
{
    return fprintf(out, "  T_finalize\n") < 0;
}

int MPI_Finalize(void)
{
    return fprintf(out, "  finalize\n") < 0;
}

int MPI_Abort(MPI_Comm c, int code)
{
    fprintf(out, "  abort %s %d\n", name_of(c), code);
    _exit(code);
}

int MPI_Comm_dup(MPI_Comm from, MPI_Comm *to)
{
    *to = handle(&control);
    return fprintf(out, "  dup %s\n", name_of(from)) < 0;
}

int MPI_Comm_free(MPI_Comm *c)
{
    fprintf(out, "  free %s\n", name_of(*c));
    *c = MPI_COMM_NULL;
    return 0;
}

int MPI_Comm_rank(MPI_Comm c, int *rank)
{
    *rank = c == handle(&node) ? it.on_node : c == handle(&group) ? 1 : it.rank;
    return 0;
}

int MPI_Comm_size(MPI_Comm c, int *size)
{
    *size = c == handle(&node) ? it.ranks / it.nodes : it.ranks;
    return 0;
}

int MPI_Comm_split_type(MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *to)
{
    assert_true(type == MPI_COMM_TYPE_SHARED && info == MPI_INFO_NULL);
    *to = handle(&node);
    return fprintf(out, "  split %s by node, key %d\n", name_of(c), key) < 0;
}

int MPI_Comm_split(MPI_Comm c, int color, int key, MPI_Comm *to)
{
    *to = color == MPI_UNDEFINED ? MPI_COMM_NULL : handle(&group);
    return fprintf(out, "  split %s color %d key %d\n", name_of(c), color == MPI_UNDEFINED ? -1 : color, key) < 0;
}

int MPI_Exscan(const void *mine, void *before, int n, MPI_Datatype type, MPI_Op op, MPI_Comm c)
{
    assert_true(n == 1 && type == MPI_INT && op == MPI_SUM);
    if (it.rank)
        memcpy(before, &it.first_before, sizeof(int));
    return fprintf(out, "  exscan %d on %s\n", *(const int *)mine, name_of(c)) < 0;
}

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm c)
{
    if (type == MPI_CHAR && it.other_library)
        snprintf(data, (size_t)n, "%s", it.other_library);
    if (type == MPI_LONG && root != it.rank)
        memcpy(data, (long[]){5, 6, 7}, 3 * sizeof(long));
    fprintf(out, "  bcast %d from %d on %s\n", type == MPI_CHAR ? -1 : n, root, name_of(c));
    return 0;
}

/* The others' share of a sum, least or most. */
int MPI_Allreduce(const void *mine, void *all, int n, MPI_Datatype type, MPI_Op op, MPI_Comm c)
{
    const double *d = mine;
    const int *i = mine;
    assert_ptr_equal(c, handle(&control));
    if (type == MPI_INT && op == MPI_SUM) { /* nodes */
        assert_int_equal(n, 1);
        fprintf(out, "  sum %d\n", *i);
        *(int *)all = it.nodes;
    } else if (type == MPI_INT && op == MPI_MAX) { /* who has sourced a profile */
        assert_int_equal(n, 1);
        *(int *)all = *i;
    } else if (type == MPI_INT) {
        assert_true(n == 1 && op == MPI_MIN);
        fprintf(out, "  least %d\n", *i);
        *(int *)all = it.first_wrong >= 0 && it.first_wrong < *i ? it.first_wrong : *i;
    } else if (op == MPI_SUM) {
        assert_true(n == 1 && type == MPI_DOUBLE);
        fprintf(out, "  sum %g\n", *d);
        *(double *)all = *d + (it.ranks - 1) * 4.0;
    } else {
        assert_true(n == 2 && type == MPI_DOUBLE && op == MPI_MAX);
        fprintf(out, "  most %g us, %g\n", d[0], d[1]);
        ((double *)all)[0] = d[0] > it.others_us ? d[0] : it.others_us;
        ((double *)all)[1] = d[1] > it.others_bad ? d[1] : it.others_bad;
    }
    return 0;
}

int MPI_Barrier(MPI_Comm c)
{
    return fprintf(out, "  barrier %s\n", name_of(c)) < 0;
}

double MPI_Wtime(void)
{
    return clock_s;
}

int MPI_Ibcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm c, MPI_Request *request)
{
    assert_true(type == MPI_BYTE && root == 0 && c == handle(&control));
    *request = (MPI_Request)(void *)&node;
    tests_left = 8;
    if (it.rank && !handed) {
        int length = (int)strcspn(rest, "\n") + (strchr(rest, '\n') != NULL);
        memcpy(data, &length, sizeof length);
        handed = length > 0;
    } else if (it.rank) {
        memcpy(data, rest, (size_t)n);
        rest += n;
        handed = 0;
    }
    return 0;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    assert_true(*request && !status);
    *done = --tests_left == 0;
    return 0;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    assert_true(*request && !status && tests_left == 0);
    return 0;
}

/* ---- collectives, variables and the thread beside ---- */

int coll_prepare(struct coll_job *j, int coll, uint64_t bytes, int rank, int ranks, struct err *e)
{
    j->coll = coll;
    fprintf(out, "  prepare %s %llu as %d of %d\n", coll_name(coll), (unsigned long long)bytes, rank, ranks);
    return it.fails_prepare ? err_set(e, ERR_FAILED, "no memory here") : 0;
}

void coll_release(struct coll_job *j)
{
    fprintf(out, "  release %d\n", j->coll);
}

int coll_call(struct coll_job *j, MPI_Comm comm)
{
    clock_s += it.call_s;
    fprintf(out, "  %s on %s\n", coll_name(j->coll), name_of(comm));
    return it.fails_call && --it.fails_call == 0 ? MPI_SUCCESS + 1 : MPI_SUCCESS;
}

void coll_fill(struct coll_job *j, uint32_t seed)
{
    (void)j;
    fprintf(out, "  fill %u\n", seed);
}

long coll_check(const struct coll_job *j, uint32_t seed, uint32_t *found, uint32_t *expected)
{
    (void)j;
    fprintf(out, "  check %u\n", seed);
    *found = 41;
    *expected = 42;
    return it.wrong ? 17 : -1;
}

void knobs_library(char *text, size_t size)
{
    snprintf(text, size, "Open MPI 9");
}

int knobs_comm(const struct bench_knobs *knobs, MPI_Comm base, MPI_Comm *comm, struct err *e)
{
    fprintf(out, "  communicator of %s under %d settings\n", name_of(base), knobs->nsettings);
    *comm = handle(&tuned);
    return it.fails_knobs ? err_set(e, ERR_FAILED, "no such variable") : 0;
}

void knobs_free(void)
{
    fprintf(out, "  knobs_free\n");
}

int knobs_describe(char *const *names, int nnames, FILE *to)
{
    fprintf(out, "  describe %d: %s\n", nnames, nnames ? names[0] : "");
    return to == stdout ? 7 : -1;
}

/* ---- launches ---- */

#define ASK(coll, bytes, samples, more, calls) \
    "{\"collective\":\"" coll "\",\"bytes\":" bytes ",\"samples\":" samples "," more "\"calls\":[" calls "]}\n"
#define CHECKED  "\"check\":true,"
#define GROUP(s) "\"group\":{" s "},"
#define TIMES(n) "{\"settings\":{},\"iterations\":" #n "}"

static const struct launch launches[] = {
    {.name = "alone",
     .input = ASK("broadcast", "64", "2", CHECKED, TIMES(3) ",{\"settings\":{\"a\":\"1\"},\"iterations\":1}")
         ASK("allreduce", "8", "1", "", TIMES(0))},
    {.name = "a long call, which is a sample when it was checked",
     .call_s = 0x1p-4,
     .input = ASK("allreduce", "64", "2", CHECKED, TIMES(0)) ASK("allreduce", "64", "1", "", TIMES(0))},
    {.name = "not quite so long", .call_s = 0x1.8p-5, .input = ASK("allreduce", "64", "1", CHECKED, TIMES(0))},
    {.name = "the last rank of four on two nodes",
     .rank = 3,
     .ranks = 4,
     .nodes = 2,
     .on_node = 1,
     .first_before = 2,
     .others_us = 70,
     .input = ASK("allreduce", "64", "1", GROUP("\"nodes\":2,\"ranks\":2,\"others\":1"), TIMES(2))
         ASK("allreduce", "64", "1", GROUP("\"nodes\":1,\"ranks\":2,\"others\":1"), TIMES(2))
             ASK("allreduce", "96", "1", CHECKED GROUP("\"nodes\":1,\"ranks\":2"), TIMES(2))
                 ASK("allreduce", "64", "1", GROUP("\"nodes\":2,\"ranks\":4"), TIMES(2))
                     ASK("allreduce", "64", "1", "", TIMES(2))},
    {.name = "the first rank of the second node", .rank = 2, .ranks = 4, .nodes = 2, .first_before = 2, .input = ""},
    {.name = "others are slower", .ranks = 3, .others_us = 90.5, .input = ASK("allreduce", "64", "1", "", TIMES(2))},
    {.name = "a call fails", .fails_call = 2, .input = ASK("allreduce", "64", "3", "", TIMES(2) "," TIMES(1))},
    {.name = "a checked call fails", .fails_call = 1, .input = ASK("allreduce", "64", "2", CHECKED, TIMES(2))},
    {.name = "elsewhere a call fails", .ranks = 2, .others_bad = 1, .input = ASK("allreduce", "64", "2", "", TIMES(2))},
    {.name = "wrong data here", .wrong = 1, .input = ASK("allreduce", "64", "2", CHECKED, TIMES(2))},
    {.name = "wrong data elsewhere",
     .ranks = 3,
     .first_wrong = 2,
     .input = ASK("allreduce", "64", "2", CHECKED, TIMES(2))},
    {.name = "no memory", .fails_prepare = 1, .input = ASK("allreduce", "64", "2", "", TIMES(2) "," TIMES(1))},
    {.name = "no variable", .fails_knobs = 1, .input = ASK("allreduce", "64", "2", CHECKED, TIMES(2))},
    {.name = "another library elsewhere", .ranks = 2, .other_library = "Open MPI 8", .first_wrong = 0, .input = ""},
    {.name = "nonsense", .input = "{\"collective\":\"allreduce\"}\n" ASK("allreduce", "64", "1", "", TIMES(1))},
};

/* With its input and output in files; what it has said comes last. */
static void play(const struct launch *l)
{
    FILE *in = tmpfile(), *said = tmpfile();
    int before[] = {dup(STDIN_FILENO), dup(STDOUT_FILENO)};
    char word[] = "nccltune-bench", *argv[] = {word, NULL}, line[512];
    it = *l;
    it.ranks = it.ranks ? it.ranks : 1;
    it.nodes = it.nodes ? it.nodes : 1;
    it.first_wrong = it.first_wrong || it.other_library ? it.first_wrong : -1;
    it.call_s = it.call_s > 0 ? it.call_s : 0x1p-15;
    rest = it.input;
    handed = 0;
    clock_s = 1024;
    fprintf(out, "%s\n", l->name);
    fputs(l->input, in);
    rewind(in);
    fflush(stdout);
    dup2(fileno(in), STDIN_FILENO);
    dup2(fileno(said), STDOUT_FILENO);
    int code = worker_main(1, argv);
    dup2(before[0], STDIN_FILENO);
    dup2(before[1], STDOUT_FILENO);
    close(before[0]);
    close(before[1]);
    rewind(said);
    fprintf(out, "  code %d\n", code);
    while (fgets(line, sizeof line, said))
        fprintf(out, "> %s", line);
    fclose(said);
    fclose(in);
}

TEST_CASE(as_a_whole)
{
    char *text = NULL;
    size_t bytes;
    out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++)
        play(&launches[i]);
    fclose(out);
    assert_whole(text, "tests/fixtures/bench/mpi-worker.txt");
    free(text);
}

TEST_CASE(what_is_described)
{
    char words[][20] = {"nccltune-bench", "--describe", "first", "second"};
    char *argv[] = {words[0], words[1], words[2], words[3], NULL}, *text = NULL;
    size_t bytes;
    out = open_memstream(&text, &bytes);
    assert_int_equal(worker_main(4, argv), 7);
    assert_int_equal(worker_main(2, argv), 7);
    fclose(out);
    assert_string_equal(text,
                        "  T_init 1\n  describe 2: first\n  T_finalize\n  T_init 1\n  describe 0: \n  T_finalize\n");
    free(text);
}

TEST_CASES(main)
