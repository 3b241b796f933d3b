/* Trials for people and for programs. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "advise/trials/trials.h"
#include "core/json.h"

#define MOST 10 /* kinds of calls for people */

static void print_time(long long at, char to[32])
{
    time_t t = (time_t)at;
    struct tm day;
    if (!localtime_r(&t, &day) || !strftime(to, 32, "%Y-%m-%d %H:%M:%S", &day))
        snprintf(to, 32, "-");
}

/* "8.1 % faster (5.0 to 11.1 % faster)": of times, so that 10 % slower takes 1.1 times as long. */
static void print_change(double ratio, char to[48])
{
    snprintf(to, 48, "%.1f %% %s", 100 * fabs(ratio - 1), ratio > 1 ? "slower" : "faster");
}

static void print_comparison(const struct trials_comparison *c, FILE *out)
{
    char change[48], low[48], high[48];
    if (!(c->ratio > 0)) {
        fprintf(out, "undecided: %zu and %zu comparable jobs are too few\n", c->tried, c->others);
        return;
    }
    print_change(c->ratio, change);
    print_change(c->low, low);
    print_change(c->high, high);
    fprintf(out, "%s: %s (from %s to %s)\n", trials_verdict_name(c->verdict), change, low, high);
}

static void print_trial(const struct trial *t, const char *figure, FILE *out)
{
    char since[32], until[32];
    const struct trials_comparison *c = &t->comparison;
    print_time(t->since, since);
    print_time(t->until, until);
    fprintf(out, "Trial %s: profile %.12s for %d %% of the jobs (%s) from %s on%s%s\n", t->name,
            t->hash[0] ? t->hash : "none", t->share, t->scope, since, t->until ? ", ended " : "",
            t->until ? until : "");
    fprintf(out, "  %s of %zu jobs with it and %zu without, in %zu kind%s of jobs: ", figure, c->tried, c->others,
            t->kinds, t->kinds == 1 ? "" : "s");
    print_comparison(c, out);
    if (c->ratio > 0)
        fprintf(out,
                "  jobs of one kind differ by %.1f %%; to see a difference of %.0f %% in %.0f of 10 trials: %zu jobs\n",
                100 * c->spread, 100 * TRIALS_EFFECT, 10 * TRIALS_POWER, c->jobs_needed);
    if (c->counted < t->planned)
        fprintf(out, "  %zu of the %zu planned jobs have ended, %zu run\n", c->counted, t->planned, t->running);
    if (c->counted == t->planned && c->verdict == TRIALS_UNDECIDED && c->ratio > 0)
        fprintf(out, "  all planned jobs have run: start another trial with --jobs %zu to learn more\n",
                c->jobs_needed);
    if (t->ended_tried + t->ended_others)
        fprintf(out, "  failed: %zu of %zu with it, %zu of %zu without%s\n", t->failed_tried, t->ended_tried,
                t->failed_others, t->ended_others, t->breaks ? ": more than by chance" : "");
    if (t->without)
        fprintf(out, "  %zu jobs have no figure\n", t->without);
    for (size_t i = 0; i < t->ncalls && i < MOST; i++) {
        fprintf(out, "  %-44s ", t->calls[i].name);
        print_comparison(&t->calls[i].comparison, out);
    }
}

void trials_print(const struct trials *t, FILE *out)
{
    if (!t->count)
        fputs("There is no trial: nccltune install-profile PROFILE --trial NAME starts one.\n", out);
    for (size_t i = 0; i < t->count; i++)
        print_trial(&t->list[i], t->figure, out);
    if (t->odd)
        fprintf(out, "%zu lines of Slurm's accounting were left out: not a job, or a number that occurs twice\n",
                t->odd);
    if (t->unknown)
        fprintf(out, "%zu figures are of jobs unknown to Slurm's accounting\n", t->unknown);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_comparison(cJSON *o, const struct trials_comparison *c)
{
    json_add_str(o, "verdict", trials_verdict_name(c->verdict));
    cJSON_AddNumberToObject(o, "jobs_with", (double)c->tried);
    cJSON_AddNumberToObject(o, "jobs_without", (double)c->others);
    if (!(c->ratio > 0))
        return;
    cJSON_AddNumberToObject(o, "time_ratio", c->ratio);
    cJSON_AddNumberToObject(o, "time_ratio_low", c->low);
    cJSON_AddNumberToObject(o, "time_ratio_high", c->high);
    cJSON_AddNumberToObject(o, "spread", c->spread);
    cJSON_AddNumberToObject(o, "jobs_needed", (double)c->jobs_needed);
}

cJSON *trials_json(const struct trials *t)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "format", TRIALS_FORMAT);
    json_add_str(doc, "figure", t->figure);
    cJSON *list = cJSON_AddArrayToObject(doc, "trials");
    for (size_t i = 0; i < t->count; i++) {
        const struct trial *one = &t->list[i];
        cJSON *o = json_append(list);
        json_add_str(o, "name", one->name);
        json_add_str(o, "profile", one->hash[0] ? one->hash : NULL);
        json_add_str(o, "scope", one->scope);
        cJSON_AddNumberToObject(o, "share_percent", one->share);
        cJSON_AddNumberToObject(o, "jobs_planned", (double)one->planned);
        cJSON_AddNumberToObject(o, "since", (double)one->since);
        if (one->until)
            cJSON_AddNumberToObject(o, "until", (double)one->until);
        add_comparison(o, &one->comparison);
        cJSON_AddNumberToObject(o, "running", (double)one->running);
        cJSON_AddNumberToObject(o, "failed_with", (double)one->failed_tried);
        cJSON_AddNumberToObject(o, "ended_with", (double)one->ended_tried);
        cJSON_AddNumberToObject(o, "failed_without", (double)one->failed_others);
        cJSON_AddNumberToObject(o, "ended_without", (double)one->ended_others);
        cJSON_AddBoolToObject(o, "fails_more", one->breaks);
        cJSON *calls = one->ncalls ? cJSON_AddArrayToObject(o, "calls") : NULL;
        for (size_t k = 0; k < one->ncalls; k++) {
            cJSON *c = json_append(calls);
            json_add_str(c, "call", one->calls[k].name);
            add_comparison(c, &one->calls[k].comparison);
        }
    }
    return doc;
}
