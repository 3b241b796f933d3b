/* What time buys. */
#include "bench/search/budget.h"

#include <math.h>

#include "bench/results/sessions.h"
#include "core/json.h"
#include "core/units.h"

/* All calls at a point, first uses included, until the winner is proven: half as long in a quiet world. */
#define POINT_S 1.0

/* No more than this unless a user says so, and no less: seconds. */
#define LEAST_S 60.0
#define MOST_S  3600.0

/* A session that tells launches apart lasts half as long as its start behind it; default and two launches make a
 * pair. */
#define SESSION 1.5
#define OF_PAIR 3

/* Sessions with all calls: at the beginning, and in the launch that has won. */
#define FULL_SESSIONS 4

static double calls_s(const struct budget_task *t, double start_s)
{
    return FULL_SESSIONS * start_s + t->points * POINT_S;
}

double budget_usual_s(const struct budget_task *t, double start_s)
{
    double s = calls_s(t, start_s);
    if (t->all)
        s *= 1 + t->launches;
    else if (t->launches)
        s += (t->launches + OF_PAIR * BUDGET_PAIRS) * SESSION * start_s;
    return fmin(fmax(s, LEAST_S), MOST_S);
}

/* First calls, with a quarter of the time where launches follow; then screening, with less than half of what is left;
 * then pairs. What one does not need the next has. */
struct budget_buys budget_buys(const struct budget_task *t, double budget_s, double start_s)
{
    double calls = calls_s(t, start_s) / 2, session = SESSION * start_s, left = fmax(0, budget_s - start_s);
    double first = t->launches ? fmin(calls, left / 4) : left;
    struct budget_buys b = {.points = fmin(1, first / (t->points * POINT_S / 2))};
    left -= first;
    if (!t->launches)
        return b;
    double screening = fmin(t->launches * session, 0.4 * left);
    b.launches = screening / (t->launches * session);
    b.pairs = (int)fmin((left - screening) * 0.65 / (OF_PAIR * session), BUDGET_PAIRS);
    return b;
}

cJSON *budget_json(const struct budget_task *t, double budget_s)
{
    static const double starts[] = {1, 5, 30};
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        double usual_s = budget_usual_s(t, starts[i]), given_s = budget_s > 0 ? budget_s : usual_s;
        struct budget_buys b = budget_buys(t, given_s, starts[i]);
        cJSON *o = json_append(array);
        cJSON_AddNumberToObject(o, "start_s", starts[i]);
        cJSON_AddNumberToObject(o, "time_s", given_s);
        cJSON_AddNumberToObject(o, "enough_s", usual_s);
        cJSON_AddNumberToObject(o, "points", floor(b.points * t->points));
        cJSON_AddNumberToObject(o, "of_points", t->points);
        cJSON_AddNumberToObject(o, "launches", floor(b.launches * t->launches));
        cJSON_AddNumberToObject(o, "of_launches", t->launches);
        cJSON_AddNumberToObject(o, "pairs", b.pairs);
    }
    return array;
}

void budget_print(const cJSON *budget, FILE *out)
{
    const cJSON *o;
    char start[UNIT_TEXT], time[UNIT_TEXT];
    cJSON_ArrayForEach(o, budget)
    {
        int launches = (int)json_int(o, "of_launches", 0), pairs = (int)json_int(o, "pairs", 0);
        double time_s = json_num(o, "time_s", 0), enough_s = json_num(o, "enough_s", 0);
        fprintf(out, "  start %-6s %s: calls at %d of %d points", unit_seconds(start, json_num(o, "start_s", 0)),
                unit_seconds(time, time_s), (int)json_int(o, "points", 0), (int)json_int(o, "of_points", 0));
        if (launches && pairs >= BENCH_FEWEST_SESSIONS)
            fprintf(out, ", then %d of %d launches in turn, then the best against the default in %d pairs of sessions",
                    (int)json_int(o, "launches", 0), launches, pairs);
        else if (launches)
            fputs("; no launch can be told from the default", out);
        if (time_s < enough_s)
            fprintf(out, "; %s would do for all", unit_seconds(time, enough_s));
        fputc('\n', out);
    }
}
