/* What a profile may hold. Its files are data: settings that may be delivered, in lines as nccltune writes them, and
 * documents. A shell, a container or a module system reads some of them later, and a user may have made the profile, so
 * that any other line, and any other file, is refused before it is in the store. */
#include <string.h>

#include "core/file.h"
#include "core/vars/catalogue.h"
#include "envgen/install/install.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

#define LONGEST_LINE ((size_t)64 << 10)

/* Lines, where @ is the name of a setting, $ its value, and ~ the path of a directory. */
#define SHELL_IF   "if [ \"${NCCLTUNE:-}\" "
#define OPENMPI_IF SHELL_IF "!= off ] && [ -z \"${@+set}"
static const struct {
    const char *file; /* or the end of its name, behind a '*' */
    const char *comment;
    const char *lines[16];
} texts[] = {
    {"nccl.conf", "#", {"@=$"}},
    {ENV_CLASSES "*", "#", {"@=$"}},
    {"*.env", "#", {"@=$"}},
    {"nccl.sh",
     "#",
     {SHELL_IF "= force ] || { [ \"${NCCLTUNE:-}\" != off ] && [ -z \"${@+set}\" ]; }; then", "    export @='$'",
      "    export NCCLTUNE_SOURCED=\"${NCCLTUNE_SOURCED:-}|$\"", "fi"}},
    {"openmpi.sh",
     "#",
     {OPENMPI_IF "\" ]; then", OPENMPI_IF "${@+set}\" ]; then", OPENMPI_IF "\" ] &&", OPENMPI_IF "${@+set}\" ] &&",
      "    [ -r \"$nccltune_dir/openmpi.rules\" ]; then", "    export @=\"$nccltune_dir/openmpi.rules\"",
      "    export @='$'", "    export NCCLTUNE_SOURCED=\"${NCCLTUNE_SOURCED:-}|@=$@\"", "fi", "nccltune_dir='~'",
      "if [ -n \"${BASH_SOURCE:-}\" ]; then",
      "    nccltune_dir=$(CDPATH='' cd -- \"$(dirname -- \"${BASH_SOURCE}\")\" && pwd) || :", "unset nccltune_dir"}},
    {"openmpi-mca-params.conf", "#", {"@ = ~/openmpi.rules", "@ = $"}},
    {"*.lua",
     "--",
     {"pushenv(\"@\", \"$\")", "help([[NCCL settings that nccltune decided for this cluster.]])",
      "whatis(\"Description: NCCL settings of this cluster\")"}},
    {"*.tcl", "#", {"setenv @ {$}", "module-whatis {NCCL settings of this cluster}"}},
    {"*.yaml",
     "#",
     {"  @: \"$\"", "apiVersion: v1", "kind: ConfigMap", "metadata:", "  name: nccltune-nccl", "data:", "data: {}",
      "nccltune_nccl:", "nccltune_nccl: {}"}},
    {"nccl.json", NULL, {"{", "}", "{}", "  \"@\": \"$\"", "  \"@\": \"$\","}},
};

/* Documents: bounded readers of nccltune's, of NCCL's and of a browser's, nothing that is run. */
static const char *const documents[] = {".json", ".jsonl", ".csv", ".bin", ".rules", ".xml", ".html", ".svg", ".txt"};

static int is_named(const char *name, const char *pattern)
{
    const char *star = strchr(pattern, '*');
    size_t n = star ? (size_t)(star - pattern) : 0;
    return !star ? !strcmp(name, pattern) : !strncmp(name, pattern, n) && file_ends_with(name, star + 1);
}

/* How many bytes of a line stand for @, $ or, between what the form has before and behind it, ~. */
static size_t span_of(const char *form, const char *line)
{
    if (*form == '@')
        return strspn(line, LETTERS DIGITS "_");
    if (*form == '$')
        return strspn(line, LETTERS DIGITS "_.,:;=^/+-@%");
    size_t n = strlen(line), behind = strlen(form + 1);
    n = n > behind ? n - behind : 0;
    for (size_t i = 1; i < n; i++)
        if (line[i] == '\'' || (unsigned char)line[i] < ' ')
            return 0;
    return *line == '/' ? n : 0;
}

/* Return whether a line of text has this form; the setting in it, if there is one, is in name and value. */
static int has_form(const char *form, const char *line, struct arena *a, const char **name, const char **value)
{
    *name = *value = NULL;
    for (; *form; form++) {
        size_t n = 1;
        int dollar = *form == '$' && (form[1] == '\'' || form[1] == '"' || form[1] == '}' || !form[1]);
        if (*form == '@' || dollar || *form == '~') {
            n = span_of(form, line);
            if (!n)
                return 0;
            if (*form == '@')
                *name = arena_strndup(a, line, n);
            else if (dollar)
                *value = arena_strndup(a, line, n);
        } else if (*form != *line) {
            return 0;
        }
        line += n;
    }
    return !*line;
}

/* Comments of ours are ASCII without a backslash: elsewhere a line may end, or go on, where it does not seem to. */
static int is_comment(const char *line, const char *mark)
{
    if (!mark || strncmp(line, mark, strlen(mark)) != 0 || !strncmp(line, "--[", 3))
        return 0;
    for (; *line; line++)
        if (*line == '\\' || (unsigned char)*line < ' ' || (unsigned char)*line > '~')
            return 0;
    return 1;
}

/* Whether a line may stand there. */
static int check_line(const struct file_lines *l, const char *const *forms, const char *line, struct arena *a,
                      struct err *e)
{
    const char *name = NULL, *value, *why = NULL;
    while (*forms && !has_form(*forms, line, a, &name, &value))
        forms++;
    if (!*forms)
        why = "is not a line that nccltune writes into such a file";
    else if (name)
        why = env_undeliverable(name, value ? value : "1");
    return !why ? 0
                : err_at(e, l->path, l->line, 0, "%s%s%s; the profile is not installed", *forms ? name : "",
                         *forms ? " " : "", why);
}

static int check_text(const char *path, const char *comment, const char *const *forms, struct arena *a, struct err *e)
{
    struct file_lines l;
    char *line;
    size_t bytes;
    int rc = file_lines_open(&l, path, LONGEST_LINE, e), more = 0;
    while (!rc && (more = file_lines_next(&l, &line, &bytes, e)) > 0)
        if (bytes && !is_comment(line, comment))
            rc = check_line(&l, forms, line, a, e);
    file_lines_close(&l);
    return more < 0 ? ERR_FAILED : rc;
}

static int check_file(const char *name, const char *path, struct arena *a, struct err *e)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (is_named(name, texts[i].file))
            return check_text(path, texts[i].comment, texts[i].lines, a, e);
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        if (file_ends_with(name, documents[i]))
            return 0;
    return err_at(e, path, 0, 0, "is not a file that nccltune writes; the profile is not installed");
}

int install_accept(const struct env_profile *p, struct err *e)
{
    int rc = 0;
    for (int i = 0; i < p->manifest.nfiles && !rc; i++) {
        const char *name = p->manifest.files[i].name;
        rc = check_file(name, arena_printf(p->arena, "%s/%s", p->dir, name), p->arena, e);
    }
    return rc;
}
