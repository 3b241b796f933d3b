/* nccltune: a table of subcommands and their dispatch. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/engines/engines.h"
#include "bench/engines/verbs/engine.h"
#include "cli/cli.h"
#include "core/edit_distance.h"
#include "core/terminal.h"
#include "envgen/predict/predict.h"

static const struct cli_command {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *description;
} commands[] = {
    {"tune", tune_main, "probe, measure, decide: from a machine to a profile in one command"},
    {"probe", probe_main, "say what is in this machine, or in a recorded one, and how it is connected"},
    {"bench", bench_main, "measure collectives over algorithms and network choices"},
    {"generate", generate_main, "turn measurements into a profile: settings, tuner table, evidence"},
    {"results", results_main, "read measurements of any origin, and write them for other programs"},
    {"whatif", whatif_main, "predict variations of a machine: dead rails, other HCAs, more nodes"},
    {"verify", verify_main, "measure a profile against the library's default once more"},
    {"explain", explain_main, "say what a profile sets, for one variable or one call, and why"},
    {"report", report_main, "write a profile as one page to mail: plots, decisions, evidence, data"},
    {"lint", lint_main, "find wrong NCCL settings in scripts, container files and environments"},
    {"workload", workload_main, "write which collectives a training job makes, from what is known of the job"},
    {"diagnose", diagnose_main, "say where a training step goes, from the logs that jobs write"},
    {"drift", drift_main, "say who is waited for and what has become slower, from the captures of many jobs"},
    {"install-profile", install_profile_main, "make a profile what jobs get, through Slurm or NCCL's own file"},
    {"trials", trials_main, "compare the jobs that a trial of a profile had with the others"},
    {"doctor", doctor_main, "check what is installed on this node"},
    /* Internal, so that help and completion stop before it: agents start it on their nodes. */
    {"verbs-port", verbs_serve_main, NULL},
    {0},
};

static int help(FILE *out)
{
    fputs("Usage: nccltune COMMAND [OPTION]...\n"
          "Make a GPU cluster communicate as fast as its wires allow: measure, decide with evidence, deliver.\n\n",
          out);
    for (const struct cli_command *c = commands; c->description; c++)
        fprintf(out, "  %-15s %s\n", c->name, c->description);
    fputs("\n  nccltune tune -o PROFILE         the whole pipeline on this machine\n"
          "  nccltune help COMMAND            options and examples of one command\n"
          "  nccltune --version               the version\n"
          "  man nccltune                     the concepts, files and exit codes\n",
          out);
    return 0;
}

/* For shell completion. */
static int print_words(void)
{
    for (const struct cli_command *c = commands; c->description; c++)
        puts(c->name);
    return 0;
}

static const char *command_name(int i)
{
    return commands[i].description ? commands[i].name : NULL;
}

static const struct cli_command *find_command(const char *name)
{
    for (const struct cli_command *c = commands; c->name; c++)
        if (!strcmp(name, c->name))
            return c;
    const char *near = edit_distance_nearest(name, command_name);
    fprintf(stderr, "nccltune: unknown command '%s'%s%s%s\nTry 'nccltune --help'.\n", name,
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return NULL;
}

/* nccltune help COMMAND: the same as nccltune COMMAND --help. */
static int help_of(char *name)
{
    static char option[] = "--help";
    char *argv[] = {name, option, NULL};
    const struct cli_command *c = find_command(name);
    return c ? c->main(2, argv) : ERR_USAGE;
}

static int run_command(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return ERR_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "help") && argc > 2)
        return help_of(argv[2]);
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
        return help(stdout);
    if (!strcmp(word, "--version") || !strcmp(word, "-V") || !strcmp(word, "version"))
        return puts("nccltune " NCCLTUNE_VERSION) < 0;
    if (!strcmp(word, "--print-options"))
        return print_words();
    /* A paste without a word: `nccltune -` is `nccltune diagnose -`. */
    if (!strcmp(word, "-") && argc == 2) {
        char *paste[] = {(char *)"diagnose", argv[1], NULL};
        return find_command("diagnose")->main(2, paste);
    }
    const struct cli_command *c = find_command(word);
    return c ? c->main(argc - 1, argv + 1) : ERR_USAGE;
}

/* What was printed may not have arrived: a full disk shows only here. */
int main(int argc, char **argv)
{
    terminal_guard_stdout();
    bench_engine_register(&bench_engine_model);
    int rc = run_command(argc, argv), error = fflush(stdout) ? errno : ferror(stdout) ? EIO : 0;
    if (!error)
        return rc;
    fprintf(stderr, "nccltune: standard output cannot be written: %s\n", strerror(error));
    return rc ? rc : ERR_FAILED;
}
