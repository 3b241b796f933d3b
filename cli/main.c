/* nccltune: a table of subcommands and their dispatch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/engines/verbs/engine.h"
#include "cli/cli.h"
#include "core/edit_distance.h"
#include "envgen/predict/predict.h"

/* ---- standard output, which may get text from anywhere: names in results, logs, topologies ----------------------- */

#define C1_BEGINS '\xc2' /* the first byte of U+0080 to U+00BF */

static int holds_c1; /* that byte has come last, and is not yet written */

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The length of one of our own colours. */
static size_t own_color(const char *s, size_t n)
{
    if (n >= 4 && !memcmp(s, "\033[0m", 4))
        return 4;
    return n >= 8 && !memcmp(s, "\033[4", 3) && is_digit(s[3]) && s[4] == ';' && s[5] == '3' && is_digit(s[6]) &&
                   s[7] == 'm'
               ? 8
               : 0;
}

/* What may be shown of n bytes, into `clean`, which has room for one more. */
static size_t clean_text(const char *s, size_t n, char *clean)
{
    size_t used = 0, color;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (holds_c1) {
            int control = c >= 0x80 && c < 0xa0;
            holds_c1 = 0;
            clean[used++] = control ? '?' : C1_BEGINS;
            if (control)
                continue;
        }
        if (s[i] == C1_BEGINS) {
            holds_c1 = 1;
        } else if (c == 0x1b && (color = own_color(s + i, n - i))) {
            memcpy(clean + used, s + i, color);
            used += color;
            i += color - 1;
        } else {
            clean[used++] = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? '?' : s[i];
        }
    }
    return used;
}

static ssize_t write_clean(void *unused, const char *s, size_t n)
{
    (void)unused;
    char *clean = malloc(n + 1);
    size_t bytes = clean ? clean_text(s, n, clean) : 0;
    int failed = clean ? 0 : errno;
    for (size_t done = 0; done < bytes && !failed;) {
        ssize_t k = write(STDOUT_FILENO, clean + done, bytes - done);
        if (k >= 0)
            done += (size_t)k;
        else if (errno != EINTR)
            failed = errno;
    }
    free(clean);
    errno = failed;
    return failed ? 0 : (ssize_t)n;
}

/* Puts a stream in the place of stdout that writes '?' for what a terminal would act on: control characters but line
 * ends and tabs, those of UTF-8 (U+0080 to U+009F) included. Our own colours pass: "\033[0m" and "\033[4N;3Nm". */
static void terminal_guard_stdout(void)
{
    FILE *guarded = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_clean});
    if (!guarded)
        return;
    setvbuf(guarded, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ * 8);
    stdout = guarded;
}

static const struct cli_command {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *description, *group; /* group: begins there */
} commands[] = {
    {"probe", probe_main, "show a machine's topology: this one, a recorded one, a cluster", "Look"},
    {"lint", lint_main, "find wrong NCCL settings in scripts, containers, environments"},
    {"whatif", whatif_main, "predict other HCAs, settings, dead rails, more nodes"},
    {"workload", workload_main, "derive the collectives of a training job"},
    {"tune", tune_main, "probe, measure, decide: from a machine to a profile", "Measure"},
    {"bench", bench_main, "measure collectives, or RDMA ports in pairs"},
    {"results", results_main, "read and convert results of nccl-tests and rccl-tests"},
    {"generate", generate_main, "turn results into a profile"},
    {"explain", explain_main, "explain what a profile sets, or one variable of NCCL", "Deliver"},
    {"verify", verify_main, "measure a profile against the baseline again"},
    {"report", report_main, "write a profile as one page of HTML"},
    {"install-profile", install_profile_main, "deploy a profile to jobs"},
    {"trials", trials_main, "compare a trial profile's jobs with the others"},
    {"doctor", doctor_main, "check what is installed on this node"},
    {"diagnose", diagnose_main, "explain failures and training steps from what jobs leave", "Understand"},
    {"drift", drift_main, "find stragglers and regressions across jobs"},
    /* Internal, so that help and completion stop before it: agents start it on their nodes. */
    {"verbs-port", verbs_serve_main, NULL},
    {0},
};

static int print_help(FILE *out)
{
    fputs("Usage: nccltune COMMAND [OPTION]...\n"
          "Make a GPU cluster communicate as fast as its wires allow: measure, decide with\n"
          "evidence, deliver.\n\n",
          out);
    for (const struct cli_command *c = commands; c->description; c++) {
        if (c->group)
            fprintf(out, "%s%s\n", c == commands ? "" : "\n", c->group);
        fprintf(out, "  %-15s %s\n", c->name, c->description);
    }
    fputs("\nnccltune tune -o PROFILE     run the whole pipeline on this machine\n"
          "nccltune help COMMAND        show options and examples of one command\n"
          "nccltune --version           show the version\n"
          "man nccltune                 explain concepts, files and exit codes\n",
          out);
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
    const char *near = edit_distance_nearest(name, command_name, NULL);
    cli_usage("nccltune", "unknown command '%s'%s%s%s", name, near ? "; did you mean " : "", near ? near : "",
              near ? "?" : "");
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
        print_help(stderr);
        return ERR_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "help") && argc > 2)
        return help_of(argv[2]);
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
        return print_help(stdout);
    if (!strcmp(word, "--version") || !strcmp(word, "-V") || !strcmp(word, "version"))
        return puts("nccltune " NCCLTUNE_VERSION) < 0;
    if (!strcmp(word, "--print-options")) { /* for shell completion */
        for (const struct cli_command *k = commands; k->description; k++)
            puts(k->name);
        return 0;
    }
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
