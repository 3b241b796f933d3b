/* nccltune diagnose: where a training step goes, from the logs that people have. */
#include <stdio.h>
#include <string.h>

#include "advise/diagnose/diagnose.h"
#include "cli/cli.h"
#include "core/file.h"
#include "core/json.h"
#include "probe/findings/findings.h"

#define COMMAND "nccltune diagnose"

static const struct cli_page page = {
    COMMAND,
    "nccltune diagnose [OPTION]... FILE|DIR...\n"
    "Explain failures and training steps: where the time goes, whether communication is the problem, and what to do\n"
    "next.\n"
    "FILE is a log, a trace or GPU samples; - is standard input; DIR is a job's directory, whose files are joined.\n"
    "Formats are told by content and may be mixed: verl, TRL, Swift, Megatron-LM and DeepSpeed logs, \"[Step N] "
    "rollout:\n"
    "185ms | sync: 190ms\" lines, progress bars, PyTorch traces, flight recorders and kernel sums, Nsight Systems'\n"
    "sums, NCCL_DEBUG=INFO, vLLM's log and metrics, what nvidia-smi prints, stacks of py-spy.\n",
    "Examples\n"
    "  nccltune diagnose train.log gpus.csv\n"
    "  nccltune diagnose outputs/job-1234\n"
    "  zcat rank0.pt.trace.json.gz | nccltune diagnose -\n"
    "\n"
    "Exit status: 0 done, 1 a file cannot be read or holds nothing known (the others are told), 2 wrong usage.\n",
    -1};

struct request {
    const char *output, *topology, *profile, *workload;
    const char *messages;
    int json;
};

static const struct option_spec options[] = {
    {'o', "output", "FILE", "write the text or JSON there", option_text, offsetof(struct request, output)},
    {'j', "json", NULL, "print the diagnosis as JSON, with communication_share from 0 to 1", option_flag,
     offsetof(struct request, json)},
    {0, "list-messages", "FORM", "the messages that are known, with causes and remedies: markdown or manual",
     option_text, offsetof(struct request, messages)},
    {0, "topology", "FILE", "the machine's topology.json: which of its HCAs NCCL's log leaves out, what faults cost",
     option_text, offsetof(struct request, topology)},
    {0, "profile", "DIR", "what jobs should have, and its topology: what NCCL's log and the job's script contradict",
     option_text, offsetof(struct request, profile)},
    {'w', "workload", "FILE", "what a step communicates: what that should take on the topology", option_text,
     offsetof(struct request, workload)},
    {0},
};

static int write_text(const struct diag_result *r, const char *path, struct err *e)
{
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    diagnose_text(r, out.stream);
    return file_out_commit(&out, path, e);
}

/* What logs are held against, and its owner. */
struct held_against {
    struct topology *topology;
    struct workload *workload;
    struct env_profile *profile;
};

static int load(const struct request *r, struct held_against *x, struct arena *a, struct err *e)
{
    const char *topology = r->topology;
    if (r->profile && !(x->profile = env_profile_open(r->profile, e)))
        return e->code;
    if (!topology && r->profile)
        topology = arena_printf(a, "%s/topology.json", x->profile->dir);
    if (topology && !(x->topology = topo_load(topology, e)))
        return e->code;
    if (x->topology)
        findings_attach(x->topology);
    return r->workload && !(x->workload = workload_load(r->workload, e)) ? e->code : 0;
}

static void unload(struct held_against *x)
{
    env_profile_free(x->profile);
    workload_free(x->workload);
    topo_free(x->topology);
}

static int diagnose(const struct request *r, const struct held_against *x, char **files, struct err *e)
{
    struct diagnosis *d = diagnose_new();
    diagnose_expect(d, &(struct diag_expected){x->topology, x->workload, x->profile});
    int unread = 0, read = 0, rc = 0;
    /* What cannot be read is said, and does not silence the others. */
    for (; *files; files++) {
        struct err one = {0};
        int failed = diagnose_file(d, *files, &one);
        unread += failed != 0;
        read += !failed;
        if (failed)
            cli_fail(COMMAND, &one);
    }
    const struct diag_result *result = read ? diagnose_finish(d) : NULL;
    if (result)
        rc = r->json ? json_save(diagnose_json(result), r->output, e) : write_text(result, r->output, e);
    diagnose_free(d);
    return rc ? cli_fail(COMMAND, e) : unread ? ERR_FAILED : 0;
}

static int diagnose_files(const struct request *r, char **files, struct arena *a, struct err *e)
{
    struct held_against x = {0};
    int rc = load(r, &x, a, e) ? cli_fail(COMMAND, e) : diagnose(r, &x, files, e);
    unload(&x);
    return rc;
}

int diagnose_main(int argc, char **argv)
{
    struct request r = {0};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    struct arena *a = arena_new();
    struct err e = {0};
    int first, rc = cli_parse(&page, groups, argc, argv, a, &first);
    if (rc < 0 && r.messages) {
        int as_manual = !strcmp(r.messages, "manual");
        if (!as_manual && strcmp(r.messages, "markdown") != 0)
            rc = cli_usage(COMMAND, "--list-messages: expected markdown or manual");
        else
            diagnose_messages(stdout, as_manual);
        rc = rc < 0 ? 0 : rc;
    }
    if (rc < 0 && first == argc)
        rc = cli_usage(COMMAND, "expected a log to read");
    if (rc < 0 && r.workload && !r.topology && !r.profile)
        rc = cli_usage(COMMAND, "--workload needs --topology or --profile");
    if (rc < 0)
        rc = diagnose_files(&r, argv + first, a, &e);
    arena_free(a);
    return rc;
}
