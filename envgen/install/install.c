/* Installing a profile on a node or in a shared store, going back to the previous one, removing it all. */
#include "envgen/install/install.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "core/hostlist.h"
#include "envgen/profile/profile.h"

#define SCHEDULE_LIMIT ((size_t)1 << 20)
#define CONF_LIMIT     ((size_t)1 << 20)

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Everything here is read by everybody and written by its owner alone: the hooks refuse anything else. */
static int put(const char *path, const char *data, size_t bytes, struct err *e)
{
    mode_t before = umask(022);
    int rc = file_write(path, data, bytes, e);
    umask(before);
    return rc;
}

static int make_directory(const char *path, struct err *e)
{
    mode_t before = umask(022);
    int rc = file_mkdirs(path, e);
    umask(before);
    return rc;
}

/* A text that may be missing: NULL then. */
static int get(const char *path, size_t limit, struct arena *a, char **text, struct err *e)
{
    size_t bytes;
    *text = NULL;
    return access(path, F_OK) && errno == ENOENT ? 0 : file_read(path, limit, a, text, &bytes, e);
}

/* Points `path` at `target` in one step; what is there must be such a link already. */
static int point(const char *path, const char *target, struct arena *a, struct err *e)
{
    struct stat st;
    const char *next = arena_printf(a, "%s.new", path);
    if (!lstat(path, &st) && !S_ISLNK(st.st_mode))
        return err_set(e, ERR_FAILED, "%s: expected a symbolic link of nccltune's, or nothing", path);
    unlink(next);
    if (symlink(target, next) || rename(next, path))
        return err_errno(e, "%s: cannot be pointed at %s", path, target);
    return 0;
}

/* ---- a profile into the store ------------------------------------------------------------------------------------ */

static int copy_file(const char *from, const char *to, const char *name, struct arena *a, struct err *e)
{
    char *data;
    size_t bytes;
    const char *target = arena_printf(a, "%s/%s", to, name), *slash = strrchr(name, '/');
    int rc = file_read(arena_printf(a, "%s/%s", from, name), FILE_LIMIT, a, &data, &bytes, e);
    if (!rc && slash)
        rc = make_directory(arena_printf(a, "%s/%.*s", to, (int)(slash - name), name), e);
    return rc ? rc : put(target, data, bytes, e);
}

void install_remove_directory(const char *path)
{
    struct arena *a = arena_new();
    DIR *d = opendir(path);
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        const char *inner = arena_printf(a, "%s/%s", path, entry->d_name);
        if (unlink(inner) && (errno == EISDIR || errno == EPERM))
            install_remove_directory(inner);
    }
    if (d)
        closedir(d);
    rmdir(path);
    arena_free(a);
}

/* All files and the map, under another name first: a directory with a profile's name is a whole profile. */
static int copy_profile(const struct env_profile *p, const char *map, const char *dir, struct arena *a, struct err *e)
{
    const char *made = arena_printf(a, "%s.tmp%ld", dir, (long)getpid());
    int rc = make_directory(made, e);
    for (int i = 0; i < p->manifest.nfiles && !rc; i++)
        rc = copy_file(p->dir, made, p->manifest.files[i].name, a, e);
    if (!rc)
        rc = copy_file(p->dir, made, ENV_MANIFEST, a, e);
    if (!rc)
        rc = put(arena_printf(a, "%s/hook.map", made), map, strlen(map), e);
    if (!rc && rename(made, dir) && errno != EEXIST && errno != ENOTEMPTY)
        rc = err_errno(e, "%s: cannot be made", dir);
    install_remove_directory(made);
    return rc;
}

/* A profile of that name is left as it is when it is whole, and made anew when it is not. */
static int store_profile(const struct env_profile *p, const char *map, const char *dir, struct arena *a, struct err *e)
{
    struct err ignored = {0};
    struct env_profile *there = env_profile_open(dir, &ignored);
    char *old = NULL;
    int whole =
        there && !get(arena_printf(a, "%s/hook.map", dir), FILE_LIMIT, a, &old, &ignored) && old && !strcmp(old, map);
    env_profile_free(there);
    if (whole)
        return 0;
    install_remove_directory(dir);
    return copy_profile(p, map, dir, a, e);
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
static int is_plain(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return n && n < 64 && !name[n];
}

static int odd_host(void *arg, const char *host)
{
    (void)arg;
    return !is_plain(host);
}

static int add_line(const struct install_site *site, const char *line, struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/schedule", site->store);
    char *old;
    if (get(path, SCHEDULE_LIMIT, a, &old, e))
        return e->code;
    const char *text = arena_printf(
        a, "%s%s", old ? old : "# SINCE HASH SCOPE, the last that fits a job; see nccltune-hook(8)\n", line);
    return put(path, text, strlen(text), e);
}

static int schedule(const struct install_site *site, const char *hash, const struct install_scope *scope,
                    struct arena *a, struct err *e)
{
    const char *to = "all";
    long long since = scope->since ? scope->since : (long long)time(NULL);
    if (scope->partition && !is_plain(scope->partition))
        return err_set(e, ERR_USAGE, "'%s' cannot be the name of a partition", scope->partition);
    if (scope->nodes && (strpbrk(scope->nodes, " \t\r\n") || hostlist_each(scope->nodes, "", odd_host, NULL, NULL)))
        return err_set(e, ERR_USAGE, "'%s' is not a list of nodes such as n[1-4],m1", scope->nodes);
    if (scope->partition)
        to = arena_printf(a, "partition=%s", scope->partition);
    else if (scope->nodes)
        to = arena_printf(a, "nodes=%s", scope->nodes);
    return add_line(site, arena_printf(a, "%lld %s %s\n", since, hash, to), a, e);
}

int install_unschedule(const struct install_site *site, const char *hash, long long since, struct err *e)
{
    struct arena *a = arena_new();
    const char *path = arena_printf(a, "%s/schedule", site->store), *begin = arena_printf(a, "%lld %s ", since, hash);
    char *old, *kept = arena_strdup(a, "");
    int rc = get(path, SCHEDULE_LIMIT, a, &old, e);
    for (const char *line = old; !rc && line && *line;) {
        size_t n = strcspn(line, "\n");
        if (strncmp(line, begin, strlen(begin)) != 0)
            kept = arena_printf(a, "%s%.*s\n", kept, (int)n, line);
        line += n + (line[n] == '\n');
    }
    if (!rc && old)
        rc = put(path, kept, strlen(kept), e);
    arena_free(a);
    return rc;
}

/* ---- NCCL's own file --------------------------------------------------------------------------------------------- */

/* The lines of a file that set something, behind `lines`; a missing file adds nothing. NULL after an error. */
static char *add_settings(char *lines, const char *path, struct arena *a, struct err *e)
{
    char *text;
    if (get(path, CONF_LIMIT, a, &text, e))
        return NULL;
    for (const char *line = text; line && *line;) {
        size_t n = strcspn(line, "\n");
        if (n && *line != '#')
            lines = arena_printf(a, "%s%.*s\n", lines, (int)n, line);
        line += n + (line[n] == '\n');
    }
    return lines;
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

static int write_conf(const struct install_site *site, const char *lines, struct arena *a, struct err *e)
{
    char *old;
    int rc = get(site->nccl_conf, CONF_LIMIT, a, &old, e);
    const char *text = rc ? NULL : install_merge(old, lines, site->nccl_conf, a, e);
    if (!text)
        return ERR_FAILED;
    if (!*text)
        return old && unlink(site->nccl_conf) ? err_errno(e, "%s: cannot be removed", site->nccl_conf) : 0;
    return old && !strcmp(old, text) ? 0 : put(site->nccl_conf, text, strlen(text), e);
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

static const char *conf_sentence(const struct install_site *site, const struct install_done *done, const char *lines)
{
    if (site->conf == INSTALL_CONF_NOTHING)
        return "has no lines of nccltune's: jobs get everything through the Slurm hooks";
    if (!done->node_class)
        return "has no lines of nccltune's: this host is not in the profile";
    if (!*lines)
        return "has no lines of nccltune's: the profile has none for NCCL";
    if (site->conf == INSTALL_CONF_NODE)
        return "has what is this node's own; the rest comes through the Slurm hooks";
    if (done->rules && !done->one_compatible)
        return "has the profile's settings, not its table: jobs may span nodes that do not go together, and only the "
               "Slurm hooks know which";
    return done->rules ? "has the profile's settings and its table"
                       : "has the profile's settings; its table has no rules";
}

int install_switch(const struct install_site *site, struct install_done *done, struct err *e)
{
    struct arena *a = done->arena;
    char *lines, *old;
    int rc = point(arena_printf(a, "%s/current", site->store), arena_printf(a, "profiles/%s", done->hash), a, e);
    if (!rc && done->table)
        rc = point(arena_printf(a, "%s/tuner.csv", site->store), "current/tuner.csv", a, e);
    if (rc || !site->nccl_conf)
        return rc;
    rc = get(site->nccl_conf, CONF_LIMIT, a, &old, e);
    if (rc || (!old && site->conf == INSTALL_CONF_NOTHING))
        return rc;
    rc = conf_lines(site, done, &lines, a, e);
    if (!rc)
        rc = write_conf(site, lines && *lines ? lines : NULL, a, e);
    if (!rc && site->conf == INSTALL_CONF_NOTHING)
        done->nccl_conf = NULL;
    if (!rc && (site->conf != INSTALL_CONF_NOTHING || strstr(old, "# nccltune begin")))
        done->nccl_conf = conf_sentence(site, done, lines ? lines : "");
    return rc;
}

/* Everything that follows from a profile that lies in the store. */
static int activate(const struct install_site *site, const struct install_scope *scope, struct install_done *done,
                    struct err *e)
{
    int everywhere = !scope->partition && !scope->nodes, rc = schedule(site, done->hash, scope, done->arena, e);
    return rc || !everywhere || scope->later ? rc : install_switch(site, done, e);
}

/* The class of this host, by its name or by what stands before the first dot; NULL: it is not in the topology. */
static const char *class_here(const struct topology *t, struct arena *a)
{
    char host[HOST_NAME_MAX + 1] = "";
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
    struct err ignored = {0};
    char *text;
    if (get(path, FILE_LIMIT, a, &text, &ignored) || !text)
        return 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (*line != '#' && *line != '\n')
            return 1;
    return 0;
}

/* Reads a profile and says where it goes: fills `done`, and *map. */
static struct env_profile *open_profile(const struct install_site *site, const char *profile, struct install_done *done,
                                        char **map, struct err *e)
{
    struct env_profile *p = env_profile_open(profile, e);
    struct topology *t = p ? topo_load(arena_printf(done->arena, "%s/topology.json", p->dir), e) : NULL;
    *map = t ? install_map_text(t, &p->manifest, done->arena, &done->one_compatible, e) : NULL;
    done->node_class = t ? class_here(t, done->arena) : NULL;
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

int install_profile(const struct install_site *site, const char *profile, const struct install_scope *scope,
                    struct install_done *done, struct err *e)
{
    *done = (struct install_done){.arena = arena_new()};
    char *map;
    struct env_profile *p = open_profile(site, profile, done, &map, e);
    if (!p)
        return e->code ? e->code : ERR_FAILED;
    int rc = done->table ? install_try_plugin(site->plugin, e) : 0;
    if (!rc)
        rc = make_directory(arena_printf(done->arena, "%s/profiles", site->store), e);
    if (!rc)
        rc = store_profile(p, map, done->dir, done->arena, e);
    if (!rc && scope)
        rc = activate(site, scope, done, e);
    env_profile_free(p);
    return rc;
}

int install_stored(const struct install_site *site, const char *hash, const struct install_scope *scope,
                   struct install_done *done, struct err *e)
{
    *done = (struct install_done){.arena = arena_new()};
    char *map;
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
    struct arena *a = arena_new();
    char *text, last[SHA256_HEX], before[SHA256_HEX];
    *done = (struct install_done){0};
    int rc = get(arena_printf(a, "%s/schedule", site->store), SCHEDULE_LIMIT, a, &text, e);
    if (!rc)
        install_schedule_last(text, last, before);
    arena_free(a);
    if (!rc && !before[0])
        rc = err_set(e, ERR_FAILED, "%s/schedule: no other profile was there before", site->store);
    return rc ? rc : install_stored(site, before, scope, done, e);
}

static int remove_link(const char *path, struct err *e)
{
    struct stat st;
    /* What is no link of ours was put there by hand. */
    if (lstat(path, &st) || !S_ISLNK(st.st_mode) || !unlink(path))
        return 0;
    return err_errno(e, "%s: cannot be removed", path);
}

int install_remove(const struct install_site *site, int purge, int hooks, struct err *e)
{
    struct arena *a = arena_new();
    const char *path = arena_printf(a, "%s/schedule", site->store);
    int rc = site->nccl_conf ? write_conf(site, NULL, a, e) : 0;
    if (!rc && !access(path, F_OK))
        rc = add_line(site, arena_printf(a, "%lld none all\n", (long long)time(NULL)), a, e);
    if (!rc)
        rc = remove_link(arena_printf(a, "%s/current", site->store), e);
    if (!rc)
        rc = remove_link(arena_printf(a, "%s/tuner.csv", site->store), e);
    if (!rc && purge)
        install_remove_directory(arena_printf(a, "%s/profiles", site->store));
    if (!rc && purge && !hooks)
        unlink(path);
    if (!rc)
        rmdir(site->store); /* stays when anything is in it */
    arena_free(a);
    return rc;
}

void install_done_free(struct install_done *done)
{
    arena_free(done->arena);
    done->arena = NULL;
}
