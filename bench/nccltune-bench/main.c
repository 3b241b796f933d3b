/* nccltune-bench: what runs on every rank under mpirun or srun.
 *
 * Rank 0 speaks with the conductor over standard input and output (see bench/launch/launch.h), hands every
 * request to all ranks as it came, and answers with the slowest rank's times. `--describe VARIABLE...` says what the
 * library offers. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "bench/launch/launch.h"
#include "bench/nccltune-bench/coll.h"
#include "bench/nccltune-bench/knobs.h"
#include "core/delivered.h"

/* A checked call that took longer than this is a sample already: it was not short enough for cold caches to matter. */
#define LONG_CALL_US 50000.0

struct worker {
    MPI_Comm control; /* everything but the calls that are measured */
    int rank, ranks, nodes;
    int place;                /* the rank's number when all are counted node by node */
    struct bench_shape shape; /* of the groups that call, */
    struct group {
        MPI_Comm comm; /* the rank's own, MPI_COMM_NULL: it is in none, */
        int rank, ranks;
    } group;
    uint32_t seed; /* of the next data pattern */
    struct coll_job job;
};

/* ---- speaking (rank 0) ---- */

static void send_answer(const struct worker *w, const struct protocol_answer *answer)
{
    if (w->rank)
        return;
    char *line = protocol_answer_print(answer);
    size_t n = line ? strlen(line) : 0, sent = 0;
    while (sent < n) {
        ssize_t k = write(STDOUT_FILENO, line + sent, n - sent);
        if (k > 0)
            sent += (size_t)k;
        else if (errno != EINTR)
            MPI_Abort(MPI_COMM_WORLD, ERR_FAILED);
    }
    free(line);
}

static void send_error(const struct worker *w, const struct err *e)
{
    struct protocol_answer answer = {.kind = PROTOCOL_ERROR};
    snprintf(answer.text, sizeof answer.text, "%.*s", (int)sizeof answer.text - 1, e->text);
    send_answer(w, &answer);
}

static void send_sample(const struct worker *w, int call, enum bench_status status, double us, const char *detail)
{
    struct protocol_answer answer = {.kind = PROTOCOL_SAMPLE, .call = call, .status = status, .us = us};
    snprintf(answer.text, sizeof answer.text, "%.*s", (int)sizeof answer.text - 1, detail ? detail : "");
    send_answer(w, &answer);
}

/* How many nodes there are, and this rank's place among all, node by node in the order of their first ranks. */
static void count_nodes(struct worker *w)
{
    MPI_Comm node;
    int on_node, size, first;
    MPI_Comm_split_type(w->control, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &on_node);
    MPI_Comm_size(node, &size);
    first = on_node == 0 ? size : 0;
    int before = 0, mine[2];
    MPI_Exscan(&first, &before, 1, MPI_INT, MPI_SUM, w->control);
    mine[0] = w->rank == 0 ? 0 : before;
    MPI_Bcast(mine, 1, MPI_INT, 0, node);
    w->place = mine[0] + on_node;
    first = on_node == 0;
    MPI_Allreduce(&first, &w->nodes, 1, MPI_INT, MPI_SUM, w->control);
    MPI_Comm_free(&node);
}

static int send_hello(struct worker *w)
{
    struct protocol_answer hello = {.kind = PROTOCOL_HELLO, .ranks = w->ranks};
    knobs_library(hello.text, sizeof hello.text);
    count_nodes(w);
    hello.nodes = w->nodes;
    char library[sizeof hello.text];
    memcpy(library, hello.text, sizeof library);
    MPI_Bcast(library, sizeof library, MPI_CHAR, 0, w->control);
    int same = !strcmp(library, hello.text), all;
    MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, w->control);
    if (!all) {
        struct err e;
        err_set(&e, ERR_FAILED, "the nodes run different MPI libraries; %s is the first node's", library);
        send_error(w, &e);
        return -1;
    }
    /* mpirun's daemons may have read a shell's start files. The conductor's own environment is clean. */
    int sourced = getenv(DELIVERED_SOURCED) != NULL, any;
    MPI_Allreduce(&sourced, &any, 1, MPI_INT, MPI_MAX, w->control);
    if (any) {
        struct err e;
        err_set(&e, ERR_FAILED,
                DELIVERED_SOURCED " is set on a rank: a profile's openmpi.sh would be part of the baseline; remove it "
                                  "from that node's shell start files");
        send_error(w, &e);
        return -1;
    }
    send_answer(w, &hello);
    return 0;
}

/* ---- listening ---- */

/* The next line of standard input into `line`; its length, 0 at the end of the input. */
static int read_line(char *line)
{
    static char buffer[PROTOCOL_LINE];
    static size_t used;
    for (;;) {
        char *eol = memchr(buffer, '\n', used);
        if (eol) {
            size_t n = (size_t)(eol - buffer) + 1;
            memcpy(line, buffer, n);
            memmove(buffer, buffer + n, used - n);
            used -= n;
            return (int)n;
        }
        ssize_t n = used < sizeof buffer ? read(STDIN_FILENO, buffer + used, sizeof buffer - used) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        used += (size_t)n;
    }
}

/* A broadcast that sleeps while it waits: MPI's own waiting would burn the cores that others may be measured on. */
static void share_bytes(void *data, int bytes, MPI_Comm comm)
{
    MPI_Request request;
    int done = 0;
    long pause_ns = 20000;
    MPI_Ibcast(data, bytes, MPI_BYTE, 0, comm, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) {
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        if (pause_ns < 1000000)
            pause_ns *= 2;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- groups ---- */

static void leave_group(struct worker *w)
{
    knobs_free();
    if (w->group.comm != w->control && w->group.comm != MPI_COMM_NULL)
        MPI_Comm_free(&w->group.comm);
    w->group = (struct group){w->control, w->rank, w->ranks};
    w->shape = (struct bench_shape){0};
}

/* Who is in no group takes part in what all do together, and in no call. */
static void enter_group(struct worker *w, const struct bench_shape *shape)
{
    const struct bench_shape whole = {.nodes = w->nodes, .ranks = w->ranks};
    if (bench_shape_same(&w->shape, shape))
        return;
    leave_group(w);
    w->shape = *shape;
    if (!shape->nodes || bench_shape_same(shape, &whole))
        return;
    int number = bench_shape_group(shape, &whole, w->place);
    w->group = (struct group){MPI_COMM_NULL, 0, shape->ranks};
    MPI_Comm_split(w->control, number < 0 ? MPI_UNDEFINED : number, w->place, &w->group.comm);
    if (number >= 0)
        MPI_Comm_rank(w->group.comm, &w->group.rank);
}

static int is_idle(const struct worker *w)
{
    return w->group.comm == MPI_COMM_NULL;
}

/* ---- measuring ---- */

/* The slowest rank's value, and whether all ranks are well. */
static double find_slowest(const struct worker *w, double us, int ok, int *all_ok)
{
    double mine[2] = {us, !ok}, most[2];
    MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, w->control);
    *all_ok = most[1] == 0;
    return most[0];
}

/* One sample, in microseconds a call. All begin each call together, as after a barrier of a program's own: back to back
 * ranks drift apart, which some algorithms like and others do not, and no job calls so. */
static double time_calls(struct worker *w, MPI_Comm comm, int iterations, int *ok)
{
    int rc = MPI_SUCCESS;
    double us = 0;
    if (iterations > 1 && !is_idle(w))
        rc = coll_call(&w->job, comm);
    MPI_Barrier(w->control);
    for (int i = 0; i < iterations && rc == MPI_SUCCESS && !is_idle(w); i++) {
        MPI_Barrier(w->group.comm);
        double start = MPI_Wtime();
        rc = coll_call(&w->job, comm);
        us += (MPI_Wtime() - start) * 1e6 / iterations;
    }
    return find_slowest(w, us, rc == MPI_SUCCESS, ok);
}

/* Whether one call gives the right data everywhere; its time goes to `*us`. */
static enum bench_status check_call(struct worker *w, MPI_Comm comm, double *us, char detail[BENCH_DETAIL])
{
    uint32_t seed = ++w->seed, found = 0, expected = 0;
    int ok;
    coll_fill(&w->job, seed);
    *us = time_calls(w, comm, 1, &ok);
    if (!ok) {
        snprintf(detail, BENCH_DETAIL, "the library returned an error");
        return BENCH_FAILED;
    }
    long wrong = is_idle(w) ? -1 : coll_check(&w->job, seed, &found, &expected);
    int mine = wrong >= 0 ? w->rank : w->ranks, first;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, w->control);
    if (first == w->ranks)
        return BENCH_OK;
    long said[3] = {wrong, (long)found, (long)expected};
    MPI_Bcast(said, 3, MPI_LONG, first, w->control);
    snprintf(detail, BENCH_DETAIL, "rank %d: element %ld is %ld, expected %ld", first, said[0], said[1], said[2]);
    return BENCH_WRONG;
}

struct shot {
    MPI_Comm comm;
    int iterations, out;
    double checked_us; /* time of a checked call that is a sample already; 0 none */
};

/* Makes one call ready: its communicator, its data checked, its iterations chosen. */
static void prepare_shot(struct worker *w, const struct bench_batch *b, int i, struct shot *s)
{
    struct err e;
    char detail[BENCH_DETAIL] = "";
    enum bench_status status = BENCH_OK;
    double us = 0;
    int ok = 1;
    s->iterations = b->shots[i].iterations;
    int failed = !is_idle(w) && knobs_comm(b->shots[i].knobs, w->group.comm, &s->comm, &e);
    find_slowest(w, 0, !failed, &ok);
    if (!ok) {
        snprintf(detail, sizeof detail, "%.*s", (int)sizeof detail - 1,
                 failed ? e.text : "another group could not set its variables");
        status = BENCH_FAILED;
    } else if (b->check) {
        status = check_call(w, s->comm, &us, detail);
        if (us > LONG_CALL_US)
            s->checked_us = us;
    }
    if (status == BENCH_OK && !s->iterations && !(s->checked_us > 0)) {
        us = time_calls(w, s->comm, 1, &ok);
        s->iterations = bench_sample_calls(&(struct bench_sampling){0}, us);
    }
    if (!s->iterations)
        s->iterations = 1;
    if (status != BENCH_OK) {
        s->out = 1;
        send_sample(w, i, status, 0, detail);
    }
}

static void answer_request(struct worker *w, const struct bench_batch *b, struct arena *a)
{
    struct err e;
    struct shot *shots = arena_alloc(a, (size_t)b->nshots * sizeof *shots);
    enter_group(w, &b->shape);
    int ready, rc = coll_prepare(&w->job, b->coll, b->bytes, w->group.rank, w->group.ranks, &e);
    find_slowest(w, 0, !rc, &ready);
    for (int i = 0; !ready && i < b->nshots; i++)
        send_sample(w, i, BENCH_FAILED, 0, rc ? e.text : "another rank has no memory for it");
    for (int k = 0; ready && k < b->samples; k++)
        for (int i = 0; i < b->nshots; i++) {
            if (k == 0)
                prepare_shot(w, b, i, &shots[i]);
            if (shots[i].out)
                continue;
            int ok = 1;
            double us = k == 0 && shots[i].checked_us > 0 ? shots[i].checked_us
                                                          : time_calls(w, shots[i].comm, shots[i].iterations, &ok);
            shots[i].out = !ok;
            send_sample(w, i, ok ? BENCH_OK : BENCH_FAILED, us, "the library returned an error");
        }
    send_answer(w, &(struct protocol_answer){.kind = PROTOCOL_DONE});
}

/* Requests until the input ends. */
static int serve_requests(struct worker *w)
{
    static char line[PROTOCOL_LINE];
    for (;;) {
        int n = w->rank ? 0 : read_line(line);
        share_bytes(&n, sizeof n, w->control);
        if (!n)
            return 0;
        share_bytes(line, n, w->control);
        struct arena *a = arena_new();
        struct bench_batch batch;
        struct err e;
        int rc = protocol_request_parse(line, (size_t)n, a, &batch, &e);
        if (rc)
            send_error(w, &e);
        else
            answer_request(w, &batch, a);
        arena_free(a);
        if (rc)
            return rc;
    }
}

int main(int argc, char **argv)
{
    int provided, rc;
    if (argc > 1 && !strcmp(argv[1], "--version"))
        return puts("nccltune-bench " NCCLTUNE_VERSION) < 0;
    if (argc > 1 && !strcmp(argv[1], "--help"))
        return puts("nccltune-bench is started by 'nccltune bench', one a node; see nccltune-bench(1).") < 0;
    if (argc < 2 && isatty(STDIN_FILENO)) {
        fputs("nccltune-bench is started by 'nccltune bench'.\n", stderr);
        return ERR_USAGE;
    }
    /* A worker without its launcher would stay in a call that nobody else takes part in. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (argc > 1 && !strcmp(argv[1], "--describe")) {
        rc = knobs_describe(argv + 2, argc - 2, stdout);
        MPI_T_finalize();
        return rc;
    }
    struct worker w = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &w.control);
    MPI_Comm_rank(w.control, &w.rank);
    MPI_Comm_size(w.control, &w.ranks);
    w.group = (struct group){w.control, w.rank, w.ranks};
    rc = send_hello(&w) ? ERR_FAILED : serve_requests(&w);
    coll_release(&w.job);
    leave_group(&w);
    MPI_Comm_free(&w.control);
    MPI_T_finalize();
    MPI_Finalize();
    return rc;
}
