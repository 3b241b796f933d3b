/* Slurm's lists of nodes: lists of hosts without blanks and with the names that a node can have. */
#include <string.h>

#include "core/hostlist.h"
#include "slurm/hook.h"

struct walk {
    hook_host *each;
    void *arg;
    struct hook_why *why;
};

static int one_host(void *arg, const char *host)
{
    const struct walk *walk = arg;
    if (!hook_is_name(host))
        return hook_refuse(walk->why, "'%.200s' is not the name of a node", host);
    return walk->each(walk->arg, host, walk->why);
}

int hook_nodes_each(const char *list, hook_host *each, void *arg, struct hook_why *w)
{
    struct walk walk = {.each = each, .arg = arg, .why = w};
    struct err e = {0};
    if (strpbrk(list, " \t\r\n"))
        return hook_refuse(w, "'%.200s' is not a list of nodes", list);
    int rc = hostlist_each(list, "list of nodes", one_host, &walk, &e);
    return e.code ? hook_refuse(w, "%s", e.text) : rc;
}
