/* What nccl-tests' output shows of its collective beside a program's name, and what others put in front of its lines.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "bench/import/import.h"

/* ---- prefixes ---------------------------------------------------------------------------------------------------- */

/* Behind `pattern`, in which 0 is a digit and A a letter; NULL: `s` begins with something else. */
static const char *behind_pattern(const char *s, const char *pattern)
{
    for (; *pattern; pattern++, s++) {
        const unsigned char c = (unsigned char)*s;
        if (*pattern == '0' ? !isdigit(c) : *pattern == 'A' ? !isalpha(c) : *s != *pattern)
            return NULL;
    }
    return s;
}

/* Behind "host program[pid]: " of syslog. */
static const char *behind_program(const char *s)
{
    const char *program = s + strcspn(s, " "), *end = program + 1 + strcspn(program + (*program != 0), " ");
    return *program && *end == ' ' && end[-1] == ':' && end[-2] == ']' ? end + 1 : s;
}

/* Behind "2024-05-01T12:00:00.123Z ", "[2024-05-01 12:00:00] ", "May  1 12:00:00 host program[pid]: ". */
static const char *behind_time(const char *s)
{
    static const char *const dates[] = {"0000-00-00T", "0000-00-00 ", "0000/00/00 ", "AAA 00 ", "AAA  0 ", ""};
    const int in_brackets = *s == '[';
    for (size_t i = 0; i + !in_brackets < sizeof dates / sizeof *dates; i++) {
        const char *p = behind_pattern(s + in_brackets, dates[i]);
        p = p ? behind_pattern(p, "00:00:00") : NULL;
        if (!p)
            continue;
        if ((*p == '.' || *p == ',') && isdigit((unsigned char)p[1]))
            p += 1 + strspn(p + 1, "0123456789");
        p += *p == 'Z' ? 1 : *p == '+' || *p == '-' ? 1 + strspn(p + 1, "0123456789:") : 0;
        if (in_brackets && *p++ != ']')
            return s;
        return *p == ' ' || *p == '\t' ? behind_program(p + 1) : s;
    }
    return s;
}

/* Behind "(NAME pid=7, ip=10.0.0.1) ", as Ray writes it. */
static const char *behind_ray(const char *s)
{
    const char *close = *s == '(' ? strchr(s, ')') : NULL, *pid = close ? strstr(s, " pid=") : NULL;
    return pid && pid < close && close - s < 120 ? close + 1 + (close[1] == ' ') : s;
}

/* Whether it begins as a comment or a row of nccl-tests' table does. */
static int is_of_table(const char *s)
{
    s += strspn(s, " \t");
    const size_t bytes = strspn(s, "0123456789"), blanks = strspn(s + bytes, " \t");
    return *s == '#' || (bytes && blanks && isdigit((unsigned char)s[bytes + blanks]));
}

/* Behind "[rank3]:", "[default3]:" of torchrun, "[1,3]<stdout>:" of mpirun, "[pod/NAME/CONTAINER] " of kubectl, "3: "
 * of srun --label, "worker-0: ". */
static const char *behind_rank(const char *s)
{
    const char *p = s + strspn(s, " \t");
    if (!strncmp(p, "[pod/", 5))
        return strstr(p, "] ") ? strstr(p, "] ") + 2 : s;
    if (!strncmp(p, "[rank", 5) || !strncmp(p, "[default", 8) || (*p == '[' && isdigit((unsigned char)p[1]))) {
        const char *end = p + strcspn(p, "]");
        if (!strncmp(end, "]<std", 5))
            end += strcspn(end, ">");
        return *end && end[1] == ':' && end - p < 40 ? end + 2 + (end[2] == ' ') : s;
    }
    const size_t n = strcspn(p, " \t"), digits = strspn(p, "0123456789");
    if (n < 2 || !p[n] || p[n - 1] != ':' || *p == '#')
        return s;
    size_t number = n - 1;
    while (number && isdigit((unsigned char)p[number - 1]))
        number--;
    const int is_numbered = number < n - 1 && number && p[number - 1] == '-';
    return (digits == n - 1 && n < 8) || is_numbered || is_of_table(p + n) ? p + n + 1 : s;
}

const char *import_behind_prefix(const char *line)
{
    for (int i = 0; i < 4; i++) { /* a collector's, in front of a launcher's */
        const char *next = behind_rank(behind_ray(behind_time(line)));
        if (next == line)
            break;
        line = next;
    }
    return line;
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static const char *const programs[COLL_MEASURED] = {"broadcast_perf",      "reduce_perf",     "all_gather_perf",
                                                    "reduce_scatter_perf", "all_reduce_perf", "alltoall_perf",
                                                    "sendrecv_perf",       "alltoallv_perf"};

const char *import_program_name(int coll)
{
    return programs[coll];
}

int import_named(const char *text)
{
    static const char others[] = "gather scatter hypercube";
    int named = -1;
    for (const char *p = strstr(text, "_perf"); p; p = strstr(p + 1, "_perf")) {
        const char *from = p;
        while (from > text && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
            from--;
        const size_t n = (size_t)(p - from);
        const int coll = coll_parse(from, n), is_directory = p[strcspn(p, "/ \t\"',")] == '/';
        for (const char *other = others; named < 0 && n > 5 && other; other = strchr(other + 1, ' '))
            named = !strncmp(other + (*other == ' '), from, n) ? IMPORT_OTHER : named;
        named = coll >= 0 && !is_directory ? coll : named;
    }
    return named;
}

void import_clue_row(struct import_clues *c, const char *redop, const char *root, double algbw, double busbw)
{
    static const char *const reductions[] = {"sum", "prod", "min", "max", "avg"};
    c->redop = !strncmp(redop, "none", 4) ? -1 : 0;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        c->redop = !strncmp(redop, reductions[i], 3) ? 1 : c->redop;
    c->root = *root == '-' ? -1 : isdigit((unsigned char)*root) ? 1 : 0;
    if (algbw > c->algbw_GBps) {
        c->algbw_GBps = algbw;
        c->ratio = busbw / algbw;
    }
}

/* By how much a ratio of numbers with two digits behind the point, or four digits, may be off. */
static double doubt_of(const struct import_clues *c)
{
    return 0.006 * (1 + c->ratio) / fmin(c->algbw_GBps, 100);
}

int import_clue_ranks(const struct import_clues *c)
{
    const double doubt = doubt_of(c), of = c->ratio > 1 ? 2 : 1, gap = of - c->ratio, ranks = round(of / gap);
    const int tells = c->ratio > 0.4 && fabs(c->ratio - 1) > doubt && gap > doubt && of / (gap + doubt) > ranks - 0.6 &&
                      of / (gap - doubt) < ranks + 0.6;
    return tells ? (int)ranks : 0;
}

/* Whether the ratio is that of the collective among `ranks`; 0: among any number of them. */
static int fits_ratio(const struct import_clues *c, int coll, int ranks)
{
    const double expected = coll_busbw_factor(coll, ranks > 0 ? ranks : 4), doubt = doubt_of(c);
    if (!(c->ratio > 0))
        return 1;
    if (ranks > 0)
        return fabs(c->ratio - expected) < fmax(doubt, fmin(0.01, 0.25 / ranks));
    return c->ratio > 1 + doubt ? expected > 1 : c->ratio < 1 - doubt ? expected < 1 : expected >= 1;
}

static unsigned colls_fitting(const struct import_clues *c, int ranks)
{
    const unsigned reduce = 1u << COLL_REDUCE | 1u << COLL_REDUCESCATTER | 1u << COLL_ALLREDUCE | 1u << COLL_SENDRECV;
    const unsigned rooted = 1u << COLL_REDUCE | 1u << COLL_BROADCAST; /* as nccl-tests print redop and root */
    unsigned fitting = (1u << COLL_ALLTOALLV) - 1;
    fitting &= c->redop > 0 ? reduce : c->redop < 0 ? ~reduce : ~0u;
    fitting &= c->root > 0 ? rooted : c->root < 0 ? ~rooted : ~0u;
    for (int coll = 0; coll < COLL_ALLTOALLV; coll++)
        fitting &= fits_ratio(c, coll, ranks) ? ~0u : ~(1u << coll);
    return fitting;
}

/* The words of a file's name: all_gather, AllGather, all-gather. */
static unsigned colls_of_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    unsigned colls = 0;
    for (const char *p = slash ? slash + 1 : path; *p; p++)
        for (size_t n = strlen(p); n > 5 && isalpha((unsigned char)*p); n--) {
            const int coll = isalpha((unsigned char)p[n - 1]) ? coll_parse(p, n) : -1;
            if (coll >= 0) {
                colls |= 1u << coll;
                p += n - 1;
                break;
            }
        }
    return colls;
}

unsigned import_clue_colls(const struct import_clues *c, const char *path, int ranks)
{
    unsigned colls = colls_fitting(c, ranks);
    colls = colls ? colls : colls_fitting(c, 0);
    if (c->programs == 1u << IMPORT_OTHER)
        return 0;
    colls = colls & c->programs ? colls & c->programs : colls;
    return colls & colls_of_name(path) ? colls & colls_of_name(path) : colls;
}

int import_likeliest(unsigned colls)
{
    return colls >> COLL_ALLREDUCE & 1 ? COLL_ALLREDUCE : __builtin_ctz(colls);
}

const char *import_coll_names(unsigned colls, struct arena *a)
{
    const char *text = "";
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        if (colls >> coll & 1)
            text = arena_printf(a, "%s%s%s", text, !*text ? "" : colls >> coll == 1 ? " or " : ", ", coll_name(coll));
    return text;
}
