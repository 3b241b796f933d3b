/* A dump of PyTorch's flight recorder as a pickle: numbers, strings, lists, tuples and dictionaries, which is all that
 * PyTorch writes there. What names a class or a function ends the reading; nothing is executed or looked up. Of the
 * values only what an entry needs is kept: numbers, strings, and of a list or tuple its first string. */
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

#define MOST_BYTES  (64 << 20) /* of a file */
#define MOST_VALUES (1 << 18)  /* not yet in a list: the entries of a dump come at once */
#define MOST_SHARED (1 << 21)  /* strings, and values that are used again */
#define TEXT        256        /* of a string; the rest is cut */

struct value {
    enum { MARK, ATOM, LIST, DICTIONARY } kind;
    const char *text; /* "": it has none */
    double number;
};

struct pickle {
    struct diagnosis *d;
    struct diag_input *in;
    struct arena *arena;
    struct value *stack, *shared; /* shared: by number */
    int n, nshared, ntexts, rank, failed;
    long read, entries;
};

static void push(struct pickle *p, struct value v)
{
    if (p->n == MOST_VALUES)
        p->failed = 1;
    else
        p->stack[p->n++] = v;
}

static uint64_t read_bytes(struct pickle *p, int n)
{
    uint64_t value = 0;
    for (int i = 0; i < n; i++) {
        int c = diag_getc(p->in);
        p->failed |= c < 0 || p->read++ > MOST_BYTES;
        value |= i < 8 ? (uint64_t)(unsigned char)c << 8 * i : 0;
    }
    return value;
}

static void push_number(struct pickle *p, double x)
{
    push(p, (struct value){ATOM, "", x});
}

static void read_string(struct pickle *p, uint64_t bytes)
{
    char text[TEXT] = "";
    for (uint64_t i = 0; i < bytes && !p->failed; i++) {
        char c = (char)read_bytes(p, 1);
        if (i < TEXT - 1)
            text[i] = c;
    }
    p->failed |= p->ntexts++ == MOST_SHARED;
    if (!p->failed)
        push(p, (struct value){ATOM, arena_strdup(p->arena, text), 0});
}

/* The place of the last mark; -1: there is none. */
static int find_mark(const struct pickle *p)
{
    int i = p->n - 1;
    while (i >= 0 && p->stack[i].kind != MARK)
        i--;
    return i;
}

/* The values from `first` on become a tuple at `to`, or belong to the list that is there. */
static void end_list(struct pickle *p, int to, int first, int is_tuple)
{
    if ((p->failed |= to < 0 || first > p->n || (!is_tuple && p->stack[to].kind != LIST)))
        return;
    struct value list = {LIST, is_tuple ? "" : p->stack[to].text, 0};
    if (!*list.text && first < p->n)
        list.text = p->stack[first].text;
    p->stack[to] = list;
    p->n = to + 1;
}

/* The values from `first` on are keys and values in turn of the dictionary at `to`: an entry, or the whole dump. */
static void end_items(struct pickle *p, int to, int first)
{
    const char *group = "", *op = "", *state = "";
    double sequence = -1;
    if ((p->failed |= to < 0 || p->stack[to].kind != DICTIONARY || (p->n - first) % 2 != 0))
        return;
    for (int i = first; i < p->n; i += 2) {
        const char *key = p->stack[i].text;
        const struct value *v = &p->stack[i + 1];
        group = !strcmp(key, "process_group") ? v->text : group;
        op = !strcmp(key, "profiling_name") ? v->text : op;
        state = !strcmp(key, "state") ? v->text : state;
        sequence = !strcmp(key, "collective_seq_id") ? v->number : sequence;
        if (!to && !strcmp(key, "rank") && v->number >= 0 && v->number < DIAG_RANKS)
            p->rank = (int)v->number;
    }
    p->entries += diag_note_entry(p->d, group, op, state, sequence);
    p->n = to + 1;
}

/* PyTorch writes what several entries share, such as a name, once. Numbers are given in turn. */
static void store_shared(struct pickle *p, uint64_t at)
{
    if ((p->failed |= at > (uint64_t)p->nshared || at >= MOST_SHARED || !p->n))
        return;
    if (at == (uint64_t)p->nshared)
        ARENA_ADD(p->arena, p->shared, p->nshared) = p->stack[p->n - 1];
    else
        p->shared[at] = p->stack[p->n - 1];
}

static void use_shared(struct pickle *p, uint64_t at)
{
    p->failed |= at >= (uint64_t)p->nshared;
    if (!p->failed)
        push(p, p->shared[at]);
}

/* One instruction; 0: the last. */
static int take_instruction(struct pickle *p)
{
    const int op = (int)read_bytes(p, 1), mark = op == 'u' || op == 'e' || op == 't' ? find_mark(p) : -1;
    switch (p->failed ? '.' : op) {
    case 0x80: /* protocol */
    case 0x95: /* frame */
        read_bytes(p, op == 0x80 ? 1 : 8);
        break;
    case '.':
        return 0;
    case '(':
    case '}':
    case ']':
    case ')':
        push(p, (struct value){op == '(' ? MARK : op == '}' ? DICTIONARY : LIST, "", 0});
        break;
    case 'u': /* items, behind a mark */
        end_items(p, mark - 1, mark + 1);
        break;
    case 's':
        end_items(p, p->n - 3, p->n - 2);
        break;
    case 'e':
        end_list(p, mark - 1, mark + 1, 0);
        break;
    case 'a':
        end_list(p, p->n - 2, p->n - 1, 0);
        break;
    case 't':
        end_list(p, mark, mark + 1, 1);
        break;
    case 0x85: /* a tuple of so many values */
    case 0x86:
    case 0x87:
        end_list(p, p->n - (op - 0x84), p->n - (op - 0x84), 1);
        break;
    case 'X':
    case 0x8c:
        read_string(p, read_bytes(p, op == 'X' ? 4 : 1));
        break;
    case 'K':
    case 'M':
        push_number(p, (double)read_bytes(p, op == 'K' ? 1 : 2));
        break;
    case 'J':
        push_number(p, (double)(int32_t)read_bytes(p, 4));
        break;
    case 0x8a: { /* of as many bytes */
        int n = (int)read_bytes(p, 1);
        uint64_t value = read_bytes(p, n);
        int spare = n > 0 && n < 8 ? 64 - 8 * n : 0;
        push_number(p, (double)((int64_t)(value << spare) >> spare));
        break;
    }
    case 'G': /* a float, which no member of an entry is that counts */
    case 'N':
    case 0x88:
    case 0x89:
        read_bytes(p, op == 'G' ? 8 : 0);
        push_number(p, -1);
        break;
    case 'q':
    case 'r':
        store_shared(p, read_bytes(p, op == 'q' ? 1 : 4));
        break;
    case 0x94:
        store_shared(p, (uint64_t)p->nshared);
        break;
    case 'h':
    case 'j':
        use_shared(p, read_bytes(p, op == 'h' ? 1 : 4));
        break;
    default:
        p->failed = 1;
    }
    return !p->failed;
}

int diag_read_pickle(struct diagnosis *d, struct diag_input *in, struct err *e)
{
    struct pickle p = {.d = d, .in = in, .arena = arena_new(), .rank = -1};
    p.stack = arena_alloc(p.arena, MOST_VALUES * sizeof *p.stack);
    while (take_instruction(&p))
        ;
    arena_free(p.arena);
    if (p.failed || p.n != 1 || !p.entries)
        return err_at(e, in->path, 0, 0, "not a complete pickle of PyTorch's flight recorder");
    d->taken += p.entries;
    diag_end_dump(d, p.rank);
    return 0;
}
