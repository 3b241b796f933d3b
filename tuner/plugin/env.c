/* NCCL's environment interface, versions 1 (NCCL 2.28.7 on) and 2 (2.30.7 on): a profile's settings inside a container
 * whose /etc is not ours. Loaded only when NCCL_ENV_PLUGIN names this library.
 *
 * Once it is loaded NCCL asks it alone, so the process's own environment is answered first; what is not set there comes
 * from NCCLTUNE_PROFILE's nccl.conf and from the file in nccl.d of this node's class: the one that the profile's
 * hook.map has for this host, else NCCLTUNE_CLASS. What a Slurm hook set on another node for that one's class (mpirun
 * -x carries it here) gives way to this node's own. A file that cannot be read sets nothing. The settings are read by
 * the first init, which NCCL calls before it asks for anything, and never change, so a look-up takes no lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/vars/catalogue.h"
#include "tuner/libc/read.h"
#include "tuner/plugin/abi.h"
#include "tuner/plugin/source.h"

#define FILE_BYTES   (64 << 10)
#define MAP_BYTES    (4 << 20)
#define HOST_BYTES   256
#define SETTINGS_MAX 256
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
    char *text[2]; /* of the class's file and of nccl.conf, cut into the strings below */
    struct {
        const char *name, *value;
    } settings[SETTINGS_MAX];
    int count, of_class; /* the first ones are the class's */
    char class_name[HOST_BYTES];
} env = {.mutex = PTHREAD_MUTEX_INITIALIZER};

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
        if (strncmp(line, "NCCL_", 5) != 0 || env_undeliverable(line, value))
            continue;
        env.settings[env.count].name = line;
        env.settings[env.count++].value = value;
    }
}

/* The class behind "host NAME " in hook.map, for a host's name of n bytes; 0: there is none. */
static int find_host(const char *map, const char *host, size_t n)
{
    static const char word[] = "\nhost ";
    for (const char *line = map; (line = strstr(line, word)); line++) {
        const char *name = line + sizeof word - 1;
        if (!strncmp(name, host, n) && name[n] == ' ') {
            size_t length = strcspn(name + n + 1, "\n");
            snprintf(env.class_name, sizeof env.class_name, "%.*s", (int)length, name + n + 1);
            return 1;
        }
    }
    return 0;
}

/* This host's name decides, whatever was exported elsewhere. */
static void find_class(const char *profile)
{
    char path[PATH_MAX], host[HOST_BYTES] = "";
    const char *told = getenv("NCCLTUNE_CLASS");
    char *map;
    size_t bytes;
    snprintf(path, sizeof path, "%s/hook.map", profile);
    gethostname(host, sizeof host - 1);
    if (plugin_read_file(path, MAP_BYTES, &map, &bytes) ||
        (!find_host(map, host, strlen(host)) && !find_host(map, host, strcspn(host, "."))))
        snprintf(env.class_name, sizeof env.class_name, "%s", told ? told : "");
    free(map);
}

static void read_settings(void)
{
    const char *profile = getenv("NCCLTUNE_PROFILE"), *mode = getenv("NCCLTUNE"), *name = env.class_name;
    char path[PATH_MAX], near[PATH_MAX];
    size_t bytes;
    if (!profile || *profile != '/' || strlen(profile) > sizeof path - 300 || (mode && !strcmp(mode, "off")))
        return;
    profile = plugin_near(profile, near);
    find_class(profile);
    /* The class's file first: the first of two settings is the one that is found. */
    if (*name && *name != '.' && strlen(name) < 200 && strspn(name, WORD) == strlen(name)) {
        snprintf(path, sizeof path, "%s/nccl.d/%s.conf", profile, name);
        if (!plugin_read_file(path, FILE_BYTES, &env.text[0], &bytes))
            take_lines(env.text[0]);
    }
    env.of_class = env.count;
    snprintf(path, sizeof path, "%s/nccl.conf", profile);
    if (!plugin_read_file(path, FILE_BYTES, &env.text[1], &bytes))
        take_lines(env.text[1]);
}

/* Whether NCCLTUNE_SET, which lists what hooks have set ("NAME=value|NAME=value"), has this. */
static int set_by_hook(const char *name, const char *value)
{
    const char *at = getenv("NCCLTUNE_SET");
    size_t n = strlen(name), m = strlen(value);
    while (at && *at) {
        size_t whole = strcspn(at, "|");
        if (whole == n + 1 + m && !strncmp(at, name, n) && at[n] == '=' && !strncmp(at + n + 1, value, m))
            return 1;
        at += whole + (at[whole] == '|');
    }
    return 0;
}

static const char *get_env(const char *name)
{
    const char *own = name ? getenv(name) : NULL;
    if (!name)
        return NULL;
    for (int i = 0; i < env.count; i++)
        if (!strcmp(env.settings[i].name, name))
            return !own || (i < env.of_class && set_by_hook(name, own)) ? env.settings[i].value : own;
    return own;
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
