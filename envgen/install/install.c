/* Installing a profile on a node or in a shared store, going back to the previous one, removing it all. */
#include "envgen/install/install.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/delivered.h"
#include "core/file.h"
#include "core/hostlist.h"
#include "core/trust.h"
#include "slurm/hook.h"

#define CONF_LIMIT    ((size_t)1 << 20)
#define PROFILE_LIMIT ((size_t)256 << 20)
#define SCHEDULE_LOCK ".schedule.lock"
#define OLD_SCHEDULE  (4 * HOOK_SCHEDULE_BYTES) /* earlier releases wrote more than the hooks read */

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Everything here is read by everybody and written by its owner alone: the hooks refuse anything else. */
static int write_shared(const char *path, const char *data, size_t bytes, struct err *e)
{
    mode_t before = umask(022);
    int rc = file_write(path, data, bytes, e);
    umask(before);
    return rc;
}

/* A text that may be missing: NULL then. */
static int read_optional(const char *path, size_t limit, struct arena *a, char **text, struct err *e)
{
    size_t bytes;
    *text = NULL;
    return access(path, F_OK) && errno == ENOENT ? 0 : file_read(path, limit, a, text, &bytes, e);
}

/* Refuses a store that others could exchange while it is read again, or that the hooks would not believe. */
static int check_store(const struct install_site *site, struct err *e)
{
    struct hook_conf c;
    uid_t owner = hook_conf_read(HOOK_CONF_PATH, &c, NULL) ? 0 : c.owner;
    return trust_check_kept(arena_printf(site->arena, "%s/profiles", site->store), owner, e);
}

/* Points STORE/name at `target` in one step; what is there must be such a link already. */
static int point(const struct install_site *site, const char *name, const char *target, struct err *e)
{
    int dir = trust_make_directory(site->store, e);
    if (dir < 0)
        return ERR_FAILED;
    int rc = trust_link(dir, name, target);
    trust_close(dir);
    if (rc && errno == EEXIST)
        return err_set(e, ERR_FAILED, "%s/%s: expected a symbolic link of nccltune, or nothing", site->store, name);
    return rc ? err_errno(e, "%s/%s: cannot be pointed at %s", site->store, name, target) : 0;
}

/* ---- a profile into the store ------------------------------------------------------------------------------------ */

void install_remove_directory(const char *path)
{
    struct trust_place p;
    if (trust_find(path, &p, NULL))
        return;
    trust_remove(p.dir, p.name);
    close(p.dir);
}

/* One regular file of a profile, as it is now, into the private directory. */
static int copy_file(int from, int to, const char *dir, const char *name, size_t *room, struct arena *a, struct err *e)
{
    struct stat st;
    const char *slash = strchr(name, '/'), *base = slash ? slash + 1 : name;
    const char *inner = slash ? arena_strndup(a, name, (size_t)(slash - name)) : ".";
    int source = trust_enter(from, inner, 0), target = trust_enter(to, inner, 0700), rc = 0;
    int fd = source < 0 || target < 0 ? -1 : trust_open_at(source, base, &st);
    char *data =
        fd < 0 || (size_t)st.st_size > *room || (size_t)st.st_size > FILE_LIMIT ? NULL : malloc((size_t)st.st_size + 1);
    if (fd < 0 && errno == ELOOP)
        rc = err_set(e, ERR_FAILED, "%s/%s: is a symbolic link, expected a file", dir, name);
    else if (fd < 0 && errno == EINVAL)
        rc = err_set(e, ERR_FAILED, "%s/%s: expected a regular file", dir, name);
    else if (fd < 0)
        rc = err_errno(e, "%s/%s: cannot be opened", dir, name);
    else if (!data)
        rc = err_set(e, ERR_FAILED, "%s/%s: larger than %zu MiB, or the profile than %zu MiB", dir, name,
                     FILE_LIMIT >> 20, PROFILE_LIMIT >> 20);
    else if (trust_read(fd, data, (size_t)st.st_size))
        rc = err_set(e, ERR_FAILED, "%s/%s: changes while it is read", dir, name);
    else if (trust_put(target, base, data, (size_t)st.st_size, 0644))
        rc = err_errno(e, "%s/%s: cannot be copied", dir, name);
    else
        *room -= (size_t)st.st_size;
    free(data);
    const int open[] = {source, target, fd};
    for (int i = 0; i < 3; i++)
        trust_close(open[i]);
    return rc;
}

/* Copies what the manifest names; what comes of it is believed only after it has been read back. */
static int copy_files(int from, int to, const char *dir, struct arena *a, struct err *e)
{
    struct env_manifest m;
    size_t room = PROFILE_LIMIT;
    int rc = copy_file(from, to, dir, ENV_MANIFEST, &room, a, e);
    if (!rc)
        rc = env_manifest_load(dir, a, &m, e);
    for (int i = 0; !rc && i < m.nfiles; i++)
        rc = copy_file(from, to, dir, m.files[i].name, &room, a, e);
    return rc;
}

/* A copy of `profile` that root alone can reach, in a new directory among the store's profiles, whose name is in `a`.
 */
static int copy_profile(int profiles, const char *store, const char *profile, const char **source, const char **made,
                        struct arena *a, struct err *e)
{
    struct stat st;
    int from = trust_open(profile, TRUST_READ, 0, O_RDONLY | O_DIRECTORY, &st, e), to;
    if (from < 0)
        return ERR_FAILED;
    char *real = realpath(arena_printf(a, "/proc/self/fd/%d", from), NULL);
    *source = arena_strdup(a, real ? real : profile);
    free(real);
    *made = arena_printf(a, ".new-%ld", (long)getpid());
    trust_remove(profiles, *made);
    to = trust_enter(profiles, *made, 0700);
    int rc = to < 0 ? err_errno(e, "%s/profiles: cannot be written", store)
                    : copy_files(from, to, arena_printf(a, "%s/profiles/%s", store, *made), a, e);
    trust_close(to);
    close(from);
    return rc;
}

/* Makes the copy what its name says: everybody may read it, and it has its map. A profile of that name is left as it is
 * when it is whole, and replaced when it is not. */
static int name_profile(int profiles, const char *made, const char *map, const struct install_done *done, struct err *e)
{
    struct err ignored = {0};
    struct env_profile *there = env_profile_open(done->dir, &ignored);
    char *old = NULL;
    int whole =
        there &&
        !read_optional(arena_printf(done->arena, "%s/hook.map", done->dir), FILE_LIMIT, done->arena, &old, &ignored) &&
        old && !strcmp(old, map);
    env_profile_free(there);
    if (whole)
        return 0;
    int dir = trust_enter(profiles, made, 0), classes = dir < 0 ? -1 : trust_enter(dir, "nccl.d", 0);
    int rc = dir < 0 || trust_put(dir, "hook.map", map, strlen(map), 0644) || fchmod(dir, 0755) ||
             (classes >= 0 && fchmod(classes, 0755));
    if (!rc)
        trust_remove(profiles, done->hash);
    if (rc || renameat(profiles, made, profiles, done->hash))
        rc = err_errno(e, "%s: cannot be made", done->dir);
    trust_sync(profiles);
    trust_close(classes);
    trust_close(dir);
    return rc;
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

/* The hash of a "SINCE HASH all" line of n bytes; NULL: another line. */
static const char *hash_for_all(const char *line, size_t n)
{
    const size_t digits = SHA256_HEX - 1;
    const char *blank = memchr(line, ' ', n), *hash = blank ? blank + 1 : NULL;
    if (*line == '#' || !hash || n - (size_t)(hash - line) != digits + strlen(" all") ||
        memcmp(hash + digits, " all", strlen(" all")) != 0)
        return NULL;
    return hash;
}

static int is_none(const char *line, size_t n)
{
    static const char none[] = " none all";
    size_t digits = strspn(line, "0123456789");
    return n == digits + sizeof none - 1 && !memcmp(line + digits, none, sizeof none - 1);
}

void install_schedule_last(const char *text, char last[SHA256_HEX], char before[SHA256_HEX])
{
    char next[SHA256_HEX] = "";
    last[0] = before[0] = 0;
    for (const char *line = text; line && *line;) {
        size_t n = strcspn(line, "\n");
        const char *hash = hash_for_all(line, n);
        memcpy(next, hash ? hash : "", hash ? SHA256_HEX - 1 : 1);
        if ((hash || is_none(line, n)) && strcmp(next, last) != 0) {
            if (last[0])
                memcpy(before, last, SHA256_HEX);
            memcpy(last, next, SHA256_HEX);
        }
        line += n + (line[n] == '\n');
    }
}

/* A wrong line would make the hooks refuse the whole schedule. */
static int odd_host(void *arg, const char *host)
{
    (void)arg;
    return !hook_is_name(host);
}

/* A line "SINCE HASH SCOPE"; without a scope it is none. */
struct entry {
    const char *line, *scope;
    long long since;
};

static struct entry read_entry(const char *line, struct arena *a)
{
    struct entry entry = {.line = line};
    char *words[3], *copy = arena_strndup(a, line, strcspn(line, "\n"));
    if (*copy != '#' && hook_words(copy, words, 3) == 3 && !hook_number(words[0], 1LL << 40, &entry.since))
        entry.scope = words[2];
    return entry;
}

/* Whether a line decides for no job that started at `oldest` or later: one behind it has the same jobs, or all. */
static int is_superseded(const struct entry *entry, const struct entry *end, long long oldest)
{
    for (const struct entry *later = entry + 1; entry->scope && later < end; later++)
        if (later->scope && later->since <= oldest &&
            (!strcmp(later->scope, "all") || !strcmp(later->scope, entry->scope)))
            return 1;
    return 0;
}

/* The schedule without lines that no job needs any more; those stay that tell what --previous goes back to. */
static const char *leave_out_superseded(const char *text, long long oldest, struct arena *a)
{
    char last[SHA256_HEX], before[SHA256_HEX], *kept = arena_strdup(a, text), *to = kept;
    struct entry *entries = NULL;
    size_t n = 0;
    install_schedule_last(text, last, before);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        ARENA_ADD(a, entries, n) = read_entry(line, a);
    for (const struct entry *entry = entries; entry < entries + n; entry++) {
        size_t length = strcspn(entry->line, "\n");
        const char *hash = hash_for_all(entry->line, length);
        if ((hash && before[0] && !strncmp(hash, before, SHA256_HEX - 1)) || !is_superseded(entry, entries + n, oldest))
            to = (char *)mempcpy(to, entry->line, length + (entry->line[length] == '\n'));
    }
    *to = 0;
    return kept;
}

/* Locks the schedule until the descriptor is closed: of two that change it at the same time none loses a line. */
static int lock_schedule(const struct install_site *site, struct err *e)
{
    int dir = trust_make_directory(site->store, e);
    int lock = dir < 0 ? -1 : trust_lock(dir, SCHEDULE_LOCK);
    if (dir >= 0 && lock < 0)
        err_errno(e, "%s/" SCHEDULE_LOCK ": cannot be locked", site->store);
    trust_close(dir);
    return lock;
}

static int change_schedule(const struct install_site *site, const char *line, struct err *e)
{
    struct arena *a = site->arena;
    const char *path = arena_printf(a, "%s/schedule", site->store);
    char *old;
    if (read_optional(path, OLD_SCHEDULE, a, &old, e))
        return e->code;
    const char *text = arena_printf(
        a, "%s%s", old ? old : "# SINCE HASH SCOPE, the last that fits a job; see nccltune-hook(8)\n", line);
    if (strlen(text) > HOOK_SCHEDULE_BYTES / 4)
        text = leave_out_superseded(text, install_oldest_job(a), a);
    if (strlen(text) > HOOK_SCHEDULE_BYTES)
        return err_set(e, ERR_FAILED,
                       "%s: would have %zu bytes, and the hooks read no more than %zu; nothing is scheduled. Install "
                       "for all jobs, or for a --partition, instead of long lists of nodes",
                       path, strlen(text), HOOK_SCHEDULE_BYTES);
    return write_shared(path, text, strlen(text), e);
}

static int add_line(const struct install_site *site, const char *line, struct err *e)
{
    int lock = lock_schedule(site, e), rc = lock < 0 ? ERR_FAILED : change_schedule(site, line, e);
    trust_close(lock);
    return rc;
}

static int schedule(const struct install_site *site, const char *hash, const struct install_scope *scope, struct err *e)
{
    struct arena *a = site->arena;
    const char *to = "all";
    long long since = scope->since ? scope->since : (long long)time(NULL);
    if (scope->partition && !hook_is_name(scope->partition))
        return err_set(e, ERR_USAGE, "'%s' cannot be the name of a partition", scope->partition);
    if (scope->nodes && (strpbrk(scope->nodes, " \t\r\n") || hostlist_each(scope->nodes, "", odd_host, NULL, NULL)))
        return err_set(e, ERR_USAGE, "'%s' is not a list of nodes such as n[1-4],m1", scope->nodes);
    if (scope->partition)
        to = arena_printf(a, "partition=%s", scope->partition);
    else if (scope->nodes)
        to = arena_printf(a, "nodes=%s", scope->nodes);
    if (scope->trial && !hook_is_name(scope->trial))
        return err_set(e, ERR_USAGE, "'%s' cannot be the name of a trial", scope->trial);
    if (scope->trial)
        to = arena_printf(a, "trial=%s,%d,%d,%s", scope->trial, scope->share, scope->jobs, to);
    return add_line(site, arena_printf(a, "%lld %s %s\n", since, hash, to), e);
}

int install_end_trial(const struct install_site *site, const char *trial, long long since, struct err *e)
{
    int rc = check_store(site, e);
    return rc ? rc : add_line(site, arena_printf(site->arena, "%lld none trial=%s\n", since, trial), e);
}

int install_unschedule(const struct install_site *site, const char *hash, long long since, struct err *e)
{
    struct arena *a = site->arena;
    const char *path = arena_printf(a, "%s/schedule", site->store), *begin = arena_printf(a, "%lld %s ", since, hash);
    char *text = NULL, *to;
    int rc = check_store(site, e), lock = rc ? -1 : lock_schedule(site, e);
    rc = lock < 0 ? ERR_FAILED : read_optional(path, OLD_SCHEDULE, a, &text, e);
    for (const char *line = to = text; text && *line;) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        if (strncmp(line, begin, strlen(begin)) != 0)
            to = (char *)memmove(to, line, n) + n;
        line += n;
    }
    if (text)
        rc = write_shared(path, text, (size_t)(to - text), e);
    trust_close(lock);
    return rc;
}

/* ---- NCCL's own file --------------------------------------------------------------------------------------------- */

/* The lines of a file that set something, behind `lines`; a missing file adds nothing. NULL after an error. */
static char *add_settings(char *lines, const char *path, struct arena *a, struct err *e)
{
    char *text;
    if (read_optional(path, CONF_LIMIT, a, &text, e))
        return NULL;
    char *all = arena_alloc(a, strlen(lines) + (text ? strlen(text) : 0) + 2), *to = stpcpy(all, lines);
    for (const char *line = text; line && *line;) {
        size_t n = strcspn(line, "\n");
        if (n && *line != '#')
            to = stpcpy((char *)mempcpy(to, line, n), "\n");
        line += n + (line[n] == '\n');
    }
    *to = 0;
    return all;
}

/* What NCCL's file gets: this node's own settings before the common ones, because NCCL keeps the first of two; and the
 * table where no job can span nodes that do not go together, for NCCL's file knows no jobs. NULL, no lines: nothing. */
static int conf_lines(const struct install_site *site, const struct install_done *done, char **lines, struct arena *a,
                      struct err *e)
{
    *lines = NULL;
    if (site->conf == INSTALL_CONF_NOTHING || !done->node_class)
        return 0;
    *lines = add_settings(arena_strdup(a, ""),
                          arena_printf(a, "%s/" ENV_CLASSES "%s.conf", done->dir, done->node_class), a, e);
    if (*lines && site->conf == INSTALL_CONF_ALL)
        *lines = add_settings(*lines, arena_printf(a, "%s/nccl.conf", done->dir), a, e);
    if (*lines && site->conf == INSTALL_CONF_ALL && done->one_compatible && done->rules)
        *lines = arena_printf(a, "%sNCCL_TUNER_PLUGIN=%s\nNCCLTUNE_PROFILE=%s\nNCCLTUNE_HASH=%s\n", *lines,
                              site->plugin, done->dir, done->table_hash);
    return *lines ? 0 : ERR_FAILED;
}

/* Containers of a node get all of it, whatever NCCL's file gets; nothing where this host is not in the profile. */
static int write_containers(const struct install_site *site, const struct install_done *done, struct arena *a,
                            struct err *e)
{
    struct install_site all = *site;
    char *lines;
    all.conf = INSTALL_CONF_ALL;
    if (!site->cdi && !site->enroot && !site->apptainer)
        return 0;
    int rc = conf_lines(&all, done, &lines, a, e);
    return rc ? rc : install_containers(site, done, lines, a, e);
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

static const char *conf_sentence(const struct install_site *site, const struct install_done *done, const char *lines)
{
    if (site->conf == INSTALL_CONF_NOTHING)
        return "has no lines of nccltune: jobs get everything through the Slurm hooks";
    if (!done->node_class)
        return "has no lines of nccltune: this host is not in the profile";
    if (!*lines)
        return "has no lines of nccltune: the profile has none for NCCL";
    if (site->conf == INSTALL_CONF_NODE)
        return "has this node's own settings; the rest comes through the Slurm hooks";
    if (done->rules && !done->one_compatible)
        return "has the profile's settings, not its table: only the Slurm hooks know which nodes of a job go together";
    return done->rules ? "has the profile's settings and its table"
                       : "has the profile's settings; its table has no rules";
}

int install_switch(const struct install_site *site, struct install_done *done, struct err *e)
{
    struct arena *a = done->arena;
    char *lines, *old;
    int rc = point(site, "current", arena_printf(a, "profiles/%s", done->hash), e);
    if (!rc && done->table)
        rc = point(site, "tuner.csv", "current/tuner.csv", e);
    if (!rc)
        rc = write_containers(site, done, a, e);
    if (rc || !site->nccl_conf)
        return rc;
    rc = read_optional(site->nccl_conf, CONF_LIMIT, a, &old, e);
    if (rc || (!old && site->conf == INSTALL_CONF_NOTHING))
        return rc;
    rc = conf_lines(site, done, &lines, a, e);
    if (!rc)
        rc = install_merge_file(site->nccl_conf, lines && *lines ? lines : NULL, a, e);
    done->by_conf = !rc && site->conf == INSTALL_CONF_ALL && lines && *lines;
    if (!rc && site->conf == INSTALL_CONF_NOTHING)
        done->nccl_conf = NULL;
    if (!rc && (site->conf != INSTALL_CONF_NOTHING || strstr(old, DELIVERED_BEGIN)))
        done->nccl_conf = conf_sentence(site, done, lines ? lines : "");
    return rc;
}

/* Everything that follows from a profile that lies in the store. */
static int activate(const struct install_site *site, const struct install_scope *scope, struct install_done *done,
                    struct err *e)
{
    int rc = schedule(site, done->hash, scope, e);
    return rc || !install_is_for_all(scope) || scope->later ? rc : install_switch(site, done, e);
}

/* The class of this host, by its name or by what stands before the first dot; NULL: it is not in the topology. */
static const char *class_here(const struct topology *t, const char *node, struct arena *a)
{
    char host[HOST_NAME_MAX + 1] = "";
    if (node)
        snprintf(host, sizeof host, "%s", node);
    else
        gethostname(host, HOST_NAME_MAX);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < t->nhosts; i++)
            if (!strcmp(t->hosts[i].name, host))
                return arena_strdup(a, t->classes[t->hosts[i].class_index].name);
        host[strcspn(host, ".")] = 0;
    }
    return NULL;
}

/* What the profile's hosts get, class by class. */
static const char *hosts_text(const struct topology *t, struct arena *a)
{
    const char *text = "";
    for (int c = 0; c < t->nclasses; c++) {
        int n = 0;
        for (int i = 0; i < t->nhosts; i++)
            n += t->hosts[i].class_index == c;
        if (n)
            text = arena_printf(a, "%s%s%d%s of class %s", text, *text ? ", " : "", n,
                                *text    ? ""
                                : n == 1 ? " host"
                                         : " hosts",
                                t->classes[c].name);
    }
    return text;
}

/* Whether a file has a line that is no comment. */
static int has_lines(const char *path, struct arena *a)
{
    char *text;
    if (read_optional(path, FILE_LIMIT, a, &text, NULL) || !text)
        return 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (*line != '#' && *line != '\n')
            return 1;
    return 0;
}

static int open_profiles(const struct install_site *site, struct err *e)
{
    mode_t before = umask(022);
    const char *path = arena_printf(site->arena, "%s/profiles", site->store);
    int fd = check_store(site, e) ? -1 : trust_make_directory(path, e);
    if (fd >= 0 && check_store(site, e)) { /* now that all of it is there */
        close(fd);
        fd = -1;
    }
    umask(before);
    return fd;
}

/* Reads a profile and says where it goes: fills `done`, and *map. */
static struct env_profile *open_profile(const struct install_site *site, const char *profile, struct install_done *done,
                                        char **map, struct err *e)
{
    struct env_profile *p = env_profile_open(profile, e);
    if (p && install_accept(p, e)) {
        env_profile_free(p);
        p = NULL;
    }
    struct topology *t = p ? topo_load(arena_printf(done->arena, "%s/topology.json", p->dir), e) : NULL;
    *map = t ? install_map_text(t, &p->manifest, done->arena, &done->one_compatible, e) : NULL;
    done->node_class = t ? class_here(t, site->node, done->arena) : NULL;
    done->hosts = t ? hosts_text(t, done->arena) : "";
    topo_free(t);
    if (!*map) {
        env_profile_free(p);
        return NULL;
    }
    for (int i = 0; i < p->manifest.nfiles; i++) {
        const struct env_manifest_file *f = &p->manifest.files[i];
        if (!strcmp(f->name, "openmpi-mca-params.conf"))
            done->openmpi = has_lines(arena_printf(done->arena, "%s/%s", p->dir, f->name), done->arena);
        if (!strcmp(f->name, "nccl.conf") || !strncmp(f->name, ENV_CLASSES, strlen(ENV_CLASSES)))
            done->settings |= has_lines(arena_printf(done->arena, "%s/%s", p->dir, f->name), done->arena);
        if (strcmp(f->name, "tuner.csv") != 0)
            continue;
        done->table = 1;
        done->rules = has_lines(arena_printf(done->arena, "%s/tuner.csv", p->dir), done->arena);
        memcpy(done->table_hash, f->sha256, sizeof done->table_hash);
    }
    memcpy(done->hash, p->manifest.hash, sizeof done->hash);
    done->dir = arena_printf(done->arena, "%s/profiles/%s", site->store, done->hash);
    return p;
}

/* A store that was made for a profile which is not installed. */
static void remove_if_empty(const struct install_site *site)
{
    struct trust_place p;
    if (trust_find(site->store, &p, NULL))
        return;
    int store = trust_enter(p.dir, p.name, 0);
    if (store >= 0 && !unlinkat(store, "profiles", AT_REMOVEDIR))
        unlinkat(p.dir, p.name, AT_REMOVEDIR);
    trust_close(store);
    close(p.dir);
}

/* What is wrong with the copy is wrong with what was copied: the sentence names that. */
static void name_source(struct err *e, const char *copy, const char *source)
{
    struct err said = *e;
    const char *at = strstr(said.text, copy);
    if (at)
        err_set(e, said.code, "%.*s%s%s", (int)(at - said.text), said.text, source, at + strlen(copy));
}

/* From the private copy to the profile of that name. */
static int take_copy(const struct install_site *site, int profiles, const char *made, struct install_done *done,
                     struct err *e)
{
    char *map;
    struct env_profile *p =
        open_profile(site, arena_printf(done->arena, "%s/profiles/%s", site->store, made), done, &map, e);
    if (!p)
        return e->code ? e->code : ERR_FAILED;
    int rc = done->table ? install_try_plugin(site->plugin, e) : 0;
    if (!rc)
        rc = name_profile(profiles, made, map, done, e);
    if (!rc)
        rc = install_pack_for_nodes(profiles, done, map, e);
    env_profile_free(p);
    return rc;
}

int install_profile(const struct install_site *site, const char *profile, const struct install_scope *scope,
                    struct install_done *done, struct err *e)
{
    *done = (struct install_done){.arena = site->arena};
    const char *made = NULL, *source = profile;
    sigset_t before;
    int profiles = open_profiles(site, e);
    if (profiles < 0)
        return ERR_FAILED;
    /* Who is told to end does so when the private copy is gone. */
    trust_delay_end(&before);
    int rc = copy_profile(profiles, site->store, profile, &source, &made, done->arena, e);
    if (!rc)
        rc = take_copy(site, profiles, made, done, e);
    if (rc && made)
        name_source(e, arena_printf(done->arena, "%s/profiles/%s", site->store, made), source);
    if (made)
        trust_remove(profiles, made);
    close(profiles);
    if (rc)
        remove_if_empty(site);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc || !scope ? rc : activate(site, scope, done, e);
}

int install_stored(const struct install_site *site, const char *hash, const struct install_scope *scope,
                   struct install_done *done, struct err *e)
{
    *done = (struct install_done){.arena = site->arena};
    char *map;
    if (check_store(site, e))
        return ERR_FAILED;
    struct env_profile *p =
        open_profile(site, arena_printf(done->arena, "%s/profiles/%s", site->store, hash), done, &map, e);
    if (!p)
        return e->code ? e->code : ERR_FAILED;
    env_profile_free(p);
    int rc = done->table ? install_try_plugin(site->plugin, e) : 0;
    return rc || !scope ? rc : activate(site, scope, done, e);
}

int install_previous(const struct install_site *site, const struct install_scope *scope, struct install_done *done,
                     struct err *e)
{
    const char *path = arena_printf(site->arena, "%s/schedule", site->store);
    char *text, last[SHA256_HEX], before[SHA256_HEX];
    int rc = read_optional(path, OLD_SCHEDULE, site->arena, &text, e);
    if (!rc)
        install_schedule_last(text, last, before);
    if (!rc && !before[0])
        rc = err_set(e, ERR_FAILED, "%s: there is no previous profile", path);
    return rc ? rc : install_stored(site, before, scope, done, e);
}

/* What is no link of ours was put there by hand. */
static int remove_link(int store, const char *name, const char *path, struct err *e)
{
    struct stat st;
    if (fstatat(store, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISLNK(st.st_mode) || !unlinkat(store, name, 0))
        return 0;
    return err_errno(e, "%s/%s: cannot be removed", path, name);
}

int install_remove(const struct install_site *site, int purge, int hooks, struct err *e)
{
    struct arena *a = site->arena;
    struct trust_place p;
    const char *path = arena_printf(a, "%s/schedule", site->store);
    int rc = check_store(site, e);
    if (!rc && site->nccl_conf)
        rc = install_merge_file(site->nccl_conf, NULL, a, e);
    if (!rc)
        rc = install_containers(site, NULL, NULL, a, e);
    if (!rc && !access(path, F_OK))
        rc = add_line(site, arena_printf(a, "%lld none all\n", (long long)time(NULL)), e);
    if (rc || trust_find(site->store, &p, e))
        return rc ? rc : ERR_FAILED;
    int store = trust_enter(p.dir, p.name, 0);
    if (store >= 0) {
        rc = remove_link(store, "current", site->store, e);
        if (!rc)
            rc = remove_link(store, "tuner.csv", site->store, e);
        if (!rc && purge)
            trust_remove(store, "profiles");
        if (!rc && purge && !hooks && !unlinkat(store, "schedule", 0))
            unlinkat(store, SCHEDULE_LOCK, 0);
        close(store);
    }
    if (!rc)
        unlinkat(p.dir, p.name, AT_REMOVEDIR); /* stays when anything is in it */
    close(p.dir);
    return rc;
}
