/* Lists of hosts: one walk that expands brackets, and what collects its hosts. */
#include "core/hostlist.h"

#include <ctype.h>
#include <search.h>
#include <string.h>

#include "core/file.h"

#define BLANKS " \t\r\n"

struct walk {
    const char *what;
    hostlist_host *each;
    void *arg;
    int hosts;
    char name[HOSTLIST_NAME]; /* the one that is being made */
    struct err *e;
};

/* A name goes onto the command line of ssh: it must not look like an option or hold anything special. */
static int is_name(const char *s)
{
    if (!isalnum((unsigned char)*s))
        return 0;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("._-:@", *s))
            return 0;
    return 1;
}

static int one_host(struct walk *w)
{
    if (!is_name(w->name))
        return err_set(w->e, ERR_USAGE, "%s: '%s' is not the name of a host", w->what, w->name);
    if (++w->hosts > HOSTLIST_MOST)
        return err_set(w->e, ERR_USAGE, "%s: more than %d hosts", w->what, HOSTLIST_MOST);
    return w->each(w->arg, w->name);
}

/* Decimal digits at *s, which moves behind them: how many, at most 9. */
static int take_number(const char **s, long *value)
{
    int n = 0;
    for (*value = 0; n < 9 && isdigit((unsigned char)**s); (*s)++, n++)
        *value = *value * 10 + (**s - '0');
    return n;
}

static int expand_part(struct walk *w, size_t used, const char *s, const char *end);

/* "07" or "01-16" in s[0..n), with what is `behind` the brackets up to `end`. */
static int expand_range(struct walk *w, size_t used, const char *s, size_t n, const char *behind, const char *end)
{
    const char *at = s;
    long first, last;
    int digits = take_number(&at, &first), more = 1, rc = 0;
    last = first;
    if (*at == '-' && at++)
        more = take_number(&at, &last);
    if (!digits || !more || at != s + n || last < first || last - first >= HOSTLIST_MOST)
        return err_set(w->e, ERR_USAGE, "%s: expected numbers such as \"1-16\" between the brackets, found '%.*s'",
                       w->what, (int)n, s);
    for (long i = first; i <= last && !rc; i++) {
        size_t wrote = (size_t)snprintf(w->name + used, sizeof w->name - used, "%0*ld", digits, i);
        rc = expand_part(w, used + wrote, behind, end);
    }
    return rc;
}

/* All hosts that begin with name[0..used) and go on as s[0..end) says. */
static int expand_part(struct walk *w, size_t used, const char *s, const char *end)
{
    const char *open = memchr(s, '[', (size_t)(end - s)), *plain = open ? open : end;
    const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
    if (used + (size_t)(plain - s) >= sizeof w->name)
        return err_set(w->e, ERR_USAGE, "%s: a name longer than %d characters", w->what, HOSTLIST_NAME - 1);
    memcpy(w->name + used, s, (size_t)(plain - s));
    used += (size_t)(plain - s);
    w->name[used] = 0;
    if (!open)
        return one_host(w);
    if (!close)
        return err_set(w->e, ERR_USAGE, "%s: '%.*s' has no closing bracket", w->what, (int)(end - s), s);
    int rc = 0;
    for (const char *part = open + 1; part <= close && !rc;) {
        size_t n = strcspn(part, ",]");
        rc = expand_range(w, used, part, n, close + 1, end);
        part += n + 1;
    }
    return rc;
}

int hostlist_each(const char *text, const char *what, hostlist_host *each, void *arg, struct err *e)
{
    struct walk w = {.what = what, .each = each, .arg = arg, .e = e};
    const char *s = text + strspn(text, BLANKS);
    if (!*s)
        return err_set(e, ERR_USAGE, "%s: expected the names of hosts", what);
    for (;;) {
        size_t n = 0; /* up to a comma or blank outside brackets */
        for (int inside = 0; s[n] && (inside || !strchr("," BLANKS, s[n])); n++)
            inside = s[n] == '[' || (inside && s[n] != ']');
        if (!n)
            return err_set(e, ERR_USAGE, "%s: expected the name of a host on both sides of a comma, found '%s'", what,
                           text);
        int rc = expand_part(&w, 0, s, s + n);
        s += n + strspn(s + n, BLANKS);
        if (rc || !*s)
            return rc;
        s += *s == ',';
        s += strspn(s, BLANKS);
    }
}

/* ---- as an array ------------------------------------------------------------------------------------------------- */

struct list {
    struct arena *a;
    const char **hosts;
    int n;
    void *seen; /* tree of the hosts */
};

static int compare_names(const void *x, const void *y)
{
    return strcmp(x, y);
}

static void keep_name(void *name)
{
    (void)name;
}

static int add_host(void *arg, const char *host)
{
    struct list *l = arg;
    if (tfind(host, &l->seen, compare_names))
        return 0;
    char *copy = arena_strdup(l->a, host);
    ARENA_ADD(l->a, l->hosts, l->n) = copy;
    tsearch(copy, &l->seen, compare_names);
    return 0;
}

int hostlist_parse(const char *text, const char *what, struct arena *a, const char ***hosts, int *n, struct err *e)
{
    struct list l = {.a = a};
    int rc = hostlist_each(text, what, add_host, &l, e);
    tdestroy(l.seen, keep_name);
    *hosts = l.hosts;
    *n = l.n;
    return rc;
}

int hostlist_read(const char *path, struct arena *a, const char ***hosts, int *n, struct err *e)
{
    char *text, *rest = NULL, *all = NULL;
    size_t bytes, used = 0;
    if (file_read_text(path, FILE_LIMIT, a, &text, &bytes, e))
        return ERR_FAILED;
    all = arena_alloc(a, bytes + 2);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line[strcspn(line, "#")] = 0;
        line += strspn(line, BLANKS);
        size_t word = strcspn(line, BLANKS);
        memcpy(all + used, line, word);
        used += word;
        all[used++] = ' ';
    }
    return hostlist_parse(all, path, a, hosts, n, e);
}

/* ---- alike --------------------------------------------------------------------------------------------------------
 */

int hostlist_alike(const char *x, const char *y)
{
    size_t n = strcspn(x, ".");
    return !strncmp(x, y, n) && (x[n] && y[n] ? !strcmp(x, y) : !y[n] || y[n] == '.');
}

/* ---- the other way ----------------------------------------------------------------------------------------------- */

/* Length of the name before the digits at its end: all of it when there are none, or too many. */
static size_t stem_of(const char *name)
{
    size_t n = strlen(name), at = n;
    while (at && isdigit((unsigned char)name[at - 1]))
        at--;
    return n - at > 9 ? n : at;
}

static int follows_on(const char *name, const char *before)
{
    size_t n = stem_of(name);
    long x, y;
    const char *digits = name + n, *earlier = before + n;
    if (!*digits || strlen(name) != strlen(before) || n != stem_of(before) || strncmp(name, before, n) != 0)
        return 0;
    take_number(&digits, &x);
    take_number(&earlier, &y);
    return x == y + 1;
}

const char *hostlist_fold(const char *const *hosts, int n, struct arena *a)
{
    size_t room = 1, used = 0;
    for (int i = 0; i < n; i++)
        room += strlen(hosts[i]) + sizeof ",[-]";
    char *text = arena_alloc(a, room);
    for (int i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && follows_on(hosts[next], hosts[next - 1]); next++)
            ;
        size_t at = stem_of(hosts[i]);
        const char *comma = i ? "," : "";
        used += next == i + 1 ? (size_t)snprintf(text + used, room - used, "%s%s", comma, hosts[i])
                              : (size_t)snprintf(text + used, room - used, "%s%.*s[%s-%s]", comma, (int)at, hosts[i],
                                                 hosts[i] + at, hosts[next - 1] + at);
    }
    return text;
}
