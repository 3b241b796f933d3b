/* Asking nodes and extending a profile by them. */
#include "cli/serve.h"

#include "cli/cli.h"
#include "cli/nodes.h"
#include "envgen/install/serve.h"

int cli_serve(struct cli_serve *s, const char *command, struct arena *a, struct err *e)
{
    const struct bench_setup reach = {.ssh = s->ssh};
    struct log log = cli_log(command, 0);
    struct cli_nodes nodes;
    struct cluster_served served = {0};
    int rc = cli_nodes_served(s->list, a, &nodes, e);
    struct topology *probed = rc ? NULL : cli_nodes_ask(&reach, &nodes, cli_catch_interrupt(), e);
    rc = probed ? install_extend(s->store, s->profile, probed, s->made, &served, a, e) : e->code;
    for (int i = 0; !rc && i < served.out.n; i++)
        log_warn(&log, "%s is not served: %s", served.out.list[i].name, served.out.list[i].why);
    if (!rc) {
        log_info(&log, "%d of %d nodes equal a class of the profile", served.joined, nodes.n);
        s->joined = served.joined;
        s->left = served.out.n;
    }
    topo_free(probed);
    return rc;
}
