/* Finds a line in the catalogue of messages in one pass over its bytes. */
#include "advise/diagnose/diagnose_internal.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

enum area { LAUNCH, SOCKET, IB, MEMORY, P2P, NVLINK, TOPOLOGY, PLUGIN, CALLS, DEVICE, TORCH, KERNEL, OTHER, AREAS };

static const char *const areas[AREAS] = {
    [LAUNCH] = "Start and rendezvous",
    [SOCKET] = "TCP connections",
    [IB] = "InfiniBand and RoCE",
    [MEMORY] = "Memory, CUDA and drivers",
    [P2P] = "Peer access between GPUs",
    [NVLINK] = "NVLink, NVSwitch and multicast",
    [TOPOLOGY] = "Topology",
    [PLUGIN] = "Plugins",
    [CALLS] = "Calls and settings",
    [DEVICE] = "GIN, symmetric memory, NVSHMEM and DeepEP",
    [TORCH] = "PyTorch and launchers",
    [KERNEL] = "Kernel log",
    [OTHER] = "Other",
};

#define CAUSE    MESSAGE_CAUSE
#define CALL     MESSAGE_CALL
#define INTERNAL MESSAGE_INTERNAL
#define ECHO     MESSAGE_ECHO
#define NOTE     MESSAGE_NOTE
#define MESSAGE(id, kind, area, since, until, fragments, means, causes, check, remedy) \
    {id, kind, area, since, until, fragments, means, causes, check, remedy},
static const struct message messages[] = {
#include "advise/diagnose/messages.inc"
};
#define MESSAGES (sizeof messages / sizeof *messages)

size_t message_count(void)
{
    return MESSAGES;
}

const struct message *message_at(size_t i)
{
    return &messages[i];
}

/* ---- the index: fragments by the hash of their first three bytes ------------------------------------------------- */

#define FRAGMENTS  1536
#define HASH_BITS  13
#define HASH_SLOTS (1 << HASH_BITS)

struct fragment {
    short message, next; /* next of the same hash, -1 */
    short any_line;      /* counts in lines that are no warning */
    const char *text;
    size_t bytes; /* up to | or the end */
};

static struct {
    struct fragment fragments[FRAGMENTS];
    short slots[HASH_SLOTS];
    int n;
} catalogue;

static unsigned hash_of(const char *s)
{
    unsigned h = (unsigned char)s[0] | (unsigned)(unsigned char)s[1] << 8 | (unsigned)(unsigned char)s[2] << 16;
    return (h * 2654435761u) >> (32 - HASH_BITS);
}

static void index_fragments(void)
{
    memset(catalogue.slots, -1, sizeof catalogue.slots);
    for (size_t i = 0; i < MESSAGES; i++)
        for (const char *p = messages[i].fragments; *p && catalogue.n < FRAGMENTS;) {
            struct fragment *f = &catalogue.fragments[catalogue.n];
            int marked = *p == '~';
            p += marked;
            *f = (struct fragment){(short)i, -1, (short)(marked || !*messages[i].since), p, strcspn(p, "|")};
            unsigned h = hash_of(p);
            f->next = catalogue.slots[h];
            catalogue.slots[h] = (short)catalogue.n++;
            p += f->bytes;
            p += *p == '|';
        }
}

/* Whether the parts of a fragment stand in `s`, the first at its start, the others in order behind it. */
static int matches(const struct fragment *f, const char *s)
{
    const char *part = f->text, *end = f->text + f->bytes;
    size_t n = strcspn(part, "*|");
    if (strncmp(s, part, n) != 0)
        return 0;
    while ((part += n + 1) < end) {
        n = strcspn(part, "*|");
        const char *at = memmem(s, strnlen(s, 1024), part, n); /* of one message */
        if (!at)
            return 0;
        s = at + n;
    }
    return 1;
}

int message_of(const char *line, int is_warning)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int best = -1;
    pthread_once(&once, index_fragments);
    size_t n = strlen(line);
    for (size_t i = 0; i + 2 < n; i++)
        for (short k = catalogue.slots[hash_of(line + i)]; k >= 0; k = catalogue.fragments[k].next) {
            const struct fragment *f = &catalogue.fragments[k];
            if ((best < 0 || f->message < best) && (f->any_line || is_warning) && matches(f, line + i))
                best = f->message;
        }
    return best;
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

/* Bytes of a text for Markdown or troff. */
static void put_text(FILE *out, const char *s, size_t n, int as_manual)
{
    for (; n--; s++)
        if (as_manual && strchr("\\-\"", *s))
            fputs(*s == '-' ? "\\-" : *s == '"' ? "\\(dq" : "\\e", out);
        else
            fputc(*s, out);
}

/* Fragments, one a line, with dots for *. */
static void put_fragments(FILE *out, const struct message *m, int as_manual)
{
    for (const char *p = m->fragments; *p; p += *p == '|') {
        fputs(p == m->fragments ? "" : as_manual ? "\n.br\n" : "<br>\n", out);
        fputs(as_manual ? ".RI \"\" \"" : "`", out);
        for (p += *p == '~'; *p && *p != '|'; p += *p == '*') {
            size_t n = strcspn(p, "*|");
            put_text(out, p, n, as_manual);
            p += n;
            fputs(*p == '*' ? " ... " : "", out);
        }
        fputs(as_manual ? "\"" : "`", out);
    }
    fputc('\n', out);
}

static void put_message(FILE *out, const struct message *m, int as_manual)
{
    const struct {
        const char *name, *text;
    } parts[] = {{"Meaning", m->means}, {"Causes, likeliest first", m->causes}, {"Check", m->check}, {"Do", m->remedy}};
    fprintf(out, as_manual ? ".SS %s\n" : "### %s\n\n", m->id);
    put_fragments(out, m, as_manual);
    if (isdigit((unsigned char)*m->since))
        fprintf(out, as_manual ? ".br\nPrinted by NCCL %s to %s.\n" : "\nPrinted by NCCL %s to %s.\n", m->since,
                m->until);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        fprintf(out, as_manual ? ".TP\n%s\n" : i == 2 ? "\n**%s:** `" : "\n**%s:** ", parts[i].name);
        put_text(out, parts[i].text, strlen(parts[i].text), as_manual);
        fputs(as_manual || i != 2 ? "\n" : "`\n", out);
    }
    fputs(as_manual ? "" : "\n", out);
}

static void put_heading(FILE *out, const char *name, int as_manual)
{
    fputs(as_manual ? ".SH " : "## ", out);
    for (const char *p = name; *p; p++)
        fputc(as_manual ? toupper((unsigned char)*p) : *p, out);
    fputs(as_manual ? "\n" : "\n\n", out);
}

void diagnose_messages(FILE *out, int as_manual)
{
    if (!as_manual)
        fputs("# Messages of NCCL and its companions\n\n"
              "Paste what a job printed to `nccltune diagnose -`: it looks for these messages, and begins its answer "
              "with\nthe one that came first and names a cause. Dots stand for anything between two pieces. This page "
              "is made by\n`nccltune diagnose --list-messages markdown`.\n\n",
              out);
    for (int a = 0; a < AREAS; a++) {
        put_heading(out, areas[a], as_manual);
        for (size_t i = 0; i < MESSAGES; i++)
            if (messages[i].area == a)
                put_message(out, &messages[i], as_manual);
    }
}
