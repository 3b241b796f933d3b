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
    "Explain failures and training steps: where the time goes, whether communication is the problem, what to do\n"
    "next. FILE is a log, a trace or GPU samples; - is standard input; DIR is a job's directory, whose files are\n"
    "joined. Formats are recognised by content and may be mixed: verl, TRL, Swift, Megatron-LM and DeepSpeed logs,\n"
    "\"[Step N] rollout: 185ms | sync: 190ms\" lines, progress bars, PyTorch traces, flight recorders and kernel\n"
    "sums, Nsight Systems' sums, NCCL_DEBUG=INFO, vLLM's log and metrics, nvidia-smi, stacks of py-spy.\n",
    "Examples\n"
    "  nccltune diagnose train.log gpus.csv\n"
    "  nccltune diagnose outputs/job-1234\n"
    "  zcat rank0.pt.trace.json.gz | nccltune diagnose -\n"
    "\n"
    "Exit status: 0 done, 1 a file cannot be read or has nothing known (the others are used), 2 wrong usage.\n",
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
    {0, "list-messages", "FORM", "print the catalogue of messages with causes and remedies, as markdown or manual",
     option_text, offsetof(struct request, messages)},
    {0, "topology", "FILE", "the machine's topology.json: find HCAs missing in NCCL's log, predict the cost of faults",
     option_text, offsetof(struct request, topology)},
    {0, "profile", "DIR", "the jobs' profile: find contradictions in NCCL's log and the job's script; use its topology",
     option_text, offsetof(struct request, profile)},
    {'w', "workload", "FILE", "the job's collectives: predict their time on the topology", option_text,
     offsetof(struct request, workload)},
    {0},
};

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

/* What cannot be read is said, and does not silence the others. */
static int diagnose(const struct request *r, const struct held_against *x, char **files, struct err *e)
{
    struct diagnosis *d = diagnose_new();
    struct file_out out;
    int unread = 0, read = 0, rc = 0;
    diagnose_expect(d, &(struct diag_expected){x->topology, x->workload, x->profile});
    for (; *files; files++) {
        struct err one = {0};
        int failed = diagnose_file(d, *files, &one);
        unread += failed != 0;
        read += !failed;
        if (failed)
            cli_fail(COMMAND, &one);
    }
    const struct diag_result *result = read ? diagnose_finish(d) : NULL;
    if (result) {
        file_out_begin(&out);
        if (r->json)
            json_print(diagnose_json(result), out.stream);
        else
            diagnose_text(result, out.stream);
        rc = file_out_commit(&out, r->output, e);
    }
    diagnose_free(d);
    return rc ? rc : unread ? ERR_FAILED : 0;
}

static int run_request(void *request, char **files, struct arena *a, struct err *e)
{
    const struct request *r = request;
    struct held_against x = {0};
    if (r->messages) {
        int as_manual = !strcmp(r->messages, "manual");
        if (!as_manual && strcmp(r->messages, "markdown") != 0)
            return err_set(e, ERR_USAGE, "--list-messages: expected markdown or manual");
        diagnose_messages(stdout, as_manual);
        return 0;
    }
    if (!*files)
        return err_set(e, ERR_USAGE, "expected a log to read");
    if (r->workload && !r->topology && !r->profile)
        return err_set(e, ERR_USAGE, "--workload needs --topology or --profile");
    int rc = load(r, &x, a, e);
    if (!rc)
        rc = diagnose(r, &x, files, e);
    env_profile_free(x.profile);
    workload_free(x.workload);
    topo_free(x.topology);
    return rc;
}

int diagnose_main(int argc, char **argv)
{
    struct request r = {0};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    return cli_run(&page, groups, argc, argv, run_request, &r);
}
