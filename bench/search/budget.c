/* How much time is enough. */
#include "bench/search/budget.h"

#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/units.h"

/* Starts for calls: one explores, the fewest prove. */
#define CALLS_STARTS (1 + BENCH_FEWEST)

/* What a session lasts at least that tells launches apart, behind its start: in starts, which are lost anyway. */
#define LEAST_VISIT 0.5

/* The part of the time for all sessions that tell launches apart where a budget is larger than usual, and what one may
 * last then: seconds, which average out what passes over a machine; and in starts, as more of them tell more. */
#define VISITS_PART  0.6
#define MOST_VISIT_S 6.0
#define MOST_VISIT   3.0

/* The default and those that are compared with it; where that leaves few pairs, one of them. */
#define AT_ONCE (1 + BUDGET_FINALISTS)

double budget_points_s(const struct budget_task *t)
{
    return fmax(t->points * BUDGET_POINT_S, BUDGET_POINT_SAMPLES * t->samples_s);
}

double budget_usual_s(const struct budget_task *t, double start_s)
{
    double s = CALLS_STARTS * start_s + budget_points_s(t);
    if (t->all)
        s *= 1 + t->launches;
    else if (t->launches)
        s += (t->launches + AT_ONCE * BUDGET_PAIRS) * (start_s + fmax(LEAST_VISIT * start_s, t->samples_s));
    return fmin(fmax(s, BUDGET_LEAST_S), BUDGET_MOST_S);
}

double budget_visit_s(const struct budget_task *t, double left_s, double start_s)
{
    int sessions = 1 + t->launches + AT_ONCE * BUDGET_PAIRS;
    double most_s = fmin(MOST_VISIT_S, MOST_VISIT * start_s);
    double share_s = fmax(left_s * VISITS_PART / sessions - start_s, LEAST_VISIT * start_s);
    return fmax(fmin(share_s, most_s), t->samples_s);
}

static void fill_row(cJSON *o, const struct budget_task *t, double budget_s, double start_s)
{
    double usual_s = budget_usual_s(t, start_s);
    cJSON_AddNumberToObject(o, "start_s", start_s);
    cJSON_AddNumberToObject(o, "time_s", budget_s > 0 ? budget_s : usual_s);
    cJSON_AddNumberToObject(o, "enough_s", usual_s);
    cJSON_AddNumberToObject(o, "points", t->points);
    cJSON_AddNumberToObject(o, "launches", t->launches);
}

cJSON *budget_json(const struct budget_task *t, double budget_s)
{
    static const double starts[] = {1, 5, 30};
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        fill_row(json_append(array), t, budget_s, starts[i]);
    return array;
}

static void text_of(const cJSON *o, char text[BUDGET_TEXT])
{
    int points = (int)json_int(o, "points", 0), launches = (int)json_int(o, "launches", 0);
    double time_s = json_num(o, "time_s", 0), enough_s = json_num(o, "enough_s", 0);
    char start[UNIT_TEXT], time[UNIT_TEXT], enough[UNIT_TEXT], more[64] = "";
    unit_seconds(time, time_s);
    unit_seconds(enough, fmax(time_s, enough_s));
    if (launches)
        snprintf(more, sizeof more, " and %d launch%s", launches, launches > 1 ? "es" : "");
    snprintf(text, BUDGET_TEXT, "%s a start: %s is enough for %d point%s%s%s%s",
             unit_seconds(start, json_num(o, "start_s", 0)), enough, points, points == 1 ? "" : "s", more,
             strcmp(time, enough) ? "; the budget is " : "", strcmp(time, enough) ? time : "");
}

void budget_text(const struct budget_task *t, double budget_s, double start_s, char text[BUDGET_TEXT])
{
    cJSON *o = cJSON_CreateObject();
    fill_row(o, t, budget_s, start_s);
    text_of(o, text);
    cJSON_Delete(o);
}

void budget_print(const cJSON *budget, FILE *out)
{
    const cJSON *o;
    char text[BUDGET_TEXT];
    cJSON_ArrayForEach(o, budget)
    {
        text_of(o, text);
        fprintf(out, "  %s\n", text);
    }
}
