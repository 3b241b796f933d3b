/* What tools of the machine printed, within a paste: read as probe reads recorded machines, with probe's findings. */
#include <string.h>

#include "advise/diagnose/rules.h"
#include "probe/findings/findings.h"
#include "probe/import/import.h"

void diag_keep_paste(struct diagnosis *d, const char *line, size_t bytes)
{
    if (d->paste_bytes + bytes + 2 > sizeof d->paste) {
        d->paste_bytes = sizeof d->paste; /* full: it is no paste */
        return;
    }
    memcpy(d->paste + d->paste_bytes, line, bytes);
    d->paste_bytes += bytes;
    d->paste[d->paste_bytes++] = '\n';
}

/* Error counters of perfquery, ibqueryerrors and nvidia-smi nvlink -e. */
static const struct {
    const char *name, *id, *advice;
} counters[DIAG_COUNTERS] = {
#define PORT  "read it twice: if it grows, replace cable or optics, then look at the switch port"
#define LINKS "read it twice: if it grows, reset the GPU, and have the board or NVSwitch tested"
    {"LinkDownedCounter", "port-flaps", PORT},
    {"LinkErrorRecoveryCounter", "port-flaps", PORT},
    {"SymbolErrorCounter", "port-errors", PORT},
    {"LocalLinkIntegrityErrors", "port-errors", PORT},
    {"PortRcvErrors", "port-errors", PORT},
    {"PortXmitDiscards", "port-discards", "packets were dropped at a congested port: check flow control and routing"},
    {"CRC Errors", "nvlink-errors", LINKS},
    {"Replay Errors", "nvlink-errors", LINKS},
    {"Recovery Errors", "nvlink-errors", LINKS},
};

static int read_counter(struct diagnosis *d, const char *line)
{
    int found = 0;
    for (int i = 0; i < DIAG_COUNTERS; i++) {
        const char *p = strstr(line, counters[i].name);
        double value = 0;
        if (!p || (p != line && strchr("[ \t", p[-1]) == NULL))
            continue;
        p += strlen(counters[i].name);
        p += strspn(p, " :.=");
        found |= *p >= '0' && *p <= '9';
        if (diag_number(p, &value) && value > d->counters[i].value) {
            d->counters[i].value = value;
            diag_here(d, d->counters[i].place);
        }
    }
    return found;
}

/* Lines of tools that probe knows and no other reader takes. */
int diag_read_tools(struct diagnosis *d, const char *line)
{
    static const char *const starts[] = {"hca_id:",          "CA '",           "NIC Legend",
                                         "DEV\tPORT\tINDEX", "DEV PORT INDEX", "Link 0:"};
    const char *p = line + strspn(line, " \t");
    int tells = strstr(p, " ==> ") != NULL && strstr(p, " port ");
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        tells |= !strncmp(p, starts[i], strlen(starts[i]));
    d->paste_tells |= tells;
    int loaded = (!strncmp(p, "nvidia_peermem ", 15) || !strncmp(p, "nv_peer_mem ", 12)) && strpbrk(p, "0123456789");
    d->nccl.peermem |= loaded;
    tells |= loaded;
    return read_counter(d, p) || tells || strstr(p, "ACSCtl:") != NULL;
}

void diag_read_paste(struct diagnosis *d)
{
    struct err e = {0};
    if (d->paste_tells && d->paste_bytes < sizeof d->paste && !d->machine) {
        d->paste[d->paste_bytes] = 0;
        d->machine = probe_text(d->paste, "paste", &e);
        if (d->machine)
            findings_attach(d->machine);
        for (int i = 0; d->machine && i < d->machine->nclasses; i++)
            d->topo_nics = d->machine->classes[i].nports > d->topo_nics ? d->machine->classes[i].nports : d->topo_nics;
    }
    d->paste_bytes = 0;
    d->paste_tells = 0;
}

static void add_counters(struct judge *j)
{
    for (int i = 0; i < DIAG_COUNTERS; i++) {
        const struct diag_counter *x = &j->d->counters[i];
        struct diag_finding f = {counters[i].id, DIAG_MEASURED, counters[i].advice, "nccltune probe"};
        if (x->value > 0 && diag_hit(&f, 0.2, x->place, "a port or link counts %s: %.0f", counters[i].name, x->value))
            diag_add_finding(j->r, &f);
    }
}

/* ": mlx5_7:1, mlx5_9:1" */
static const char *name_down_ports(const struct judge *j)
{
    const struct topology *t = j->d->machine;
    const char *list = "";
    for (int i = 0; i < t->nclasses; i++)
        for (int p = 0; p < t->classes[i].nports; p++)
            if (t->classes[i].ports[p].state == TOPO_STATE_DOWN)
                list = arena_printf(j->d->arena, "%s%s%s:%d", list, *list ? ", " : ": ", t->classes[i].ports[p].hca,
                                    t->classes[i].ports[p].port);
    return list;
}

void diag_add_machine(struct judge *j)
{
    const struct topology *t = j->d->machine;
    for (int i = 0; t && i < t->nfindings; i++) {
        const struct finding *x = &t->findings[i];
        struct diag_finding f = {x->id, DIAG_MEASURED, x->advice ? x->advice : "", "nccltune probe"};
        if (x->severity < FINDING_WARNING)
            continue;
        diag_hit(&f, x->severity == FINDING_ERROR ? 0.4 : 0.2, "", "%s%s", x->text,
                 x->id && !strcmp(x->id, "port-down") ? name_down_ports(j) : "");
        diag_add_finding(j->r, &f);
    }
    add_counters(j);
}

int diag_say_machine(const struct judge *j)
{
    int left_out = 0, up = 0, index = j->d->machine ? topo_gpu_class(j->d->machine) : -1;
    const struct topo_class *own = index < 0 ? NULL : &j->d->machine->classes[index];
    if (!own || !own->nports)
        return 0;
    const struct topo_class *c = roles_assume_up(own, j->d->arena);
    const int assumed = c != own;
    const struct port_verdict *v = roles_of(c, j->d->arena);
    const char *list = roles_only_labels(c) ? NULL : roles_hca_list(c, v, j->d->arena);
    char(*o)[DIAG_SENTENCE] = j->r->opening;
    memset(o, 0, sizeof j->r->opening);
    diag_say(o[0], assumed ? "If all ports are up and on one network: " : "For this machine: ");
    diag_say(o[0], list ? "NCCL_IB_HCA=%s." : "no HCA can be named.", list);
    for (int p = 0; p < c->nports; p++)
        if (v[p].role != ROLE_COMPUTE && ++left_out) {
            up += c->ports[p].state != TOPO_STATE_DOWN;
            diag_say(o[1], "%s%s:%d (%s)", left_out > 1 ? ", " : "Not ", c->ports[p].hca, c->ports[p].port,
                     v[p].reason);
        }
    diag_say(o[1], left_out ? "." : "All HCAs of the matrix are in it.");
    diag_say(o[2], assumed ? "A matrix has distances only: check states, rates and addresses with ibstat or "
                             "ibv_devinfo and show_gids, and paste them beside it."
                   : up    ? "Without it NCCL may take the others that are up, too."
                           : "NCCL finds the same by itself.");
    return 1;
}
