/* Processes of an agent. */
#include "bench/nccltune-worker/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/trust.h"

#define REAP_TRIES 200 /* of 10 ms: a killed process that is still there is stuck in the kernel */
#define KILL_TRY   20  /* when one that has closed its output is killed */

extern char **environ;

/* ---- names ---- */

void process_names_here(struct process_names *n, const char *host)
{
    const char *slurm = getenv("SLURMD_NODENAME");
    *n = (struct process_names){0};
    host = host ? host : slurm;
    if (host && *host)
        snprintf(n->host, sizeof n->host, "%s", host);
    else
        gethostname(n->host, sizeof n->host - 1);
    if (readlink("/proc/self/exe", n->self, sizeof n->self - 1) < 0)
        *n->self = 0;
    memcpy(n->bin, n->self, sizeof n->bin);
    char *slash = strrchr(n->bin, '/');
    *(slash ? slash : n->bin) = 0;
}

/* What the name at `text` stands for and how long the name is; NULL it is none. */
static const char *meaning(const char *text, const struct process_names *n, struct arena *a, size_t *length)
{
    const struct {
        const char *name, *text;
        int number;
    } names[] = {{"{self}", n->self, 0},
                 {"{bin}", n->bin, 0},
                 {"{host}", n->host, 0},
                 {"{rank}", NULL, n->rank},
                 {"{local}", NULL, n->local}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *length = strlen(names[i].name);
        if (!strncmp(text, names[i].name, *length))
            return names[i].text ? names[i].text : arena_printf(a, "%d", names[i].number);
    }
    return NULL;
}

/* Copies of texts with the names filled in, up to a NULL. */
static char **fill_in_names(char *const *texts, int n, const struct process_names *names, struct arena *a)
{
    char **list = arena_alloc(a, ((size_t)n + 1) * sizeof *list);
    for (int i = 0; i < n; i++) {
        list[i] = arena_strdup(a, "");
        for (size_t length = 0, at = 0; texts[i][at]; at += length) {
            const char *text = texts[i] + at, *stands_for = meaning(text, names, a, &length);
            length = stands_for ? length : 1 + strcspn(text + 1, "{");
            list[i] = stands_for ? arena_printf(a, "%s%s", list[i], stands_for)
                                 : arena_printf(a, "%s%.*s", list[i], (int)length, text);
        }
    }
    return list;
}

/* ---- the environment ---- */

/* NAME takes the variable out, NAME=value puts it in place of what it was: of two values the first would count. */
static void change_environment(char **env, char *change)
{
    size_t len = strcspn(change, "=");
    int kept = 0;
    for (int i = 0; env[i]; i++)
        if (strncmp(env[i], change, len) != 0 || env[i][len] != '=')
            env[kept++] = env[i];
    if (change[len])
        env[kept++] = change;
    env[kept] = NULL;
}

/* This process's environment with `changes` in their order. */
static char **make_environment(char **changes, int nchanges, struct arena *a)
{
    int n = 0;
    while (environ[n])
        n++;
    char **env = arena_alloc(a, ((size_t)n + (size_t)nchanges + 1) * sizeof *env);
    memcpy(env, environ, (size_t)n * sizeof *env);
    for (int k = 0; k < nchanges; k++)
        change_environment(env, changes[k]);
    return env;
}

/* ---- starting ---- */

/* Starts argv with `env` on three pipes, in a process group of its own. */
static int spawn(struct process *p, char **argv, char **env)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}}, rc = -1;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (!pipe2(pipes[0], O_CLOEXEC) && !pipe2(pipes[1], O_CLOEXEC) && !pipe2(pipes[2], O_CLOEXEC)) {
        for (int i = 0; i < 3; i++)
            posix_spawn_file_actions_adddup2(&files, pipes[i][i > 0], i);
        errno = posix_spawnp(&p->pid, argv[0], &files, &attributes, argv, env);
        rc = errno ? -1 : 0;
    }
    int why = errno;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    for (int i = 0; i < 3; i++) {
        trust_close(pipes[i][i > 0]);
        if (rc)
            trust_close(pipes[i][i == 0]);
    }
    errno = why;
    if (rc)
        return -1;
    p->err = pipes[2][0];
    fcntl(p->err, F_SETFL, O_NONBLOCK);
    return connection_open(&p->io, pipes[1][0], pipes[0][1]);
}

int process_start(struct process *p, char *const *words, int nwords, char *const *settings, int nsettings,
                  const struct process_names *names)
{
    *p = (struct process){.rank = names->rank, .err = -1};
    struct arena *a = arena_new();
    char **changes = fill_in_names(settings, nsettings, names, a);
    int rc = spawn(p, fill_in_names(words, nwords, names, a), make_environment(changes, nsettings, a)), why = errno;
    arena_free(a);
    if (rc && p->pid) {
        process_kill(p);
        process_reap(p);
    }
    p->pid = rc ? 0 : p->pid;
    errno = why;
    return rc;
}

/* ---- ending ---- */

void process_kill(const struct process *p)
{
    if (p->pid)
        kill(-p->pid, SIGKILL);
}

void process_close_errors(struct process *p)
{
    trust_close(p->err);
    p->err = -1;
}

int process_reap(struct process *p)
{
    int status = -1;
    for (int i = 0; i < REAP_TRIES && waitpid(p->pid, &status, WNOHANG) == 0; i++) {
        if (i == KILL_TRY)
            process_kill(p);
        usleep(10000);
    }
    char text[4096];
    ssize_t n = p->err < 0 ? 0 : read(p->err, text, sizeof text - 1);
    if (n > 0) {
        text[n] = 0;
        process_keep_words(p, text);
    }
    process_kill(p); /* what it may have started */
    connection_close(&p->io);
    process_close_errors(p);
    p->pid = 0;
    return status;
}

/* ---- words ---- */

void process_keep_words(struct process *p, char *text)
{
    int had_warning = strstr(p->last, PROCESS_WARNING) != NULL;
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *warning = strstr(line, PROCESS_WARNING);
        if (had_warning && !warning)
            continue;
        had_warning |= warning != NULL;
        snprintf(p->last, sizeof p->last, "%s", warning ? warning : line);
    }
}

void process_end_input(struct process *p)
{
    trust_close(p->io.to);
    p->io.to = -1;
}
