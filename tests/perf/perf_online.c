/* How good exploring inside a job is: tuner/explore over jobs whose optimum is known, with noise as clusters have it
 * (tests/lib/online_world.h), beside the published method of AutoCCL and bandits on the same.
 *
 *   perf_online [laws [bound in percent]]
 *
 * Nothing is judged here; tests/unit/tuner/explore/test_decide.c does that with a part. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/online_world.h"

static void print_line(const struct online_options *what, size_t laws, const char *name)
{
    static struct online_score sum[ONLINE_PLACES], worst[ONLINE_PLACES];
    for (int i = 0; i < ONLINE_PLACES; i++)
        sum[i] = worst[i] = (struct online_score){.slower = i < 0};
    for (size_t law = 0; law < laws; law++) {
        struct online_options o = *what;
        struct online_score s[ONLINE_PLACES];
        o.law = o.seed = law;
        online_run(&o, ONLINE_PLACES, s);
        for (int i = 0; i < ONLINE_PLACES; i++) {
            sum[i].gained += s[i].gained;
            sum[i].possible += s[i].possible;
            sum[i].regret += s[i].regret / (double)laws;
            sum[i].worse += s[i].worse;
            worst[i].regret = fmax(worst[i].regret, s[i].regret);
            worst[i].slower = fmax(worst[i].slower, s[i].slower);
        }
    }
    printf("%-19s %-10s", name, online_regimes[what->regime]);
    for (int i = 0; i < ONLINE_PLACES; i++)
        printf(" |%4.0f %5.1f %5.1f %6.1f %4u", 100 * sum[i].gained / sum[i].possible, 100 * sum[i].regret,
               100 * worst[i].regret, 100 * worst[i].slower, sum[i].worse);
    puts("");
}

int main(int argc, char **argv)
{
    size_t laws = argc > 1 ? strtoul(argv[1], NULL, 10) : ONLINE_LAWS;
    double bound = argc > 2 ? strtod(argv[2], NULL) / 100 : 0.01;
    printf("%zu machines, %d kinds of calls, bound %g %%. After 100, 1,000, 10,000 and 30,000 calls of each kind: "
           "share of the\n"
           "possible gain that calls have then, regret paid so far on average and at worst, job so far slower than by\n"
           "default at worst (all %%), kinds that run with something slower.\n\n",
           laws, ONLINE_SIZES, 100 * bound);
    printf("%-19s %-10s", "method", "noise");
    for (int i = 0; i < ONLINE_PLACES; i++)
        printf(" |gain  paid worst slower  bad");
    puts("");
    for (int r = 0; r < ONLINE_REGIMES; r++)
        print_line(&(struct online_options){.regime = (enum online_regime)r, .regret = bound, .again = 1}, laws,
                   "nccltune, again");
    for (int m = 0; m < ONLINE_METHODS; m++)
        for (int r = 0; r < ONLINE_REGIMES; r++)
            print_line(&(struct online_options){.method = (enum online_method)m,
                                                .regime = (enum online_regime)r,
                                                .regret = bound},
                       laws, online_methods[m]);
    return 0;
}
