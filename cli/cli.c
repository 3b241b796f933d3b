/* Command line, errors, logger and interrupts for all subcommands. */
#include "cli/cli.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/finding.h"
#include "core/locate.h"
#include "core/vars/text.h"

#define MOST_GROUPS 16

int cli_fail(const char *program, const struct err *e)
{
    if (e->code == ERR_USAGE)
        return cli_usage(program, "%s", e->text);
    fprintf(stderr, "%s: %s\n", program, e->text);
    return e->code ? e->code : ERR_FAILED;
}

int cli_usage(const char *program, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s: %s\nTry '%s --help'.\n", program, err_mask_controls(text), program);
    return ERR_USAGE;
}

const char *cli_typed_path(struct arena *a, const char *path)
{
    char here[PATH_MAX];
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    return env_shell_word(a, n > 1 && !strncmp(path, here, n) && path[n] == '/' ? path + n + 1 : path);
}

const char *cli_typed_self(struct arena *a)
{
    const char *self = locate_program("nccltune", a, NULL), *found = locate_in_path("nccltune", a);
    struct stat x, y;
    if (!self || (found && !stat(self, &x) && !stat(found, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev))
        return "nccltune";
    return cli_typed_path(a, self);
}

int cli_check(const struct cli_wrong *list, struct err *e)
{
    while (list->sentence && !list->is_so)
        list++;
    return list->sentence ? err_set(e, ERR_USAGE, "%s", list->sentence) : 0;
}

struct log cli_log(const char *program, int quiet)
{
    return (struct log){.out = stderr, .program = program, .quiet = quiet};
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

struct common {
    int help, version;
    const char *print;
};

/* What --print-options can print: sources of the manual page and of completion are made of them. */
static const char *printable(int i)
{
    static const char *const words[] = {"manual", "words", NULL};
    return words[i];
}

static const struct option_spec common_options[] = {
    {'h', "help", NULL, "print this text", option_flag, offsetof(struct common, help)},
    {'V', "version", NULL, "print the version", option_flag, offsetof(struct common, version)},
    {0, "print-options", "WHAT", NULL, option_word, offsetof(struct common, print), .word = printable},
    {0},
};

#define WIDTH 80

/* Lines at the margin flow together up to a blank or indented one. An indented one goes on below; a shell still reads
 * it as one command where no remark stands behind it. */
static void print_page(const char *text, struct arena *a)
{
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\n");
        n += text[n] == '\n';
        const int indent = (int)strspn(text, " ");
        while (!indent && *text != '\n' && text[n] && !strchr(" \n", text[n])) {
            n += strcspn(text + n, "\n");
            n += text[n] == '\n';
        }
        char *line = arena_strndup(a, text, n);
        for (char *c = line; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        const char *end = indent && !strstr(line + indent, "  ") ? " \\" : "";
        finding_put_wrapped(stdout, line, 0, indent ? indent + 4 : 0, WIDTH, end);
        puts("");
    }
}

static int print_help(const struct cli_page *page, const struct option_group *groups, struct arena *a)
{
    const size_t first = strcspn(page->usage, "\n");
    finding_put_wrapped(stdout, arena_strndup(a, page->usage, first), printf("Usage: "), 7, WIDTH, "");
    print_page(page->usage + first, a);
    puts("");
    option_print_help(groups, stdout);
    if (page->notes) {
        puts("");
        print_page(page->notes, a);
    }
    return 0;
}

static int answer_common(const struct cli_page *page, const struct option_group *groups, const struct common *c,
                         struct arena *a)
{
    if (c->help)
        return print_help(page, groups, a);
    if (c->version)
        return puts("nccltune " NCCLTUNE_VERSION) < 0;
    if (!c->print)
        return -1;
    if (!strcmp(c->print, "manual"))
        option_print_manual(groups, stdout);
    else
        option_print_words(groups, stdout);
    return 0;
}

static int has_option(const struct option_group *groups, const char *name)
{
    for (; groups->options; groups++)
        for (const struct option_spec *o = groups->options; o->name; o++)
            if (!strcmp(o->name, name))
                return 1;
    return 0;
}

/* A file that was given without its option is told the option; argv[1] up to argv[first] are options. */
static int refuse_word(const struct cli_page *page, const struct option_group *groups, char **argv, int first,
                       const char *word)
{
    int merge = 0;
    for (int i = 1; i < first; i++)
        merge |= !strcmp(argv[i], "--merge");
    if (merge && has_option(groups, "from"))
        return cli_usage(page->program,
                         "unexpected argument '%s'; --merge takes no file: --from %s --from OTHER --merge", word, word);
    if (has_option(groups, "from") && !access(word, F_OK))
        return cli_usage(page->program, "unexpected argument '%s'; did you mean --from %s?", word, word);
    return cli_usage(page->program, "unexpected argument '%s'", word);
}

int cli_parse(const struct cli_page *page, struct option_group *groups, int argc, char **argv, struct arena *a,
              int *first)
{
    struct option_group all[MOST_GROUPS] = {{0}};
    struct common common = {0};
    struct log log = cli_log(page->program, 0);
    struct err e = {0};
    int n = 0;
    for (; n < MOST_GROUPS - 2 && groups[n].options; n++)
        all[n] = groups[n];
    all[n] = (struct option_group){.title = n > 1 ? "Help" : NULL, .options = common_options, .target = &common};
    *first = option_parse(all, argc, argv, a, &log, &e);
    memcpy(groups, all, (size_t)n * sizeof *groups);
    if (*first < 0)
        return cli_fail(page->program, &e);
    int rc = answer_common(page, all, &common, a);
    if (rc < 0 && page->words >= 0 && argc - *first > page->words)
        rc = refuse_word(page, all, argv, *first, argv[*first + page->words]);
    return rc;
}

int cli_run(const struct cli_page *page, struct option_group *groups, int argc, char **argv, cli_run_fn *run,
            void *request)
{
    struct arena *a = arena_new();
    struct err e = {0};
    int first, rc = cli_parse(page, groups, argc, argv, a, &first);
    if (rc < 0) {
        rc = run(request, argv + first, a, &e);
        if (rc && *e.text)
            rc = cli_fail(page->program, &e);
    }
    arena_free(a);
    return rc;
}

/* ---- interrupts -------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

/* The second time is for impatience. A terminal that goes away often says so twice. */
static void on_signal(int signal)
{
    if (interrupted && signal != SIGHUP)
        _exit(CLI_INTERRUPTED);
    interrupted = 1;
}

volatile sig_atomic_t *cli_catch_interrupt(void)
{
    struct sigaction sa = {.sa_handler = on_signal};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    struct sigaction hangup;
    if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN) /* nohup has its way */
        sigaction(SIGHUP, &sa, NULL);
    signal(SIGPIPE, SIG_IGN); /* a process at the other end that has died is no reason to die */
    return &interrupted;
}
