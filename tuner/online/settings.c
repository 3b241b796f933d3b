/* Variables of launchers and our own. */
#include "tuner/online/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/launcher.h"

#define KEY_LEAST  16
#define KEY_MOST   4096
#define FIRST_PORT 15000 /* below those that systems give away by themselves */
#define PORTS      10000
#define WITHOUT    "; the job runs without tuning itself"

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

/* "node[01-16,20],login" begins with node01. */
static void first_host(const char *list, char host[ONLINE_HOST])
{
    size_t plain = strcspn(list, "[,"), digits = list[plain] == '[' ? strspn(list + plain + 1, "0123456789") : 0;
    snprintf(host, ONLINE_HOST, "%.*s%.*s", (int)(plain < 200 ? plain : 0), list, (int)(digits < 20 ? digits : 0),
             list + plain + 1);
}

/* One for all ranks of a job, and most likely another for the next. */
static uint16_t derive_port(const char *job)
{
    uint32_t hash = 2166136261U;
    for (const char *c = job; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619U;
    return (uint16_t)(FIRST_PORT + hash % PORTS);
}

/* "host", "host:port", "[address]:port"; 0 when it is none of them. */
static int read_address(struct online_settings *s, const char *text)
{
    const char *colon = strrchr(text, ':'), *close = strrchr(text, ']');
    long port = 0;
    if (colon && colon != strchr(text, ':') && (!close || colon < close))
        colon = NULL; /* an address of IPv6 alone */
    for (const char *c = colon ? colon + 1 : ""; *c; c++)
        port = *c >= '0' && *c <= '9' && port < 65536 ? 10 * port + (*c - '0') : 65536;
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    if (!n || n >= sizeof s->host || (colon && (port < 1 || port > 65535)))
        return 0;
    int bracketed = *text == '[' && text[n - 1] == ']';
    snprintf(s->host, sizeof s->host, "%.*s", (int)n - 2 * bracketed, text + bracketed);
    s->port = colon ? (uint16_t)port : s->port;
    return s->host[0] != 0;
}

/* A step's first host has its first rank, which may not be the first of the job's. */
static int find_address(struct online_settings *s, const struct launcher_rank *r)
{
    const char *own = variable("NCCLTUNE_ONLINE_ADDRESS"), *master = variable("MASTER_ADDR"),
               *nodes = variable("SLURM_STEP_NODELIST");
    nodes = nodes ? nodes : variable("SLURM_JOB_NODELIST");
    s->port = derive_port(s->job);
    if (own)
        return read_address(s, own);
    if (master)
        snprintf(s->host, sizeof s->host, "%s", master);
    else if (nodes)
        first_host(nodes, s->host);
    else if (r->nodes == 1 || r->per_node == r->ranks)
        snprintf(s->host, sizeof s->host, "127.0.0.1");
    return s->host[0] != 0;
}

/* ---- who --------------------------------------------------------------------------------------------------------- */

static void name_job(struct online_settings *s, const struct launcher_rank *r)
{
    const char *port = variable("MASTER_PORT"), *step = variable("SLURM_STEP_ID");
    snprintf(s->job, sizeof s->job, "%.100s/%.40s/%d", r->job ? r->job : "", port ? port : step ? step : "", r->ranks);
}

int online_settings_read(struct online_settings *s, char *why, size_t size)
{
    const char *mode = variable("NCCLTUNE"), *online = variable("NCCLTUNE_ONLINE"),
               *file = variable("NCCLTUNE_ONLINE_KEY_FILE");
    struct launcher_rank r;
    *why = 0;
    if ((mode && !strcmp(mode, "off")) || !online || strcmp(online, "tune") != 0)
        return -1;
    *s = (struct online_settings){.ranks = 1};
    if (!launcher_find(NULL, NULL, &r) || r.ranks < 2)
        return 0;
    s->rank = r.rank;
    s->ranks = r.ranks;
    name_job(s, &r);
    if (!find_address(s, &r))
        snprintf(why, size,
                 "NCCLTUNE_ONLINE=tune: where the job's first rank is says neither MASTER_ADDR nor Slurm: set "
                 "NCCLTUNE_ONLINE_ADDRESS=HOST:PORT" WITHOUT);
    else if (!file && !variable("NCCLTUNE_KEY"))
        snprintf(why, size,
                 "NCCLTUNE_ONLINE=tune needs a key that the job's ranks know one another by: set "
                 "NCCLTUNE_ONLINE_KEY_FILE, or have Slurm's prolog give each job one, nccltune-hook(8)" WITHOUT);
    else if (file && (*file != '/' || strlen(file) >= sizeof s->key_file))
        snprintf(why, size, "NCCLTUNE_ONLINE_KEY_FILE=%.200s is not an absolute path" WITHOUT, file);
    else
        snprintf(s->key_file, sizeof s->key_file, "%s", file ? file : "");
    return *why ? -1 : 0;
}

/* ---- the key ----------------------------------------------------------------------------------------------------- */

/* The call itself: glibc's function is newer than the plugin's containers. */
static int is_open_to_others(int fd)
{
    struct stat st;
    return syscall(SYS_fstat, fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_mode & 7;
}

/* How many bytes; -1 with `why`. */
static ssize_t read_key(const char *path, char key[KEY_MOST + 1], char *why, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : 0, got = 0;
    int error = errno, others = fd >= 0 && is_open_to_others(fd);
    for (; n >= 0 && !others && n <= KEY_MOST && (got = read(fd, key + n, (size_t)(KEY_MOST + 1 - n))) > 0; n += got)
        ;
    error = got < 0 ? errno : error;
    if (fd >= 0)
        close(fd);
    if (fd < 0 || got < 0)
        snprintf(why, size, "%.300s: %s" WITHOUT, path, strerror(error));
    else if (others)
        snprintf(why, size, "%.300s is no file that is closed to other users: chmod 600" WITHOUT, path);
    return *why ? -1 : n;
}

int online_settings_secret(const struct online_settings *s, struct secret *secret, char *why, size_t size)
{
    static const char purpose[] = "nccltune online";
    char key[KEY_MOST + 1];
    const char *told = variable("NCCLTUNE_KEY");
    struct sha256 h;
    *why = 0;
    ssize_t n = s->key_file[0] ? read_key(s->key_file, key, why, size) : 0;
    if (!s->key_file[0] && told)
        memcpy(key, told, (size_t)(n = (ssize_t)strnlen(told, sizeof key)));
    while (n > 0 && strchr("\r\n", key[n - 1]))
        n--;
    if (!*why && (n < KEY_LEAST || n > KEY_MOST))
        snprintf(why, size, "%.300s: a key has %d to %d bytes" WITHOUT, s->key_file[0] ? s->key_file : "NCCLTUNE_KEY",
                 KEY_LEAST, KEY_MOST);
    if (*why)
        return -1;
    sha256_init(&h);
    sha256_update(&h, purpose, sizeof purpose);
    sha256_update(&h, s->job, strlen(s->job) + 1);
    sha256_update(&h, key, (size_t)n);
    sha256_end(&h, secret->bytes);
    hmac_wipe(key, sizeof key);
    return 0;
}
