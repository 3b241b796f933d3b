/* The second half of the text: what follows from the devices. */
#include <string.h>

#include "core/finding.h"
#include "core/hostlist.h"
#include "probe/format/text.h"
#include "probe/topology/differences.h"
#include "probe/topology/domains.h"
#include "probe/topology/paths.h"
#include "probe/topology/rails.h"
#include "probe/topology/roles.h"

#define MOST_CLASSES 16 /* whose differences are told; topology.json has more */

const char *text_inert(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s ? s : "?");
    for (char *p = copy; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    return copy;
}

const char *text_hosts(const struct topology *t, int class_index, struct arena *a)
{
    const char **names = arena_alloc(a, (size_t)t->nhosts * sizeof *names), *own = t->classes[class_index].name;
    int n = 0;
    for (int i = 0; i < t->nhosts; i++)
        if (t->hosts[i].class_index == class_index)
            names[n++] = t->hosts[i].name;
    return n > 1 ? arena_printf(a, "%s, %d nodes", hostlist_fold(names, n, a), n)
           : n   ? names[0]
           : own ? own
                 : "no node";
}

/* The GID that NCCL takes by default: RoCE v2 with an IPv4 address, else RoCE v2, else the first. */
static const struct topo_gid *best_gid(const struct topo_class *c, int port)
{
    const struct topo_gid *best = NULL;
    int most = -1;
    for (int i = 0; i < c->ngids; i++) {
        const struct topo_gid *g = &c->gids[i];
        int value = (g->type == TOPO_GID_ROCE_V2) + 2 * !strncmp(g->gid, "::ffff:", 7);
        if (g->port == port && value > most) {
            best = g;
            most = value;
        }
    }
    return best;
}

static int width_of(const struct topo_class *c)
{
    int width = 0;
    for (int i = 0; i < c->nports; i++) {
        int n = (int)strlen(c->ports[i].hca) + 2;
        width = n > width && n <= 24 ? n : width;
    }
    return width;
}

static void put_addresses(FILE *out, const struct topo_class *c, int port, struct arena *a)
{
    static const char *const types[] = {"", "IB", "RoCE v1", "RoCE v2"};
    const struct topo_port *p = &c->ports[port];
    const struct topo_gid *g = best_gid(c, port);
    if (p->netdev)
        fprintf(out, "  %s", text_inert(a, p->netdev));
    if (p->layer == TOPO_LINK_INFINIBAND && p->subnet_prefix)
        fprintf(out, "  subnet %s", text_inert(a, p->subnet_prefix));
    if (p->lid)
        fprintf(out, "  LID %d", p->lid);
    if (g && p->layer != TOPO_LINK_INFINIBAND)
        fprintf(out, "  GID %d %s %s", g->index, types[g->type], text_inert(a, g->gid));
    if (p->firmware)
        fprintf(out, "  firmware %s", text_inert(a, p->firmware));
    if (p->board_id)
        fprintf(out, " (%s)", text_inert(a, p->board_id));
}

static void put_networks(FILE *out, const struct topo_class *c, struct arena *a)
{
    int known = 0;
    for (int i = 0; i < c->nports; i++)
        known |= c->ports[i].netdev || c->ports[i].subnet_prefix || c->ports[i].firmware || best_gid(c, i);
    if (!known)
        return;
    fputs("\nRDMA addresses:\n", out);
    for (int i = 0; i < c->nports; i++) {
        fprintf(out, "  %-*s", width_of(c), arena_printf(a, "%s:%d", text_inert(a, c->ports[i].hca), c->ports[i].port));
        put_addresses(out, c, i, a);
        fputc('\n', out);
    }
}

static void put_nearest(FILE *out, const struct topo_class *c, const struct port_verdict *v, struct arena *a)
{
    const int most = 8;
    const struct path_matrix *m = path_matrix(c, a);
    fputs("\nNearest compute ports:\n", out);
    for (int g = 0; g < m->ngpus; g++) {
        enum path_class best = PATH_UNKNOWN;
        double GBps = 0;
        const char *names = "";
        int n = 0;
        for (int i = 0; i < c->nports; i++) {
            int end = path_end_of(m, c->ports[i].hca);
            const struct path *p = end < 0 ? NULL : path_between(m, g, end);
            if (!p || v[i].role != ROLE_COMPUTE || p->class_ > best || p->class_ == PATH_UNKNOWN)
                continue;
            int nearer = p->class_ < best;
            n = nearer ? 1 : n + 1;
            if (n <= most)
                names = arena_printf(a, "%s%s%s:%d", nearer ? "" : names, nearer ? "" : " ", c->ports[i].hca,
                                     c->ports[i].port);
            double own = c->ports[i].rate_Gbps / 8; /* a port is often slower than its slot */
            own = p->GBps > 0 && (p->GBps < own || !(own > 0)) ? p->GBps : own;
            GBps = nearer || own < GBps ? own : GBps;
            best = p->class_;
        }
        fprintf(out, "  GPU%-3d  %s", c->gpus[g].index, path_class_name(best));
        if (*names)
            fprintf(out, "  %s", text_inert(a, names));
        if (n > most)
            fprintf(out, " and %d more", n - most);
        if (GBps > 0)
            fprintf(out, "  %g GB/s", GBps);
        fputc('\n', out);
    }
}

/* A line a rail; nothing where all ports are on one network or none is known. */
static void put_rails(FILE *out, const struct topo_class *c, const struct port_verdict *v, struct arena *a)
{
    struct rail *rails;
    int n = rails_of(c, v, a, &rails);
    if (n < 2)
        return;
    fputs("\nRails (networks of compute ports):\n", out);
    for (int i = 0; i < n; i++) {
        fprintf(out, "  %-18s ", text_inert(a, rails[i].network));
        for (int k = 0; k < rails[i].nports; k++)
            fprintf(out, " %s:%d", text_inert(a, c->ports[rails[i].ports[k]].hca), c->ports[rails[i].ports[k]].port);
        fputc('\n', out);
    }
}

void text_put_verdicts(FILE *out, const struct topo_class *c, struct arena *a)
{
    if (!c->nports)
        return;
    const struct port_verdict *v = roles_of(c, a);
    const char *list = roles_hca_list(c, v, a);
    put_networks(out, c, a);
    fputs("\nRoles:\n", out);
    for (int i = 0; i < c->nports; i++)
        fprintf(out, "  %-*s  %-17s  %s\n", width_of(c),
                arena_printf(a, "%s:%d", text_inert(a, c->ports[i].hca), c->ports[i].port), role_name(v[i].role),
                text_inert(a, v[i].reason));
    put_rails(out, c, v, a);
    if (c->ngpus && list)
        put_nearest(out, c, v, a);
    int known = 0;
    for (int i = 0; i < c->nports; i++)
        known += c->ports[i].state != TOPO_STATE_UNKNOWN;
    fprintf(out, "\nNCCL_IB_HCA: %s\n",
            list    ? text_inert(a, list)
            : known ? "none of the ports is one that NCCL should use through verbs"
                    : "not known: the states of the ports could not be read");
}

/* ---- cluster ----------------------------------------------------------------------------------------------------- */

static void put_differences(FILE *out, const struct topology *t, struct arena *a)
{
    fputs("\nWhat sets classes apart, each from the one most like it:\n", out);
    for (int i = 0; i < t->nclasses && i <= MOST_CLASSES; i++) {
        struct differences_like like = differences_nearest(t, i, a);
        if (like.class_index < 0)
            continue;
        fprintf(out, "  %s (%s)", text_inert(a, t->classes[i].name), text_inert(a, text_hosts(t, i, a)));
        fprintf(out, " from %s", text_inert(a, t->classes[like.class_index].name));
        for (int k = 0; k < like.n; k++)
            fprintf(out, "%s %s", k ? "," : ":", text_inert(a, like.sentences[k]));
        fputc('\n', out);
    }
    if (t->nclasses - 1 > MOST_CLASSES)
        fprintf(out, "  and %d more classes\n", t->nclasses - 1 - MOST_CLASSES);
}

static void put_findings(FILE *out, const struct topology *t)
{
    if (t->nfindings)
        fputs("\nFindings:\n", out);
    for (int i = 0; i < t->nfindings; i++) {
        struct finding shown = t->findings[i];
        if (t->nclasses == 1 && shown.subject == t->classes[0].name)
            shown.subject = NULL;
        finding_print(&shown, 2, out);
    }
}

static void put_leaves(FILE *out, const struct topology *t, struct arena *a)
{
    const int most = 64;
    int shown = 0;
    for (int i = 0; i < t->nhosts; i++)
        for (int k = 0; k < t->hosts[i].nleaves && shown < most; k++) {
            if (!shown++)
                fputs("\nSwitches:\n", out);
            fprintf(out, "  %s %s\n", text_inert(a, t->hosts[i].name), text_inert(a, t->hosts[i].leaves[k]));
        }
    if (shown == most)
        fputs("  (more in the JSON)\n", out);
}

static void put_racks(FILE *out, const struct topology *t, struct arena *a)
{
    const int most = 64;
    struct nvlink_rack *racks;
    int n = t->nhosts > 1 ? nvlink_racks(t, a, &racks) : 0;
    for (int i = 0; i < n && i < most; i++)
        fprintf(out, "%s  %d GPUs of %d node%s (%s), clique %s\n", i ? "" : "\nNVLink domains over nodes:\n",
                racks[i].ngpus, racks[i].nhosts, racks[i].nhosts == 1 ? "" : "s",
                text_inert(a, hostlist_fold(racks[i].hosts, racks[i].nhosts, a)), text_inert(a, racks[i].clique));
}

void text_put_cluster(FILE *out, const struct topology *t, struct arena *a)
{
    const char *why;
    if (t->nclasses > 1) {
        const char *common = roles_hca_common(t, a, &why);
        put_differences(out, t, a);
        fprintf(out, "\nNCCL_IB_HCA for all classes: %s%s\n",
                common ? text_inert(a, common) : "none exists: ", common ? "" : text_inert(a, why));
    }
    put_racks(out, t, a);
    put_leaves(out, t, a);
    put_findings(out, t);
}
