/* policy=nothing: the nodes of a job meet in a directory that all of them share. Every node leaves its answer there;
 * the job gets a profile when all have the same one. Who sees all answers, or one that spoils it, or has waited long
 * enough, proposes the verdict; link(2) lets one proposal win, and all nodes read that one. A node that cannot write
 * there has not answered, so the verdict cannot be a profile. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/trust.h"
#include "slurm/hook.h"

#define TURN_MS   20
#define VERDICT   "verdict" /* no node is called so: answers end in .node */
#define NO_ANSWER "-"

struct meeting {
    const struct hook_conf *conf;
    char dir[HOOK_PATH];
    int fd;                       /* of dir */
    char spoiled[HOOK_WORD + 64]; /* why the verdict will be nothing; "" not yet */
    const char *mine;             /* a profile's hash, or NO_ANSWER */
    int missing;                  /* nodes that have not answered */
};

/* A job that is requeued meets anew. */
static void place(struct meeting *p, const struct hook_conf *c, const struct hook_job *job)
{
    const char *count = getenv("SLURM_JOB_RESTART_COUNT");
    long long restarts = 0;
    if (count)
        hook_number(count, 1LL << 30, &restarts); /* what is no number leaves it */
    p->conf = c;
    snprintf(p->dir, sizeof p->dir, "%s/%s.%lld", c->meet, job->id, restarts);
}

/* Proposes a verdict; the first one stays. */
static void propose(const struct meeting *p, const char *text, const char *node)
{
    char made[HOOK_WORD + 16];
    snprintf(made, sizeof made, "%s.proposal", node);
    int won = !trust_put(p->fd, made, text, strlen(text), 0644) && !linkat(p->fd, made, p->fd, VERDICT, 0);
    (void)won; /* who lost reads the winner's */
    unlinkat(p->fd, made, 0);
}

/* Leaves this node's answer. */
static int leave_answer(const struct meeting *p, const char *text, const char *node)
{
    char name[HOOK_WORD + 16];
    snprintf(name, sizeof name, "%s.node", node);
    return trust_put(p->fd, name, text, strlen(text), 0644);
}

/* The one line of a file; -1 while it is not there. */
static int look(const struct meeting *p, const char *name, const char *end, char *line, size_t size)
{
    char path[HOOK_PATH + 128];
    struct hook_file f;
    snprintf(path, sizeof path, "%s/%s%s", p->dir, name, end);
    if (hook_read(path, p->conf->owner, 1024, &f, NULL))
        return -1;
    snprintf(line, size, "%.*s", (int)strcspn(f.text, "\n"), f.text);
    free(f.text);
    return 0;
}

static int see_host(void *arg, const char *host, struct err *e)
{
    struct meeting *p = arg;
    char line[SHA256_HEX];
    (void)e;
    if (look(p, host, ".node", line, sizeof line))
        p->missing++;
    else if (strcmp(line, p->mine) != 0 || !strcmp(line, NO_ANSWER))
        snprintf(p->spoiled, sizeof p->spoiled, "node %s has no profile, or another", host);
    return 0;
}

static void see_all(struct meeting *p, const struct hook_job *job)
{
    p->missing = 0;
    for (int i = 0; i < job->nlists; i++)
        if (hook_nodes_each(job->lists[i], see_host, p, NULL))
            snprintf(p->spoiled, sizeof p->spoiled, "the job's nodes are unknown");
    if (!p->missing && !p->spoiled[0] && !strcmp(p->mine, NO_ANSWER))
        snprintf(p->spoiled, sizeof p->spoiled, "no node has a profile");
}

/* Until there is a verdict; -1: it cannot be read. */
static int wait_for_verdict(struct meeting *p, const struct hook_job *job, long limit_ms, char *line, size_t size)
{
    char proposal[256];
    long until = (long)clock_now_ms() + limit_ms, last = until + limit_ms / 2;
    while (look(p, VERDICT, "", line, size)) {
        long now = (long)clock_now_ms();
        if (now > last)
            return -1;
        see_all(p, job);
        if (now > until && !p->spoiled[0])
            snprintf(p->spoiled, sizeof p->spoiled, "%d of its nodes did not answer in time", p->missing);
        if (p->spoiled[0])
            snprintf(proposal, sizeof proposal, NO_ANSWER "%s\n", p->spoiled);
        else
            snprintf(proposal, sizeof proposal, "%s\n", p->mine);
        if (p->spoiled[0] || !p->missing)
            propose(p, proposal, job->node);
        poll(NULL, 0, TURN_MS);
    }
    return 0;
}

/* Root writes nowhere that somebody else could have made. */
static int enter_place(struct meeting *p, struct err *e)
{
    int meet = hook_open_directory(p->conf->meet, p->conf->owner, e);
    int rc = meet < 0 || (mkdirat(meet, strrchr(p->dir, '/') + 1, 0755) && errno != EEXIST);
    trust_close(meet);
    p->fd = rc ? -1 : hook_open_directory(p->dir, p->conf->owner, e);
    return p->fd < 0 ? -1 : 0;
}

void hook_meet(const struct hook_conf *c, const struct hook_job *job, struct hook_answer *a, long limit_ms)
{
    struct meeting p = {.fd = -1};
    struct err why = {0};
    char answer[SHA256_HEX + 1], verdict[256] = "";
    if (a->nodes < 2)
        return;
    p.mine = a->state == HOOK_TUNED ? a->hash : NO_ANSWER;
    place(&p, c, job);
    snprintf(answer, sizeof answer, "%s\n", p.mine);
    if (enter_place(&p, &why)) {
        snprintf(a->why, sizeof a->why, "%.200s cannot be used: %.260s", p.dir,
                 why.text[0] ? why.text : strerror(errno));
        a->state = HOOK_NOTHING;
    } else if (leave_answer(&p, answer, job->node)) {
        snprintf(a->why, sizeof a->why, "%.300s cannot be written: %s", p.dir, strerror(errno));
        a->state = HOOK_NOTHING;
    } else if (wait_for_verdict(&p, job, limit_ms, verdict, sizeof verdict)) {
        snprintf(a->why, sizeof a->why, "%.300s: the verdict cannot be read", p.dir);
        a->state = HOOK_UNKNOWN;
        a->policy = HOOK_FAIL; /* the others may have a profile */
    } else if (verdict[0] == NO_ANSWER[0]) {
        if (a->state != HOOK_UNKNOWN)
            snprintf(a->why, sizeof a->why, "%s", verdict + 1);
        a->state = HOOK_NOTHING;
    } else if (a->state != HOOK_TUNED || strcmp(verdict, a->hash) != 0) {
        snprintf(a->why, sizeof a->why, "%.300s: the verdict is %.12s, which this node does not have", p.dir, verdict);
        a->state = HOOK_UNKNOWN;
        a->policy = HOOK_FAIL;
    }
    trust_close(p.fd);
}

/* The last node's rmdir takes the directory away. */
void hook_meet_leave(const struct hook_conf *c, const struct hook_job *job)
{
    struct meeting p = {0};
    char name[HOOK_WORD + 16];
    place(&p, c, job);
    if ((p.fd = hook_open_directory(p.dir, c->owner, NULL)) < 0)
        return;
    snprintf(name, sizeof name, "%s.node", job->node);
    unlinkat(p.fd, name, 0);
    unlinkat(p.fd, VERDICT, 0);
    close(p.fd);
    rmdir(p.dir);
}
