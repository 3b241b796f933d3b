/* Which loaded object an address belongs to, and functions of loaded objects by name: read from the objects' own
 * dynamic symbols, because dladdr, dlopen and dlsym would bind the plugin to a glibc newer than containers have. */
#include "tuner/libc/elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* What is needed of an object's dynamic section. */
struct dynamic {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
};

static int holds(const struct dl_phdr_info *o, const void *address)
{
    for (int i = 0; i < o->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &o->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (uintptr_t)address - o->dlpi_addr - p->p_vaddr < p->p_memsz)
            return 1;
    }
    return 0;
}

/* The loader has made most addresses in the section absolute; those of the vDSO, among others, are still offsets. */
static const void *absolute_address(uintptr_t base, uintptr_t value)
{
    return (const void *)(value < base ? base + value : value); // NOLINT(performance-no-int-to-ptr)
}

static int read_dynamic(const struct dl_phdr_info *o, struct dynamic *d)
{
    *d = (struct dynamic){.base = o->dlpi_addr};
    for (int i = 0; i < o->dlpi_phnum; i++) {
        if (o->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *e = (const void *)(d->base + o->dlpi_phdr[i].p_vaddr); // NOLINT(performance-no-int-to-ptr)
        for (; e->d_tag != DT_NULL; e++) {
            const void *at = absolute_address(d->base, e->d_un.d_ptr);
            if (e->d_tag == DT_SYMTAB)
                d->symbols = at;
            else if (e->d_tag == DT_STRTAB)
                d->names = at;
            else if (e->d_tag == DT_GNU_HASH)
                d->gnu_hash = at;
            else if (e->d_tag == DT_HASH)
                d->sysv_hash = at;
        }
    }
    return d->symbols && d->names && (d->gnu_hash || d->sysv_hash);
}

static const void *defined(const struct dynamic *d, uint32_t i, const char *name)
{
    const ElfW(Sym) *s = &d->symbols[i];
    int found = s->st_shndx != SHN_UNDEF && s->st_value && (s->st_info & 0xf) == STT_FUNC &&
                strcmp(d->names + s->st_name, name) == 0;
    if (!found)
        return NULL;
    return (const void *)(d->base + s->st_value); // NOLINT(performance-no-int-to-ptr)
}

/* DT_GNU_HASH: four words, a Bloom filter of `filter_words` addresses, buckets, and chains whose last hash is odd. */
static const void *find_gnu(const struct dynamic *d, const char *name)
{
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    uint32_t bucket_count = d->gnu_hash[0], first = d->gnu_hash[1], filter_words = d->gnu_hash[2];
    const uint32_t *buckets = d->gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof *buckets);
    uint32_t i = bucket_count ? buckets[hash % bucket_count] : 0;
    for (; i >= first && i; i++) {
        uint32_t chained = buckets[bucket_count + (i - first)];
        const void *at = (chained | 1) == (hash | 1) ? defined(d, i, name) : NULL;
        if (at || (chained & 1))
            return at;
    }
    return NULL;
}

/* DT_HASH: its second word is the number of symbols. All are walked: it is for old objects and happens once. */
static const void *find_sysv(const struct dynamic *d, const char *name)
{
    for (uint32_t i = 0; i < d->sysv_hash[1]; i++) {
        const void *at = defined(d, i, name);
        if (at)
            return at;
    }
    return NULL;
}

static const void *find_in_object(const struct dl_phdr_info *o, const char *name)
{
    struct dynamic d;
    if (!read_dynamic(o, &d))
        return NULL;
    return d.gnu_hash ? find_gnu(&d, name) : find_sysv(&d, name);
}

/* ---- walks over the loaded objects ----------------------------------------------------------------------------- */

struct path_walk {
    const void *address;
    char *path;
    size_t size;
};

static int visit_path(struct dl_phdr_info *o, size_t size, void *arg)
{
    (void)size;
    struct path_walk *w = arg;
    if (!holds(o, w->address))
        return 0;
    snprintf(w->path, w->size, "%s", o->dlpi_name ? o->dlpi_name : "");
    return 1;
}

void plugin_elf_path(const void *address, char *path, size_t size)
{
    struct path_walk w = {address, path, size};
    path[0] = 0;
    dl_iterate_phdr(visit_path, &w);
}

/* The object of a caller alone, where that defines the function; else all that do. */
struct function_walk {
    const char *name;
    const void *caller; /* NULL: the first one will do */
    const void *at;
    int found;
};

static int visit_function(struct dl_phdr_info *o, size_t size, void *arg)
{
    (void)size;
    struct function_walk *w = arg;
    const void *at = find_in_object(o, w->name);
    if (!at)
        return 0;
    int is_wanted = !w->caller || holds(o, w->caller);
    w->at = at;
    w->found = is_wanted ? 1 : w->found + 1;
    return is_wanted;
}

/* ISO C has no cast from object to function pointer. */
static plugin_function *as_function(const void *at)
{
    plugin_function *f;
    memcpy(&f, &at, sizeof f);
    return f;
}

int plugin_elf_nccl_version(const void *caller)
{
    struct function_walk w = {.name = "ncclGetVersion", .caller = caller};
    int version = 0;
    dl_iterate_phdr(visit_function, &w);
    if (w.found != 1)
        return 0;
    int (*get_version)(int *) = (int (*)(int *))as_function(w.at);
    return !get_version(&version) && version > 0 ? version : 0;
}

plugin_function *plugin_elf_function(const char *name)
{
    struct function_walk w = {.name = name};
    dl_iterate_phdr(visit_function, &w);
    return as_function(w.at);
}

void *plugin_elf_open(const char *name, int flags)
{
    void *(*open_library)(const char *, int) = (void *(*)(const char *, int))plugin_elf_function("dlopen");
    return open_library ? open_library(name, flags) : NULL;
}

const void *plugin_elf_symbol(void *library, const char *name)
{
    void *(*find_symbol)(void *, const char *) = (void *(*)(void *, const char *))plugin_elf_function("dlsym");
    return find_symbol ? find_symbol(library, name) : NULL;
}

void plugin_elf_close(void *library)
{
    int (*close_library)(void *) = (int (*)(void *))plugin_elf_function("dlclose");
    if (close_library)
        close_library(library);
}

const char *plugin_elf_error(void)
{
    const char *(*last_error)(void) = (const char *(*)(void))plugin_elf_function("dlerror");
    const char *error = last_error ? last_error() : NULL;
    return error ? error : "it cannot be loaded";
}

int plugin_elf_stay(const void *address)
{
    char path[PATH_MAX];
    plugin_elf_path(address, path, sizeof path);
    /* The program itself, of a test, has no name. */
    return plugin_elf_open(path[0] ? path : NULL, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}
