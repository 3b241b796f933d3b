/* Errors, logger and interrupts for all subcommands. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int cli_fail(const char *command, const struct err *e)
{
    fprintf(stderr, "nccltune %s: %s\n", command, e->text);
    return e->code ? e->code : ERR_FAILED;
}

int cli_usage(const char *command, const char *fmt, ...)
{
    if (fmt) {
        va_list ap;
        va_start(ap, fmt);
        fprintf(stderr, "nccltune %s: ", command);
        vfprintf(stderr, fmt, ap);
        fputc('\n', stderr);
        va_end(ap);
    }
    fprintf(stderr, "Try 'nccltune %s --help'.\n", command);
    return ERR_USAGE;
}

struct log cli_log(const char *command, int quiet)
{
    return (struct log){.out = stderr, .program = command, .quiet = quiet};
}

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    (void)signal;
    if (interrupted)
        _exit(130);
    interrupted = 1;
}

volatile sig_atomic_t *cli_catch_interrupt(void)
{
    struct sigaction sa = {.sa_handler = on_signal};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    return &interrupted;
}
