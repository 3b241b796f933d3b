/* hook.map, which install-profile writes into a profile: its files and their hashes, the classes of nodes and what they
 * have, the hosts. One statement a line, words between single blanks, "end" on the last line.
 *
 *   nccltune-hook/1
 *   profile HASH
 *   file NAME BYTES SHA256
 *   class NAME GROUP GPUS VENDOR   -1 and 0: not known; VENDOR is a PCI vendor, decimal
 *   port CLASS HCA PORT GBPS       an ACTIVE port; 0: not known
 *   module CLASS NAME              a kernel module
 *   host NAME CLASS
 *   end
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/trust.h"
#include "slurm/hook.h"

#define MAP_BYTES  (4u << 20)
#define FILE_BYTES (2u << 20) /* hashed before every task: about 10 ms */
#define FORMAT     "nccltune-hook/1"

/* ---- statements -------------------------------------------------------------------------------------------------- */

static int find_class(const struct hook_map *m, const char *name)
{
    for (int i = 0; i < m->nclasses; i++)
        if (!strcmp(m->classes[i].name, name))
            return i;
    return -1;
}

int hook_map_is_file(const char *name)
{
    static const char classes[] = "nccl.d/";
    return hook_is_name(strncmp(name, classes, sizeof classes - 1) ? name : name + sizeof classes - 1);
}

static int take_file(struct hook_map *m, char **word)
{
    struct hook_map_file *f = &m->files[m->nfiles];
    if (m->nfiles == HOOK_FILES || !hook_map_is_file(word[0]) || hook_number(word[1], FILE_BYTES, &f->bytes) ||
        !hook_is_hash(word[2]))
        return -1;
    f->name = word[0];
    f->sha256 = word[2];
    m->nfiles++;
    return 0;
}

static int take_class(struct hook_map *m, char **word)
{
    struct hook_class *c = &m->classes[m->nclasses];
    long long gpus = -1, vendor;
    if (m->nclasses == HOOK_CLASSES || !hook_is_name(word[0]) || find_class(m, word[0]) >= 0 ||
        !hook_is_name(word[1]) || (strcmp(word[2], "-1") != 0 && hook_number(word[2], 1024, &gpus)) ||
        hook_number(word[3], 0xffff, &vendor))
        return -1;
    *c = (struct hook_class){.name = word[0], .group = word[1], .gpus = (int)gpus, .gpu_vendor = (unsigned)vendor};
    m->nclasses++;
    return 0;
}

static int take_port(struct hook_map *m, char **word)
{
    long long port, rate;
    int class_index = find_class(m, word[0]);
    if (m->nports == HOOK_PORTS || class_index < 0 || !hook_is_name(word[1]) || hook_number(word[2], 255, &port) ||
        hook_number(word[3], 100000, &rate))
        return -1;
    m->ports[m->nports++] =
        (struct hook_port){.class_index = class_index, .hca = word[1], .port = (int)port, .rate_Gbps = (int)rate};
    return 0;
}

static int take_module(struct hook_map *m, char **word)
{
    int class_index = find_class(m, word[0]);
    if (m->nmodules == HOOK_MODULES || class_index < 0 || !hook_is_name(word[1]))
        return -1;
    m->modules[m->nmodules++] = (struct hook_module){.class_index = class_index, .name = word[1]};
    return 0;
}

static int take_host(struct hook_map *m, char **word)
{
    int class_index = find_class(m, word[1]);
    if (class_index < 0 || !hook_is_name(word[0]))
        return -1;
    m->hosts[m->nhosts++] = (struct hook_host_class){.name = word[0], .class_index = class_index};
    return 0;
}

#define WORDS_MAX 5
static const struct {
    const char *word;
    int words; /* behind it */
    int (*take)(struct hook_map *m, char **word);
} statements[] = {
    {"file", 3, take_file},     {"class", 4, take_class}, {"port", 4, take_port},
    {"module", 2, take_module}, {"host", 2, take_host},
};
#define STATEMENTS (sizeof statements / sizeof *statements)

static int take_line(struct hook_map *m, char *line)
{
    char *words[WORDS_MAX];
    int n = hook_words(line, words, WORDS_MAX);
    for (size_t i = 0; i < STATEMENTS; i++)
        if (n == 1 + statements[i].words && !strcmp(words[0], statements[i].word))
            return statements[i].take(m, words + 1);
    return -1;
}

static int by_host(const void *a, const void *b)
{
    const struct hook_host_class *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int check_hosts(struct hook_map *m)
{
    if (m->nhosts > 1)
        qsort(m->hosts, (size_t)m->nhosts, sizeof *m->hosts, by_host);
    for (int i = 1; i < m->nhosts; i++)
        if (!strcmp(m->hosts[i].name, m->hosts[i - 1].name))
            return -1;
    return 0;
}

static int parse(struct hook_map *m, const char *hash, const char *path, struct err *e)
{
    char *cursor = m->file.text, *line = hook_line(&cursor), expected[SHA256_HEX + 16];
    size_t lines = 1;
    if (!line || strcmp(line, FORMAT) != 0)
        return hook_refuse(e, "%s:1: expected '" FORMAT "'", path);
    snprintf(expected, sizeof expected, "profile %s", hash);
    line = hook_line(&cursor);
    if (!line || strcmp(line, expected) != 0)
        return hook_refuse(e, "%s:2: expected '%s'", path, expected);
    for (const char *p = cursor; *p; p++)
        lines += *p == '\n';
    m->hosts = calloc(lines, sizeof *m->hosts);
    if (!m->hosts)
        return hook_refuse(e, "no memory");
    for (int number = 3; (line = hook_line(&cursor)); number++) {
        if (!strcmp(line, "end") && !*cursor)
            return check_hosts(m) ? hook_refuse(e, "%s: a host is there twice", path) : 0;
        if (take_line(m, line))
            return hook_refuse(e, "%s:%d: not a statement of this version", path, number);
    }
    return hook_refuse(e, "%s has no end", path);
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

struct hook_map *hook_map_read(const struct hook_conf *c, const char *hash, struct err *e)
{
    char path[HOOK_PATH + 16];
    struct hook_map *m = calloc(1, sizeof *m);
    if (!m)
        return err_null(e, ERR_FAILED, "no memory");
    m->owner = c->owner;
    snprintf(m->dir, sizeof m->dir, "%s/" HOOK_COPIES "/%s", c->store, hash);
    snprintf(path, sizeof path, "%s/hook.map", m->dir);
    m->fd = hook_open_directory(m->dir, c->owner, e);
    if (m->fd >= 0 && !hook_read_at(m->fd, "hook.map", path, c->owner, MAP_BYTES, &m->file, e) &&
        !parse(m, hash, path, e))
        return m;
    hook_map_free(m);
    return NULL;
}

int hook_map_check(const char *text, const char *hash, struct err *e)
{
    struct hook_map *m = calloc(1, sizeof *m);
    int rc = -1;
    if (m) {
        m->fd = -1;
        m->file.text = strdup(text);
    }
    if (!m || !m->file.text)
        err_set(e, ERR_FAILED, "no memory");
    else if (strlen(text) > MAP_BYTES)
        err_set(e, ERR_FAILED, "hook.map is larger than %u bytes", MAP_BYTES);
    else
        rc = parse(m, hash, "hook.map", e);
    hook_map_free(m);
    return rc;
}

void hook_map_free(struct hook_map *m)
{
    if (!m)
        return;
    trust_close(m->fd);
    free(m->file.text);
    free(m->hosts);
    free(m);
}

int hook_map_class(const struct hook_map *m, const char *host)
{
    struct hook_host_class key = {.name = host};
    char label[HOOK_WORD];
    const struct hook_host_class *found =
        m->nhosts ? bsearch(&key, m->hosts, (size_t)m->nhosts, sizeof key, by_host) : NULL;
    size_t n = strcspn(host, ".");
    if (!found && m->nhosts && host[n] && n < sizeof label) {
        memcpy(label, host, n);
        label[n] = 0;
        key.name = label;
        found = bsearch(&key, m->hosts, (size_t)m->nhosts, sizeof key, by_host);
    }
    return found ? found->class_index : -1;
}

struct fitting {
    const struct hook_map *map;
    int class_index; /* of the first node; -1 before it */
    int mixed;
};

/* The hash of a class's own settings; "" for none. */
static const char *own_settings(const struct hook_map *m, const struct hook_class *c)
{
    char name[HOOK_WORD + 16];
    snprintf(name, sizeof name, "nccl.d/%s.conf", c->name);
    const struct hook_map_file *f = hook_map_file(m, name);
    return f ? f->sha256 : "";
}

static int compatible(void *arg, const char *host, struct err *e)
{
    struct fitting *k = arg;
    int found = hook_map_class(k->map, host);
    if (found < 0)
        return hook_refuse(e, "node %s is not in the profile", host);
    if (k->class_index < 0)
        k->class_index = found;
    const struct hook_class *a = &k->map->classes[k->class_index], *b = &k->map->classes[found];
    k->mixed |= a != b && strcmp(own_settings(k->map, a), own_settings(k->map, b)) != 0;
    return strcmp(a->group, b->group)
               ? hook_refuse(e, "the job spans classes %s and %s, which do not go together", a->name, b->name)
               : 0;
}

int hook_map_fits(const struct hook_map *m, const struct hook_job *job, int *mixed, struct err *e)
{
    struct fitting k = {.map = m, .class_index = -1};
    for (int i = 0; i < job->nlists; i++)
        if (hook_nodes_each(job->lists[i], compatible, &k, e))
            return -1;
    *mixed = k.mixed;
    return 0;
}

const struct hook_map_file *hook_map_file(const struct hook_map *m, const char *name)
{
    for (int i = 0; i < m->nfiles; i++)
        if (!strcmp(m->files[i].name, name))
            return &m->files[i];
    return NULL;
}

int hook_map_load(const struct hook_map *m, const char *name, struct hook_file *f, struct err *e)
{
    const struct hook_map_file *entry = hook_map_file(m, name);
    char path[HOOK_PATH + HOOK_WORD + 16], hex[SHA256_HEX];
    *f = (struct hook_file){0};
    if (!entry)
        return 0;
    snprintf(path, sizeof path, "%s/%s", m->dir, name);
    if (strchr(name, '/') ? hook_read(path, m->owner, FILE_BYTES, f, e)
                          : hook_read_at(m->fd, name, path, m->owner, FILE_BYTES, f, e))
        return -1;
    sha256_of(f->text, f->bytes, hex);
    if ((long long)f->bytes == entry->bytes && !strcmp(hex, entry->sha256))
        return 0;
    free(f->text);
    *f = (struct hook_file){0};
    return hook_refuse(e, "%s is not what was installed", path);
}
