/* What time buys. */
#include "bench/search/budget.h"

#include <math.h>

#include "core/json.h"
#include "core/units.h"

/* No more than this unless a user says so, and no less: seconds. */
#define LEAST_S 60.0
#define MOST_S  3600.0

/* Starts for calls: one explores, the fewest prove. */
#define CALLS_STARTS (1 + BENCH_FEWEST)

/* What is kept of the time that is left for the calls of the launch that wins, at most. */
#define CALLS_PART 0.45

/* The part of the time for all sessions that tell launches apart, and what one may last: seconds, and in starts. */
#define VISITS_PART  0.6
#define MOST_VISIT_S 6.0
#define MOST_VISIT   3.0

/* The default and those that are compared with it; where that leaves few pairs, one of them. */
#define AT_ONCE (1 + BUDGET_FINALISTS)

double budget_points_s(const struct budget_task *t)
{
    return fmax(t->points * BUDGET_POINT_S, BUDGET_POINT_SAMPLES * t->samples_s);
}

/* What a session lasts at least that tells launches apart, behind its start. */
static double least_visit_s(const struct budget_task *t, double start_s)
{
    return fmax(BUDGET_LEAST_VISIT * start_s, t->samples_s);
}

double budget_usual_s(const struct budget_task *t, double start_s)
{
    double s = CALLS_STARTS * start_s + budget_points_s(t);
    if (t->all)
        s *= 1 + t->launches;
    else if (t->launches)
        s += (t->launches + AT_ONCE * BUDGET_PAIRS) * (start_s + least_visit_s(t, start_s));
    return fmin(fmax(s, LEAST_S), MOST_S);
}

double budget_visit_s(const struct budget_task *t, double left_s, double start_s)
{
    int sessions = 1 + t->launches + AT_ONCE * BUDGET_PAIRS;
    double most_s = fmin(MOST_VISIT_S, MOST_VISIT * start_s);
    return fmax(fmin(fmax(left_s * VISITS_PART / sessions - start_s, BUDGET_LEAST_VISIT * start_s), most_s),
                t->samples_s);
}

double budget_kept_s(double left_s, double calls_s)
{
    return fmin(calls_s, CALLS_PART * left_s);
}

/* As bench/search/conduct.h goes about it: calls; screening, of the default twice; pairs; and calls with what is left.
 */
struct budget_buys budget_buys(const struct budget_task *t, double budget_s, double start_s)
{
    double need_s = budget_points_s(t) / 2, left_s = fmax(0, budget_s - start_s);
    double rest_s = (1 - BUDGET_FIRST_PART) * left_s;
    if (!t->launches || rest_s < BUDGET_SPARE * start_s)
        return (struct budget_buys){.points = fmin(1, left_s / need_s)};
    double first_s = fmin(need_s, left_s - rest_s);
    left_s -= first_s;
    double session_s = start_s + budget_visit_s(t, left_s, start_s), all_s = (t->launches + 2) * session_s;
    double screening_s = fmin(all_s, BUDGET_SCREEN_PART * left_s);
    left_s -= screening_s;
    double for_pairs_s = left_s - budget_kept_s(left_s, start_s + first_s);
    int at_once = for_pairs_s < 2 * BENCH_FEWEST * AT_ONCE * session_s ? 2 : AT_ONCE;
    int pairs = (int)fmin(for_pairs_s / session_s / at_once, BUDGET_MOST_PAIRS);
    if (pairs >= BENCH_FEWEST)
        left_s -= pairs * at_once * session_s;
    return (struct budget_buys){fmin(1, (first_s + fmax(0, left_s - start_s)) / need_s), screening_s / all_s, pairs};
}

static void fill_row(cJSON *o, const struct budget_task *t, double budget_s, double start_s)
{
    double usual_s = budget_usual_s(t, start_s), given_s = budget_s > 0 ? budget_s : usual_s;
    struct budget_buys b = budget_buys(t, given_s, start_s);
    cJSON_AddNumberToObject(o, "start_s", start_s);
    cJSON_AddNumberToObject(o, "time_s", given_s);
    cJSON_AddNumberToObject(o, "enough_s", usual_s);
    cJSON_AddNumberToObject(o, "points", floor(b.points * t->points));
    cJSON_AddNumberToObject(o, "of_points", t->points);
    cJSON_AddNumberToObject(o, "launches", floor(b.launches * t->launches));
    cJSON_AddNumberToObject(o, "of_launches", t->launches);
    cJSON_AddNumberToObject(o, "pairs", b.pairs);
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
    int launches = (int)json_int(o, "of_launches", 0), pairs = (int)json_int(o, "pairs", 0);
    double time_s = json_num(o, "time_s", 0), enough_s = json_num(o, "enough_s", 0);
    char start[UNIT_TEXT], time[UNIT_TEXT], told[128] = "", more[UNIT_TEXT + 32] = "";
    if (launches && pairs >= BENCH_FEWEST)
        snprintf(told, sizeof told,
                 ", then %d of %d launches in turn, then the best against the default in %d pairs of sessions",
                 (int)json_int(o, "launches", 0), launches, pairs);
    else if (launches)
        snprintf(told, sizeof told, "; no launch can be told from the default");
    if (time_s < enough_s)
        snprintf(more, sizeof more, "; %s would do for all", unit_seconds(time, enough_s));
    snprintf(text, BUDGET_TEXT, "start %-6s %s: calls at %d of %d points%s%s",
             unit_seconds(start, json_num(o, "start_s", 0)), unit_seconds(time, time_s), (int)json_int(o, "points", 0),
             (int)json_int(o, "of_points", 0), told, more);
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
