/* Which table this process uses, and its content.
 *
 * A variable that is set decides alone: were a rank to fall through to another table because it cannot read the one
 * that was named, ranks would decide differently and hang. Relative paths are refused for the same reason. */
#include "tuner/plugin/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/hash.h"
#include "tuner/libc/elf.h"
#include "tuner/libc/read.h"
#include "tuner/table/table.h"

#define TABLE_NAME   "tuner.csv"
#define BINARY_NAME  "tuner.bin"
#define SYSTEM_TABLE "/etc/nccltune/" TABLE_NAME

static int cannot_read(struct plugin_source *s, const char *why)
{
    snprintf(s->error, sizeof s->error, "cannot read %s: %s", s->path, why);
    return -1;
}

/* Reads s->path. 0; 1 when there is no such file; -1 with s->error. */
static int read_table(struct plugin_source *s)
{
    int error = plugin_read_file(s->path, TUNER_BYTES_LIMIT, &s->text, &s->bytes);
    if (error == EISDIR)
        return cannot_read(s, "it is a directory; name the tuner.csv in it, or the directory in NCCLTUNE_PROFILE");
    if (error)
        cannot_read(s, error == ESPIPE   ? "not a regular file"
                       : error == EFBIG  ? "larger than 64 MiB"
                       : error == ENOMEM ? "no memory"
                                         : strerror(error));
    return !error ? 0 : error == ENOENT || error == ENOTDIR ? 1 : -1;
}

const char *plugin_near(const char *profile, char near[PATH_MAX])
{
    static const char copies[] = "/run/nccltune/profiles", map[] = "/hook.map";
    const char *name = strrchr(profile, '/');
    if (!name || strlen(name) != SHA256_HEX || strspn(name + 1, "0123456789abcdef") != SHA256_HEX - 1)
        return profile;
    snprintf(near, PATH_MAX, "%s%s%s", copies, name, map);
    if (access(near, R_OK))
        return profile;
    near[strlen(near) - strlen(map)] = 0;
    return near;
}

/* A path that a variable names; `suffix` is put behind a directory. 0 when the variable does not decide. */
static int name_by_variable(struct plugin_source *s, const char *name, const char *suffix)
{
    const char *value = getenv(name);
    if (!value || !*value)
        return 0;
    char near[PATH_MAX];
    int n = snprintf(s->path, sizeof s->path, "%s%s", *suffix ? plugin_near(value, near) : value, suffix);
    if (value[0] != '/')
        snprintf(s->error, sizeof s->error, "%s=%.200s is not an absolute path; ranks may run in different directories",
                 name, value);
    else if (n < 0 || (size_t)n >= sizeof s->path)
        snprintf(s->error, sizeof s->error, "%s is longer than a path can be", name);
    return 1;
}

static int from_variables(struct plugin_source *s)
{
    return name_by_variable(s, "NCCLTUNE_PROFILE", "/" TABLE_NAME) || name_by_variable(s, "NCCL_TUNER_CONFIG_FILE", "");
}

/* A place that is looked at in any case. 0 when nothing is there. */
static int from_place(struct plugin_source *s, const char *path)
{
    snprintf(s->path, sizeof s->path, "%s", path);
    if (read_table(s) != 1)
        return 1;
    s->path[0] = s->error[0] = 0;
    return 0;
}

static int beside_plugin(struct plugin_source *s)
{
    static const char own = 0;
    char path[PATH_MAX];
    plugin_elf_path(&own, path, sizeof path - sizeof TABLE_NAME);
    char *slash = strrchr(path, '/');
    if (path[0] != '/' || !slash)
        return 0; /* loaded by a path that holds in the current directory alone */
    memcpy(slash + 1, TABLE_NAME, sizeof TABLE_NAME);
    return from_place(s, path);
}

void plugin_source_read(struct plugin_source *s)
{
    s->path[0] = s->error[0] = 0;
    s->text = NULL;
    s->bytes = 0;
    if (from_variables(s)) {
        if (!s->error[0])
            read_table(s);
    } else if (!beside_plugin(s)) {
        from_place(s, SYSTEM_TABLE);
    }
}

/* ---- the prepared form ------------------------------------------------------------------------------------------- */

#define COPIED_BYTES ((size_t)256 << 10) /* the larger ones are mapped */

/* Whether nobody but root and this user can have written the file; and how large it is. fstat would bind a newer glibc.
 */
static int is_ours(int fd, size_t *bytes)
{
    struct stat st;
    if (syscall(SYS_fstat, fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != geteuid()) ||
        st.st_mode & (S_IWGRP | S_IWOTH) || st.st_size <= 0 || (uint64_t)st.st_size > TUNER_BYTES_LIMIT)
        return 0;
    *bytes = (size_t)st.st_size;
    return 1;
}

/* A file of usual size is copied: a mapped one that a server takes away under us would end the process. */
static int take_content(struct plugin_prepared *p, int fd)
{
    size_t done = 0;
    p->is_mapped = p->bytes > COPIED_BYTES;
    if (p->is_mapped) {
        p->data = mmap(NULL, p->bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
        p->data = p->data == MAP_FAILED ? NULL : p->data;
        return p->data != NULL;
    }
    p->data = malloc(p->bytes);
    while (p->data && done < p->bytes) {
        ssize_t n = read(fd, (char *)p->data + done, p->bytes - done);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    return p->data && done == p->bytes;
}

int plugin_prepared_read(struct plugin_prepared *p)
{
    struct plugin_source s = {.path = ""};
    *p = (struct plugin_prepared){.path = ""};
    size_t length = from_variables(&s) && !s.error[0] ? strlen(s.path) : 0, name = sizeof TABLE_NAME - 1;
    if (length <= name || strcmp(s.path + length - name - 1, "/" TABLE_NAME) != 0)
        return 0;
    memcpy(s.path + length - name, BINARY_NAME, sizeof BINARY_NAME);
    memcpy(p->path, s.path, sizeof p->path);
    int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    int is_read = fd >= 0 && is_ours(fd, &p->bytes) && take_content(p, fd);
    if (fd >= 0)
        close(fd);
    if (!is_read)
        plugin_prepared_free(p);
    return is_read;
}

void plugin_prepared_free(struct plugin_prepared *p)
{
    if (p->data && p->is_mapped)
        munmap(p->data, p->bytes);
    else
        free(p->data);
    p->data = NULL;
}
