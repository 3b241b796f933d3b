/* nccltune trials: what the jobs of a trial say of its profile. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "advise/drift/drift.h"
#include "advise/trials/trials.h"
#include "cli/cli.h"
#include "core/file.h"
#include "core/json.h"
#include "core/locate.h"
#include "core/proc.h"
#include "envgen/install/install.h"
#include "slurm/hook.h"

#define COMMAND "nccltune trials"

static const struct cli_page page = {
    COMMAND,
    "nccltune trials [NAME] [OPTION]...\n"
    "Compare jobs with a trial's profile (install-profile --trial) and without: by their elapsed time, by the site's\n"
    "own figures, or by captures. Only --stop and --stop-if-slower change anything.\n",
    "Examples\n"
    "  nccltune trials\n"
    "  nccltune trials ring --figures step-times.txt      lines JOBID SECONDS\n"
    "  nccltune trials ring --captures /shared/capture\n"
    "  nccltune trials --stop-if-slower                   for cron, as root\n"
    "\n"
    "Exit status: 0; 1 the profile of a trial is slower or jobs fail with it, unless --stop-if-slower has ended it,\n"
    "or something cannot be read; 2 wrong usage.\n",
    1};

struct request {
    const char *store, *sacct, *figures, *output, *name;
    struct option_list captures;
    int rates, json, stop, stop_if_slower;
};

#define AT(member) offsetof(struct request, member)
static const struct option_spec options[] = {
    {0, "store", "DIR", "the store of install-profile; default: " INSTALL_STORE, option_text, AT(store)},
    {0, "sacct", "FILE", "what sacct -anXP -o " TRIALS_SACCT_FIELDS " has printed (default: run sacct)", option_text,
     AT(sacct)},
    {0, "figures", "FILE",
     "compare these figures instead of elapsed times: lines JOBID FIGURE, such as the time of a step", option_text,
     AT(figures)},
    {0, "rates", NULL, "with --figures: larger is faster", option_flag, AT(rates)},
    {0, "captures", "DIR", "compare the calls of captures (NCCLTUNE_CAPTURE) instead; may be repeated", option_append,
     AT(captures)},
    {0, "stop", NULL, "end the trial NAME: no job that starts from now on is part of it", option_flag, AT(stop)},
    {0, "stop-if-slower", NULL, "end trials that are slower, or whose jobs fail more often; print only that",
     option_flag, AT(stop_if_slower)},
    {'o', "output", "FILE", "write the text or JSON there", option_text, AT(output)},
    {'j', "json", NULL, "print JSON", option_flag, AT(json)},
    {0},
};

#define SACCT_BYTES   ((size_t)32 << 20) /* half a million jobs, five times as many bytes in memory */
#define SACCT_SECONDS 120

/* ---- what is known of jobs --------------------------------------------------------------------------------------- */

/* Jobs since the first of the trials. */
static const char *ask_sacct(const struct trials *t, struct arena *a, struct err *e)
{
    static const char *const seconds[] = {"SLURM_TIME_FORMAT=%s", NULL};
    char since[32];
    int status = 0;
    time_t first = (time_t)t->list[0].since;
    struct tm day;
    for (size_t i = 1; i < t->count; i++)
        first = t->list[i].since < first ? (time_t)t->list[i].since : first;
    if (!localtime_r(&first, &day) || !strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%S", &day))
        return NULL;
    const char *const argv[] = {"sacct", "-anXP", "-S", since, "-o", TRIALS_SACCT_FIELDS, NULL};
    const char *text = proc_output(argv, seconds, SACCT_BYTES, SACCT_SECONDS, a, &status, e);
    if (text && status)
        err_set(e, ERR_FAILED, "sacct failed: run it where it works, and give its output with --sacct FILE");
    return text && !status ? text : NULL;
}

static int read_jobs(const struct request *r, const struct trials *t, struct trials_jobs *jobs, struct arena *a,
                     struct err *e)
{
    char *text = NULL;
    size_t bytes;
    if (r->sacct) {
        if (file_read_text(r->sacct, SACCT_BYTES, a, &text, &bytes, e))
            return e->code;
    } else if (locate_in_path("sacct", a)) {
        text = (char *)(uintptr_t)ask_sacct(t, a, r->captures.count ? NULL : e);
    } else if (!r->captures.count) {
        return err_set(e, ERR_LACKS, "sacct not found: run it where it is, and give its output with --sacct FILE");
    }
    if (!text && !r->captures.count)
        return ERR_FAILED;
    trials_read_sacct(text ? text : "", a, jobs);
    return 0;
}

static int read_figures(const struct request *r, struct trials_jobs *jobs, struct trials *t, struct arena *a,
                        struct err *e)
{
    char *text;
    size_t bytes;
    if (!r->figures)
        return 0;
    t->figure = "figures";
    return file_read_text(r->figures, FILE_LIMIT, a, &text, &bytes, e) ||
                   trials_read_figures(text, r->figures, r->rates, jobs, &t->unknown, e)
               ? e->code
               : 0;
}

/* ---- what is to be done ------------------------------------------------------------------------------------------ */

static int print_trials(const struct request *r, const struct trials *t, struct err *e)
{
    struct file_out out;
    file_out_begin(&out);
    if (r->json)
        json_print(trials_json(t), out.stream);
    else
        trials_print(t, out.stream);
    return file_out_commit(&out, r->output, e);
}

#define LEAD_S 2 /* as install-profile: the line is there before the second that it names */

static int stop_trial(const struct request *r, const struct trial *t, const char *why, struct arena *a, struct err *e)
{
    const struct install_site site = {.store = r->store, .arena = a};
    int rc = install_end_trial(&site, t->name, (long long)time(NULL) + LEAD_S, e);
    if (!rc)
        printf("trial %s ends%s: jobs that start from now on get what the others get\n", t->name, why);
    return rc;
}

static int is_bad(const struct trial *t)
{
    return t->comparison.verdict == TRIALS_SLOWER || t->breaks;
}

/* Keep the trials that can still be ended: a year of jobs is not asked for because of one that ended then. */
static void keep_open(struct trials *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (!t->list[i].until || t->list[i].until > (long long)time(NULL))
            t->list[kept++] = t->list[i];
    t->count = kept;
}

static int stop_slower(const struct request *r, const struct trials *t, struct arena *a, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < t->count && !rc; i++)
        if (is_bad(&t->list[i]))
            rc = stop_trial(r, &t->list[i],
                            t->list[i].breaks ? ", because more of its jobs fail" : ", because it is slower", a, e);
    return rc;
}

static int judge_trials(const struct request *r, const char *schedule, struct trials *t, struct arena *a, struct err *e)
{
    struct trials_jobs jobs = {0};
    struct drift_fleet *captured = NULL;
    int found = 0, rc = t->count ? read_jobs(r, t, &jobs, a, e) : 0;
    if (!rc)
        rc = read_figures(r, &jobs, t, a, e);
    if (!rc && r->captures.count) {
        captured = drift_read(r->captures.items, (size_t)r->captures.count, a, e);
        rc = captured ? 0 : e->code;
    }
    if (!rc && captured)
        t->figure = trials_take_captures(captured, a, &jobs);
    if (!rc) {
        trials_judge(schedule, &jobs, a, t);
        rc = r->stop_if_slower ? stop_slower(r, t, a, e) : print_trials(r, t, e);
    }
    for (size_t i = 0; i < t->count; i++)
        found |= !t->list[i].until && is_bad(&t->list[i]) && !r->stop_if_slower;
    drift_free(captured);
    return rc ? rc : found ? ERR_FAILED : 0;
}

/* The one that is named alone; ERR_USAGE: there is none. */
static int keep_named(const struct request *r, struct trials *t, struct err *e)
{
    size_t i = 0;
    if (!r->name)
        return 0;
    while (i < t->count && strcmp(t->list[i].name, r->name) != 0)
        i++;
    if (i == t->count)
        return err_set(e, ERR_USAGE, "%s/schedule has no trial '%s'", r->store, r->name);
    t->list[0] = t->list[i];
    t->count = 1;
    return 0;
}

static int check_request(const struct request *r, struct err *e)
{
    const struct cli_wrong wrong[] = {
        {*r->store != '/', "--store: expected an absolute path"},
        {r->stop && !r->name, "--stop goes with the NAME of a trial"},
        {r->rates && !r->figures, "--rates belongs to --figures"},
        {r->figures && r->captures.count, "--figures and --captures are mutually exclusive"},
        {0},
    };
    return cli_check(wrong, e);
}

static int run_trials(void *request, char **words, struct arena *a, struct err *e)
{
    struct request *r = request;
    const char *path = arena_printf(a, "%s/schedule", r->store);
    struct trials t;
    char *schedule = arena_strdup(a, "");
    size_t bytes;
    r->name = *words;
    if (!check_request(r, e) && access(r->store, F_OK))
        err_errno(e, "%s", r->store);
    if (e->code || (!access(path, F_OK) && file_read_text(path, HOOK_SCHEDULE_BYTES, a, &schedule, &bytes, e)) ||
        trials_list(schedule, path, a, &t, e) || keep_named(r, &t, e))
        return e->code;
    if (r->stop)
        return stop_trial(r, &t.list[0], "", a, e);
    if (r->stop_if_slower)
        keep_open(&t);
    return judge_trials(r, schedule, &t, a, e);
}

int trials_main(int argc, char **argv)
{
    struct request r = {.store = INSTALL_STORE};
    struct option_group groups[] = {{NULL, options, &r}, {0}};
    return cli_run(&page, groups, argc, argv, run_trials, &r);
}
