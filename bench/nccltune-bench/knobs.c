/* MPI_T control variables and the communicators made under them. */
#include "bench/nccltune-bench/knobs.h"

#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/units.h"

/* More settings than any library has algorithms and segment sizes; past it all communicators are made anew. */
#define CACHED 128
#define KEY    512

static struct {
    char key[KEY];
    MPI_Comm comm;
} cache[CACHED];
static int cached;

void knobs_library(char *text, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int n;
    MPI_Get_library_version(version, &n);
    version[strcspn(version, ",\n")] = 0;
    /* "Open MPI v4.1.4": the v is no part of the number. */
    char *v = strstr(version, " v");
    if (v && v[2] >= '0' && v[2] <= '9')
        memmove(v + 1, v + 2, strlen(v + 2) + 1);
    snprintf(text, size, "%s", version);
}

/* ---- what there is ---- */

static cJSON *describe_values(MPI_T_enum values, int count)
{
    cJSON *o = cJSON_CreateObject();
    for (int i = 0; i < count; i++) {
        char name[128];
        int value, size = sizeof name;
        if (MPI_T_enum_get_item(values, i, &value, name, &size) == MPI_SUCCESS)
            cJSON_AddNumberToObject(o, name, value);
    }
    return o;
}

static void describe_variable(cJSON *variables, const char *name)
{
    int index, verbosity, bind, scope, no_size = 0, count;
    MPI_Datatype type;
    MPI_T_enum values = MPI_T_ENUM_NULL;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS)
        return;
    if (MPI_T_cvar_get_info(index, NULL, &no_size, &verbosity, &type, &values, NULL, &no_size, &bind, &scope) !=
        MPI_SUCCESS)
        return;
    no_size = 0;
    if (values == MPI_T_ENUM_NULL || MPI_T_enum_get_info(values, &count, NULL, &no_size) != MPI_SUCCESS)
        count = 0;
    cJSON_AddItemToObject(variables, name, describe_values(values, count));
}

int knobs_describe(char *const *names, int nnames, FILE *out)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    knobs_library(library, sizeof library);
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "library", library);
    cJSON *variables = cJSON_AddObjectToObject(doc, "variables");
    for (int i = 0; i < nnames; i++)
        describe_variable(variables, names[i]);
    json_print_line(doc, out);
    cJSON_Delete(doc);
    return fflush(out) || ferror(out) ? ERR_FAILED : 0;
}

/* ---- switching ---- */

/* Writes `value` to the whole-number variable `name`; `*before` is what it was. */
static int exchange_variable(const char *name, int value, int *before, struct err *e)
{
    int index, count, rc, verbosity, bind, scope, no_size = 0;
    MPI_Datatype type;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS)
        return err_set(e, ERR_FAILED, "this MPI library has no variable %s", name);
    rc = MPI_T_cvar_get_info(index, NULL, &no_size, &verbosity, &type, NULL, NULL, &no_size, &bind, &scope);
    if (rc != MPI_SUCCESS || (type != MPI_INT && type != MPI_UNSIGNED))
        return err_set(e, ERR_FAILED, "variable %s does not hold a whole number", name);
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS || count != 1)
        return err_set(e, ERR_FAILED, "variable %s cannot be reached", name);
    int after = 0;
    rc = MPI_T_cvar_read(handle, before);
    if (rc == MPI_SUCCESS)
        rc = MPI_T_cvar_write(handle, &value);
    if (rc == MPI_SUCCESS)
        rc = MPI_T_cvar_read(handle, &after);
    MPI_T_cvar_handle_free(&handle);
    if (rc != MPI_SUCCESS || after != value)
        return err_set(e, ERR_FAILED, "variable %s does not take %d", name, value);
    return 0;
}

static int make_comm(const struct bench_knobs *knobs, MPI_Comm base, MPI_Comm *comm, struct err *e)
{
    int done = 0, rc = 0, *before = calloc((size_t)knobs->nsettings + 1, sizeof *before);
    for (; before && !rc && done < knobs->nsettings; done += !rc) {
        long value;
        rc = unit_parse_int(knobs->settings[done].value, INT32_MIN, INT32_MAX, &value, knobs->settings[done].name, e);
        if (!rc)
            rc = exchange_variable(knobs->settings[done].name, (int)value, &before[done], e);
    }
    /* One rank alone under another algorithm would hang the next call. */
    int ok = before && !rc, all;
    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, base);
    if (all) {
        rc = MPI_Comm_dup(base, comm) == MPI_SUCCESS ? 0 : err_set(e, ERR_FAILED, "MPI_Comm_dup failed");
    } else if (!rc) {
        rc = err_set(e, ERR_FAILED, "another rank could not set its variables");
    }
    while (before && done > 0) {
        int now;
        done--;
        if (exchange_variable(knobs->settings[done].name, before[done], &now, e))
            rc = ERR_FAILED;
    }
    free(before);
    if (!rc)
        MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    return rc;
}

int knobs_comm(const struct bench_knobs *knobs, MPI_Comm base, MPI_Comm *comm, struct err *e)
{
    char key[KEY] = "";
    size_t used = 0;
    for (int i = 0; i < knobs->nsettings && used < sizeof key; i++)
        used += (size_t)snprintf(key + used, sizeof key - used, "%s=%s;", knobs->settings[i].name,
                                 knobs->settings[i].value);
    if (used >= sizeof key)
        return err_set(e, ERR_FAILED, "more settings than fit %d characters", KEY);
    for (int i = 0; i < cached; i++)
        if (!strcmp(cache[i].key, key)) {
            *comm = cache[i].comm;
            return 0;
        }
    if (cached == CACHED)
        knobs_free();
    int rc = make_comm(knobs, base, comm, e);
    if (!rc) {
        memcpy(cache[cached].key, key, sizeof key);
        cache[cached++].comm = *comm;
    }
    return rc;
}

void knobs_free(void)
{
    while (cached > 0)
        MPI_Comm_free(&cache[--cached].comm);
}
