/* NCCL's environment interface, versions 1 (NCCL 2.28.7 on) and 2 (2.30.7 on): a profile's settings inside a container
 * whose /etc is not ours. Loaded only when NCCL_ENV_PLUGIN names this library.
 *
 * Once it is loaded NCCL asks it alone, so the process's own environment is answered first; what is not set there comes
 * from NCCLTUNE_PROFILE's nccl.conf and, where NCCLTUNE_CLASS names this node's class, from its file in nccl.d. A file
 * that cannot be read sets nothing. The settings are read by the first init, which NCCL calls before it asks for
 * anything, and never change, so a look-up takes no lock. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/plugin/abi.h"

#define FILE_BYTES   (64 << 10)
#define SETTINGS_MAX 256
#define NAMES        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define WORD         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

struct nccl_env_v1 {
    const char *name;
    int (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix);
    int (*finalize)(void);
    const char *(*get_env)(const char *name);
};

struct nccl_env_v2 {
    const char *name;
    int (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix, nccl_logger log);
    int (*finalize)(void);
    const char *(*get_env)(const char *name);
};

static struct {
    pthread_mutex_t mutex; /* for init; pthread_once would bind glibc 2.34 */
    int judged;
    char text[2][FILE_BYTES + 1]; /* of nccl.conf and of the class's file, cut into the strings below */
    struct {
        const char *name, *value;
    } settings[SETTINGS_MAX];
    int count;
} env = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* What loads code or names outputs is no business of a profile's. */
static int deliverable(const char *name)
{
    static const char plugin[] = "_PLUGIN", file[] = "_FILE";
    size_t n = strlen(name);
    if (strncmp(name, "NCCL_", 5) != 0 || strspn(name, NAMES) != n)
        return 0;
    if (n > sizeof plugin && !strcmp(name + n - (sizeof plugin - 1), plugin))
        return 0;
    return !strcmp(name, "NCCL_TOPO_FILE") || n <= sizeof file || strcmp(name + n - (sizeof file - 1), file) != 0;
}

/* NAME=value lines in the syntax of /etc/nccl.conf. */
static void take_lines(char *text)
{
    for (char *line = text, *next; *line && env.count < SETTINGS_MAX; line = next) {
        size_t n = strcspn(line, "\n");
        next = line + n + (line[n] == '\n');
        line[n] = 0;
        char *value = strchr(line, '=');
        if (*line == '#' || !value)
            continue;
        *value++ = 0;
        if (!deliverable(line))
            continue;
        env.settings[env.count].name = line;
        env.settings[env.count++].value = value;
    }
}

/* Reads a regular file of at most FILE_BYTES; told by lseek, as in source.c. */
static void read_file(const char *path, char *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    if (size > 0 && size <= FILE_BYTES && lseek(fd, 0, SEEK_SET) == 0) {
        ssize_t n, used = 0;
        while ((n = read(fd, text + used, (size_t)(FILE_BYTES - used))) > 0 || (n < 0 && errno == EINTR))
            used += n > 0 ? n : 0;
        text[used] = 0;
        take_lines(text);
    }
    if (fd >= 0)
        close(fd);
}

static void read_settings(void)
{
    const char *profile = getenv("NCCLTUNE_PROFILE"), *class_name = getenv("NCCLTUNE_CLASS"),
               *mode = getenv("NCCLTUNE");
    char path[PATH_MAX];
    if (!profile || *profile != '/' || strlen(profile) > sizeof path - 300 || (mode && !strcmp(mode, "off")))
        return;
    /* The class's file first: the first of two settings is the one that is found. */
    if (class_name && *class_name && *class_name != '.' && strlen(class_name) < 200 &&
        strspn(class_name, WORD) == strlen(class_name)) {
        snprintf(path, sizeof path, "%s/nccl.d/%s.conf", profile, class_name);
        read_file(path, env.text[0]);
    }
    snprintf(path, sizeof path, "%s/nccl.conf", profile);
    read_file(path, env.text[1]);
}

static const char *get_env(const char *name)
{
    const char *own = name ? getenv(name) : NULL;
    if (own || !name)
        return own;
    for (int i = 0; i < env.count; i++)
        if (!strcmp(env.settings[i].name, name))
            return env.settings[i].value;
    return NULL;
}

static int init_v1(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix)
{
    (void)major, (void)minor, (void)patch, (void)suffix;
    pthread_mutex_lock(&env.mutex);
    if (!env.judged)
        read_settings();
    env.judged = 1;
    pthread_mutex_unlock(&env.mutex);
    return NCCLTUNE_SUCCESS;
}

static int init_v2(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix, nccl_logger log)
{
    init_v1(major, minor, patch, suffix);
    if (log)
        log(NCCLTUNE_LOG_INFO, NCCLTUNE_SUBSYS_INIT, __FILE__, __LINE__, "nccltune: %d settings from the profile",
            env.count);
    return NCCLTUNE_SUCCESS;
}

static int finalize(void)
{
    return NCCLTUNE_SUCCESS;
}

PLUGIN_EXPORT const struct nccl_env_v1 ncclEnvPlugin_v1 = {"nccltune", init_v1, finalize, get_env};
PLUGIN_EXPORT const struct nccl_env_v2 ncclEnvPlugin_v2 = {"nccltune", init_v2, finalize, get_env};
