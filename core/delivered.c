/* A variable is ours when a list says so, when a profile that another variable names has it, or when it leads there. */
#include "core/delivered.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/locate.h"

#define MOST_BYTES ((size_t)64 << 10) /* of a file of settings */
#define OPENMPI    "OMPI_MCA_"

extern char **environ;

#define NEVER (DELIVERED_TABLE + 1)

static const struct {
    const char *name;
    int purpose; /* the least one that it serves */
    int plugin;  /* only where it names ours */
} marks[] = {{"NCCLTUNE_SET", NEVER, 0},
             {DELIVERED_SOURCED, NEVER, 0},
             {"NCCLTUNE_REFUSE", NEVER, 0},
             {"NCCLTUNE_PROFILE", DELIVERED_TABLE, 0},
             {"NCCLTUNE_HASH", DELIVERED_TABLE, 0},
             {"NCCL_TUNER_PLUGIN", DELIVERED_PLUGIN, 1},
             {"NCCL_ENV_PLUGIN", NEVER, 1}};
#define MARKS (sizeof marks / sizeof *marks)
#define LISTS 2 /* the first of them list what was set */

const char *delivered_beyond(enum delivered_purpose purpose)
{
    for (size_t i = 0; i < MARKS; i++) {
        const char *value = getenv(marks[i].name);
        if (value && *value && marks[i].purpose > (int)purpose && (!marks[i].plugin || locate_is_plugin(value)))
            return marks[i].name;
    }
    return NULL;
}

/* What has been removed so far. */
struct removal {
    struct arena *a;
    const char *text;
};

static void note_removed(struct removal *r, const char *what)
{
    r->text = arena_printf(r->a, "%s%s%s", r->text, *r->text ? ", " : "", what);
}

/* Remove a variable while it has the delivered value; NULL: any. */
static void remove_variable(struct removal *r, const char *name, const char *value)
{
    const char *now = getenv(name);
    if (!now || (value && strcmp(now, value) != 0))
        return;
    note_removed(r, name);
    unsetenv(name);
}

/* Remove what separate items "NAME=value" of a list or a file say. */
static void remove_items(struct removal *r, char *text, const char *between)
{
    char *rest = NULL;
    for (char *item = text ? strtok_r(text, between, &rest) : NULL; item; item = strtok_r(NULL, between, &rest)) {
        char *value = *item == '#' ? NULL : strchr(item, '=');
        if (!value || value == item)
            continue;
        *value++ = 0;
        remove_variable(r, item, value);
    }
}

/* ---- profiles that variables lead to ---- */

/* Return a file of at most MOST_BYTES, NULL where there is none. */
static char *read_text(const char *path, struct arena *a)
{
    char *text;
    size_t bytes;
    return access(path, F_OK) || file_read(path, MOST_BYTES, a, &text, &bytes, NULL) ? NULL : text;
}

static void remove_settings_of(struct removal *r, const char *profile)
{
    const char *classes = arena_printf(r->a, "%s/nccl.d", profile);
    DIR *dir = opendir(classes);
    for (const struct dirent *d; dir && (d = readdir(dir));)
        if (*d->d_name != '.')
            remove_items(r, read_text(arena_printf(r->a, "%s/%s", classes, d->d_name), r->a), "\n");
    if (dir)
        closedir(dir);
    remove_items(r, read_text(arena_printf(r->a, "%s/nccl.conf", profile), r->a), "\n");
}

/* Return the profile that the file at `path` is part of: beside it, or a directory above, is its manifest. */
static const char *profile_of(const char *path, struct arena *a)
{
    char *dir = arena_strdup(a, path), *slash = strrchr(dir, '/');
    if (!slash || access(path, F_OK))
        return NULL;
    for (int up = 0; up < 2 && slash; up++, slash = strrchr(dir, '/')) {
        *slash = 0;
        if (!access(arena_printf(a, "%s/manifest.json", dir), F_OK) &&
            !access(arena_printf(a, "%s/decisions.json", dir), F_OK))
            return dir;
    }
    return NULL;
}

/* Remove variables of NCCL and OpenMPI that are paths into a profile, and what else that profile sets. */
static void remove_paths(struct removal *r)
{
    for (int i = 0; environ && environ[i];) {
        const char *value = strchr(environ[i], '='), *profile = NULL;
        if (value && (!strncmp(environ[i], "NCCL_", 5) || !strncmp(environ[i], OPENMPI, sizeof OPENMPI - 1)))
            profile = profile_of(value + 1, r->a);
        if (!profile) {
            i++;
            continue;
        }
        remove_variable(r, arena_strndup(r->a, environ[i], (size_t)(value - environ[i])), NULL);
        remove_settings_of(r, profile);
        i = 0; /* the list has moved */
    }
}

const char *delivered_remove(struct arena *a)
{
    struct removal r = {a, ""};
    const char *profile = getenv("NCCLTUNE_PROFILE");
    if (profile && !getenv(marks[0].name)) /* without a list what has the profile's value is the profile's */
        remove_settings_of(&r, profile);
    for (size_t i = 0; i < LISTS; i++) {
        const char *list = getenv(marks[i].name);
        char *copy = list ? arena_strdup(a, list) : NULL;
        unsetenv(marks[i].name);
        remove_items(&r, copy, "|");
    }
    for (const char *name; (name = delivered_beyond(DELIVERED_NOTHING));)
        remove_variable(&r, name, NULL);
    remove_paths(&r);
    unsetenv("NCCLTUNE");
    return r.text;
}

/* ---- files that NCCL reads ---- */

char *delivered_line(const char *text, const char *marker)
{
    for (const char *at = text; (at = strstr(at, marker)); at++)
        if (at == text || at[-1] == '\n')
            return (char *)at;
    return NULL;
}

int delivered_cut(char *text)
{
    char *begin = delivered_line(text, DELIVERED_BEGIN), *end = begin ? delivered_line(begin, DELIVERED_END) : NULL;
    if (!end)
        return 0;
    end += strcspn(end, "\n");
    end += *end == '\n';
    memmove(begin, end, strlen(end) + 1);
    return 1;
}

const char *delivered_leave_out(struct arena *a)
{
    struct removal r = {a, delivered_remove(a)};
    const char *own = getenv("NCCL_CONF_FILE"), *home = getenv("HOME");
    const char *const files[] = {own && *own ? own : arena_printf(a, "%s/.nccl.conf", home ? home : ""),
                                 "/etc/nccl.conf", "/etc/rccl.conf"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *text = read_text(files[i], a);
        if (text && delivered_cut(text))
            note_removed(&r, arena_printf(a, "nccltune's lines in %s", files[i]));
    }
    setenv("NCCLTUNE", "off", 1);
    return r.text;
}
