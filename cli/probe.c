/* nccltune probe: say what is in this machine, in a cluster or in recorded ones, and how it is connected. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/machine.h"
#include "core/file.h"
#include "core/hostlist.h"
#include "model/nccl/model.h"
#include "probe/cluster/cluster.h"
#include "probe/findings/findings.h"
#include "probe/format/format.h"
#include "probe/import/import.h"
#include "probe/machines/hardware.h"
#include "probe/machines/machines.h"
#include "probe/source/probe.h"
#include "probe/topology/build.h"

#define COMMAND   "nccltune probe"
#define MOST_ENDS 6 /* GPUs and ports whose matrix fits into 100 columns */

struct request {
    struct option_list from;
    int merge;
    const char *sysroot, *hosts, *hostfile, *switches;
    const char *machine, *gpu, *tree;
    int nodes; /* of that machine; 0: not given */
    int list_machines, list_gpus, list_findings;
    const char *agent, *command;
    double deadline_s;
    const char *format, *output, *why;
    int json;
    struct option_list strict; /* severities from which on, and kinds of findings; empty: never */
};

static const struct cli_page page = {
    COMMAND,
    "nccltune probe [OPTION]...\n"
    "Show the devices of a machine, of a cluster or of recorded machines, and how they are connected.\n",
    "Examples\n"
    "  nccltune probe                          devices, matrix, roles of the ports, findings\n"
    "  nccltune probe -o topology.json         the same for the other commands\n"
    "  nccltune probe -H node[1-4] -o topology.json\n"
    "  nccltune probe --from ndv5.xml --gpu h100-sxm -o ndv5.svg\n"
    "  nccltune probe --from topo-m.txt --from ibdev2netdev.txt --merge\n"
    "  nccltune probe --machine dgx-h100 --nodes 32 -o cluster.json\n"
    "\n"
    "\"Notes\" lists what could not be read; the matrix shows it as \"?\".\n"
    "Exit status: 0 done, 1 a file cannot be read or written or, with --strict, something was found, 2 wrong\n"
    "usage, 3 the machine lacks what was asked for.\n",
    0};

#define AT(member) offsetof(struct request, member)
static const struct option_spec what_options[] = {
    {0, "from", "FILE",
     "a recorded machine: a topology file of NCCL or RCCL (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE), an hwloc XML file "
     "(lstopo FILE.xml), a topology.json, nvidia-smi -q -x, or a text with the output of tools: nvidia-smi topo -m, "
     "topo -p2p and nvlink -s, mx-smi topo -m, rocm-smi --showtopo, amd-smi topology, ibstat, ibv_devinfo, "
     "ibdev2netdev, show_gids, rdma link, lspci -vvv; - is standard input; several files are several hosts",
     option_append, AT(from)},
    {0, "merge", NULL, "the files describe one node: the most complete one counts, the others fill gaps", option_flag,
     AT(merge)},
    {0, "sysroot", "DIR", "a machine whose /sys and /proc were copied into DIR", option_text, AT(sysroot)},
    {'H', "hosts", "LIST", "nodes of a cluster: node1,node2 or node[01-16]; each probes itself", option_text,
     AT(hosts)},
    {0, "hostfile", "FILE", "the same, one in a line", option_text, AT(hostfile)},
    {0, "machine", "NAME", "a bundled machine (--list-machines)", option_text, AT(machine), .word = machine_name},
    {0, "nodes", "N", "number of such nodes (default: 1)", option_int, AT(nodes), .low = 1, .high = MACHINE_MOST},
    {0, "gpu", "NAME", "the GPUs of --from or --sysroot (--list-gpus), for files without model and NVLink", option_text,
     AT(gpu), .word = cli_gpu_word},
    {0, "tree", "NAME|FILE",
     "PCIe tree for a virtual machine or container that hides it: a bundled machine, a provider's topology file, or "
     "measured bandwidths, lines of \"GPU0 mlx5_0 24.1\" (GB/s)",
     option_text, AT(tree)},
    {0, "ibnetdiscover", "FILE", "add leaf switches from ibnetdiscover output", option_text, AT(switches)},
    {0},
};

static const struct option_spec reach_options[] = {
    {0, "ssh", "COMMAND",
     "called as COMMAND HOST PROGRAM..., for example 'srun -N1 -n1 --overlap -w' (default: ssh -o BatchMode=yes -o "
     "ConnectTimeout=10)",
     option_text, AT(agent)},
    {0, "remote", "COMMAND", "command to run there (default: this program with probe --json)", option_text,
     AT(command)},
    {0, "deadline", "TIME", "time limit for each node, which is then listed as missing (default: 30s)", option_seconds,
     AT(deadline_s)},
    {0},
};

static const char *format_word(int i)
{
    return probe_formats[i] ? probe_formats[i]->name : NULL;
}

static int is_kind(const char *id)
{
    const struct finding_kind *k;
    for (int i = 0; (k = findings_kind(i)); i++)
        if (!strcmp(k->id, id))
            return 1;
    return 0;
}

/* A severity (FINDING_NOTE and above) by its name; FINDING_SEVERITIES: none. */
static enum finding_severity severity_named(const char *name)
{
    int s = FINDING_NOTE;
    while (s < FINDING_SEVERITIES && strcmp(finding_severity_name((enum finding_severity)s), name) != 0)
        s++;
    return (enum finding_severity)s;
}

static int take_one_strict(const struct option_value *v, void *out, struct err *e)
{
    if (severity_named(v->text) == FINDING_SEVERITIES && !is_kind(v->text))
        return err_set(e, ERR_USAGE,
                       "%s: %s is neither a severity (error, warning, note) nor a kind of --list-findings", v->what,
                       v->text);
    return option_append(v, out, e);
}

static int take_strict(const struct option_value *v, void *out, struct err *e)
{
    struct option_value whole = *v;
    whole.text = v->text ? v->text : finding_severity_name(FINDING_ERROR);
    return option_each(&whole, take_one_strict, out, e);
}

/* Whether a finding is one of those that --strict names. */
static int is_struck(const struct topology *t, const struct option_list *strict)
{
    for (int i = 0; i < t->nfindings; i++)
        for (int k = 0; k < strict->count; k++)
            if (t->findings[i].severity >= severity_named(strict->items[k]) ||
                !strcmp(t->findings[i].id, strict->items[k]))
                return 1;
    return 0;
}

static const struct option_spec output_options[] = {
    {'o', "output", "FILE", "write to FILE, atomically (default: standard output)", option_text, AT(output)},
    {'F', "format", "FORMAT",
     "default: json, svg or nccl-xml if FILE of -o ends in .json, .svg or .xml, else text, or short where the matrix "
     "does not fit into 100 columns; one of:",
     option_word, AT(format), .word = format_word},
    {'j', "json", NULL, "the same as --format json", option_flag, AT(json)},
    {0, "why", "PORT", "show rule by rule why this RDMA port is on the list for NCCL_IB_HCA or not", option_text,
     AT(why)},
    {0, "list-machines", NULL, "print the bundled machines and their sources", option_flag, AT(list_machines)},
    {0, "list-gpus", NULL, "print the values of --gpu and their sources", option_flag, AT(list_gpus)},
    {0, "list-findings", NULL, "print every kind of finding", option_flag, AT(list_findings)},
    {0, "strict", "[=WHAT,...]",
     "exit with 1 if a finding is an error, or at least of severity WHAT (warning, note), or of kind WHAT (port-flaps; "
     "see nccltune-findings(7))",
     take_strict, AT(strict)},
    {0},
};

static int lists_asked(const struct request *o)
{
    return o->list_machines + o->list_gpus + o->list_findings;
}

static int write_list(const struct request *o, struct err *e)
{
    struct file_out out;
    file_out_begin(&out);
    (o->list_gpus       ? hw_gpu_list
     : o->list_findings ? findings_list
                        : machine_list)(o->format && !strcmp(o->format, "json"), out.stream);
    return file_out_commit(&out, o->output, e);
}

static int write_topology(const struct topology *t, const struct request *o, struct err *e)
{
    struct file_out out;
    file_out_begin(&out);
    const char *format = o->format;
    for (int i = 0; i < t->nclasses && !format; i++)
        if (t->classes[i].ngpus + t->classes[i].nports > MOST_ENDS)
            format = "short";
    int rc = o->why ? why_write(t, o->why, out.stream, e)
                    : probe_format_find(format ? format : "text")->write(t, out.stream, e);
    if (format && !o->format && !o->why)
        fputs("\nDevices, the matrix, the reason of each role and notes: --format text\n", out.stream);
    return file_out_end(&out, o->output, rc, e);
}

/* Options that exclude or need one another. */
static int check_together(const struct request *o, struct err *e)
{
    const int lists = lists_asked(o);
    const int looked_at =
        (o->from.count > 0) + (o->sysroot != NULL) + (o->hosts != NULL) + (o->hostfile != NULL) + (o->machine != NULL);
    if (looked_at + lists > 1)
        return err_set(e, ERR_USAGE, "%s%s are mutually exclusive",
                       lists ? "--list-machines, --list-gpus, --list-findings, " : "",
                       "--from, --sysroot, --hosts, --hostfile and --machine");
    if (o->json && o->format && strcmp(o->format, "json") != 0)
        return err_set(e, ERR_USAGE, "--json and --format %s are mutually exclusive", o->format);
    const char *format = o->json ? "json" : o->format ? o->format : "text";
    const struct cli_wrong wrong[] = {
        {o->why && strcmp(format, "text") != 0, "--why prints text alone"},
        {lists && strcmp(format, "text") != 0 && strcmp(format, "json") != 0, "lists are text or JSON"},
        {o->merge && !o->from.count, "--merge needs --from"},
        {o->nodes && !o->machine, "--nodes needs --machine"},
        {o->gpu && !o->from.count && !o->sysroot, "--gpu completes what --from or --sysroot leaves out"},
        {0},
    };
    return cli_check(wrong, e);
}

static struct topology *gather(const struct request *o, struct log *log, struct arena *a, struct err *e)
{
    struct cluster_ask ask = {.agent = o->agent, .command = o->command, .deadline_s = o->deadline_s};
    const char **hosts;
    if (o->hosts ? hostlist_parse(o->hosts, "--hosts", a, &hosts, &ask.nhosts, e)
                 : hostlist_read(o->hostfile, a, &hosts, &ask.nhosts, e))
        return NULL;
    ask.hosts = hosts;
    return cluster_gather(&ask, log, cli_catch_interrupt(), e);
}

static struct topology *look_at_nodes(const struct request *o, struct log *log, struct arena *a, struct err *e)
{
    if (o->machine)
        return machine_topology(o->machine, o->nodes ? o->nodes : 1, e);
    if (o->hosts || o->hostfile)
        return gather(o, log, a, e);
    if (o->from.count) {
        if (o->merge) /* names of files stand in the result, whose order is not to matter */
            qsort(o->from.items, (size_t)o->from.count, sizeof *o->from.items, arena_compare_texts);
        struct topology *t = (o->merge ? probe_files : probe_hosts)(o->from.items, o->from.count, log, e);
        if (t && o->merge) {
            merge_nodes(t);
            import_renew_needs(t);
        } else if (t && o->from.count > 1) {
            cli_warn_of_parts(t, log);
        }
        return t;
    }
    return o->sysroot ? probe_sysroot(o->sysroot, log, e) : probe_machine(log, e);
}

/* What NCCL finds on two such nodes, in `a`; NULL: nothing. */
static const struct nccl_model *search_graphs(const struct topology *t, int class_index, struct arena *a, struct err *e)
{
    struct nccl_setup s = {.topology = t, .class_index = class_index, .nodes = 2, .no_mnnvl = 1};
    return nccl_model_new(&s, a, e);
}

static const char *describe_rings(const struct nccl_model *m, struct arena *a)
{
    return arena_printf(a, "%d channels, %d x %g GB/s to the network over %s, %s GPUDirect RDMA", m->nchannels,
                        m->ring.nchannels, m->ring.bw_inter, path_class_name(m->ring.type_inter),
                        m->ring.type_inter <= PATH_PXN ? "with" : "without");
}

static double total_GBps(const struct nccl_model *m)
{
    return (double)m->ring.bw_inter * m->ring.nchannels;
}

static int is_like(const struct nccl_model *x, const struct nccl_model *y)
{
    return x->nchannels == y->nchannels && fabs(total_GBps(x) - total_GBps(y)) < 1e-3 &&
           x->ring.type_inter == y->ring.type_inter;
}

/* Move each NIC to the switch of the next one that is elsewhere, or exchange the two. */
static void tell_edits(const struct topology *after, int class_index, const struct nccl_model *with, int exchange,
                       struct log *log, struct arena *a)
{
    struct topology *edited = topo_copy(after, NULL);
    struct topo_class *c = edited ? &edited->classes[class_index] : NULL;
    const char *changing = "";
    int edits = 0, changes = 0;
    for (int i = 0; c && i + 1 < c->nports; i++) {
        struct topo_object *x = c->ports[i].object < 0 ? NULL : &c->objects[c->ports[i].object];
        struct topo_object *y = c->ports[i + 1].object < 0 ? NULL : &c->objects[c->ports[i + 1].object];
        if (!x || !y || x->parent == y->parent)
            continue;
        int first = x->parent, second = y->parent;
        x->parent = second;
        y->parent = exchange ? first : second;
        const struct nccl_model *m = search_graphs(edited, class_index, a, NULL);
        edits++;
        if (m && !is_like(m, with))
            changing = arena_printf(a, "%s%s%s", changing, changes++ ? ", " : ": ", c->ports[i].hca);
        x->parent = first;
        y->parent = second;
    }
    if (edits)
        log_info(log, "%s: %s changes that in %d of %d cases%s", after->classes[class_index].name,
                 exchange ? "to exchange a NIC and the next one" : "to put a NIC behind the next one's switch", changes,
                 edits, changing);
    topo_free(edited);
}

/* Tell for each class with GPUs what NCCL would choose on two nodes without its tree (`before`) and with it, and which
 * NICs, moved or exchanged, would change that. */
static void compare_trees(const struct topology *before, const struct topology *after, struct log *log, struct arena *a)
{
    for (int i = 0; i < after->nclasses; i++) {
        struct err e = {0};
        const struct topo_class *c = &after->classes[i];
        const struct nccl_model *without = c->ngpus ? search_graphs(before, i, a, &e) : NULL,
                                *with = c->ngpus ? search_graphs(after, i, a, &e) : NULL;
        if (!c->ngpus)
            continue;
        log_info(log, "%s: on two nodes NCCL would make, without this tree: %s", c->name,
                 without ? describe_rings(without, a) : e.text);
        log_info(log, "%s: with it: %s", c->name, with ? describe_rings(with, a) : e.text);
        for (int exchange = 0; exchange < 2 && with; exchange++)
            tell_edits(after, i, with, exchange, log, a);
    }
}

/* A bundled machine, a file that begins like a document, or else measured bandwidths. */
static struct topology *describe_tree(const struct topology *t, const char *tree, struct log *log, struct arena *a,
                                      struct err *e)
{
    char *text;
    size_t bytes;
    int i = 0;
    while (machine_name(i) && strcmp(machine_name(i), tree) != 0)
        i++;
    if (machine_name(i))
        return machine_topology(tree, 1, e);
    if (file_read_text(tree, FILE_LIMIT, a, &text, &bytes, e))
        return NULL;
    return strchr("<{", text[strspn(text, " \t\r\n")]) ? probe_files(&tree, 1, log, e)
                                                       : machine_from_bandwidths(t, tree, e);
}

static int complete_tree(struct topology *t, const char *tree, struct log *log, struct arena *a, struct err *e)
{
    struct topology *like = describe_tree(t, tree, log, a, e), *before = like ? topo_copy(t, e) : NULL;
    int rc = before ? machine_complete_tree(t, like, e) : e->code;
    for (int i = 0; i < t->nclasses && !rc; i++)
        for (int k = 0; k < t->classes[i].nnotes; k++)
            if (!strncmp(t->classes[i].notes[k], TREE_ASSUMED, strlen(TREE_ASSUMED)))
                log_warn(log, "%s: %s", t->classes[i].name, t->classes[i].notes[k]);
    if (!rc)
        compare_trees(before, t, log, a);
    topo_free(before);
    topo_free(like);
    return rc;
}

static int probe_nodes(const struct request *r, struct arena *a, struct err *e)
{
    struct log log = cli_log(COMMAND, !r->output && !r->tree);
    int rc = 0;
    struct topology *t = look_at_nodes(r, &log, a, e);
    if (!t)
        return e->code;
    if (r->gpu)
        rc = machine_complete_gpus(t, r->gpu, e);
    if (!rc && r->tree)
        rc = complete_tree(t, r->tree, &log, a, e);
    if (!rc && r->switches)
        rc = ibnetdiscover_read(t, r->switches, &log, e);
    if (!rc)
        findings_attach(t);
    if (!rc)
        rc = write_topology(t, r, e);
    int found = !rc && is_struck(t, &r->strict);
    topo_free(t);
    return rc ? rc : found ? ERR_FAILED : 0;
}

/* By the name of -o's file. */
static int choose_format(struct request *r, struct err *e)
{
    static const struct {
        const char *ending, *format;
    } known[] = {{".json", "json"}, {".svg", "svg"}, {".xml", "nccl-xml"}, {".html", NULL},
                 {".htm", NULL},    {".png", NULL},  {".pdf", NULL}};
    r->format = r->output ? "text" : NULL; /* NULL: as it fits */
    for (size_t i = 0; r->output && i < sizeof known / sizeof *known; i++)
        if (file_ends_with(r->output, known[i].ending))
            r->format = known[i].format;
    if (r->output && !r->format)
        err_set(e, ERR_USAGE, "%s: there is no such format; a browser shows the picture of -o FILE.svg", r->output);
    return e->code;
}

static int run_request(void *request, char **words, struct arena *a, struct err *e)
{
    struct request *r = request;
    (void)words;
    if (!r->json && !r->format && choose_format(r, e))
        return e->code;
    if (check_together(r, e))
        return e->code;
    if (r->json)
        r->format = "json";
    return lists_asked(r) ? write_list(r, e) : probe_nodes(r, a, e);
}

int probe_main(int argc, char **argv)
{
    struct request r = {.deadline_s = 30};
    struct option_group groups[] = {{"What to look at (default: this machine)", what_options, &r},
                                    {"How to reach nodes", reach_options, &r},
                                    {"What to write", output_options, &r},
                                    {0}};
    return cli_run(&page, groups, argc, argv, run_request, &r);
}
