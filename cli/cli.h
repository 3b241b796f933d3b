/* What the subcommands share: their table, their errors, their help. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <signal.h>

#include "core/err.h"
#include "core/log.h"

/* The subcommands, one file each. argv[0] is the subcommand's name. The result is the program's exit code:
 * 0 done, 1 done but something was found or failed, 2 wrong usage, 3 the machine lacks what was asked for. */
int probe_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int generate_main(int argc, char **argv);
int explain_main(int argc, char **argv);
int verify_main(int argc, char **argv);
int whatif_main(int argc, char **argv);
int tune_main(int argc, char **argv);
int install_profile_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int lint_main(int argc, char **argv);
int workload_main(int argc, char **argv);
int diagnose_main(int argc, char **argv);

struct cli_command {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *description;
};
extern const struct cli_command cli_commands[]; /* ends with a NULL name */

/* Prints "nccltune COMMAND: sentence" on stderr and returns the error's exit code. */
int cli_fail(const char *command, const struct err *e);

/* The same for a wrong command line, with a pointer to --help: always 2. `fmt` may be NULL when getopt has spoken. */
int cli_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The logger for a command: stderr, quiet when `quiet`. */
struct log cli_log(const char *command, int quiet);

/* ^C and SIGTERM set the flag instead of ending the program; a second one ends it. */
volatile sig_atomic_t *cli_catch_interrupt(void);

#endif
