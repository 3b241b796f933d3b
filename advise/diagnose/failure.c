/* Messages of failures: what is the cause, what follows from it, and what else in the logs bears on it. */
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"
#include "core/finding.h"

#define DAYS_S  172800.0 /* times farther apart are not of one calendar */
#define ORIGINS 4        /* of a message, by name */
#define LINE    4096     /* bytes of a message that are read */

/* The first time of a message; `others` are further ranks that print it. */
struct seen {
    long count, order;
    double at_s;
    struct diag_origin who, others[ORIGINS];
    int nothers, has_worked; /* collectives had been measured, or steps done, before it */
    const char *text;        /* the whole line, up to LINE bytes */
    char place[DIAG_PLACE];
};

struct diag_events {
    long order; /* of lines */
    int next_is_error;
    struct seen unknown; /* a warning without an entry */
    struct seen of[];    /* by message */
};

struct diag_events *diag_events_new(struct arena *a)
{
    return arena_alloc(a, sizeof(struct diag_events) + message_count() * sizeof(struct seen));
}

static int is_same(const struct diag_origin *a, const struct diag_origin *b)
{
    return a->rank == b->rank && a->pid == b->pid && !strcmp(a->host, b->host);
}

static int has_worked(const struct diagnosis *d)
{
    const struct diag_nccl *n = &d->nccl;
    int worked = d->tests.rows > 0 || n->p2p + n->shm + n->ib + n->socket > 0; /* or connections were made */
    for (int f = 0; f < DIAG_FORMATS; f++)
        worked |= d->series[f].logged > 1;
    return worked;
}

static void note_time(struct diagnosis *d, struct seen *s, const char *text)
{
    const double earlier_s = d->clock_s >= 0 && s->at_s >= 0 ? s->at_s - d->clock_s : 0;
    int first = !s->count++ || (earlier_s > 0 && earlier_s < DAYS_S);
    if (first) {
        s->order = d->events->order;
        s->at_s = d->clock_s;
        s->who = d->who;
        s->has_worked = has_worked(d);
        s->text = arena_strndup(d->arena, text, strnlen(text, LINE));
        diag_here(d, s->place);
    } else if (s->nothers < ORIGINS && !is_same(&s->who, &d->who)) {
        for (int i = 0; i < s->nothers; i++)
            if (is_same(&s->others[i], &d->who))
                return;
        s->others[s->nothers++] = d->who;
    }
}

/* The text of a line behind NCCL's prefix, from the source file on. */
static const char *behind_prefix(const char *line)
{
    const char *nccl = strstr(line, "CCL WARN "), *p = nccl;
    if (!nccl)
        return line;
    while (p > line && !(p[-1] == ' ' && p > line + 1 && p[-2] == ']'))
        p--;
    return p;
}

int diag_read_messages(struct diagnosis *d, const char *line)
{
    struct diag_events *e = d->events;
    int warning = strstr(line, "CCL WARN ") != NULL || strstr(line, "WARN: Function:") ||
                  strstr(line, "Last NCCL warning(error)") || e->next_is_error;
    const char *text = warning ? behind_prefix(line) : line;
    e->order++;
    if (!*line)
        return 0;
    /* PyTorch prints NCCL's last warning on a line of its own. */
    const char *error = strstr(line, "Last error:");
    e->next_is_error = error && !error[11 + strspn(error + 11, " \\n\"")];
    int i = message_of(text, warning);
    if (i >= 0)
        note_time(d, &e->of[i], text);
    else if (warning)
        note_time(d, &e->unknown, text);
    return i >= 0 || warning;
}

/* ---- facts that all ranks should share --------------------------------------------------------------------------- */

void diag_note_fact(struct diagnosis *d, const char *name, size_t name_len, const char *value, size_t len)
{
    struct diag_fact *f = d->facts;
    char text[sizeof f->value];
    int i = 0;
    snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text - 1), value);
    while (i < d->nfacts && (strlen(f[i].name) != name_len || strncmp(f[i].name, name, name_len) != 0))
        i++;
    if (i == DIAG_FACTS || name_len >= sizeof f->name)
        return;
    if (i == d->nfacts) {
        d->nfacts++;
        f[i] = (struct diag_fact){.who = d->who};
        snprintf(f[i].name, sizeof f[i].name, "%.*s", (int)name_len, name);
        memcpy(f[i].value, text, sizeof text);
    } else if (strcmp(f[i].value, text) != 0 && is_same(&f[i].who, &d->who) && *d->who.host) {
        f[i].varies = 1; /* within one process: it is no difference of ranks */
    } else if (strcmp(f[i].value, text) != 0 && !*f[i].other) {
        memcpy(f[i].other, text, sizeof text);
        f[i].other_who = d->who;
        diag_here(d, f[i].place);
    }
}

static int differs(const struct diag_fact *f)
{
    return *f->other && !f->varies;
}

/* "mlx5_5" of "[0]mlx5_0:1/RoCE [1]mlx5_5:1/RoCE" that the other list lacks; `n`: how many there are. */
static const char *missing_hcas(struct arena *a, const char *list, const char *other, int *n)
{
    const char *missing = "";
    *n = 0;
    for (const char *p = list; (p = strchr(p, ']'));) {
        const char *name = arena_strndup(a, p, strcspn(p, "/ ;")); /* "]mlx5_5:1" */
        size_t len = strlen(name);
        const char *at = strstr(other, name);
        p += len;
        if (len < 2)
            continue;
        ++*n;
        if (!at || (at[len] && !strchr("/ ;", at[len])))
            missing = arena_printf(a, "%s%s%s", missing, *missing ? ", " : "", name + 1);
    }
    return missing;
}

/* Say how two ranks differ, in HCAs by those that one lacks: "node03 has 7, node01 8: node03 lacks mlx5_5". */
static const char *difference_text(struct arena *a, const struct diag_fact *f)
{
    int n[2];
    const char *second = missing_hcas(a, f->value, f->other, &n[0]),
               *first = missing_hcas(a, f->other, f->value, &n[1]);
    const char *name[2] = {f->who.host, f->other_who.host};
    if (strcmp(f->name, "HCAs") != 0 || (!*first && !*second) || !*name[0] || !*name[1])
        return arena_printf(a, "%s: %.150s and %.150s", f->name, f->value, f->other);
    return arena_printf(a, "HCAs: %s has %d, %s %d%s%s%s%s%s%s%s%s", name[0], n[0], name[1], n[1], *second ? "; " : "",
                        *second ? name[1] : "", *second ? " lacks " : "", second, *first ? "; " : "",
                        *first ? name[0] : "", *first ? " lacks " : "", first);
}

static const struct diag_fact *find_difference(const struct diagnosis *d, const char *name)
{
    for (int i = 0; i < d->nfacts; i++)
        if (differs(&d->facts[i]) && !strcmp(d->facts[i].name, name))
            return &d->facts[i];
    return NULL;
}

/* ---- which message counts ---------------------------------------------------------------------------------------- */

static int is_earlier(const struct seen *a, const struct seen *b)
{
    if (a->at_s >= 0 && b->at_s >= 0 && a->at_s != b->at_s && a->at_s - b->at_s < DAYS_S && b->at_s - a->at_s < DAYS_S)
        return a->at_s < b->at_s;
    return a->order < b->order;
}

static int index_of(const char *id)
{
    for (size_t i = 0; i < message_count(); i++)
        if (!strcmp(message_at(i)->id, id))
            return (int)i;
    return -1;
}

/* What explains another message wherever it stands. */
static int replaced_by(const struct diag_events *e, int i)
{
    static const struct {
        const char *ids, *by; /* "a|b" */
    } explains[] = {
        {"ib-retry|ib-event", "ib-port-error"},
        {"cuda-failure|launch-failure", "xid-79"},
        {"launch-failure", "xid-ecc"},
        {"nvls-multicast", "xid-nvlink"},
        {"shm-other", "shm-full"},
        {"p2p-access|ib-remote-access", "acs"},
        {"ib-fatal-event", "ib-protection"},
        {"illegal-access|cuda-failure|launch-failure", "gpu-new"},
        {"reg-mr", "memlock"},
        {"socket-connect", "out-of-memory"},
        {"ib-protection", "iommu-fault"},
        {"nvshmem-init", "nvshmem-mlx5"},
        {"mpi-start", "tcpxo-advice"},
        {"child-failed", "job-ended"},
        {"aborted", "watchdog"},
        {"torch-nccl-error", "torch-system-error"},
        {"torch-nccl-error", "torch-cuda-error"},
        {"torch-nccl-error|torch-system-error|peer-closed", "transport-connect"},
        {"torch-system-error", "peer-closed"},
        {"transport-connect", "slingshot-sockets"},
    };
    for (size_t k = 0; i >= 0 && k < sizeof explains / sizeof *explains; k++) {
        const char *id = message_at((size_t)i)->id;
        int by = diag_is_one_of(explains[k].ids, id, strlen(id)) ? index_of(explains[k].by) : -1;
        if (by >= 0 && e->of[by].count)
            return by;
    }
    return i;
}

/* The first cause or wrong call, else state that NCCL does not expect, else echo, and what explains it; -1. */
static int find_cause(const struct diag_events *e)
{
    static const int ranks[] = {[MESSAGE_CAUSE] = 0, [MESSAGE_CALL] = 0, [MESSAGE_INTERNAL] = 1, [MESSAGE_ECHO] = 2};
    int best = -1;
    for (size_t i = 0; i < message_count(); i++) {
        if (!e->of[i].count || message_at(i)->kind == MESSAGE_NOTE)
            continue;
        int more = best < 0 ? 1 : ranks[message_at((size_t)best)->kind] - ranks[message_at(i)->kind];
        if (more > 0 || (!more && is_earlier(&e->of[i], &e->of[best])))
            best = (int)i;
    }
    return replaced_by(e, best);
}

/* ---- what else bears on it --------------------------------------------------------------------------------------- */

/* "2.18.3+cuda12" below "2.21": 1; unknown: 0. */
static int is_release_before(const char *version, long minor)
{
    char *end;
    long major = strtol(version, &end, 10);
    return major && *end == '.' && (major < 2 || (major == 2 && strtol(end + 1, NULL, 10) < minor));
}

static void add_gid(const struct diagnosis *d, const struct seen *s, char *why)
{
    const struct diag_variable *gid = diag_find_variable(d, "NCCL_IB_GID_INDEX");
    (void)s;
    const struct diag_fact *f = find_difference(d, "NCCL_IB_GID_INDEX");
    if (f)
        diag_say(why, " Ranks set different NCCL_IB_GID_INDEX: %s and %s.", f->value, f->other);
    else if (d->nccl.roce && !gid && is_release_before(d->nccl.version, 21))
        diag_say(why,
                 " The HCAs are RoCE, NCCL_IB_GID_INDEX is not set, and NCCL %s then takes index 0, which seldom is "
                 "the routed RoCE v2 address.",
                 d->nccl.version);
    else if (d->nccl.roce && gid)
        diag_say(why,
                 " The HCAs are RoCE and NCCL_IB_GID_INDEX is %s: check that it is the routed address on every node.",
                 gid->value);
}

/* Addresses that only their own node has. */
static void add_address(const struct diagnosis *d, const struct seen *s, char *why)
{
    static const struct {
        const char *start, *of;
    } private[] = {
        {"o 172.17.", "docker0"},
        {"o 172.18.", "a docker bridge"},
        {"o 192.168.122.", "virbr0"},
        {"o 127.", "loopback"},
        {"o fe80:", "a link-local address, often of an IPoIB or docker interface"},
        {"o 169.254.", "a link-local address"},
        {"o 172.21.0.1<", "a docker bridge"},
    };
    for (size_t i = 0; i < sizeof private / sizeof *private; i++)
        if (strstr(s->text, private[i].start))
            diag_say(why, " The address is %s: another node cannot reach it.", private[i].of);
    const struct diag_fact *f = find_difference(d, "NCCL_SOCKET_IFNAME");
    if (f)
        diag_say(why, " Ranks set different NCCL_SOCKET_IFNAME: %s and %s.", f->value, f->other);
}

static void add_differences(const struct diagnosis *d, const struct seen *s, char *why)
{
    (void)s;
    for (int i = 0; i < d->nfacts; i++)
        if (differs(&d->facts[i]))
            diag_say(why, " Ranks differ in %s: %s and %s.", d->facts[i].name, d->facts[i].value, d->facts[i].other);
}

/* "(distance 7 > 4)": NCCL's classes of paths, which got two more in 2.26. Its own limit is PXB, 4 and later 5. */
static void add_distance(const struct diagnosis *d, const struct seen *s, char *why)
{
    static const char *const before[] = {"LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS", "NET", "DIS"};
    static const char *const since[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                        "PXN", "P2C", "PHB", "SYS", "NET", "DIS"};
    const char *p = strstr(s->text, "(distance ");
    char *end = NULL;
    long distance = p ? strtol(p + 10, &end, 10) : -1,
         limit = end && !strncmp(end, " > ", 3) ? strtol(end + 3, NULL, 10) : -1;
    int old = *d->nccl.version ? is_release_before(d->nccl.version, 26) : limit == 4;
    const long classes = (long)(old ? sizeof before / sizeof *before : sizeof since / sizeof *since);
    if (distance < 0 || limit < 0 || distance >= classes || limit >= classes)
        return;
    const char *name = (old ? before : since)[distance];
    diag_say(why, " The distance %ld is %s%s, and NCCL's limit %ld is %s.", distance, name,
             !strcmp(name, "SYS")   ? " (GPU and HCA are on different CPU sockets)"
             : !strcmp(name, "PHB") ? " (GPU and HCA meet at the CPU)"
                                    : "",
             limit, (old ? before : since)[limit]);
}

/* A port that one rank tells of again and again. */
static void add_flaps(const struct diagnosis *d, const struct seen *s, char *why)
{
    int up = index_of("ib-event");
    if (s->count > 1 && !s->nothers && d->events->of[up].count)
        diag_say(why, " It went down %ld times, and came back: it flaps.", s->count);
}

/* "Collectives differ in the following aspects: Sequence number: 101vs 0 Op type: ALLGATHERvs REDUCE" */
static void add_aspects(const struct diagnosis *d, const struct seen *s, char *why)
{
    const char *aspects = strstr(s->text, "following aspects:"), *rank = strstr(s->text, "but Rank ");
    (void)d;
    if (aspects && rank)
        diag_say(why, " By PyTorch this rank and rank %ld differ in %.160s.", strtol(rank + 9, NULL, 10),
                 aspects + 18 + strspn(aspects + 18, " "));
}

static const struct {
    const char *ids; /* "a|b" */
    void (*add)(const struct diagnosis *d, const struct seen *s, char *why);
} additions[] = {
    {"ib-retry|qp-unreachable|qp-timeout|qp-invalid|qp-gid-empty|qp-other", add_gid},
    {"gdr-distance", add_distance},
    {"collectives-differ", add_aspects},
    {"ib-port-error", add_flaps},
    {"connect-refused|no-route|connect-timeout|socket-connect|peer-closed", add_address},
    {"truncated|topology|version-mismatch|ib-remote-invalid|ib-internal|peer-address|socket-type", add_differences},
};

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static void say_where(const struct seen *s, char *to)
{
    static const struct {
        const char *mark, *name;
    } words[] = {{" hca ", "HCA "},       {"on dev ", "HCA "},     {"NET/IB : mlx", "HCA mlx"},
                 {"from peer ", "peer "}, {"onnect to ", "peer "}, {"by remote peer ", "peer "},
                 {"(PCI:", "GPU at "},    {"localGid ", "GID "}};
    char text[2 * DIAG_NAME];
    diag_say(to, "%s", diag_origin_text(&s->who, text));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(s->text, words[i].mark), *word = at ? at + strlen(words[i].mark) : "";
        int n = (int)strcspn(word, " ,)\"<");
        if (n)
            diag_say(to, "%s%s%.*s", *to ? ", " : "", words[i].name, n < 64 ? n : 64, word);
    }
    if (!*to)
        diag_say(to, "the log does not name the rank");
    for (int i = 0; i < s->nothers; i++)
        if (*diag_origin_text(&s->others[i], text))
            diag_say(to, "%s%s", i ? "; " : "; also ", text);
}

static enum diag_confidence confidence_of(const struct message *m, const struct seen *s)
{
    if (m->kind == MESSAGE_NOTE)
        return DIAG_LIKELY;
    if (m->kind != MESSAGE_CAUSE && m->kind != MESSAGE_CALL)
        return DIAG_POSSIBLE;
    /* An errno, a status or a plain sentence names the cause; a call that failed does not. */
    return strstr(m->id, "other") || strstr(m->id, "cuda-failure") || strstr(m->id, "completion") || !s->count
               ? DIAG_POSSIBLE
               : DIAG_LIKELY;
}

static void add_evidence(struct diag_failure *f, const char *place, const char *text)
{
    if (f->nevidence == DIAG_EVIDENCE)
        return;
    memcpy(f->evidence[f->nevidence].place, place, DIAG_PLACE);
    snprintf(f->evidence[f->nevidence++].text, sizeof f->evidence->text, "%s", text);
}

/* The messages that follow from the cause: the first lines of each, and how many lines there are. */
static void add_echoes(const struct diag_events *e, int cause, struct diag_failure *f)
{
    for (size_t i = 0; i < message_count(); i++)
        if (e->of[i].count && (int)i != cause && message_at(i)->kind != MESSAGE_NOTE) {
            f->echoes += message_at(i)->kind == MESSAGE_CAUSE ? 0 : e->of[i].count;
            add_evidence(f, e->of[i].place, e->of[i].text);
        }
}

/* What probe finds wrong with a machine that explains a message: both together are as good as measured. */
static void add_probe(const struct judge *j, struct diag_failure *f)
{
    static const struct {
        const char *id, *findings; /* "a|b" */
    } explains[] = {
        {"memlock", "memlock-low"},
        {"shm-full", "shm-small"},
        {"shm-other", "shm-small"},
        {"sockets-limit", "nofile-low"},
        {"acs", "acs-on"},
        {"p2p-access", "p2p-refused|acs-on|iommu-translated|mig-on"},
        {"ib-remote-access", "acs-on|iommu-translated"},
        {"ib-retry", "no-roce-v2-ipv4|gid-index-differs|mtu-differs|address-twice|port-down|port-flaps|port-timeouts"},
        {"ib-port-error", "port-flaps|port-errors|port-down|port-resent"},
        {"qp-unreachable", "no-roce-v2-ipv4|gid-index-differs|only-management-ports"},
        {"qp-timeout", "no-roce-v2-ipv4|gid-index-differs|address-twice"},
        {"qp-invalid", "no-roce-v2-ipv4|gid-index-differs|mtu-differs"},
        {"reg-mr", "no-gpudirect|wrong-driver|iommu-translated"},
        {"ib-open", "wrong-driver|no-compute-port"},
        {"nvls-multicast", "fabric-not-ready|nvlink-missing"},
        {"system-not-ready", "fabric-not-ready"},
        {"mnnvl", "imex-no-channel|fabric-not-ready"},
        {"net-mismatch", "port-down|rail-differs"},
        {"gdr-distance", "nic-wrong-numa|gpu-without-nic|no-gpudirect"},
        {"xid-79", "gpu-lost|gpu-missing"},
        {"xid-ecc", "ecc-uncorrected|rows-failed|rows-pending"},
    };
    const struct topology *machines[] = {j->d->machine, j->d->expected.topology};
    const char *ids = "";
    for (size_t i = 0; i < sizeof explains / sizeof *explains; i++)
        if (!strcmp(explains[i].id, f->id))
            ids = explains[i].findings;
    for (size_t m = 0; m < 2; m++)
        for (int i = 0; machines[m] && i < machines[m]->nfindings; i++) {
            const struct finding *x = &machines[m]->findings[i];
            if (!x->id || !diag_is_one_of(ids, x->id, strlen(x->id)))
                continue;
            diag_say(f->why, " Probe finds %s: %.160s.", x->id, x->text);
            f->confidence = DIAG_MEASURED;
        }
}

/* RoCE GIDs that are made of a MAC address (ff:fe in the middle); those of InfiniBand begin alike. */
static int is_link_local(const char *text)
{
    const char *local = strstr(text, "local GID fe80:"), *remote = strstr(text, "remote GID fe80:");
    return local && remote && strstr(local, "ff:fe") && strstr(remote, "ff:fe");
}

static void say_failure(const struct judge *j, int cause, struct diag_failure *f)
{
    const struct message *m = message_at((size_t)cause);
    const struct seen *s = &j->d->events->of[cause];
    f->id = m->id;
    f->remedy = m->remedy;
    f->check = m->check;
    const char *causes = m->causes;
    if (j->d->nccl.peermem && !strcmp(m->id, "reg-mr"))
        f->remedy =
            "nvidia-peermem is loaded. A GeForce card has no GPUDirect RDMA: NCCL_NET_GDR_LEVEL=LOC does "
            "without. Otherwise load it anew after the HCA's driver (OFED), or build the GPU's driver after it.";
    if (j->d->nccl.infiniband && !j->d->nccl.roce && !strcmp(m->id, "ib-retry")) {
        causes = "a link that is down or flaps, a bad cable, HCAs of separate InfiniBand fabrics, a peer that died";
        f->check = "ibstat on both nodes; ibqueryerrors; ib_write_bw between the two HCAs named; the peer's log";
        f->remedy =
            "InfiniBand: find the port that is down or counts errors, and replace its cable. Until then, and for "
            "HCAs of other fabrics, leave it out with NCCL_IB_HCA. NCCL_IB_GID_INDEX is for RoCE.";
    }
    if (is_link_local(s->text) && !j->d->nccl.infiniband) {
        causes = "the GID is link-local (fe80::) at both ends, which reaches its own subnet "
                 "alone; ports of different subnets or VLANs were paired; a port is down at the peer";
        f->remedy = "Remove NCCL_IB_GID_INDEX with NCCL 2.21 or later. Otherwise set it to the RoCE v2 entry of the "
                    "routed IPv4 address (often 3), the same on all nodes.";
        f->check = "show_gids on both nodes; env | grep NCCL_IB_GID_INDEX";
    }
    /* Communicators that have worked have neither wrong GPUs nor releases that do not fit. */
    if (s->has_worked && !strcmp(m->id, "torch-invalid-usage")) {
        causes = "a communicator was used after its end or an abort; ranks called with other counts or types";
        f->check = "the first error of any rank; run again with NCCL_DEBUG=WARN";
        f->remedy = "Look for the first error of any rank. Otherwise run once more with NCCL_DEBUG=WARN.";
    }
    f->confidence = confidence_of(m, s);
    diag_say(f->what, "%s", m->means);
    say_where(s, f->where);
    diag_say(f->why, "likeliest first: %s.", causes);
    if (s->has_worked && j->d->tests.rows)
        diag_say(f->why, " It came after sizes that were measured: GPUs and network worked until then.");
    for (size_t i = 0; i < sizeof additions / sizeof *additions; i++)
        if (diag_is_one_of(additions[i].ids, m->id, strlen(m->id)))
            additions[i].add(j->d, s, f->why);
    add_probe(j, f);
    add_evidence(f, s->place, s->text);
    add_echoes(j->d->events, cause, f);
}

/* A warning that has no entry: where in NCCL it stands. */
static void say_unknown(const struct seen *s, struct diag_failure *f)
{
    f->id = "internal";
    f->remedy = "Run again with NCCL_DEBUG=INFO on all ranks; report it with that log if it comes again.";
    f->check = "NCCL_DEBUG=INFO";
    f->confidence = DIAG_POSSIBLE;
    diag_say(f->what, "NCCL printed a warning that is not in the catalogue (internal, %.*s).",
             (int)strcspn(s->text, " :"), s->text);
    say_where(s, f->where);
    diag_say(f->why, "not known.");
    add_evidence(f, s->place, s->text);
}

/* Settings that differ where nothing else is said to have failed. */
static void say_difference(const struct judge *j, const struct diag_fact *fact, struct diag_failure *f)
{
    char text[2 * DIAG_NAME];
    int one_node = *fact->who.host && !strcmp(fact->who.host, fact->other_who.host);
    f->id = "ranks-differ";
    f->confidence = one_node || !strcmp(fact->name, "NCCL_IB_HCA") ? DIAG_LIKELY : DIAG_POSSIBLE;
    f->check = "grep 'set by environment' of all ranks; env | grep NCCL_";
    f->remedy = "Give all ranks the same NCCL release, network plugin and variables. NCCL builds one topology a node: "
                "list all HCAs of the node in NCCL_IB_HCA for every rank, and let NCCL choose among them.";
    diag_say(f->what, "Ranks differ in %s.", difference_text(j->d->arena, fact));
    diag_say(f->where, "%s", diag_origin_text(&fact->who, text));
    if (*diag_origin_text(&fact->other_who, text))
        diag_say(f->where, "%s%s", *f->where ? " and " : "", text);
    if (!*f->where)
        diag_say(f->where, "the script or log that sets it");
    diag_say(f->why, "%s",
             one_node || !*fact->who.host ? "NCCL expects the same settings on all ranks of a node; differences break "
                                            "its search of rings, slow the job down or end it."
                                          : "nodes with different settings or software may not connect, or hang.");
    add_evidence(f, fact->place, fact->other);
}

static const struct diag_fact *worst_difference(const struct diagnosis *d)
{
    static const char *const names[] = {"NCCL_IB_HCA", "NCCL version", "network"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_difference(d, names[i]))
            return find_difference(d, names[i]);
    return NULL;
}

/* What explains a paste in which nothing failed: of the notes the first; GPUDirect RDMA that is off for some pairs
 * alone is as it should be. */
static int find_note(const struct judge *j)
{
    static const char *const ids[] = {"acs",          "p2p-nvlink",   "slingshot-sockets", "ofi-gdr-off",
                                      "nvshmem-mlx5", "tcpxo-advice", "gdr-distance"};
    const struct diag_nccl *n = &j->d->nccl;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        int k = index_of(ids[i]);
        if (k >= 0 && j->d->events->of[k].count &&
            (strcmp(ids[i], "gdr-distance") != 0 || (!n->gdr && (n->ib || n->lines < 20))))
            return k;
    }
    return -1;
}

void diag_judge_failure(struct judge *j)
{
    struct diag_events *e = j->d->events;
    /* A new GPU explains something only with an NCCL that does not know it. */
    if (!is_release_before(j->d->nccl.version, 26))
        e->of[index_of("gpu-new")].count = 0;
    struct diag_failure *f = &j->r->failure;
    int cause = find_cause(e);
    int only_echo = cause >= 0 && message_at((size_t)cause)->kind == MESSAGE_ECHO;
    const struct diag_fact *fact = worst_difference(j->d);
    if (cause >= 0 && !(only_echo && (j->hangs || fact || e->unknown.count)))
        say_failure(j, cause, f);
    else if (e->unknown.count)
        say_unknown(&e->unknown, f);
    else if (fact && !j->s)
        say_difference(j, fact, f);
    else if (!j->s && find_note(j) >= 0)
        say_failure(j, find_note(j), f);
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

static void add_message(struct judge *j, const struct message *m, const struct seen *s, double weight)
{
    struct diag_finding f = {m->id, confidence_of(m, s), m->remedy, m->check};
    char text[2 * DIAG_NAME];
    diag_origin_text(&s->who, text);
    diag_hit(&f, weight, s->place, "%s%s%s%s", m->means, *text ? " (" : "", text, *text ? ")" : "");
    diag_add_finding(j->r, &f);
}

void diag_add_messages(struct judge *j)
{
    static const double weights[] = {0.9, 0.9, 0.3, 0, 0.15};
    const struct diag_events *e = j->d->events;
    for (size_t i = 0; i < message_count(); i++) {
        const struct message *m = message_at(i);
        int is_cause = j->r->failure.id && !strcmp(m->id, j->r->failure.id);
        if (!is_cause && replaced_by(e, (int)i) != (int)i)
            continue;
        if (e->of[i].count && (weights[m->kind] > 0 || is_cause))
            add_message(j, m, &e->of[i], is_cause ? 0.95 : weights[m->kind] * 0.6);
    }
    for (int i = 0; i < j->d->nfacts; i++) {
        const struct diag_fact *x = &j->d->facts[i];
        struct diag_finding f = {.id = "ranks-differ",
                                 .advice = "give all ranks the same settings, unless the nodes differ on purpose",
                                 .command = "grep 'set by environment' of all ranks"};
        if (differs(x) && strcmp(x->name, "NCCL version") != 0 && /* which a rule tells of */
            diag_hit(&f, 0.3, x->place, "ranks differ in %s", difference_text(j->d->arena, x)))
            diag_add_finding(j->r, &f);
    }
}
