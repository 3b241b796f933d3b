/* A dump of PyTorch's flight recorder as a pickle, made JSON for the reader of traces: numbers, strings, lists, tuples
 * and dictionaries, which is all that PyTorch writes there. What names a class or a function ends the reading; nothing
 * is executed or looked up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

#define MOST_BYTES  (64 << 20)  /* of a file */
#define MOST_WORK   (512 << 20) /* bytes written, inner values again with every level */
#define MOST_MEMORY (144 << 20) /* values that are not yet in another, and those that are used again */
#define ALLOCATED   40          /* bytes of malloc and of a place in `shared`, for a value */
#define MOST_VALUES (1 << 18)   /* not yet in a list: the entries of a dump come at once */
#define MOST_SHARED (1 << 22)   /* values that are used again */

struct value {
    char *text; /* JSON; of a list or dictionary without its closing bracket. NULL: a mark */
    size_t bytes, room;
    char closes;
};

struct pickle {
    struct diag_input *in;
    struct value *stack;
    char **shared; /* by number */
    size_t work, read, memory;
    long nshared, nkept; /* numbers given; the highest of those used, and 1 */
    int n, failed;
};

/* Whether a value of `bytes` may be kept in place of one of `before`. */
static int has_room(struct pickle *p, size_t bytes, size_t before)
{
    p->memory += bytes - before;
    return !(p->failed |= p->memory > MOST_MEMORY);
}

static size_t size_of(const struct value *v)
{
    return v->room ? v->room + ALLOCATED : 0;
}

static void append(struct pickle *p, struct value *v, const char *text, size_t bytes)
{
    p->work += bytes;
    if ((p->failed |= p->work > MOST_WORK))
        return;
    if (v->bytes + bytes >= v->room) {
        size_t before = size_of(v);
        v->room = v->bytes + bytes + v->room / 2 + 16;
        if (!has_room(p, size_of(v), before))
            return;
        if (!(v->text = realloc(v->text, v->room)))
            abort();
    }
    memcpy(v->text + v->bytes, text, bytes);
    v->text[v->bytes += bytes] = 0;
}

static struct value *push(struct pickle *p, const char *text, char closes)
{
    if (p->n == MOST_VALUES) {
        p->failed = 1;
        return NULL;
    }
    struct value *v = &p->stack[p->n++];
    *v = (struct value){.closes = closes};
    if (text)
        append(p, v, text, strlen(text));
    return v;
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
    char text[40];
    snprintf(text, sizeof text, isfinite(x) ? "%.17g" : "null", x);
    push(p, text, 0);
}

static void read_float(struct pickle *p)
{
    uint64_t bits = __builtin_bswap64(read_bytes(p, 8));
    double x;
    memcpy(&x, &bits, sizeof x);
    push_number(p, x);
}

static void read_string(struct pickle *p, uint64_t bytes)
{
    struct value *v = push(p, "\"", 0);
    for (uint64_t i = 0; v && i < bytes && !p->failed; i++) {
        char c = (char)read_bytes(p, 1);
        char plain[2] = {'\\', (unsigned char)c < ' ' ? ' ' : c};
        int quoted = c == '"' || c == '\\';
        append(p, v, plain + !quoted, 1 + (size_t)quoted);
    }
    if (v)
        append(p, v, "\"", 1);
}

/* Takes the values from `first` on into the one below them; a dictionary's are keys and values in turn. */
static void fold(struct pickle *p, int first)
{
    struct value *to = first > 0 ? &p->stack[first - 1] : NULL;
    p->failed |= !to || !to->text || !to->closes;
    for (int i = first; !p->failed && i < p->n; i++) {
        struct value *v = &p->stack[i];
        int key = to->closes == '}' && (i - first) % 2 == 0, bare = key && v->text && *v->text != '"';
        if (!v->text || (key && (v->closes || i + 1 == p->n))) {
            p->failed = 1;
            break;
        }
        if (to->bytes > 1 && (key || to->closes == ']'))
            append(p, to, ",", 1);
        append(p, to, "\"", (size_t)bare);
        append(p, to, v->text, v->bytes);
        append(p, to, &v->closes, v->closes != 0);
        append(p, to, bare ? "\":" : ":", (size_t)bare + (size_t)key);
    }
    for (; p->n > (first > 0 ? first : 0); p->n--) {
        has_room(p, 0, size_of(&p->stack[p->n - 1]));
        free(p->stack[p->n - 1].text);
    }
}

/* The place behind the last mark, whose own place is closed up. */
static int behind_mark(struct pickle *p)
{
    int i = p->n - 1;
    while (i >= 0 && p->stack[i].text)
        i--;
    p->failed |= i < 0;
    if (p->failed)
        return 0;
    memmove(p->stack + i, p->stack + i + 1, (size_t)(p->n - i - 1) * sizeof *p->stack);
    p->n--;
    return i;
}

/* A tuple is a list of the last values. */
static void make_tuple(struct pickle *p, int first)
{
    if (first < 0 || p->failed || !push(p, "[", ']')) {
        p->failed = 1;
        return;
    }
    struct value list = p->stack[p->n - 1];
    memmove(p->stack + first + 1, p->stack + first, (size_t)(p->n - 1 - first) * sizeof *p->stack);
    p->stack[first] = list;
    fold(p, first + 1);
}

/* PyTorch writes what several entries share, such as a frame of a stack, once. */
static void store_shared(struct pickle *p, uint64_t at)
{
    struct value *v = p->n ? &p->stack[p->n - 1] : NULL;
    if (at >= MOST_SHARED || !v || !v->text || (p->work += v->bytes) > MOST_WORK)
        return;
    p->nkept = (long)at >= p->nkept ? (long)at + 1 : p->nkept;
    size_t before = p->shared[at] ? strlen(p->shared[at]) + ALLOCATED : 0;
    free(p->shared[at]);
    p->shared[at] = NULL;
    if (has_room(p, v->bytes + 1 + ALLOCATED, before) && asprintf(&p->shared[at], "%s%.1s", v->text, &v->closes) < 0)
        abort();
}

static void use_shared(struct pickle *p, uint64_t at)
{
    p->failed |= at >= MOST_SHARED || !p->shared[at];
    if (!p->failed)
        push(p, p->shared[at], 0);
}

/* One instruction; 0: the last. */
static int step(struct pickle *p)
{
    int op = (int)read_bytes(p, 1);
    switch (p->failed ? '.' : op) {
    case 0x80: /* protocol */
    case 0x95: /* frame */
        read_bytes(p, op == 0x80 ? 1 : 8);
        break;
    case '.':
        return 0;
    case '}':
    case ']':
    case ')':
        push(p, op == '}' ? "{" : "[", op == '}' ? '}' : ']');
        break;
    case '(':
        push(p, NULL, 0);
        break;
    case 'u': /* items, behind a mark */
    case 'e':
        fold(p, behind_mark(p));
        break;
    case 's':
    case 'a':
        fold(p, p->n - (op == 's' ? 2 : 1));
        break;
    case 't':
        make_tuple(p, behind_mark(p));
        break;
    case 0x85:
    case 0x86:
    case 0x87:
        make_tuple(p, p->n - (op - 0x84));
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
    case 'G':
        read_float(p);
        break;
    case 'N':
    case 0x88:
    case 0x89:
        push(p, op == 'N' ? "null" : op == 0x88 ? "true" : "false", 0);
        break;
    case 'q':
    case 'r':
        store_shared(p, read_bytes(p, op == 'q' ? 1 : 4));
        break;
    case 0x94:
        store_shared(p, (uint64_t)p->nshared++);
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
    struct pickle p = {
        .in = in, .stack = calloc(MOST_VALUES, sizeof *p.stack), .shared = calloc(MOST_SHARED, sizeof *p.shared)};
    struct diag_input *json = calloc(1, sizeof *json);
    if (!p.stack || !p.shared || !json)
        abort();
    while (step(&p))
        ;
    struct value *v = p.n == 1 && !p.failed ? &p.stack[0] : NULL;
    int rc = 0;
    if (v && v->text && v->closes == '}') {
        append(&p, v, "}", 1);
        json->file = fmemopen(v->text, v->bytes, "r");
        json->path = in->path;
        rc = p.failed || !json->file ? ERR_FAILED : diag_read_trace(d, json, e);
        if (json->file)
            fclose(json->file);
    } else {
        rc = err_at(e, in->path, 0, 0, "not a complete pickle of PyTorch's flight recorder");
    }
    for (int i = 0; i < p.n; i++)
        free(p.stack[i].text);
    for (long i = 0; i < p.nkept; i++)
        free(p.shared[i]);
    free(p.stack);
    free(p.shared);
    free(json);
    return rc;
}
