/* Which table this process uses, and its content.
 *
 * A variable that is set decides alone: were a rank to fall through to another table because it cannot read the one
 * that was named, ranks would decide differently and hang. Relative paths are refused for the same reason. fstat and
 * stat would bind a newer glibc than containers have, so lseek tells what can be read like a file. */
#include "tuner/plugin/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/libc/elf.h"
#include "tuner/table/table.h"

#define TABLE_NAME   "tuner.csv"
#define SYSTEM_TABLE "/etc/nccltune/" TABLE_NAME

static int cannot_read(struct plugin_source *s, const char *why)
{
    snprintf(s->error, sizeof s->error, "cannot read %s: %s", s->path, why);
    return -1;
}

static int read_all(struct plugin_source *s, int fd, size_t size)
{
    s->text = malloc(size + 1);
    if (!s->text)
        return cannot_read(s, "no memory");
    while (s->bytes < size) {
        ssize_t n = read(fd, s->text + s->bytes, size - s->bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cannot_read(s, strerror(errno));
        if (n == 0)
            break;
        s->bytes += (size_t)n;
    }
    return 0;
}

/* Reads s->path. 0; 1 when there is no such file; -1 with s->error. A pipe, which could block, is told by lseek; opened
 * without O_NONBLOCK it would block already there. */
static int read_table(struct plugin_source *s)
{
    int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        cannot_read(s, strerror(errno));
        return 1;
    }
    if (fd < 0)
        return cannot_read(s, strerror(errno));
    off_t size = lseek(fd, 0, SEEK_END);
    int rc = -1;
    if (read(fd, &rc, 0) < 0 && errno == EISDIR) /* whose end lies anywhere */
        cannot_read(s, "it is a directory; name the tuner.csv in it, or the directory in NCCLTUNE_PROFILE");
    else if (size < 0 || lseek(fd, 0, SEEK_SET) < 0)
        cannot_read(s, "not a regular file");
    else if ((uint64_t)size > TUNER_BYTES_LIMIT)
        cannot_read(s, "larger than 64 MiB");
    else
        rc = read_all(s, fd, (size_t)size);
    close(fd);
    if (rc) {
        free(s->text);
        s->text = NULL;
    }
    return rc;
}

/* A path that a variable names; `suffix` is put behind a directory. 0 when the variable does not decide. */
static int from_variable(struct plugin_source *s, const char *name, const char *suffix)
{
    const char *value = getenv(name);
    if (!value || !*value)
        return 0;
    int n = snprintf(s->path, sizeof s->path, "%s%s", value, suffix);
    if (value[0] != '/')
        snprintf(s->error, sizeof s->error, "%s=%.200s is not an absolute path; ranks may run in different directories",
                 name, value);
    else if (n < 0 || (size_t)n >= sizeof s->path)
        snprintf(s->error, sizeof s->error, "%s is longer than a path can be", name);
    else
        read_table(s);
    return 1;
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
    if (from_variable(s, "NCCLTUNE_PROFILE", "/" TABLE_NAME) || from_variable(s, "NCCL_TUNER_CONFIG_FILE", "") ||
        beside_plugin(s) || from_place(s, SYSTEM_TABLE))
        return;
}
