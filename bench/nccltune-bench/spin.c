/* The thread: its turns are counted. */
#include "bench/nccltune-bench/spin.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/clock.h"

#define TRIAL_NS 20000000
#define TURN     256 /* multiplications between two looks */

static struct {
    pthread_t thread;
    int runs;
    atomic_int end;
    atomic_ulong turns;
    double alone_per_us;
    unsigned long begun_turns;
    double begun_us;
} spin;

static double now_us(void)
{
    return (double)clock_now_ns() * 1e-3;
}

static void *compute_on(void *unused)
{
    volatile double x = 1;
    while (!atomic_load_explicit(&spin.end, memory_order_relaxed)) {
        for (int i = 0; i < TURN; i++)
            x = x * 0.9999 + 0.5;
        atomic_fetch_add_explicit(&spin.turns, 1, memory_order_relaxed);
    }
    return unused;
}

void spin_begin(void)
{
    spin.begun_turns = atomic_load(&spin.turns);
    spin.begun_us = now_us();
}

static double read_rate(void)
{
    double turns = (double)(atomic_load(&spin.turns) - spin.begun_turns);
    return (turns > 0 ? turns : 1) / (now_us() - spin.begun_us);
}

double spin_end(void)
{
    double slowdown = spin.alone_per_us / read_rate();
    return slowdown > 1 ? slowdown : 1;
}

int spin_start(void)
{
    if (spin.runs)
        return 0;
    atomic_store(&spin.end, 0);
    if (pthread_create(&spin.thread, NULL, compute_on, NULL))
        return -1;
    spin.runs = 1;
    spin_begin();
    nanosleep(&(struct timespec){.tv_nsec = TRIAL_NS}, NULL);
    spin.alone_per_us = read_rate();
    return 0;
}

void spin_stop(void)
{
    if (!spin.runs)
        return;
    atomic_store(&spin.end, 1);
    pthread_join(spin.thread, NULL);
    spin.runs = 0;
}
