/* Shared by the subcommands: their table, command line and errors. */
#pragma once

#include <signal.h>

#include "core/option.h"

/* The subcommands, one file each. argv[0] is the subcommand's name. The result is the program's exit code:
 * 0 done, 1 done but something was found or failed, 2 wrong usage, 3 the machine lacks what was asked for. */
int probe_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int generate_main(int argc, char **argv);
int results_main(int argc, char **argv);
int explain_main(int argc, char **argv);
int report_main(int argc, char **argv);
int verify_main(int argc, char **argv);
int whatif_main(int argc, char **argv);
int tune_main(int argc, char **argv);
int install_profile_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int lint_main(int argc, char **argv);
int workload_main(int argc, char **argv);
int diagnose_main(int argc, char **argv);
int drift_main(int argc, char **argv);
int trials_main(int argc, char **argv);

/* As shells report a program that ^C has ended. */
#define CLI_INTERRUPTED 130

/* Text of --help around the options, and the number of words beside them. */
struct cli_page {
    const char *program; /* "nccltune bench" */
    const char *usage;   /* behind "Usage: ": the forms and what it does */
    const char *notes;   /* examples and exit codes */
    int words;           /* that are no options, at most; -1: any number */
};

/* Takes the options into the targets of `groups`, and answers --help and --version, which every command has. Returns -1
 * to go on: argv[*first] is the first word that is no option, up to argv[argc]. Otherwise the exit code, all being
 * said. Lists are in `a`. */
int cli_parse(const struct cli_page *page, struct option_group *groups, int argc, char **argv, struct arena *a,
              int *first);

/* The whole of a command: cli_parse, then `run` with `request` and the words that are no options, ended by NULL. Its
 * error is printed, one without a sentence has been; the exit code. */
typedef int cli_run_fn(void *request, char **words, struct arena *a, struct err *e);
int cli_run(const struct cli_page *page, struct option_group *groups, int argc, char **argv, cli_run_fn *run,
            void *request);

/* Prints "PROGRAM: sentence" on stderr and returns the error's exit code; a wrong command line (ERR_USAGE) comes with a
 * pointer to --help. */
int cli_fail(const char *program, const struct err *e);

/* The same for a wrong command line: always 2. */
int cli_usage(const char *program, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A path, and this program, as one would type them here: the program by its name where the shell finds it by that. In
 * `a`. */
const char *cli_typed_path(struct arena *a, const char *path);
const char *cli_typed_self(struct arena *a);

/* The logger for a command: stderr, quiet when `quiet`. */
struct log cli_log(const char *program, int quiet);

/* Options that do not go together, or lack something: the sentence of the first that is so is the error, a wrong usage.
 * A list ends with a NULL sentence. */
struct cli_wrong {
    int is_so;
    const char *sentence;
};
int cli_check(const struct cli_wrong *list, struct err *e);

/* ^C and SIGTERM set the flag instead of ending the program; a second one ends it. */
volatile sig_atomic_t *cli_catch_interrupt(void);
