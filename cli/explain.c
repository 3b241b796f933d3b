/* nccltune explain: explain a profile, or one variable of NCCL. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "advise/whatif/step.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "core/edit_distance.h"
#include "core/file.h"
#include "core/json.h"
#include "core/units.h"
#include "core/vars/catalogue.h"
#include "envgen/explain/explain.h"

#define COMMAND  "nccltune explain"
#define NOT_SAID UINT64_MAX

static const struct cli_page page = {
    COMMAND,
    "nccltune explain PROFILE [VARIABLE | COLLECTIVE BYTES [--nodes N] [--ranks N]] [--json]\n"
    "       nccltune explain VARIABLE [--nccl VERSION] [--json]\n"
    "       nccltune explain PROFILE --workload FILE [--json]\n"
    "Explain what a profile makes OpenMPI and NCCL do, and why: as a whole, for one variable, for one call, or for a\n"
    "training step. Without a profile, explain a variable of NCCL: what it does, and its default by release.\n",
    "Examples\n"
    "  nccltune explain profile\n"
    "  nccltune explain NCCL_IB_HCA\n"
    "  nccltune explain profile NCCL_IB_HCA\n"
    "  nccltune explain profile allreduce 64M --nodes 2 --ranks 16\n"
    "  nccltune explain profile --workload workload.json\n"
    "\n"
    "Exit status: 0 done, 1 the profile is incomplete, was changed or cannot be read, 2 wrong usage or an unknown\n"
    "variable.\n",
    3};

struct request {
    struct env_question question;
    const char *profile, *workload;
    int json;
    const struct option_group *call; /* the options of one call */
};

#define AT(member) offsetof(struct request, member)
static const struct option_spec own_options[] = {
    {'w', "workload", "FILE",
     "the time of a step's collectives, now and with the profile, by phase; FILE is of nccltune workload", option_text,
     AT(workload)},
    {0, "nccl", "VERSION", "release whose choices and defaults are printed (default: those of the profile)",
     cli_take_release, AT(question.nccl)},
    {'j', "json", NULL, "print the answer as JSON", option_flag, AT(json)},
    {0},
};

static const struct option_spec call_options[] = {
    {'c', "collectives", "C", "one of:", cli_take_collective, AT(question.coll), .word = cli_collective_word},
    {'b', "bytes", "N", "its size: 8, 64K, 1.5M, 4G; the larger of the per-rank send and receive buffers", option_bytes,
     AT(question.bytes)},
    {'n', "nodes", "N", "only what was measured on that many nodes", option_int, AT(question.nodes), .low = 1,
     .high = INT32_MAX - 1},
    {0, "ranks", "N", "only what was measured with that many ranks", option_int, AT(question.ranks), .low = 1,
     .high = INT32_MAX - 1},
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
    if (rc || r->json)
        return rc ? rc : save(env_explain_json(p, &r->question, e), e);
    file_out_begin(&out);
    return file_out_end(&out, "-", env_explain(p, &r->question, out.stream, e), e);
}

static int answer_step(const struct request *r, const struct env_profile *p, struct arena *a, struct err *e)
{
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
    return rc;
}

/* The words behind PROFILE: a variable, or a collective and its size. */
static int take_words(struct env_question *q, char **words, struct err *e)
{
    int coll = words[0] ? cli_collective(words[0]) : -1;
    if (coll < 0)
        q->variable = words[0] && env_explain_name(words[0]) ? env_explain_name(words[0]) : words[0];
    else
        q->coll = coll;
    if (!words[0] || !words[1])
        return 0;
    const char *near = coll < 0 ? edit_distance_nearest(words[0], cli_collective_word, NULL) : NULL;
    return coll >= 0 ? unit_parse_bytes(words[1], &q->bytes, "BYTES", e)
           : near    ? err_set(e, ERR_USAGE, "'%s' is no collective; did you mean %s?", words[0], near)
                     : err_set(e, ERR_USAGE, "unexpected argument '%s'", words[1]);
}

/* What goes together. */
static int check_request(const struct request *r, struct err *e)
{
    const struct env_question *q = &r->question;
    const char *of_call = r->call->given ? r->call->given : q->coll >= 0 ? "COLLECTIVE" : NULL;
    if (q->variable && of_call)
        return err_set(e, ERR_USAGE, "%s and a VARIABLE are mutually exclusive", of_call);
    const struct cli_wrong wrong[] = {
        {of_call && (q->coll < 0 || q->bytes == NOT_SAID),
         "a call has a collective and a size, such as: allreduce 64M"},
        {!q->bytes, "a call of 0 bytes does nothing: expected a size above 0, such as 8 or 64M"},
        {r->workload && (of_call || q->variable), "--workload stands alone"},
        {0},
    };
    return cli_check(wrong, e);
}

/* Return whether the only word is a variable rather than a profile: one that is known or written like one. Where its
 * name is not complete a file comes first. */
static int is_variable(const char *word, const char *name)
{
    return name && !strcmp(name, word) ? 1 : access(word, F_OK) && (name || env_explain_check(NULL, word, NULL));
}

static int explain(void *request, char **words, struct arena *a, struct err *e)
{
    struct request *r = request;
    char *const first = words[0] ? arena_strdup(a, words[0]) : NULL;
    const int missing = first && access(first, F_OK);
    if (missing && strchr(first, '=')) /* a setting, for its variable */
        *strchr(first, '=') = 0;
    if (missing && env_explain_name(first) && words[1])
        return err_set(e, ERR_USAGE, "one variable at a time: '%s' is a second one", words[1]);
    if (!first || (missing && cli_collective(first) >= 0))
        return err_set(e, ERR_USAGE,
                       first || r->call->given
                           ? "a call is explained from a PROFILE; for a predicted one: nccltune tune --machine NAME "
                             "-o PROFILE"
                           : "PROFILE or VARIABLE is missing");
    r->profile = first;
    if (take_words(&r->question, words + 1, e) || check_request(r, e))
        return e->code;
    const char *name = env_explain_name(r->profile);
    if (!r->question.variable && !r->workload && r->question.coll < 0 && is_variable(r->profile, name)) {
        int rc = env_explain_variable(name ? name : r->profile, r->question.nccl, r->json, stdout, e);
        if (rc && strncmp(r->profile, "NCCL_", 5) != 0)
            err_set(e, rc, "there is no such profile, and %s", arena_strdup(a, e->text));
        return rc;
    }
    struct env_profile *p = env_profile_open(r->profile, e);
    int rc = !p ? e->code : r->workload ? answer_step(r, p, a, e) : answer_question(r, p, e);
    env_profile_free(p);
    return rc;
}

int explain_main(int argc, char **argv)
{
    struct request r = {.question = {.coll = -1, .bytes = NOT_SAID}};
    struct option_group groups[] = {{NULL, own_options, &r}, {"One call", call_options, &r}, {0}};
    r.call = &groups[1];
    return cli_run(&page, groups, argc, argv, explain, &r);
}
