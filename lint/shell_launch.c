/* What launchers, containers and batch systems pass on: options that take variables, and what mpirun, srun, ssh and
 * sudo take along of the environment or run elsewhere. */
#include <ctype.h>
#include <string.h>

#include "lint/shell.h"

enum form {
    PAIR,       /* NAME=value */
    NAME_VALUE, /* two words */
    LIST,       /* NAME=value,NAME: one with a value, and one that is passed on */
    SOME_LIST,  /* the same with apptainer, a pair with everything else */
    SEMICOLONS, /* NAME=value;NAME=value */
    PATHS,      /* a.b.NAME=value,a.env[0].name=NAME,a.env[0].value=value */
};
static const struct option {
    const char *words; /* "one|another"; "--env" is also "--env=NAME=value" */
    enum form form;
    const char *program; /* the only one that it belongs to; NULL: whoever */
} options[] = {
    {"-v", LIST, "qsub"},
    {"-env", LIST, "bsub"},
    {"-E|-x|-e|--envs|--setenv", PAIR},
    {"--env", SOME_LIST},
    {"--export|--set-env-vars|--update-env-vars|-genvlist|-envlist|--container-env", LIST},
    {"-genv|-env", NAME_VALUE}, /* Hydra takes a pair, too */
    {"mca_base_env_list", SEMICOLONS},
    {"--set|--set-string", PATHS, "helm"},
};

static int runs_before(const struct shell *sh, int i, const char *programs)
{
    for (int k = 0; k < i; k++)
        if (shell_runs(sh, k, programs))
            return 1;
    return 0;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* An entry without '=' names a variable to pass on, unless it is plainly the rest of a value that held a comma. */
static void find_cut_value(struct shell *sh, const struct lint_setting *before, size_t at, size_t end)
{
    const char *s = sh->s;
    if (!before || !before->var || before->var->kind != ENV_LIST || !before->value || *before->value == '{' ||
        end == at || memchr(s + at, '=', end - at) || memmem(s + at, end - at, "_proxy", 6) ||
        strspn(s + at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") >= end - at)
        return;
    lint_find(sh->l, NT_EXPORT_COMMA, before,
              "The list is cut at its commas: the value is \"%.40s\", and \"%.*s\" is taken for "
              "the name of a variable.",
              "Export it in the script, put the value into single quotes, or for Helm '\\' in front of each comma.",
              before->value, (int)(end - at < 40 ? end - at : 40), s + at);
}

void shell_list(struct shell *sh, size_t at, size_t end, const char *mark, enum lint_how how, int group)
{
    struct lint_setting *before = NULL;
    lint_unquote(sh->s, &at, &end);
    while (at < end) {
        size_t stop = lint_find_mark(sh->s, at, end, mark);
        at += strspn(sh->s + at, " ");
        if (at > stop)
            break;
        if (*mark == ',')
            find_cut_value(sh, before, at, stop);
        before = shell_pair(sh, at, stop, how, group);
        if (!before)
            shell_export_name(sh, at, stop - at);
        at = stop + 1;
    }
}

/* helm --set: the name is the last part of a path, or the value of one that ends in ".name". */
static void read_paths(struct shell *sh, size_t at, size_t end, int group)
{
    const char *s = sh->s;
    struct lint_setting *before = NULL;
    size_t name = 0, bytes = 0;
    lint_unquote(s, &at, &end);
    while (at < end) {
        size_t stop = lint_find_mark(s, at, end, ",");
        const char *equals = memchr(s + at, '=', stop - at);
        size_t value = equals ? (size_t)(equals - s) + 1 : stop, last = value > at ? value - 1 : at;
        while (last > at && s[last - 1] != '.')
            last--;
        if (equals && value - 1 - last == 4 && !memcmp(s + last, "name", 4)) {
            name = value;
            bytes = stop - value;
        } else if (equals && value - 1 - last == 5 && !memcmp(s + last, "value", 5) && bytes) {
            before = shell_add(sh, name, bytes, value, stop, LINT_COMMAND, group);
        } else if (equals) {
            before = shell_add(sh, last, value - 1 - last, value, stop, LINT_COMMAND, group);
        } else {
            find_cut_value(sh, s[at - 2] == '\\' ? NULL : before, at, stop);
        }
        at = stop + 1;
    }
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* 'NAME=value' with the quotes around both: inside them nothing is taken away any more. */
static void read_quoted_pair(struct shell *sh, size_t at, size_t end, int group)
{
    const char *s = sh->s;
    size_t n = lint_name_length(s + at, end - at), value = at + n + 1;
    struct lint_setting *set =
        n > 0 && value <= end && s[at + n] == '=' ? lint_setting_new(sh->l, sh->v, at, n, LINT_COMMAND) : NULL;
    if (!set)
        return;
    set->group = group;
    if (!memchr(s + value, '`', end - value) && !memchr(s + value, '\\', end - value))
        lint_set_value(sh->l, set, sh->v, NULL, value, end - value);
}

/* A word that can only be meant as a value: a number, INFO, eth0, mlx5_0,mlx5_1. */
static int is_value(const struct shell *sh, int i)
{
    size_t n = i < sh->nwords ? shell_length(sh, i) : 0;
    const char *s = n ? shell_raw(sh, i) : "";
    size_t capitals = 0;
    if (word_in("eth|mlx5|ib|^|=|true|false|AF_|Simple|Ring|Tree", WORD_BEGINS, s, n))
        return 1;
    while (capitals < n && (isupper((unsigned char)s[capitals]) || isdigit((unsigned char)s[capitals])))
        capitals++;
    return n > 0 && capitals == n;
}

/* "-x NAME VALUE", "-x NAME= VALUE", "-x NAME =VALUE". */
static int find_pair_in_two(struct shell *sh, int i, size_t at, int group)
{
    size_t n = lint_name_length(sh->s + at, sh->words[i].end - at), end = sh->words[i].end;
    int empty = at + n + 1 == end && sh->s[at + n] == '=', colon = n > 0 && at + n + 1 < end && sh->s[at + n] == ':';
    if (n == 0 || (!colon && ((at + n != end && !empty) || !is_value(sh, i + 1))))
        return 0;
    struct lint_setting *s = lint_setting_new(sh->l, sh->v, at, n, LINT_COMMAND);
    if (!s)
        return 0;
    s->group = group;
    lint_find(sh->l, NT_PAIR_IN_TWO, s, "%s", "Write NAME=value without blanks.",
              colon ? "Only '=' joins a name and its value here."
                    : arena_printf(sh->l->arena, "The option takes one word: \"%.*s\" is not part of it.",
                                   (int)(shell_length(sh, i + 1) < 40 ? shell_length(sh, i + 1) : 40),
                                   shell_raw(sh, i + 1)));
    return 1;
}

static void read_pair(struct shell *sh, int i, size_t at, size_t end, int group)
{
    const char *s = sh->s;
    if (end - at > 2 && (s[at] == '"' || s[at] == '\'') && s[end - 1] == s[at])
        read_quoted_pair(sh, at + 1, end - 1, group);
    else if (!find_pair_in_two(sh, i, at, group) && !shell_pair(sh, at, end, LINT_COMMAND, group))
        shell_export_name(sh, at, end - at);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* The option in word i, and the length of its own name. */
static const struct option *option_at(const struct shell *sh, int i, size_t *length)
{
    const char *s = shell_raw(sh, i), *equals = memchr(s, '=', shell_length(sh, i));
    *length = equals ? (size_t)(equals - s) : shell_length(sh, i);
    for (const struct option *o = options; o < options + sizeof options / sizeof *options; o++)
        if (word_in(o->words, WORD_IS, s, *length) && *length + 1 != shell_length(sh, i) &&
            (!o->program || runs_before(sh, i, o->program) || shell_raw(sh, 0)[0] == '-')) /* FLAGS=(--set …) */
            return o;
    return NULL;
}

int shell_option(struct shell *sh, int i, int group)
{
    size_t n;
    const struct option *o = option_at(sh, i, &n);
    const struct shell_word *own = &sh->words[i];
    if (!o && strchr("\"'", *shell_raw(sh, 0)) && strchr("\"'", sh->s[own->at])) /* a line of an array */
        read_quoted_pair(sh, own->at + 1, own->end - 1, group);
    if (!o)
        return i;
    int inside = own->end > own->at + n, at_word = inside ? i : i + 1;
    int two = !inside && o->form == NAME_VALUE && at_word < sh->nwords && !shell_assignment(sh, at_word);
    if (at_word + two >= sh->nwords)
        return i;
    const struct shell_word *w = &sh->words[at_word];
    size_t at = inside ? w->at + n + 1 : w->at;
    switch (o->form == NAME_VALUE && !two ? PAIR : o->form) {
    case NAME_VALUE:
        shell_add(sh, at, lint_name_length(sh->s + at, w->end - at), w[1].at, w[1].end, LINT_COMMAND, group);
        return i + 2;
    case PATHS:
        read_paths(sh, at, w->end, group);
        break;
    case SEMICOLONS:
        shell_list(sh, at, w->end, ";", LINT_COMMAND, group);
        break;
    case PAIR:
        read_pair(sh, at_word, at, w->end, group);
        break;
    case SOME_LIST:
        if (!runs_before(sh, i, "apptainer|singularity|torchx")) {
            read_pair(sh, at_word, at, w->end, group);
            break;
        }
        __attribute__((fallthrough));
    default:
        shell_list(sh, at, w->end, ",", LINT_COMMAND, group);
        break;
    }
    return at_word;
}

static const char mpiruns[] = "mpirun|mpiexec|orterun|prterun|mpirun_rsh";
static const char others[] = "torchrun|deepspeed|accelerate|python|python3|jsrun|horovodrun";

static struct lint_launch *new_launch(struct shell *sh, enum lint_launcher launcher, int i, int group)
{
    struct lint_text *t = sh->v->t;
    struct lint_launch *c = ARENA_NEW(sh->l->arena, struct lint_launch);
    ARENA_ADD(sh->l->arena, t->launches, t->nlaunches) = c;
    *c = (struct lint_launch){.launcher = launcher,
                              .at = lint_at(sh->v, sh->words[i].at),
                              .before = sh->l->nsettings,
                              .group = group,
                              .branch = sh->l->branch};
    return c;
}

/* Names that stand alone or in front of '=', `mark` between them; "": there is but one. */
static void pass_names(struct shell *sh, struct lint_launch *c, size_t at, size_t end, const char *mark)
{
    lint_unquote(sh->s, &at, &end);
    for (size_t stop; at < end; at = stop + 1) {
        stop = lint_find_mark(sh->s, at, end, mark);
        size_t n = lint_name_length(sh->s + at, stop - at);
        if (n > 0)
            ARENA_ADD(sh->l->arena, c->names, c->nnames) = arena_strndup(sh->l->arena, sh->s + at, n);
    }
}

/* ---- mpirun ------------------------------------------------------------------------------------------------------ */

static int begins_with(const struct shell *sh, int i, const char *text)
{
    return i < sh->nwords && shell_length(sh, i) >= strlen(text) && !memcmp(shell_raw(sh, i), text, strlen(text));
}

/* Several hosts by name or by a file: then it is Open MPI's own daemons, started through ssh, that start the ranks. */
static int names_hosts(const struct shell *sh, int i)
{
    return i + 1 < sh->nwords &&
           (shell_is(sh, i, "--hostfile|-hostfile|--machinefile|-machinefile") ||
            (shell_is(sh, i, "-H|--host|-host") && memchr(shell_raw(sh, i + 1), ',', shell_length(sh, i + 1))));
}

static void do_mpirun(struct shell *sh, int i, int group)
{
    static const char hydras[] = "-genv|-genvall|-genvlist|-ppn|-hosts|-f|-env|-envlist|-envall|-perhost|-iface";
    static const char open[] =
        "-x|--mca|-mca|--bind-to|--map-by|-bind-to|-map-by|--host|--hostfile|-H|--allow-run-as-root";
    struct lint_launch *c = new_launch(sh, LINT_MPIRUN, i, group);
    int hosts = 0, is_open = 0, program = 0;
    for (int k = i + 1; k < sh->nwords; k++) {
        const char *s = shell_raw(sh, k);
        hosts |= names_hosts(sh, k);
        is_open |= shell_is(sh, k, open);
        c->keeps |= shell_is(sh, k, hydras);
        if (shell_is(sh, k - 1, "-x|mca_base_env_list"))
            pass_names(sh, c, sh->words[k].at, sh->words[k].end, shell_is(sh, k - 1, "-x") ? "" : ";");
        /* $MPI_OPTIONS and "${args[@]}" may hold anything; behind an option that takes a value it is one. */
        if (!program && (s[0] == '$' || !strncmp(s, "\"$", 2)) && shell_raw(sh, k - 1)[0] != '-')
            c->keeps = 1;
        program |= s[0] != '-' && s[0] != '$' && shell_raw(sh, k - 1)[0] != '-' && k > i + 1;
    }
    c->keeps |= !hosts || !is_open || sh->v->t->slurm;
}

/* ---- srun -------------------------------------------------------------------------------------------------------- */

static void do_srun(struct shell *sh, int i, int group)
{
    struct lint_launch *c = new_launch(sh, LINT_SRUN, i, group);
    c->keeps = !sh->v->t->export_none;
    for (int k = i + 1; k < sh->nwords; k++) {
        const struct shell_word *w = &sh->words[k];
        const int inside = begins_with(sh, k, "--export=");
        const size_t at = w->at + (inside ? 9 : 0);
        if (!inside && !shell_is(sh, k - 1, "--export"))
            continue;
        c->keeps = memmem(sh->s + at, w->end - at, "ALL", 3) || memchr(sh->s + at, '$', w->end - at);
        pass_names(sh, c, at, w->end, ",");
    }
}

/* ---- ssh, sudo --------------------------------------------------------------------------------------------------- */

/* The first word of what runs elsewhere; 0: a session. */
static int remote_command(const struct shell *sh, int i)
{
    static const char taking[] = "-p|-i|-o|-l|-F|-L|-R|-J|-w|-g|-f|-u|-x|-h|-H|-b|-c|-m|-S|-D";
    int host = !shell_runs(sh, i, "ssh");
    for (int k = i + 1; k < sh->nwords; k++) {
        if (shell_is(sh, k, taking))
            k++;
        else if (shell_raw(sh, k)[0] != '-' && host++)
            return k;
    }
    return 0;
}

static void do_ssh(struct shell *sh, int i, int group)
{
    struct lint_launch *c = new_launch(sh, LINT_SSH, i, group);
    int k = remote_command(sh, i);
    for (int w = i + 1; w < sh->nwords; w++)
        c->keeps |= memmem(shell_raw(sh, w), shell_length(sh, w), "SendEnv", 7) ||
                    memmem(shell_raw(sh, w), shell_length(sh, w), "SetEnv", 6);
    if (!k) {
        c->keeps = 1;
        return;
    }
    size_t from = sh->words[k].at, to = sh->words[sh->nwords - 1].end;
    c->remote = arena_strndup(sh->l->arena, sh->s + from, to - from);
    if (strchr("\"'", sh->s[from])) {
        shell_script(sh, k, "remote.sh", group);
    } else {
        struct lint_view inner = {sh->v->t, sh->s, from, to, sh->v->map};
        sh->l->read_inner(sh->l, &inner, "remote.sh", group, sh->v->how);
    }
}

static void do_sudo(struct shell *sh, int i, int group)
{
    int starts = 0, keeps = 0;
    for (int k = i + 1; k < sh->nwords && !starts; k++) {
        keeps |= begins_with(sh, k, "-E") || begins_with(sh, k, "--preserve-env") || shell_assignment(sh, k) ||
                 begins_with(sh, k, "-i");
        starts = shell_runs(sh, k, mpiruns) || shell_runs(sh, k, others);
    }
    if (starts)
        new_launch(sh, LINT_SUDO, i, group)->keeps = keeps;
}

/* docker run with GPUs: what its command names goes in by -e or is set inside. */
static void do_docker(struct shell *sh, int i, int group)
{
    int has_gpus = 0, no_job = !shell_is(sh, i + 1, "run"), keeps = lint_speaks_of(sh->v->t, "docker exec");
    for (int k = i + 1; k < sh->nwords; k++) {
        const char *s = shell_raw(sh, k);
        size_t n = shell_length(sh, k);
        int is_value = shell_raw(sh, k - 1)[0] == '-' && !shell_is(sh, k - 1, "--rm|--privileged|-i|-t|-d|-it|-ti");
        has_gpus |= shell_is(sh, k, "--gpus|--runtime=nvidia|--device=/dev/kfd") || begins_with(sh, k, "--gpus=");
        no_job |= shell_is(sh, k, "nvidia-smi|rocm-smi|amd-smi");
        keeps |= begins_with(sh, k, "--env-") || memmem(s, n, "[@]", 3) ||
                 (((*s == '$' && !is_value) || !strncmp(s, "\"${", 3)) && !memmem(s, n, "IMAGE", 5));
    }
    if (!has_gpus || no_job)
        return;
    struct lint_launch *c = new_launch(sh, LINT_DOCKER, i, group);
    c->keeps = keeps;
    c->remote = arena_strndup(sh->l->arena, shell_raw(sh, i), sh->words[sh->nwords - 1].end - sh->words[i].at);
}

/* env -i, apptainer exec --cleanenv */
static int is_clean(const struct shell *sh, int i)
{
    int clean = shell_is(sh, i, "env") && shell_is(sh, i + 1, "-i|-|--ignore-environment");
    for (int k = i + 1; k < sh->nwords && shell_runs(sh, i, "apptainer|singularity"); k++)
        clean |= shell_is(sh, k, "--cleanenv");
    return clean;
}

int shell_launch(struct shell *sh, int first, int group)
{
    if (shell_runs(sh, first, "docker|podman|nerdctl"))
        do_docker(sh, first, group);
    for (int i = 0; i < first; i++)
        if (shell_runs(sh, i, "sudo"))
            do_sudo(sh, i, group);
    for (int i = 0; i < sh->nwords; i++)
        if (is_clean(sh, i))
            new_launch(sh, LINT_CLEAN, i, group);
    for (int i = first; i < sh->nwords; i++) {
        if (shell_runs(sh, i, mpiruns)) {
            do_mpirun(sh, i, group);
            return 0;
        }
        if (shell_runs(sh, i, "srun"))
            do_srun(sh, i, group); /* what it starts may be a launcher, too */
        else if (shell_runs(sh, i, "ssh|pdsh|clush|pssh|parallel-ssh") && i == first) {
            do_ssh(sh, i, group);
            return 1;
        } else if (shell_runs(sh, i, others)) {
            new_launch(sh, LINT_TORCHRUN, i, group)->keeps = 1;
            return 0;
        }
    }
    return 0;
}
