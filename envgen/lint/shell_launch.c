/* Launches: what mpirun, srun, ssh and sudo pass on of the environment, and what they run elsewhere. */
#include <string.h>

#include "envgen/lint/shell.h"

static const char *const mpiruns[] = {"mpirun", "mpiexec", "orterun", "prterun", "mpirun_rsh", NULL};
static const char *const sruns[] = {"srun", NULL};
static const char *const sshs[] = {"ssh", "pdsh", "clush", "pssh", "parallel-ssh", NULL};
static const char *const sudos[] = {"sudo", NULL};
static const char *const others[] = {"torchrun", "deepspeed", "accelerate", "python",
                                     "python3",  "jsrun",     "horovodrun", NULL};

static struct lint_launch *new_launch(struct shell *sh, enum lint_launcher launcher, int i, int group)
{
    struct lint_text *t = sh->v->t;
    struct lint_launch *c = ARENA_NEW(sh->l->arena, struct lint_launch);
    t->launches = arena_grow(sh->l->arena, t->launches, t->nlaunches, sizeof(void *));
    t->launches[t->nlaunches++] = c;
    *c = (struct lint_launch){.launcher = launcher,
                              .at = lint_at(sh->v, sh->words[i].at),
                              .commands = t->commands,
                              .group = group,
                              .branch = sh->l->branch};
    return c;
}

static void pass(struct shell *sh, struct lint_launch *c, size_t at, size_t end)
{
    at += at < end && strchr("\"'", sh->s[at]) ? 1 : 0;
    size_t n = lint_name_length(sh->s + at, end - at);
    c->lists = 1;
    if (n == 0)
        return;
    c->names = arena_grow(sh->l->arena, c->names, c->nnames, sizeof(char *));
    c->names[c->nnames++] = arena_strndup(sh->l->arena, sh->s + at, n);
}

static void pass_list(struct shell *sh, struct lint_launch *c, size_t at, size_t end, char mark)
{
    while (at < end) {
        const char *found = memchr(sh->s + at, mark, end - at);
        size_t stop = found ? (size_t)(found - sh->s) : end;
        pass(sh, c, at, stop);
        at = stop + 1;
    }
}

/* ---- mpirun ------------------------------------------------------------------------------------------------------ */

static int begins(const struct shell *sh, int i, const char *text)
{
    return i < sh->nwords && shell_length(sh, i) >= strlen(text) && !memcmp(shell_raw(sh, i), text, strlen(text));
}

/* Several hosts by name or by a file: then it is Open MPI's own daemons, started through ssh, that start the ranks. */
static int names_hosts(const struct shell *sh, int i)
{
    static const char *const files[] = {"--hostfile", "-hostfile", "--machinefile", "-machinefile", NULL};
    static const char *const lists[] = {"-H", "--host", "-host", NULL};
    if (i + 1 >= sh->nwords)
        return 0;
    return shell_is_one_of(sh, i, files) ||
           (shell_is_one_of(sh, i, lists) && memchr(shell_raw(sh, i + 1), ',', shell_length(sh, i + 1)));
}

static void do_mpirun(struct shell *sh, int i, int group)
{
    static const char *const hydras[] = {"-genv", "-genvall", "-genvlist", "-ppn",     "-hosts", "-f",
                                         "-env",  "-envlist", "-envall",   "-perhost", "-iface", NULL};
    static const char *const open[] = {
        "-x",     "--mca",      "-mca", "--bind-to",           "--map-by", "-bind-to", "-map-by",
        "--host", "--hostfile", "-H",   "--allow-run-as-root", NULL};
    static const char *const taking[] = {"-np",        "-n",           "--np",          "-N",        "-c",
                                         "--hostfile", "-hostfile",    "--machinefile", "-H",        "--host",
                                         "-host",      "-machinefile", "--map-by",      "--bind-to", NULL};
    struct lint_launch *c = new_launch(sh, LINT_MPIRUN, i, group);
    int hosts = 0, is_open = 0, program = 0;
    for (int k = i + 1; k < sh->nwords; k++) {
        const char *s = shell_raw(sh, k);
        hosts |= names_hosts(sh, k);
        is_open |= shell_is_one_of(sh, k, open);
        c->keeps |= shell_is_one_of(sh, k, hydras);
        if (shell_is(sh, k, "-x") && k + 1 < sh->nwords)
            pass(sh, c, sh->words[k + 1].at, sh->words[k + 1].end);
        if (shell_is(sh, k, "mca_base_env_list") && k + 1 < sh->nwords)
            pass_list(sh, c, sh->words[k + 1].at, sh->words[k + 1].end, ';');
        /* $MPI_OPTIONS and "${args[@]}" may hold anything; behind an option that takes a value it is one. */
        if (!program && (s[0] == '$' || !strncmp(s, "\"$", 2)) && !shell_is_one_of(sh, k - 1, taking) &&
            shell_raw(sh, k - 1)[0] != '-')
            c->keeps = 1;
        program |= s[0] != '-' && s[0] != '$' && shell_raw(sh, k - 1)[0] != '-' && k > i + 1;
    }
    c->keeps |= !hosts || !is_open || sh->v->t->slurm;
}

/* ---- srun -------------------------------------------------------------------------------------------------------- */

static void do_export_list(struct shell *sh, struct lint_launch *c, size_t at, size_t end)
{
    if (at < end && strchr("\"'", sh->s[at])) {
        at++;
        end -= end > at;
    }
    size_t n = end - at;
    c->none = n == 4 && !memcmp(sh->s + at, "NONE", 4);
    c->keeps = !c->none && (memmem(sh->s + at, n, "ALL", 3) || memchr(sh->s + at, '$', n));
    pass_list(sh, c, at, end, ',');
}

static void do_srun(struct shell *sh, int i, int group)
{
    struct lint_launch *c = new_launch(sh, LINT_SRUN, i, group);
    c->keeps = 1;
    for (int k = i + 1; k < sh->nwords; k++) {
        if (begins(sh, k, "--export="))
            do_export_list(sh, c, sh->words[k].at + 9, sh->words[k].end);
        else if (shell_is(sh, k, "--export") && k + 1 < sh->nwords)
            do_export_list(sh, c, sh->words[k + 1].at, sh->words[k + 1].end);
    }
    if (!c->lists && sh->v->t->export_none) {
        c->keeps = 0;
        c->none = 1;
    }
}

/* ---- ssh, sudo --------------------------------------------------------------------------------------------------- */

/* The first word of what runs elsewhere; 0: a session. */
static int remote_command(const struct shell *sh, int i)
{
    static const char *const taking[] = {"-p", "-i", "-o", "-l", "-F", "-L", "-R", "-J", "-w", "-g", "-f",
                                         "-u", "-x", "-h", "-H", "-b", "-c", "-m", "-S", "-D", NULL};
    int host = !shell_runs(sh, i, (const char *const[]){"ssh", NULL});
    for (int k = i + 1; k < sh->nwords; k++) {
        if (shell_is_one_of(sh, k, taking))
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
        sh->l->read_inner(sh->l, &inner, "remote.sh", group, sh->how);
    }
}

static void do_sudo(struct shell *sh, int i, int group)
{
    int starts = 0, keeps = 0;
    for (int k = i + 1; k < sh->nwords && !starts; k++) {
        keeps |=
            begins(sh, k, "-E") || begins(sh, k, "--preserve-env") || shell_assignment(sh, k) || begins(sh, k, "-i");
        starts = shell_runs(sh, k, mpiruns) || shell_runs(sh, k, others);
    }
    if (starts)
        new_launch(sh, LINT_SUDO, i, group)->keeps = keeps;
}

int shell_launch(struct shell *sh, int first, int group)
{
    for (int i = 0; i < first; i++)
        if (shell_runs(sh, i, sudos))
            do_sudo(sh, i, group);
    for (int i = first; i < sh->nwords; i++) {
        if (shell_runs(sh, i, mpiruns)) {
            do_mpirun(sh, i, group);
            return 0;
        }
        if (shell_runs(sh, i, sruns))
            do_srun(sh, i, group); /* what it starts may be a launcher, too */
        else if (shell_runs(sh, i, sshs) && i == first) {
            do_ssh(sh, i, group);
            return 1;
        } else if (shell_runs(sh, i, others)) {
            new_launch(sh, LINT_TORCHRUN, i, group)->keeps = 1;
            return 0;
        }
    }
    return 0;
}
