/* The table of formats, and how a document's format is recognised: by the file's name, its first line, its content. */
#include <string.h>
#include <strings.h>

#include "core/file.h"
#include "lint/lint_internal.h"

/* Names: ".sh" is an ending, "Dockerfile" a beginning of the last part of the path. Earlier rows come first. */
static const struct lint_format_of formats[] = {
    {"shell", ".sh .bash .sbatch .slurm .slrm .sub .pbs .lsf .zsh .ksh .sge .bashrc .bash_profile .profile .zshrc",
     lint_read_shell, LINT_CR_COUNTS},
    {"csh", ".csh .tcsh .cshrc .tcshrc", lint_read_shell, LINT_CSH | LINT_CR_COUNTS},
    {"module", ".tcl .modulefile", lint_read_shell, LINT_CSH},
    {"docker", "Dockerfile Containerfile .dockerfile", lint_read_docker},
    {"yaml", ".yaml .yml", lint_read_yaml, LINT_TEMPLATE},
    {"json", ".json .jsonc .json5 .ipynb", lint_read_source, LINT_TEMPLATE},
    {"python", ".py .pyi", lint_read_source},
    {"lua", ".lua", lint_read_source},
    {"toml", ".toml", lint_read_source},
    {"hcl", ".tf .tfvars .hcl .nomad", lint_read_source},
    {"ini", ".ini .cfg .service .slice .scope", lint_read_ini},
    {"make", "Makefile makefile GNUmakefile .mk .mak", lint_read_make},
    {"markdown", ".md .markdown .mdx .qmd .rmd", lint_read_prose, LINT_FENCES | LINT_INDENTED},
    {"rst", ".rst", lint_read_prose, LINT_FENCES | LINT_DIRECTIVES},
    {"c", ".c .cc .cpp .cxx .cu .cuh .h .hh .hpp .hip", lint_read_source},
    {"go", ".go", lint_read_source},
    {"rust", ".rs", lint_read_source},
    {"diff", ".diff .patch", lint_read_diff},
    {"conf", "nccl.conf .nccl.conf rccl.conf .conf", lint_read_conf, LINT_CR_COUNTS},
    {"env", ".env .env. environment .deepspeed_env", lint_read_shell, LINT_EXPORTS | LINT_CR_COUNTS},
    {"prose", "", lint_read_prose, LINT_FENCES | LINT_DIRECTIVES | LINT_COMMANDS},
    {"text", ""},
};
enum { FORMATS = sizeof formats / sizeof *formats };

const char *lint_kind(size_t n)
{
    return n < FORMATS ? formats[n].kind : NULL;
}

const struct lint_format_of *lint_format_called(const char *kind)
{
    for (size_t k = 0; k < FORMATS; k++)
        if (!strcmp(formats[k].kind, kind))
            return &formats[k];
    return NULL;
}

/* ---- by name ----------------------------------------------------------------------------------------------------- */

static int fits_names(const char *file, size_t n, const char *names)
{
    for (const char *p = names; *p; p += strspn(p, " ")) {
        size_t length = strcspn(p, " ");
        int ending = *p == '.' && p[length - 1] != '.';
        if (n >= length && !(ending ? strncasecmp(file + n - length, p, length) : strncmp(file, p, length)))
            return 1;
        p += length;
    }
    return 0;
}

/* Length of a file's name without what marks it as a template. */
static size_t without_template(const char *file)
{
    static const char *const marks[] = {".j2",     ".jinja", ".jinja2",   ".tpl",     ".tmpl",   ".template",
                                        ".gotmpl", ".in",    "-template", ".example", ".sample", ".dist"};
    size_t n = strlen(file);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (n > strlen(marks[i]) && file_ends_with(file, marks[i]))
            return n - strlen(marks[i]);
    return n;
}

const struct lint_format_of *lint_format_named(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    size_t n = without_template(file);
    for (size_t k = 0; k < FORMATS; k++)
        if (fits_names(file, n, formats[k].names))
            return &formats[k];
    return NULL;
}

/* ---- by content -------------------------------------------------------------------------------------------------- */

/* Beginnings of lines, '|' between them, that one format alone has. */
static const struct sign {
    const char *kind, *begins, *has; /* `has`: what the line has, too; NULL nothing certain */
} signs[] = {
    {"docker", "FROM |ARG "},
    {"python", "import |os.environ"},
    {"python", "from ", " import "},
    {"python", "def ", "("},
    {"python", "class |with ", ":"},
    {"lua", "setenv(\"|pushenv(|whatis("},
    {"lua", "local ", "="},
    {"csh", "setenv "},
    {"module", "pushenv "},
    {"hcl", "resource \"|variable \"|module \"|locals {|job \"|provider \""},
    {"shell",
     "export |$ |docker run |torchrun |horovodrun |python -|python3 |deepspeed |accelerate launch |#SBATCH|#PBS|"
     "#BSUB|srun |mpirun |fi|done|echo |set -e"},
    {"yaml", "- |---|apiVersion:"},
    {"json", "{"},
    {"prose", "```|.. code"},
    {"diff", "diff --git "},
};
enum { SIGNS = sizeof signs / sizeof *signs };

static const struct lint_format_of *by_first_line(const char *data, size_t bytes)
{
    static const struct sign interpreters[] = {
        {"python", "python"}, {"lua", "lua"}, {"csh", "csh"}, {"make", "make"}, {"shell", "sh"},
    };
    const char *newline = memchr(data, '\n', bytes);
    size_t n = newline ? (size_t)(newline - data) : bytes;
    if (n >= 8 && !memcmp(data, "#%Module", 8))
        return lint_format_called("module");
    /* fish has another syntax, and "sh" in its name. */
    if (n > 2 && !memcmp(data, "#!", 2) && memmem(data, n, "fish", 4))
        return NULL;
    for (size_t i = 0; n > 2 && !memcmp(data, "#!", 2) && i < sizeof interpreters / sizeof *interpreters; i++)
        if (memmem(data, n, interpreters[i].begins, strlen(interpreters[i].begins)))
            return lint_format_called(interpreters[i].kind);
    return NULL;
}

struct lines {
    int all, plain, continued, spaced, commands, yaml, sections, quoted, by_sign[SIGNS];
    const char *first; /* kind by the first line that counts */
};

/* "[name]" and nothing else: no test of a shell, no list. */
static int is_section(const char *s, size_t n)
{
    n = lint_trim_end(s, 0, n);
    if (n < 3 || s[0] != '[' || s[n - 1] != ']')
        return 0;
    for (size_t i = 1; i + 1 < n; i++)
        if (!strchr("._-:@/\"' []", s[i]) && !lint_name_length(s + i, 1) && (s[i] < '0' || s[i] > '9'))
            return 0;
    return s[1] != ' ';
}

/* Behind NAME=value. */
static const char programs[] =
    " python| torchrun| mpirun| srun| ./| accelerate | deepspeed | pip | bash | vllm | ray | sglang ";

static void count_line(struct lines *c, const char *s, size_t n)
{
    size_t name = lint_name_length(s, n), equals = name;
    for (size_t i = 0; i < SIGNS; i++)
        if (word_in(signs[i].begins, WORD_BEGINS, s, n) &&
            (!signs[i].has || memmem(s, n, signs[i].has, strlen(signs[i].has)))) {
            c->by_sign[i]++;
            c->first = c->all == 0 ? signs[i].kind : c->first;
        }
    if (*s == '#')
        return;
    c->all++;
    while (equals < n && s[equals] == ' ')
        equals++;
    c->plain += name > 0 && name < n && s[name] == '=' && !memchr(s, ';', n);
    c->continued += name > 0 && name < n && s[name] == '=' && s[n - 1] == '\\';
    c->spaced += name > 0 && name < n && s[name] == '=' && memchr(s + name, ' ', n - name) &&
                 (!memchr(s, '"', n) || memmem(s, n, " (", 2));
    c->commands += word_in(programs, WORD_OCCURS, s + name, n - name);
    c->quoted += name > 0 && equals + 1 < n && s[equals] == '=' && memchr(s + equals, '"', n - equals) != NULL;
    c->yaml += (name > 0 && name < n && s[name] == ':') || (n > 1 && !memcmp(s, "- ", 2));
    c->sections += is_section(s, n);
}

static int signed_by(const struct lines *c, const char *kind)
{
    int count = 0;
    for (size_t i = 0; i < SIGNS; i++)
        count += strcmp(signs[i].kind, kind) ? 0 : c->by_sign[i];
    return count;
}

static const char *by_lines(const struct lines *c)
{
    static const char *const plainly[] = {"lua", "module", "hcl", "python", "csh"};
    int shell = signed_by(c, "shell") + c->continued;
    if (c->first && (!strcmp(c->first, "docker") || !strcmp(c->first, "json") || !strcmp(c->first, "diff")))
        return c->first;
    if (signed_by(c, "prose"))
        return "prose";
    if (c->sections > 0 && shell == 0)
        return c->quoted > 0 ? "toml" : "ini";
    for (size_t i = 0; i < sizeof plainly / sizeof *plainly; i++)
        if (signed_by(c, plainly[i]) > shell)
            return plainly[i];
    if (c->yaml * 2 > c->all && shell == 0)
        return "yaml";
    if (c->all > 0 && c->plain == c->all)
        return "env";
    return shell > 0 ? "shell" : NULL;
}

static void count_lines(struct lines *c, const char *data, size_t bytes)
{
    const char *end = data + bytes;
    for (const char *p = data; p < end && c->all < 1000;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        while (p < stop && strchr(" \t\r", *p))
            p++;
        if (p < stop)
            count_line(c, p, (size_t)(stop - p));
        p = stop + 1;
    }
}

const struct lint_format_of *lint_format_of(const char *path, const char *data, size_t bytes)
{
    struct lines c = {0};
    const struct lint_format_of *f = path ? lint_format_named(path) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    int any_conf = f && !strcmp(f->kind, "conf") && !strstr(slash ? slash : path, "ccl.conf");
    if (f && !any_conf)
        return f;
    count_lines(&c, data, bytes);
    if (any_conf) /* a drop-in of systemd, a Supervisor's file, a script to be sourced */
        return lint_format_called(c.sections > 0 ? "ini" : signed_by(&c, "shell") ? "shell" : "conf");
    f = by_first_line(data, bytes);
    const char *kind = by_lines(&c);
    int prose = path && (file_ends_with(path, ".txt") || strstr(slash ? slash : path, "README"));
    if (prose && (!kind || c.plain < c.all))
        kind = "prose";
    if (!f && !kind) /* without an ending it is most likely a script or a part of one; with a strange one it is not */
        kind = path && strchr(slash ? slash : path, '.') ? "text" : "shell";
    return f ? f : lint_format_called(kind);
}

const struct lint_format_of *lint_format_told(const char *data, size_t bytes)
{
    struct lines c = {0};
    const struct lint_format_of *f = by_first_line(data, bytes);
    count_lines(&c, data, bytes);
    const char *kind = by_lines(&c);
    if (kind && !strcmp(kind, "env") && c.spaced) /* a sentence, or one command's environment */
        kind = c.commands ? "shell" : NULL;
    return f ? f : kind ? lint_format_called(kind) : NULL;
}
