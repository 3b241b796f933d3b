/* What a profile may hold. Its files are data: settings that may be delivered, in lines as nccltune writes them, and
 * documents. A shell, a container or a module system reads some of them later, and a user may have made the profile, so
 * that any other line, and any other file, is refused before it is in the store. */
#include <string.h>

#include "core/file.h"
#include "core/vars/catalogue.h"
#include "core/vars/text.h"
#include "envgen/install/install.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

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
    return !star ? !strcmp(name, pattern) : !strncmp(name, pattern, n) && file_ends_with(name + n, star + 1);
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
    for (size_t i = 0; i < n; i++)
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
            const char *text = arena_strndup(a, line, n);
            if (!n)
                return 0;
            if (*form == '@')
                *name = text;
            else if (dollar)
                *value = text;
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
    size_t n = mark ? strlen(mark) : 0;
    if (!n || strncmp(line, mark, n) != 0 || (mark[0] == '-' && line[n] == '['))
        return 0;
    for (; *line; line++)
        if (*line == '\\' || (unsigned char)*line < ' ' || (unsigned char)*line > '~')
            return 0;
    return 1;
}

/* Why a line may not stand there; NULL: it may. */
static const char *judge_line(const char *const *forms, const char *line, struct arena *a)
{
    const char *name, *value, *why;
    for (; *forms; forms++)
        if (has_form(*forms, line, a, &name, &value)) {
            why = name ? env_undeliverable(name, value ? value : "1") : NULL;
            return why ? arena_printf(a, "%s %s", name, why) : NULL;
        }
    return "is no line that nccltune writes into such a file";
}

static int check_text(const char *path, const char *comment, const char *const *forms, struct arena *a, struct err *e)
{
    char *text, *rest = NULL;
    size_t bytes;
    long number = 0;
    int rc = file_read(path, FILE_LIMIT, a, &text, &bytes, e);
    if (!rc && strlen(text) != bytes)
        rc = err_at(e, path, 0, 0, "holds a NUL byte: expected text");
    for (char *line = text; !rc && line && *line; line = rest) {
        size_t n = strcspn(line, "\n");
        rest = line + n + (line[n] == '\n');
        line[n] = 0;
        number++;
        const char *why = !n || is_comment(line, comment) ? NULL : judge_line(forms, line, a);
        if (why)
            rc = err_at(e, path, number, 0, "%s; the profile is not installed", why);
    }
    return rc;
}

int install_accept(const struct env_profile *p, struct err *e)
{
    struct arena *a = arena_new();
    int rc = 0;
    for (int i = 0; i < p->manifest.nfiles && !rc; i++) {
        const char *name = p->manifest.files[i].name, *path = arena_printf(a, "%s/%s", p->dir, name);
        size_t k = 0, document = 0;
        while (k < sizeof texts / sizeof *texts && !is_named(name, texts[k].file))
            k++;
        while (document < sizeof documents / sizeof *documents && !file_ends_with(name, documents[document]))
            document++;
        if (k < sizeof texts / sizeof *texts)
            rc = check_text(path, texts[k].comment, texts[k].lines, a, e);
        else if (document == sizeof documents / sizeof *documents)
            rc = err_at(e, path, 0, 0, "is no file that nccltune writes; the profile is not installed");
    }
    arena_free(a);
    return rc;
}
