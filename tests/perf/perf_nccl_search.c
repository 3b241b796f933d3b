/* How good the search is: conductor, rounds and decisions over machines whose optimum is known, with starts that take
 * their time and noise as clusters have it (tests/lib/search_world.h), beside simple methods on the same machines.
 *
 *   perf_nccl_search [TABLE] [LAWS [EVERY [BUDGET [START]]]]
 *
 * TABLE is one of those at the end of this file, a line of "regimes" by its name, else all; every EVERYth of the first
 * LAWS machines, or of FIRST-LAWS, which are those made up and behind them what tests/lib/search_machines.h has
 * (NCCLTUNE_CORPUS). BUDGET and START, seconds, are for "regimes", "alike" and "each", which has a line for every run.
 *
 * Regret is the true time of what was decided over that of the best call in the best launch; "worst" of rows and of
 * sizes that were not measured is the time of NCCL's own choice over that of the row, below 1 where it is slower. Rows
 * are deadly whose call dies in one start of 20; the best call is one that does not.
 * Nothing is judged here; tests/unit/bench/search/test_search_world.c does that with a part. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/stats.h"
#include "tests/lib/search_world.h"

#define MOST (2 * 256 * WORLD_SCORES)

struct sums {
    double regrets[MOST];
    int n;
    struct world_score s;
    int runs, agree, compared;
    int pays[3], found[3]; /* runs by how many launches are to be had, and those that had them */
};
static struct sums all;
static size_t first, laws, every = 7;
static double budget_s = 120, start_s = 2;
static const char *only_regime;

static void add_reach(struct world_reach *sum, const struct world_reach *x)
{
    sum->replaced += x->replaced;
    sum->slower += x->slower;
    sum->worst = fmax(sum->worst, x->worst);
    sum->gained += x->gained;
    sum->possible += x->possible;
}

static void add(const struct world_score *x)
{
    for (int i = 0; i < x->places; i++)
        all.regrets[all.n++] = x->regret[i];
    all.s.gained += x->gained;
    all.s.possible += x->possible;
    all.s.replaced += x->replaced;
    all.s.false_gains += x->false_gains;
    all.s.missed += x->missed;
    all.s.deadly += x->deadly;
    all.s.tested += x->tested;
    all.s.worst_row = fmax(all.s.worst_row, x->worst_row);
    all.pays[x->pays]++;
    all.found[x->pays] += x->launch;
    all.s.launch_false += x->launch_false;
    all.s.settings += x->settings;
    all.s.idle += x->idle;
    add_reach(&all.s.between, &x->between);
    add_reach(&all.s.beyond, &x->beyond);
    all.s.stated += x->stated;
    all.s.held += x->held;
    all.s.launch_stated += x->launch_stated;
    all.s.launch_held += x->launch_held;
    all.s.spent_s += x->spent_s;
    all.runs++;
}

/* Two runs decide alike, or for what is as fast: at every fourth machine. */
static void compare(const struct world_score *x, const struct world_score *y)
{
    for (int i = 0; i < x->places; i++) {
        all.compared++;
        all.agree += !strcmp(x->chosen[i], y->chosen[i]) || fabs(log(x->us[i] / y->us[i])) < 0.03;
    }
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

static void print_head(const char *what)
{
    printf("%-28s | gain | regret mean   p95  worst | rows tested replaced  false worst deadly | missed | launch  pair "
           "false "
           "settings idle | "
           "between: gain slower worst | beyond: gain slower worst | held calls launches | agree\n",
           what);
}

static void print_reach(const struct world_reach *r)
{
    printf("| %5.0f %% %5.1f %% %6.2f         ", percent(r->gained, r->possible), percent(r->slower, r->replaced),
           1 / r->worst);
}

static void print_sums(const char *name)
{
    double sum = 0;
    for (int i = 0; i < all.n; i++)
        sum += all.regrets[i];
    stats_sort(all.regrets, all.n);
    printf(
        "%-28s |%4.0f %% |    %6.2f %5.1f %6.1f | %11d %8d %4.1f %% %5.2f %6d | %4.1f %% | %4.0f %% %4.0f %% %4.1f %% "
        "%8d %4d ",
        name, percent(all.s.gained, all.s.possible), 100 * sum / all.n,
        100 * stats_quantile_sorted(all.regrets, all.n, 0.95), 100 * all.regrets[all.n - 1], all.s.tested,
        all.s.replaced, percent(all.s.false_gains, all.s.tested), all.s.worst_row > 0 ? 1 / all.s.worst_row : NAN,
        all.s.deadly, percent(all.s.missed, all.n), percent(all.found[1], all.pays[1]),
        percent(all.found[2], all.pays[2]), percent(all.s.launch_false, all.runs), all.s.settings, all.s.idle);
    print_reach(&all.s.between);
    print_reach(&all.s.beyond);
    printf("|   %5.1f   %5.1f    | %5.1f\n", percent((double)all.s.held, (double)all.s.stated),
           percent((double)all.s.launch_held, (double)all.s.launch_stated), percent(all.agree, all.compared));
    fflush(stdout);
    memset(&all, 0, sizeof all);
}

static void run_laws(const char *name, struct world_options o, int twice)
{
    for (size_t n = first; n < laws; n += every) {
        o.law = n;
        o.seed = n;
        struct world_score x = world_run(&o), y;
        add(&x);
        if (!twice || (n - first) / every % 4)
            continue;
        o.seed = n + 1000;
        y = world_run(&o);
        compare(&x, &y);
    }
    print_sums(name);
}

static void by_regime(void)
{
    char name[64];
    snprintf(name, sizeof name, "%g s, starts of %g s", budget_s, start_s);
    print_head(name);
    for (int r = 0; r < WORLD_REGIMES; r++)
        if (!only_regime || only_regime == world_regimes[r])
            run_laws(world_regimes[r],
                     (struct world_options){
                         .regime = r, .start_s = start_s, .budget_s = budget_s, .launches = WORLD_LAUNCH_N},
                     1);
}

static void each(void)
{
    for (int r = 0; r < WORLD_REGIMES; r++)
        for (size_t n = first; n < laws; n += every) {
            struct world_score s = world_run(&(struct world_options){.law = n,
                                                                     .seed = n,
                                                                     .regime = r,
                                                                     .start_s = start_s,
                                                                     .budget_s = budget_s,
                                                                     .launches = WORLD_LAUNCH_N});
            const struct search_machine *m = n < WORLD_LAWS ? NULL : search_machine((int)(n - WORLD_LAWS));
            printf("%-9s machine %3zu %s: gain %3.0f %%; %d settings make it %.2f times as fast, %s chosen%s, %d "
                   "idle; between %.2f; %.0f s\n",
                   world_regimes[r], n, m ? search_machine_name(m) : "", percent(s.gained, s.possible), s.pays, s.worth,
                   s.launch_label, s.pays && !s.launch ? ", MISSED" : "", s.idle, 1 / s.between.worst, s.spent_s);
            fflush(stdout);
        }
}

static void by_budget(void)
{
    static const double starts[] = {1, 5, 30}, budgets[] = {15, 60, 300, 1200, 3600};
    print_head("bursts, launches and calls");
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 5; k++) {
            char name[64];
            snprintf(name, sizeof name, "starts of %g s, %g s", starts[i], budgets[k]);
            if (budgets[k] > starts[i])
                run_laws(name,
                         (struct world_options){.regime = WORLD_BURSTS,
                                                .start_s = starts[i],
                                                .budget_s = budgets[k],
                                                .launches = WORLD_LAUNCH_N},
                         0);
        }
}

/* As a user has it who names no budget. */
static void by_default(void)
{
    static const double starts[] = {5, 30};
    static const int nodes[] = {2, 32};
    print_head("default budget");
    for (int n = 0; n < 2; n++)
        for (int k = 0; k < 2; k++)
            for (int r = 0; r < WORLD_REGIMES; r++) {
                char name[64];
                snprintf(name, sizeof name, "%d x 8, starts of %g s, %s", nodes[n], starts[k], world_regimes[r]);
                run_laws(name,
                         (struct world_options){
                             .regime = r, .start_s = starts[k], .nodes = nodes[n], .launches = WORLD_LAUNCH_N},
                         0);
            }
}

static void alike(void)
{
    char name[64];
    snprintf(name, sizeof name, "all alike, %g s, starts of %g s", budget_s, start_s);
    print_head(name);
    for (int r = 0; r < WORLD_REGIMES; r++)
        run_laws(world_regimes[r],
                 (struct world_options){
                     .regime = r, .start_s = start_s, .budget_s = budget_s, .launches = WORLD_LAUNCH_N, .alike = 1},
                 0);
}

static void beside_rivals(void)
{
    static const double budgets[] = {5, 10, 20, 60, 120, 600};
    for (int regime = 0; regime < WORLD_REGIMES; regime += WORLD_BURSTS)
        for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
            struct world_options o = {.regime = (enum world_regime)regime, .start_s = 2, .budget_s = budgets[k]};
            char name[64];
            snprintf(name, sizeof name, "calls, %s, %g s", world_regimes[regime], budgets[k]);
            print_head(name);
            run_laws("this search", o, 0);
            for (int rival = 0; rival < WORLD_RIVALS; rival++) {
                for (size_t n = first; n < laws; n += every) {
                    o.law = n;
                    o.seed = n;
                    struct world_score x = world_run_rival(&o, rival);
                    add(&x);
                }
                print_sums(world_rivals[rival]);
            }
        }
}

static const struct {
    const char *name;
    void (*run)(void);
} tables[] = {{"regimes", by_regime},  {"each", each},   {"budgets", by_budget},
              {"default", by_default}, {"alike", alike}, {"rivals", beside_rivals}};

/* The tables of that name, or its line of "regimes"; all for "". -1: there is none. */
static int run_tables(const char *name)
{
    int known = -1;
    for (int r = 0; r < WORLD_REGIMES; r++)
        if (!strcmp(name, world_regimes[r])) {
            only_regime = world_regimes[r];
            name = "regimes";
        }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (*name ? !strcmp(name, tables[i].name) : tables[i].run != each) {
            tables[i].run();
            known = 0;
        }
    return known;
}

static int complain(const char *name)
{
    fprintf(stderr, "perf_nccl_search: there is no table \"%s\", only", name);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        fprintf(stderr, " %s", tables[i].name);
    fputs(", and of regimes the lines", stderr);
    for (int r = 0; r < WORLD_REGIMES; r++)
        fprintf(stderr, " %s", world_regimes[r]);
    fputs("\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int named = argc > 1 && (*argv[1] < '0' || *argv[1] > '9');
    const char *only = named ? argv[1] : "";
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (argc > 1 + named && strchr(argv[1 + named], '-'))
        first = strtoul(argv[1 + named], NULL, 10);
    if (argc > 1 + named)
        laws = strtoul(argv[1 + named] + strcspn(argv[1 + named], "-") * (first > 0) + (first > 0), NULL, 10);
    if (argc > 2 + named)
        every = strtoul(argv[2 + named], NULL, 10);
    if (argc > 3 + named)
        budget_s = strtod(argv[3 + named], NULL);
    if (argc > 4 + named)
        start_s = strtod(argv[4 + named], NULL);
    laws = !laws || laws > world_laws() ? world_laws() : laws;
    every = every < 1 ? 1 : every;
    time_t began = t.tv_sec;
    if (run_tables(only))
        return complain(only);
    clock_gettime(CLOCK_MONOTONIC, &t);
    printf("%zu machines, in %ld s\n", (laws - first + every - 1) / every, (long)(t.tv_sec - began));
    return 0;
}
