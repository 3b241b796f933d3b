/* nccltune explain: explain a profile, or one variable of NCCL. */
#include <stdio.h>

#include "advise/whatif/step_profile.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"
#include "core/vars/catalogue.h"
#include "envgen/explain/explain.h"

#define COMMAND  "nccltune explain"
#define NOT_SAID UINT64_MAX

static const struct cli_page page = {
    COMMAND,
    "nccltune explain PROFILE [VARIABLE | --collectives C --bytes N [--nodes N] [--ranks N]] [--json]\n"
    "       nccltune explain VARIABLE [--nccl VERSION] [--json]\n"
    "       nccltune explain PROFILE --workload FILE [--json]\n"
    "Explain what a profile makes OpenMPI and NCCL do, and why: as a whole, for one variable, or for one call; or "
    "what\n"
    "it is worth to a training step. Without a profile, explain a variable of NCCL: what it does, and its default by\n"
    "release.\n",
    "Examples\n"
    "  nccltune explain profile\n"
    "  nccltune explain NCCL_IB_HCA\n"
    "  nccltune explain profile btl_tcp_if_include\n"
    "  nccltune explain profile --collectives allreduce --bytes 64M --nodes 2 --ranks 16\n"
    "  nccltune explain profile --workload workload.json\n"
    "\n"
    "Exit status: 0 done, 1 the profile is incomplete, was changed or cannot be read, 2 wrong usage or an unknown\n"
    "variable.\n",
    2};

struct request {
    struct env_question question;
    const char *profile, *workload;
    int json;
};

static const struct option_spec own_options[] = {
    {'w', "workload", "FILE",
     "the time that a step's collectives take, now and with the profile, by phase; FILE is of nccltune workload",
     option_text, offsetof(struct request, workload)},
    {0, "nccl", "VERSION", "the release whose own choices and defaults are told; those of the profile",
     cli_take_release, offsetof(struct request, question.nccl)},
    {'j', "json", NULL, "print the answer as JSON", option_flag, offsetof(struct request, json)},
    {0},
};

static const struct option_spec call_options[] = {
    {'c', "collectives", "C", "one of:", cli_take_collective, offsetof(struct env_question, coll),
     .word = cli_collective_word},
    {'b', "bytes", "N", "its size: 8, 64K, 1.5M, 4G; the larger of the per-rank send and receive buffers", option_bytes,
     offsetof(struct env_question, bytes)},
    {'n', "nodes", "N", "only what was measured on that many nodes", option_int, offsetof(struct env_question, nodes),
     .low = 1, .high = INT32_MAX - 1},
    {0, "ranks", "N", "only what was measured with that many ranks", option_int, offsetof(struct env_question, ranks),
     .low = 1, .high = INT32_MAX - 1},
    {0},
};

static int save(cJSON *doc, struct err *e)
{
    return doc ? json_save(doc, "-", e) : e->code;
}

static int answer_question(const struct request *r, const struct env_profile *p, struct err *e)
{
    struct file_out out;
    int rc = r->question.variable ? env_explain_check(p, r->question.variable, e) : 0;
    if (!rc && r->json)
        return save(env_explain_json(p, &r->question, e), e);
    if (!rc)
        rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    return file_out_end(&out, "-", env_explain(p, &r->question, out.stream, e), e);
}

static int answer_step(const struct request *r, const struct env_profile *p, struct err *e)
{
    struct arena *a = arena_new();
    struct workload *w = workload_load(r->workload, e);
    struct step_estimate s;
    int rc = w ? env_step_of_profile(p, w, r->question.nccl, a, &s, e) : e->code;
    struct step_changes changes;
    if (!rc)
        rc = env_step_changes(p, r->question.nccl, &s, &changes, e);
    if (!rc && r->json) {
        cJSON *doc = env_step_json(&s);
        step_changes_json(&changes, doc);
        rc = save(doc, e);
    } else if (!rc) {
        env_step_print(&s, stdout);
        step_changes_print(&changes, stdout);
    }
    workload_free(w);
    arena_free(a);
    return rc;
}

static int explain(const struct request *r, struct err *e)
{
    struct env_profile *p = env_profile_open(r->profile, e);
    int rc = e->code;
    if (p)
        rc = r->workload ? answer_step(r, p, e) : answer_question(r, p, e);
    env_profile_free(p);
    return rc;
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

/* What goes together; 0 or the exit code. */
static int check_request(const struct request *r, const char *of_call)
{
    const struct env_question *q = &r->question;
    const int sized = q->bytes != NOT_SAID;
    if (q->variable && of_call)
        return cli_usage(COMMAND, "%s and a VARIABLE are mutually exclusive", of_call);
    if (of_call && (q->coll < 0 || !sized))
        return cli_usage(COMMAND, "a call has both --collectives and --bytes");
    if (r->workload && (of_call || q->variable))
        return cli_usage(COMMAND, "--workload stands alone");
    return 0;
}

int explain_main(int argc, char **argv)
{
    struct request r = {.question = {.coll = -1, .bytes = NOT_SAID}};
    struct option_group groups[] = {{NULL, own_options, &r}, {"One call", call_options, &r.question}, {0}};
    struct arena *a = arena_new();
    struct err e = {0};
    int first, rc = cli_parse(&page, groups, argc, argv, a, &first);
    if (rc < 0 && first == argc)
        rc = cli_usage(COMMAND, "PROFILE is missing");
    if (rc < 0) {
        r.profile = argv[first];
        r.question.variable = first + 1 < argc ? argv[first + 1] : NULL;
        rc = check_request(&r, groups[1].given);
        int alone = first + 1 == argc && !r.workload && !groups[1].given && env_explain_knows(r.profile);
        if (!rc && alone) {
            if (env_explain_variable(r.profile, r.question.nccl, r.json, stdout, &e))
                rc = cli_fail(COMMAND, &e);
        } else if (!rc && explain(&r, &e))
            rc = cli_fail(COMMAND, &e);
    }
    arena_free(a);
    return rc;
}
