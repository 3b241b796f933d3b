/* Calling what may crash: the signals of a crash lead back out of the call. Handlers are the process's own, so a crash
 * of another thread meanwhile goes where it would have gone. */
#include "tuner/plugin/guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define CRASHES (sizeof crashes / sizeof *crashes)

static struct {
    pthread_t thread;
    sigjmp_buf back;
    struct sigaction before[CRASHES];
} guard;

/* Not ours: as if this handler had never been there. One that returns meets the signal again. */
static void hand_on(int number, siginfo_t *info, void *machine)
{
    size_t i = 0;
    while (i < CRASHES && crashes[i] != number)
        i++;
    const struct sigaction *before = &guard.before[i];
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, machine);
    else if (before->sa_handler == SIG_DFL)
        sigaction(number, before, NULL);
    else if (before->sa_handler != SIG_IGN)
        before->sa_handler(number);
}

static void caught(int number, siginfo_t *info, void *machine)
{
    if (pthread_equal(pthread_self(), guard.thread))
        siglongjmp(guard.back, number);
    hand_on(number, info, machine);
}

int plugin_guard(int (*f)(void *arg), void *arg, int *rc)
{
    struct sigaction ours = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
    volatile size_t set = 0;
    guard.thread = pthread_self();
    int crash = sigsetjmp(guard.back, 1);
    if (!crash) {
        for (; set < CRASHES; set++)
            sigaction(crashes[set], &ours, &guard.before[set]);
        *rc = f(arg);
    }
    for (size_t i = 0; i < set; i++)
        sigaction(crashes[i], &guard.before[i], NULL);
    return crash;
}
