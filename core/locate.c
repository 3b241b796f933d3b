/* Our files by name, and PATH. */
#include "core/locate.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    const char *name, *variable, *dir; /* the one that the build was configured for */
};

static struct file file_of(const char *name)
{
    const struct file files[] = {{LOCATE_PLUGIN, "NCCLTUNE_PLUGIN_SO", NCCLTUNE_LIBDIR},
                                 {"nccltune", NULL, NCCLTUNE_BINDIR},
                                 {"nccltune-bench", "NCCLTUNE_BENCH", NCCLTUNE_LIBEXECDIR},
                                 {"nccltune-worker", "NCCLTUNE_WORKER", NCCLTUNE_LIBEXECDIR}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!strcmp(files[i].name, name))
            return files[i];
    return (struct file){name, NULL, NCCLTUNE_LIBEXECDIR};
}

static int can_use(const char *path, int how)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, how);
}

/* What a configured directory has behind the prefix ("/libexec/nccltune"); NULL when it lies elsewhere. */
static const char *below_prefix(const char *dir)
{
    size_t n = strlen(NCCLTUNE_PREFIX);
    return !strncmp(dir, NCCLTUNE_PREFIX, n) && dir[n] == '/' ? dir + n : NULL;
}

/* The prefix of the installation that this program is part of; NULL when it lies in none. */
static const char *own_prefix(const char *self, struct arena *a)
{
    const char *const programs[] = {below_prefix(NCCLTUNE_BINDIR), below_prefix(NCCLTUNE_LIBEXECDIR)};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        size_t n = strlen(self), tail = programs[i] ? strlen(programs[i]) : 0;
        if (tail && n >= tail && !strcmp(self + n - tail, programs[i]))
            return arena_strndup(a, self, n - tail);
    }
    return NULL;
}

/* NULL when it is neither in a build tree nor installed. */
static const char *find_file(const struct file *f, struct arena *a)
{
    const char *self = locate_self_dir(a), *prefix = self ? own_prefix(self, a) : NULL, *tail = below_prefix(f->dir);
    const char *const places[] = {
        self ? arena_printf(a, "%s/%s", self, f->name) : NULL,
        prefix && tail ? arena_printf(a, "%s%s/%s", prefix, tail, f->name) : NULL,
        arena_printf(a, "%s/%s", f->dir, f->name),
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        /* The plugin is loaded, all the others are started. */
        if (places[i] && can_use(places[i], strcmp(f->name, LOCATE_PLUGIN) ? X_OK : R_OK))
            return places[i];
    return NULL;
}

/* What the environment says; NULL when that is no such file. */
static const char *named_file(const struct file *f, const char *named, struct arena *a)
{
    if (strcmp(f->name, LOCATE_PLUGIN) != 0)
        return locate_in_path(named, a);
    char *whole = realpath(named, NULL), *copy = arena_strdup(a, whole);
    free(whole);
    return copy;
}

const char *locate_program(const char *name, struct arena *a, struct err *e)
{
    const struct file f = file_of(name);
    const char *named = f.variable ? getenv(f.variable) : NULL;
    const char *found = named ? named_file(&f, named, a) : find_file(&f, a);
    if (!found && named)
        err_set(e, ERR_LACKS, "%s=%s: no such file", f.variable, named);
    else if (!found)
        err_set(e, ERR_LACKS, "%s is neither in %s nor in %s", name, locate_self_dir(a), f.dir);
    return found;
}

/* ---- whose plugin a file is ---- */

#define OWN_SYMBOL   "nccltune_control_version"
#define MOST_SYMBOLS 65536

static int read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    return at <= INT64_MAX && pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* Whether one of the symbols that a library exports is ours. Nothing of the library is run. */
static int exports_ours(int fd, const Elf64_Shdr *symbols, const Elf64_Shdr *names)
{
    char name[sizeof OWN_SYMBOL];
    Elf64_Sym symbol;
    for (uint64_t i = 0; i < symbols->sh_size / sizeof symbol && i < MOST_SYMBOLS; i++)
        if (read_at(fd, &symbol, sizeof symbol, symbols->sh_offset + i * sizeof symbol) && symbol.st_shndx &&
            read_at(fd, name, sizeof name, names->sh_offset + symbol.st_name) && !memcmp(name, OWN_SYMBOL, sizeof name))
            return 1;
    return 0;
}

static int is_own_library(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), ours = 0;
    Elf64_Ehdr head;
    Elf64_Shdr symbols, names;
    if (fd >= 0 && read_at(fd, &head, sizeof head, 0) && !memcmp(head.e_ident, ELFMAG, SELFMAG) &&
        head.e_ident[EI_CLASS] == ELFCLASS64)
        for (unsigned i = 0; i < head.e_shnum && !ours; i++)
            ours = read_at(fd, &symbols, sizeof symbols, head.e_shoff + i * sizeof symbols) &&
                   symbols.sh_type == SHT_DYNSYM && symbols.sh_link < head.e_shnum &&
                   read_at(fd, &names, sizeof names, head.e_shoff + symbols.sh_link * sizeof names) &&
                   exports_ours(fd, &symbols, &names);
    if (fd >= 0)
        close(fd);
    return ours;
}

int locate_is_plugin(const char *value)
{
    struct arena *a = arena_new();
    const char *slash = strrchr(value, '/'), *list = getenv("LD_LIBRARY_PATH"), *path = slash ? value : NULL;
    if (!path && *value)
        path = locate_in_list(list ? list : "", value, R_OK, a);
    if (!path && *value)
        path = locate_in_list(list ? list : "", arena_printf(a, "libnccl-tuner-%s.so", value), R_OK, a);
    /* What is not on this machine has nothing but its name. */
    int ours = path && !access(path, F_OK)
                   ? is_own_library(path)
                   : !strcmp(slash ? slash + 1 : value, LOCATE_PLUGIN) || !strcmp(value, "nccltune");
    arena_free(a);
    return ours;
}

const char *locate_expected(const char *name, struct arena *a)
{
    const struct file f = file_of(name);
    const char *named = f.variable ? getenv(f.variable) : NULL, *found = named ? named_file(&f, named, a) : NULL;
    return found ? found : named ? named : locate_installed(name, a);
}

const char *locate_installed(const char *name, struct arena *a)
{
    const struct file f = file_of(name);
    const char *found = find_file(&f, a);
    return found ? found : arena_printf(a, "%s/%s", f.dir, name);
}

/* ---- any program ------------------------------------------------------------------------------------------------- */

char *locate_in_list(const char *list, const char *name, int how, struct arena *a)
{
    while (*list) {
        size_t n = strcspn(list, ":");
        char *candidate = arena_printf(a, "%.*s/%s", n ? (int)n : 1, n ? list : ".", name);
        if (can_use(candidate, how))
            return candidate;
        list += n + (list[n] == ':');
    }
    return NULL;
}

char *locate_in_path(const char *name, struct arena *a)
{
    if (strchr(name, '/'))
        return can_use(name, X_OK) ? arena_strdup(a, name) : NULL;
    const char *path = getenv("PATH");
    return locate_in_list(path ? path : "/usr/bin:/bin", name, X_OK, a);
}

char *locate_python(struct arena *a)
{
    char *python = locate_in_path("python3", a), *bin = python ? strstr(python, "/bin/python3") : NULL;
    return bin && *python == '/' ? arena_strndup(a, python, (size_t)(bin - python)) : NULL;
}

char *locate_self_dir(struct arena *a)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return NULL;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    return slash ? arena_strndup(a, path, (size_t)(slash - path)) : NULL;
}
