/* From a topology and hosts to a measured fabric, with a journal of what is learnt. */
#include "bench/engines/verbs/run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench/engines/verbs/conduct.h"
#include "core/file.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/trust.h"

#define START_S      60.0 /* for agents on all nodes */
#define MOST_RAILS   64
#define MATRIX_NODES 8 /* beyond, all pairs of ports take too long to be worth it */

/* ---- the journal: lines as they come, so that an interrupted measurement can be gone on with ---- */

#define JOURNAL_FORMAT "nccltune-fabric-journal/1"
#define JOURNAL_LIMIT  ((size_t)64 << 20) /* as of fabric.json: 600,000 pairs of ports */

struct journal {
    const char *path;
    int fd;             /* -1 not open; appended to, and on disk after every line */
    const char **lines; /* what an earlier run has written, without the first */
    int nlines;
};

static int check_first_line(const char *line, const char *path, const char *what, struct err *e)
{
    cJSON *head = json_parse(line, strlen(line), path, 1, e);
    int code = head ? json_check_format(head, JOURNAL_FORMAT, path, e) : ERR_FAILED;
    const char *then = json_str(head, "what", "");
    if (!code && strcmp(then, what) != 0)
        code = err_set(e, ERR_FAILED, "%s: the incomplete run is for \"%s\", this one for \"%s\"", path, then, what);
    cJSON_Delete(head);
    return code;
}

/* What is there; `*kept` gets the bytes up to the end of the last whole line. */
static int read_journal(struct journal *j, const char *what, struct arena *a, off_t *kept, struct err *e)
{
    char *text, *newline;
    size_t bytes;
    int code = file_read(j->path, JOURNAL_LIMIT, a, &text, &bytes, e);
    for (char *line = text; !code && (newline = memchr(line, '\n', bytes - (size_t)(line - text)));
         line = newline + 1) {
        *newline = '\0';
        *kept = newline + 1 - text;
        if (line == text)
            code = check_first_line(line, j->path, what, e);
        else
            ARENA_ADD(a, j->lines, j->nlines) = line;
    }
    return code;
}

static int append_line(struct journal *j, const char *line, struct err *e)
{
    size_t n = strlen(line);
    struct iovec parts[] = {{(void *)(uintptr_t)line, n}, {"\n", 1}};
    if (j->fd >= 0 && (writev(j->fd, parts, 2) != (ssize_t)n + 1 || fdatasync(j->fd)))
        return err_errno(e, "%s: cannot be written", j->path);
    return 0;
}

/* Open `path` for a measurement that `what` describes: ports, schedule, hosts. With `resume` what is there is read
 * first, and must be of the same; a last line that was cut off is dropped. Without, what is there is replaced. To be
 * closed in any case. */
static int open_journal(struct journal *j, const char *path, const char *what, int resume, struct arena *a,
                        struct err *e)
{
    off_t kept = 0;
    *j = (struct journal){.path = path, .fd = -1};
    int code = resume && !access(path, F_OK) ? read_journal(j, what, a, &kept, e) : 0;
    if (code)
        return code;
    j->fd = trust_append(path, 0666, e);
    if (j->fd < 0)
        return ERR_FAILED;
    if (ftruncate(j->fd, kept))
        return err_errno(e, "%s: cannot be written", path);
    if (kept)
        return 0;
    cJSON *head = cJSON_CreateObject();
    cJSON_AddStringToObject(head, "format", JOURNAL_FORMAT);
    json_add_str(head, "what", what);
    char *line = json_line(head);
    code = append_line(j, line, e);
    free(line);
    cJSON_Delete(head);
    return code;
}

/* Close it, and remove the file when the measurement is `complete`. Nothing when it is not open. */
static void close_journal(struct journal *j, int complete)
{
    if (j->fd < 0)
        return;
    close(j->fd);
    if (complete)
        trust_unlink(j->path, NULL);
    j->fd = -1;
}

/* ---- what to run ---- */

/* The active ports of a class: "mlx5_0:1,mlx5_1:1"; "-" when it has none. */
static const char *active_ports(const struct topo_class *c, struct arena *a)
{
    const char *list = "";
    for (int i = 0, n = 0; i < c->nports && n < MOST_RAILS; i++) {
        const struct topo_port *p = &c->ports[i];
        if (p->state == TOPO_STATE_ACTIVE && p->layer != TOPO_LINK_UNKNOWN)
            list = arena_printf(a, "%s%s%s:%d", list, n++ ? "," : "", p->hca, p->port);
    }
    return *list ? list : "-";
}

/* Of the longest of the lists; 0 when none has a port. */
static int rails_of(const char *lists)
{
    int most = 0;
    while (*lists) {
        int n = *lists != '-';
        for (; *lists && *lists != '/'; lists++)
            n += *lists == ',';
        most = n > most ? n : most;
        lists += *lists == '/';
    }
    return most;
}

/* The active ports of every class, parted by '/'; "-" for all together. */
static const char *list_ports(const struct topology *t, struct arena *a)
{
    const char *lists = "";
    for (int i = 0; t && i < t->nclasses; i++)
        lists = arena_printf(a, "%s%s%s", lists, i ? "/" : "", active_ports(&t->classes[i], a));
    return rails_of(lists) ? lists : "-";
}

int verbs_worth(const struct bench_setup *s)
{
    struct arena *a = arena_new();
    int nodes = places_count(s, NULL), rails = rails_of(list_ports(s->topology, a));
    arena_free(a);
    return nodes > 1 || (nodes == 1 && rails > 1);
}

/* What is measured: ports, schedule, nodes. */
static int choose_task(const struct verbs_task *o, struct verbs_conductor *c, const char **schedule, struct arena *a,
                       struct err *e)
{
    int nodes = places_count(&o->setup, e);
    if (!nodes)
        return ERR_USAGE;
    c->ports = o->ports ? o->ports : list_ports(o->setup.topology, a);
    c->rails = rails_of(c->ports);
    if (!c->rails && nodes < 2)
        return err_set(e, ERR_LACKS, "no RDMA port is active here; nccltune probe shows all of them");
    *schedule = o->schedule ? o->schedule
                : o->brief  ? (nodes > 1 ? "brief-rails" : "brief-matrix")
                : nodes > 1 ? "rails"
                            : "matrix";
    if (!strcmp(*schedule, "matrix") && nodes > MATRIX_NODES)
        return err_set(e, ERR_USAGE, "a matrix of all pairs is for %d nodes at most, here are %d: use --schedule reach",
                       MATRIX_NODES, nodes);
    return 0;
}

/* ---- what comes back ---- */

struct collection {
    struct verbs_fabric *fabric;
    struct journal journal;
    const char *nodes; /* the first line: who takes part */
    struct progress *progress;
    double began_s;
    struct err why; /* what was learnt made no sense, or the journal cannot be written */
};

/* The first line: who takes part. An earlier run of the same journal had said it, too. */
static int read_nodes_line(struct collection *c, const char *line, const cJSON *o, struct err *e)
{
    int64_t nodes = json_int(o, "nodes", 0), rails = json_int(o, "rails", -1);
    if (nodes < 1 || nodes > 4096 || rails < 0 || rails > 64)
        return err_set(e, ERR_FAILED, "a fabric of %lld nodes with %lld ports each cannot be measured",
                       (long long)nodes, (long long)rails);
    if (!c->fabric) {
        c->fabric = verbs_fabric_new((int)nodes, (int)rails);
        c->nodes = arena_strdup(c->fabric->arena, line);
        return verbs_fabric_add_names(c->fabric, cJSON_GetObjectItemCaseSensitive(o, "names"), "the fabric", e);
    }
    return c->nodes && strcmp(c->nodes, line) != 0
               ? err_set(e, ERR_FAILED, "the incomplete run was measured on other nodes: %.300s", c->nodes)
               : 0;
}

/* Take what was learnt now, or by an earlier run; `line` is the same as text. */
static int take_line(struct collection *c, const char *line, const cJSON *o, struct err *e)
{
    if (cJSON_HasObjectItem(o, "nodes"))
        return read_nodes_line(c, line, o, e);
    return c->fabric ? verbs_fabric_add(c->fabric, o, e) : 0;
}

static void show_progress(void *user, int round, int of)
{
    const struct collection *c = user;
    if (!c->progress)
        return;
    double fraction = (double)(round - 1) / of, took_s = progress_now_s() - c->began_s;
    char what[64];
    snprintf(what, sizeof what, "round %d of %d", round, of);
    progress_update(c->progress, fraction, fraction > 0 ? took_s / fraction - took_s : -1, what);
}

/* What an interrupted run cannot do without. */
static int is_kept(const char *line)
{
    return !strncmp(line, "{\"try\"", 6) || !strncmp(line, "{\"again\"", 8) || !strncmp(line, "{\"nodes\"", 8);
}

/* Takes what the conductor has learnt, and keeps it on disk where it matters. */
static void keep_line(void *user, cJSON *o)
{
    struct collection *c = user;
    char *line = json_line(o);
    int known = c->nodes != NULL && !strncmp(line, "{\"nodes\"", 8);
    if (!c->why.code && !take_line(c, line, o, &c->why) && is_kept(line) && !known)
        append_line(&c->journal, line, &c->why);
    free(line);
    cJSON_Delete(o);
}

/* Who takes part. An earlier run can be gone on with where it is the same. */
static void tell_nodes(struct collection *c, const struct verbs_conductor *w)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "nodes", w->nodes);
    cJSON_AddNumberToObject(o, "rails", w->rails);
    cJSON *names = cJSON_AddArrayToObject(o, "names");
    for (int node = 0; node < w->nodes; node++)
        json_append_str(names, w->who[w->rails ? node * w->rails : node].node);
    keep_line(c, o);
}

/* Time that is over is no error once something has been measured. */
static int conduct_fabric(struct collection *c, struct verbs_conductor *w, const char *schedule, struct err *e)
{
    int code = verbs_conduct_begin(w, e);
    if (code)
        return code;
    tell_nodes(c, w);
    if (!c->why.code)
        verbs_conduct_recall(w, c->fabric);
    if (!c->why.code)
        verbs_conduct_run(w, schedule);
    if (c->why.code || w->why.code) {
        *e = c->why.code ? c->why : w->why;
        return e->code;
    }
    if (w->over && !c->fabric->ntries)
        return err_set(e, ERR_FAILED, w->stop && *w->stop ? "interrupted" : "nothing was measured within the budget");
    c->fabric->complete = !w->over;
    return 0;
}

struct verbs_fabric *verbs_run(const struct verbs_task *o, volatile sig_atomic_t *stop, struct err *e)
{
    struct arena *a = arena_new();
    struct progress *progress = o->setup.log ? o->setup.log->progress : NULL;
    struct collection c = {.journal = {.fd = -1}, .progress = progress, .began_s = progress_now_s()};
    struct agents own = {0};
    struct verbs_conductor w = {.agents = &own,
                                .nccl = VERBS_NCCL_NEWEST,
                                .deadline_s = c.began_s + o->budget_s,
                                .stop = stop,
                                .say = keep_line,
                                .show = show_progress,
                                .user = &c};
    const char *schedule = "";
    int code = choose_task(o, &w, &schedule, a, e);
    if (!code && o->journal)
        code = open_journal(&c.journal, o->journal,
                            arena_printf(a, "%s %s %d nodes", w.ports, schedule, places_count(&o->setup, NULL)),
                            o->resume, a, e);
    for (int i = 0; !code && i < c.journal.nlines; i++) {
        cJSON *part = json_parse(c.journal.lines[i], strlen(c.journal.lines[i]), "the fabric", 0, e);
        code = part ? take_line(&c, c.journal.lines[i], part, e) : ERR_FAILED;
        cJSON_Delete(part);
    }
    if (c.fabric)
        c.fabric->ninterfaces = 0; /* they are said anew */
    if (!code)
        code = agents_open(&own, &o->setup, START_S, stop, e);
    if (!code)
        code = conduct_fabric(&c, &w, schedule, e);
    verbs_conduct_end(&w);
    agents_close(&own);
    progress_clear(progress);
    close_journal(&c.journal, !code && c.fabric->complete);
    arena_free(a);
    if (!code)
        return c.fabric;
    verbs_fabric_free(c.fabric);
    return NULL;
}
