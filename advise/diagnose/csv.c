/* Tables that trackers export: of W&B one column a metric ("Step", "RUN - timing_s/gen", its MIN and MAX), of
 * TensorBoard one file a metric ("Wall time,Step,Value"), whose name ends in -tag-NAME.csv with '/' as '_'. */
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* The metric of TensorBoard's file by its name, with the '/' behind its group put back; 0: no timer. */
static int key_of_file(const char *path, char key[DIAG_NAME])
{
    const char *tag = strstr(path, "-tag-");
    if (!tag)
        return 0;
    snprintf(key, DIAG_NAME, "%.*s", (int)strcspn(tag + 5, "."), tag + 5);
    for (char *p = key + strlen(key); p > key; p--)
        if (*p == '_') {
            *p = '/';
            if (diag_is_timer(key, strlen(key)))
                return 1;
            *p = '_';
        }
    return diag_is_timer(key, strlen(key));
}

static int read_header(struct diagnosis *d, const char *line)
{
    struct diag_csv *c = &d->csv;
    struct diag_fields f;
    int timers = 0;
    memset(c, 0, sizeof *c);
    c->step = -1;
    int n = diag_split(&f, line, DIAG_COMMAS), is_tensorboard = !strncmp(line, "Wall time,Step,Value", 20);
    for (int i = 0; i < n && i < DIAG_COLUMNS; i++) {
        const char *name = f.at[i];
        size_t len = f.len[i];
        const char *dash = memmem(name, len, " - ", 3);
        if (len == 4 && !strncmp(name, "Step", 4))
            c->step = i;
        if (dash) {
            len -= (size_t)(dash + 3 - name);
            name = dash + 3;
        }
        if (diag_is_timer(name, len) && !memmem(name, len, "__M", 3)) {
            snprintf(c->keys[i], DIAG_NAME, "%.*s", (int)len, name);
            timers++;
        }
    }
    if (is_tensorboard)
        timers += key_of_file(d->in->path, c->keys[2]);
    c->columns = c->step >= 0 && timers ? n : 0;
    return c->columns > 0;
}

int diag_read_csv(struct diagnosis *d, const char *line)
{
    struct diag_csv *c = &d->csv;
    struct diag_fields f;
    double number, value;
    if (d->in->line == 1 && strchr(line, ',') && strstr(line, "Step"))
        return read_header(d, line);
    if (!c->columns || diag_split(&f, line, DIAG_COMMAS) != c->columns || !diag_number(f.at[c->step], &number) ||
        !(number >= 0 && number < 1e15))
        return 0;
    diag_step_open(d, DIAG_CSV, (long)number);
    for (int i = 0; i < c->columns && i < DIAG_COLUMNS; i++)
        if (*c->keys[i] && diag_number(f.at[i], &value))
            diag_add_pair(d, DIAG_CSV, c->keys[i], strlen(c->keys[i]), value);
    diag_step_close(d, DIAG_CSV);
    return 1;
}
