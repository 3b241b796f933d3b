/* Slurm's lists of nodes: "n[1-3,07],login", also with more than one bracket in a name ("r[1-2]n[0-9]"). */
#include <stdio.h>
#include <string.h>

#include "slurm/hook.h"

#define HOSTS_MAX 65536

struct walk {
    hook_host *each;
    void *arg;
    struct hook_why *why;
    const char *list; /* all of it, for errors */
    long hosts;
};

static int no_list(const struct walk *walk)
{
    return hook_refuse(walk->why, "'%.200s' is not a list of nodes", walk->list);
}

static int one_host(struct walk *walk, const char *host)
{
    if (!hook_is_name(host))
        return no_list(walk);
    if (++walk->hosts > HOSTS_MAX)
        return hook_refuse(walk->why, "the job has more than %d nodes", HOSTS_MAX);
    return walk->each(walk->arg, host, walk->why);
}

/* Decimal digits at *s, which moves behind them: how many, at most 9. */
static int digits(const char **s, long *value)
{
    int n = 0;
    for (*value = 0; n < 9 && **s >= '0' && **s <= '9'; (*s)++, n++)
        *value = *value * 10 + (**s - '0');
    return n;
}

/* All hosts that begin with prefix[0..used) and go on as pattern[0..len) says. `prefix` has HOOK_WORD bytes. */
static int expand(struct walk *walk, char *prefix, size_t used, const char *pattern, size_t len)
{
    const char *open = memchr(pattern, '[', len), *end = pattern + len;
    size_t plain = open ? (size_t)(open - pattern) : len;
    if (used + plain >= HOOK_WORD)
        return no_list(walk);
    memcpy(prefix + used, pattern, plain);
    used += plain;
    prefix[used] = 0;
    if (!open)
        return one_host(walk, prefix);
    const char *close = memchr(open, ']', (size_t)(end - open)), *s = open + 1;
    if (!close)
        return no_list(walk);
    for (;; s++) {
        long low, high;
        int width = digits(&s, &low), more = 1;
        high = low;
        if (*s == '-' && s++)
            more = digits(&s, &high);
        if (!width || !more || high < low || (*s != ',' && s != close))
            return no_list(walk);
        for (long i = low; i <= high; i++) {
            int n = snprintf(prefix + used, HOOK_WORD - used, "%0*ld", width, i);
            if (n < 0 || (size_t)n >= HOOK_WORD - used)
                return no_list(walk);
            int rc = expand(walk, prefix, used + (size_t)n, close + 1, (size_t)(end - close - 1));
            if (rc)
                return rc;
        }
        if (s == close)
            return 0;
    }
}

/* Length of the first element: up to a comma outside brackets. */
static size_t element(const char *s)
{
    size_t n = 0;
    for (int inside = 0; s[n] && (inside || s[n] != ','); n++)
        inside = s[n] == '[' ? 1 : s[n] == ']' ? 0 : inside;
    return n;
}

int hook_nodes_each(const char *list, hook_host *each, void *arg, struct hook_why *w)
{
    struct walk walk = {.each = each, .arg = arg, .why = w, .list = list};
    char host[HOOK_WORD];
    for (const char *s = list;; s++) {
        size_t n = element(s);
        int rc = expand(&walk, host, 0, s, n);
        if (rc)
            return rc;
        s += n;
        if (!*s)
            return 0;
    }
}
