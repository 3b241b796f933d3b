/* TaskProlog: prints the settings of this job on this node in Slurm's protocol, as the user, before every task. Reads
 * what the prolog has left on this node and the task's environment, nothing else.
 *
 * The exports of a batch script's task reach its job steps through srun. NCCLTUNE_SET lists them:
 *
 *   NCCLTUNE_SET=NCCLTUNE_JOB=JOB:HASH|NAME=value|...      HASH "-": the job gets nothing
 *
 * so that the first node's decision for JOB is known on all others, which confirm it or refuse; and so that a value may
 * be replaced, or taken back, only while it equals what a hook put there: the user wins. For another job's number the
 * list says no more than what is to be taken back. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/hook.h"

#define PIN     "NCCLTUNE_JOB"
#define REFUSE  "NCCLTUNE_REFUSE"
#define NO_HASH "-"

/* Together or not at all: a table pinned to the wrong place fails the job. NCCL_TUNER_CONFIG_FILE is never set here,
 * but a user who sets it has a table of their own. */
static const char *const table_names[] = {"NCCL_TUNER_PLUGIN", "NCCLTUNE_PROFILE", "NCCLTUNE_HASH",
                                          "NCCL_TUNER_CONFIG_FILE"};
#define TABLE_NAMES (sizeof table_names / sizeof *table_names)

struct task {
    char job[HOOK_WORD];
    struct hook_answer answer;
    struct hook_settings ours; /* what an earlier hook set */
    struct hook_settings set;  /* what will have been set */
    int explain, aloud;        /* aloud: the first of this node's tasks speaks for all */
    char *out;
    size_t used;
};

/* All or nothing: what does not fit is found by the caller, who then prints nothing. */
__attribute__((format(printf, 2, 3))) static void print(struct task *t, const char *fmt, ...)
{
    va_list args;
    size_t room = HOOK_OUTPUT - t->used;
    va_start(args, fmt);
    int n = vsnprintf(t->out + t->used, room, fmt, args);
    va_end(args);
    t->used += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* ---- whose a variable is ----------------------------------------------------------------------------------------- */

/* Whether it is set, and not by a hook. */
static int is_users(const struct task *t, const char *name)
{
    const char *now = getenv(name);
    const struct hook_setting *s = hook_settings_find(&t->ours, name);
    return now && !(s && !strcmp(s->value, now));
}

static void deliver(struct task *t, const char *name, const char *value)
{
    if (is_users(t, name)) {
        if (t->explain)
            print(t, "print nccltune: %s stays as you set it (the profile has %s)\n", name, value);
        return;
    }
    print(t, "export %s=%s\n", name, value);
    hook_settings_put(&t->set, name, value);
    if (t->explain)
        print(t, "print nccltune: %s=%s\n", name, value);
}

/* What an earlier hook set and this one does not. */
static void take_back(struct task *t)
{
    for (int i = 0; i < t->ours.count; i++) {
        const char *name = t->ours.items[i].name;
        if (getenv(name) && !is_users(t, name) && !hook_settings_find(&t->set, name))
            print(t, "unset %s\n", name);
    }
    if (t->set.count) {
        print(t, "export " HOOK_SET "=");
        for (int i = 0; i < t->set.count; i++)
            print(t, "%s%s=%s", i ? "|" : "", t->set.items[i].name, t->set.items[i].value);
        print(t, "\n");
    } else if (getenv(HOOK_SET)) {
        print(t, "unset " HOOK_SET "\n");
    }
}

/* ---- what the job's first node decided --------------------------------------------------------------------------- */

/* What came from another node or an earlier task of this very job: a hash, NO_HASH, or NULL. */
static const char *pinned(const struct task *t)
{
    const struct hook_setting *s = hook_settings_find(&t->ours, PIN);
    size_t n = strlen(t->job);
    const char *hash = s && !strncmp(s->value, t->job, n) && s->value[n] == ':' ? s->value + n + 1 : NULL;
    return hash && (!strcmp(hash, NO_HASH) || hook_is_hash(hash)) ? hash : NULL;
}

static void pin(struct task *t, const char *hash)
{
    char value[HOOK_VALUE];
    snprintf(value, sizeof value, "%s:%s", t->job, hash);
    hook_settings_put(&t->set, PIN, value);
}

/* A batch script or an interactive shell: what is set in it travels to all nodes. */
static int is_script(void)
{
    const char *step = getenv("SLURM_STEP_ID");
    long long number;
    return !step || hook_number(step, 1LL << 30, &number); /* Slurm's own steps have numbers from the other end */
}

struct visit {
    char first[HOOK_WORD];
    int is_there; /* the host that `first` names */
};

static int note_first(void *arg, const char *host, struct err *e)
{
    (void)e;
    snprintf(((struct visit *)arg)->first, HOOK_WORD, "%s", host);
    return 1;
}

static int note_whether(void *arg, const char *host, struct err *e)
{
    struct visit *v = arg;
    (void)e;
    v->is_there |= !strcmp(v->first, host);
    return 0;
}

/* What mpirun in a batch script starts on the job's other nodes: a step of one task a node without the script's own
 * node, whose ranks are mpirun's children and have what the script has. All ranks are to have the same. */
static int is_daemon(const struct task *t)
{
    const char *job = getenv("SLURM_JOB_NODELIST"), *step = getenv("SLURM_STEP_NODELIST"),
               *nodes = getenv("SLURM_STEP_NUM_NODES"), *tasks = getenv("SLURM_STEP_NUM_TASKS");
    struct visit v = {.first = ""};
    return pinned(t) && job && step && nodes && tasks && !strcmp(nodes, tasks) &&
           hook_nodes_each(job, note_first, &v, NULL) == 1 && !hook_nodes_each(step, note_whether, &v, NULL) &&
           !v.is_there;
}

/* ---- what is set ------------------------------------------------------------------------------------------------- */

static int has_own_table(struct task *t)
{
    for (size_t i = 0; i < TABLE_NAMES; i++)
        if (is_users(t, table_names[i])) {
            if (t->explain)
                print(t, "print nccltune: no table, you set %s\n", table_names[i]);
            return 1;
        }
    return 0;
}

/* Where nodes of the job differ, a script's own node's settings must not travel: steps get their node's from here, and
 * what the script itself starts, here and on other nodes, gets them from the plugin, which looks where it is: or,
 * before NCCL 2.28.7, none of it has them. */
static void set_profile(struct task *t)
{
    const struct hook_answer *a = &t->answer;
    int travels = a->mixed && (is_script() || is_daemon(t)), own = has_own_table(t);
    for (int i = 0; i < a->common.count; i++)
        if (!hook_settings_find(&a->local, a->common.items[i].name))
            deliver(t, a->common.items[i].name, a->common.items[i].value);
    for (int i = 0; i < a->local.count && !travels; i++)
        deliver(t, a->local.items[i].name, a->local.items[i].value);
    if (!own && a->table[0]) {
        deliver(t, "NCCL_TUNER_PLUGIN", a->plugin);
        deliver(t, "NCCLTUNE_PROFILE", a->dir);
        deliver(t, "NCCLTUNE_HASH", a->table);
    } else if (!own && travels && a->plugin[0]) {
        deliver(t, "NCCLTUNE_PROFILE", a->dir);
    }
    if (!own && travels && a->plugin[0])
        deliver(t, "NCCL_ENV_PLUGIN", a->plugin);
    if (a->nodes > 1 || t->set.count)
        pin(t, a->hash);
    if (t->explain)
        print(t, "print nccltune: profile %.12s, this node is of class %s\n", a->hash, a->class_name);
}

static void set_nothing(struct task *t, const char *why)
{
    if (t->answer.nodes > 1 && (is_script() || pinned(t)))
        pin(t, NO_HASH);
    if (t->explain)
        print(t, "print nccltune: nothing is set: %s\n", why);
}

/* Ranks that go on with nothing here would hang those elsewhere that have the profile. Only NCCL's communicators fail:
 * by our plugin, which says why, or, where that is missing, by a network that is not there. */
static void refuse(struct task *t, const char *why)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "node %s cannot decide what job %s gets: %s",
             getenv("SLURMD_NODENAME") ? getenv("SLURMD_NODENAME") : "?", t->job, why);
    for (char *p = sentence; *p; p++)
        *p = *p == '|' ? '/' : *p;
    if (t->aloud)
        print(t, "print nccltune: %s; NCCL will not start here (NCCLTUNE=off: without nccltune)\n", sentence);
    if (has_own_table(t))
        return;
    if (t->answer.plugin[0]) {
        deliver(t, "NCCL_TUNER_PLUGIN", t->answer.plugin);
        deliver(t, REFUSE, sentence);
    } else {
        deliver(t, "NCCL_NET", HOOK_NO_NET);
    }
    pin(t, NO_HASH);
}

/* ---- what becomes of it ------------------------------------------------------------------------------------------ */

/* The answer where the prolog has left none. Without even a directory for answers no prolog is configured. */
static void no_answer(struct hook_answer *a, const char *run)
{
    struct hook_conf c;
    const char *nodes = getenv("SLURM_JOB_NUM_NODES");
    long long n = 1;
    if (nodes && hook_number(nodes, 1LL << 30, &n))
        n = 2;
    hook_answer_clear(a);
    a->nodes = (int)n;
    a->state = access(run, F_OK) ? HOOK_NOTHING : HOOK_UNKNOWN;
    snprintf(a->why, sizeof a->why, "no job prolog of nccltune has left an answer in %s", run);
    hook_conf_defaults(&c);
    if (!hook_check(c.plugin, 0, NULL))
        snprintf(a->plugin, sizeof a->plugin, "%s", c.plugin);
}

static void decide(struct task *t)
{
    const struct hook_answer *a = &t->answer;
    const char *first = pinned(t);
    char why[768];
    if (first && !strcmp(first, NO_HASH))
        set_nothing(t, a->state == HOOK_TUNED ? "the job's first node had none" : a->why);
    else if (a->state == HOOK_TUNED && (!first || !strcmp(first, a->hash)))
        set_profile(t);
    else if (first) {
        snprintf(why, sizeof why, "its first node has profile %.12s, this one %.12s%s%s", first,
                 a->state == HOOK_TUNED ? a->hash : "none", a->why[0] ? ": " : "", a->why);
        refuse(t, why);
    } else if (a->state == HOOK_NOTHING || a->nodes < 2 || is_script() || a->policy == HOOK_NONE)
        set_nothing(t, a->why);
    else
        refuse(t, a->why);
}

void hook_task(const struct hook_options *o, struct hook_report *r)
{
    static struct task t; /* large */
    struct err why = {0};
    const char *mode = getenv("NCCLTUNE"), *local = getenv("SLURM_LOCALID");
    t.ours.count = t.set.count = 0;
    t.used = 0;
    t.out = r->out;
    t.explain = mode && !strcmp(mode, "explain");
    t.aloud = !local || !strcmp(local, "0");
    hook_settings_ours(&t.ours, getenv(HOOK_SET));
    if (!(mode && !strcmp(mode, "off")) && !hook_job_id(t.job)) {
        int rc = o->answer ? hook_answer_parse(&t.answer, o->answer, "the answer", &why)
                           : hook_answer_read(o->run, t.job, &t.answer, &why);
        if (rc)
            no_answer(&t.answer, o->run);
        if (rc < 0)
            snprintf(t.answer.why, sizeof t.answer.why, "%.511s", why.text);
        decide(&t);
    }
    take_back(&t);
    if (t.used + 1 >= HOOK_OUTPUT) {
        r->out[0] = 0;
        snprintf(r->log, sizeof r->log, "nothing is set: more output than Slurm reads");
    }
    r->done = 1;
}
