/* RUN/profiles/HASH: a profile as this node keeps it. The first job that gets it reads one file of the store,
 * STORE/profiles/HASH.node; later jobs and all their ranks read the copy. A profile never changes, so neither does its
 * copy, and one that no job has is removed when another is made. Whoever finds no copy reads the store: no copy is a
 * matter of time, never of what a job gets. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/trust.h"
#include "slurm/hook.h"

#define KEEP_S 3600 /* a prolog that has found a copy has left its answer by then */

char *hook_bundle_next(char **at, const char *end, char **name, long long *bytes)
{
    char *words[2], *newline = memchr(*at, '\n', (size_t)(end - *at));
    *name = *at;
    if (!newline)
        return NULL;
    *newline = 0;
    if (hook_words(*name, words, 2) != 2 || hook_number(words[1], end - newline - 1, bytes))
        return NULL;
    *at = newline + 1 + *bytes;
    return newline + 1;
}

static int write_files(int dir, struct hook_file *f)
{
    static const char format[] = HOOK_NODE_FORMAT, classes[] = "nccl.d/";
    char *at = f->text + sizeof format - 1, *end = f->text + f->bytes, *name, *data;
    long long bytes;
    if (f->bytes < sizeof format || memcmp(f->text, format, sizeof format - 1) != 0)
        return -1;
    while (at < end) {
        data = hook_bundle_next(&at, end, &name, &bytes);
        if (!data || !hook_map_is_file(name))
            return -1;
        int inner = !strncmp(name, classes, sizeof classes - 1), rc = -1;
        int to = inner ? trust_enter(dir, "nccl.d", 0755) : dir;
        if (to >= 0)
            rc = trust_put(to, inner ? name + sizeof classes - 1 : name, data, (size_t)bytes, 0644);
        if (to >= 0 && to != dir)
            close(to);
        if (rc)
            return -1;
    }
    return 0;
}

/* Removes what is older than an hour and what no job on this node has. */
static void remove_unused(int profiles, int dir, const char *run)
{
    static struct hook_answer a; /* large */
    const struct dirent *d, *job;
    struct stat st;
    DIR *list = fdopendir(dup(profiles)), *jobs = fdopendir(dup(dir));
    while (list && jobs && (d = readdir(list))) {
        int used = d->d_name[0] == '.' || fstatat(profiles, d->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
                   st.st_mtime > time(NULL) - KEEP_S;
        rewinddir(jobs);
        while (!used && (job = readdir(jobs)))
            used = hook_is_name(job->d_name) && !hook_answer_read(run, job->d_name, &a, NULL) &&
                   !strcmp(a.hash, d->d_name);
        if (!used)
            trust_remove(profiles, d->d_name);
    }
    if (list)
        closedir(list);
    if (jobs)
        closedir(jobs);
}

/* Makes the copy beside its place and moves it there: two prologs may do so at once, and one of them wins. */
static void make_copy(const struct hook_conf *c, int store, const char *run, const char *hash)
{
    char name[SHA256_HEX + 8], path[HOOK_PATH], made[32];
    struct hook_file f = {0};
    struct stat st;
    snprintf(name, sizeof name, "%s.node", hash);
    snprintf(path, sizeof path, "%s/" HOOK_COPIES, c->store);
    snprintf(made, sizeof made, "new-%ld", (long)getpid());
    int from = trust_open_owned_at(store, HOOK_COPIES, path, c->owner, O_PATH | O_DIRECTORY, &st, NULL);
    if (from >= 0 && !hook_read_at(from, name, path, c->owner, HOOK_NODE_BYTES, &f, NULL)) {
        umask(022);
        int dir = hook_run_open(run, NULL), profiles = dir < 0 ? -1 : trust_enter(dir, HOOK_COPIES, 0755);
        if (profiles >= 0)
            trust_remove(profiles, made);
        int to = profiles < 0 ? -1 : trust_enter(profiles, made, 0755);
        if (to >= 0 && !write_files(to, &f) && !renameat(profiles, made, profiles, hash))
            remove_unused(profiles, dir, run);
        else if (to >= 0)
            trust_remove(profiles, made);
        const int opened[] = {to, profiles, dir};
        for (int i = 0; i < 3; i++)
            trust_close(opened[i]);
    }
    free(f.text);
    trust_close(from);
}

int hook_copy(const struct hook_conf *c, int store, const char *run, const char *hash, struct hook_conf *copy)
{
    char path[HOOK_PATH];
    *copy = *c;
    copy->owner = geteuid();
    if ((size_t)snprintf(copy->store, sizeof copy->store, "%s", run) >= sizeof copy->store)
        return -1;
    snprintf(path, sizeof path, "%s/" HOOK_COPIES "/%s", run, hash);
    for (int tries = 0; tries < 2; tries++) {
        int dir = hook_open_directory(path, copy->owner, NULL);
        if (dir >= 0) {
            futimens(dir, NULL);
            close(dir);
            return 0;
        }
        if (store >= 0 && !tries)
            make_copy(c, store, run, hash);
    }
    return -1;
}
