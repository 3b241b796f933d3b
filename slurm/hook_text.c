/* Lines, words, numbers and lists of nodes: all the parsing that the hook's files need. */
#include <string.h>

#include "core/hostlist.h"
#include "slurm/hook.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

char *hook_line(char **cursor)
{
    char *line = *cursor;
    if (!*line)
        return NULL;
    size_t n = strcspn(line, "\n");
    *cursor = line + n + (line[n] == '\n');
    line[n] = 0;
    return line;
}

int hook_words(char *line, char **words, int most)
{
    for (int n = 0;;) {
        if (n == most)
            return -1;
        words[n++] = line;
        line = strchr(line, ' ');
        if (!line)
            return n;
        *line++ = 0;
    }
}

int hook_is_name(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n < HOOK_WORD && s[0] != '.' && s[0] != '-' && strspn(s, NAME_CHARACTERS) == n;
}

int hook_is_hash(const char *s)
{
    return strlen(s) == SHA256_HEX - 1 && strspn(s, "0123456789abcdef") == SHA256_HEX - 1;
}

int hook_number(const char *s, long long high, long long *value)
{
    long long n = 0;
    if (!*s)
        return -1;
    for (; *s; s++) {
        int digit = *s - '0';
        if (digit < 0 || digit > 9 || n > high / 10 || n * 10 > high - digit)
            return -1;
        n = n * 10 + digit;
    }
    *value = n;
    return 0;
}

/* ---- lists of nodes: those of hosts, without blanks and with the names that a node can have ---------------------- */

struct walk {
    hook_host *each;
    void *arg;
    struct err *err;
};

static int one_host(void *arg, const char *host)
{
    const struct walk *walk = arg;
    if (!hook_is_name(host))
        return hook_refuse(walk->err, "'%.200s' is not the name of a node", host);
    return walk->each(walk->arg, host, walk->err);
}

int hook_nodes_each(const char *list, hook_host *each, void *arg, struct err *e)
{
    struct walk walk = {.each = each, .arg = arg, .err = e};
    if (strpbrk(list, " \t\r\n"))
        return hook_refuse(e, "'%.200s' is not a list of nodes", list);
    int rc = hostlist_each(list, "list of nodes", one_host, &walk, e);
    return rc == ERR_USAGE ? -1 : rc;
}
