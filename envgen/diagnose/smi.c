/* What nvidia-smi prints: --query-gpu CSV, dmon and pmon, the table of plain nvidia-smi (also with -l), topo -m.
 *
 * Columns are found by the names in the header, which --format=csv,noheader leaves out: such a file cannot be read. */
#include <stdlib.h>
#include <string.h>

#include "envgen/diagnose/diagnose_internal.h"

static const struct {
    const char *name;
    enum diag_smi_column column;
} columns[] = {
    {"timestamp", SMI_TIME},
    {"index", SMI_INDEX},
    {"utilization.gpu", SMI_UTIL},
    {"uuid", SMI_NAME},
    {"pci.bus_id", SMI_NAME},
    {"gpu_bus_id", SMI_NAME},
    {"power.draw", SMI_POWER},
    {"power.limit", SMI_LIMIT},
    {"enforced.power.limit", SMI_LIMIT},
    /* of dmon and pmon */
    {"gpu", SMI_INDEX},
    {"sm", SMI_UTIL},
    {"pwr", SMI_POWER},
    {"Time", SMI_TIME},
    {"pid", SMI_PID},
};

/* ---- rows of fields: between commas, or between blanks where there is none ---- */

/* The next field and its length; NULL behind the last one. */
static const char *field(const char **p, int commas, size_t *len)
{
    const char *s = *p + strspn(*p, " ");
    if (!*s)
        return NULL;
    *len = strcspn(s, commas ? "," : " ");
    *p = s + *len + (commas && s[*len] == ',');
    while (*len && s[*len - 1] == ' ')
        --*len;
    return s;
}

/* The i-th field, -1: none. */
static const char *field_at(const char *line, int commas, int i, size_t *len)
{
    const char *s = NULL;
    for (; i >= 0; i--)
        if (!(s = field(&line, commas, len)))
            return NULL;
    return s;
}

static int count_fields(const char *line, int commas)
{
    size_t len;
    int n = 0;
    while (field(&line, commas, &len))
        n++;
    return n;
}

static int read_header(struct diag_smi *s, const char *line, int commas)
{
    size_t len;
    const char *name;
    memset(s->at, -1, sizeof s->at);
    s->commas = commas;
    s->columns = 0;
    for (; (name = field(&line, commas, &len)) && s->columns < 256; s->columns++)
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            size_t n = strlen(columns[k].name);
            if (len >= n && !strncmp(name, columns[k].name, n) && (len == n || name[n] == ' ') &&
                s->at[columns[k].column] < 0)
                s->at[columns[k].column] = s->columns;
        }
    s->unnamed = s->at[SMI_INDEX] < 0;
    if (s->unnamed)
        s->at[SMI_INDEX] = s->at[SMI_NAME];
    if (s->at[SMI_UTIL] < 0)
        s->columns = 0;
    return s->columns > 0;
}

/* A value such as "85 %" or "63.2 W", -1 without: "[N/A]", "-". */
static double value_at(const struct diag_smi *s, const char *line, enum diag_smi_column column)
{
    size_t len;
    double value;
    const char *text = field_at(line, s->commas, s->at[column], &len);
    return text && diag_number(text, &value) && value >= 0 ? value : -1;
}

/* The GPU of a row: by index, else UUID, else address; rows of a single unnamed GPU are its. */
static struct diag_sampled_gpu *gpu_of(struct diagnosis *d, const char *line)
{
    const struct diag_smi *s = &d->smi;
    char name[DIAG_NAME] = "GPU";
    size_t len = 0;
    const char *text = field_at(line, s->commas, s->at[SMI_INDEX], &len);
    if (text)
        snprintf(name, sizeof name, "%s%.*s", s->unnamed ? "" : "GPU ", (int)(len < 40 ? len : 40), text);
    return diag_gpu(d, name);
}

static int read_row(struct diagnosis *d, const char *line)
{
    struct diag_smi *s = &d->smi;
    size_t len;
    int n = count_fields(line, s->commas);
    /* Names of processes may hold blanks. */
    if (n < s->columns || (n > s->columns && s->at[SMI_PID] < 0))
        return 0;
    double percent = value_at(s, line, SMI_UTIL);
    const char *text = field_at(line, s->commas, s->at[SMI_UTIL], &len);
    if (text && (!strncmp(text, "[N/A]", 5) || (!s->commas && *text == '-')))
        return 1;
    if (percent < 0 || percent > 100)
        return 0;
    struct diag_sampled_gpu *g = gpu_of(d, line);
    /* Of the processes of one GPU the first counts. */
    if (!g || (s->at[SMI_PID] >= 0 && g == s->last))
        return 1;
    s->last = g;
    const char *time = field_at(line, s->commas, s->at[SMI_TIME], &len);
    double power = value_at(s, line, SMI_POWER), limit = value_at(s, line, SMI_LIMIT);
    diag_gpu_sample(d, g, percent, time ? diag_timestamp(time) : -1, power > 0 ? power : 0, limit > 0 ? limit : 0);
    return 1;
}

int diag_read_smi(struct diagnosis *d, const char *line)
{
    struct diag_smi *s = &d->smi;
    if (strstr(line, "utilization.gpu"))
        return strchr(line, ',') && read_header(s, line, 1);
    if (*line == '#' && (strstr(line, " gpu ") || s->columns)) {
        const char *names = line + 1;
        return strstr(line, " sm ") ? read_header(s, names, 0) : s->columns > 0;
    }
    return s->columns && read_row(d, line);
}

/* ---- the table: "|   0  NVIDIA H100 ...  On  | 00000000:1B:00.0 Off |", "| N/A 35C P0 63W / 700W | ... | 98% ... |"
 * ---- */

static double number_before(const char *line, const char *mark)
{
    const char *p = strstr(line, mark);
    double value = -1;
    while (p && p > line && ((p[-1] >= '0' && p[-1] <= '9') || p[-1] == '.'))
        p--;
    return p && diag_number(p, &value) ? value : -1;
}

int diag_read_smi_table(struct diagnosis *d, const char *line)
{
    struct diag_smi *s = &d->smi;
    double index, percent = -1;
    if (strstr(line, "NVIDIA-SMI ") && strchr(line, '|')) {
        s->table_s = d->clock_s;
        return 1;
    }
    if (*line != '|')
        return 0;
    if (strstr(line, "0000:") && diag_number(line + 1, &index) && index >= 0 && index < DIAG_GPUS) {
        s->table_index = (int)index + 1;
        return 1;
    }
    const char *memory = strstr(line, "MiB /"), *power = strstr(line, "W / ");
    if (!s->table_index || !memory)
        return 0;
    const char *cell = strchr(memory, '|');
    percent = cell ? number_before(cell, "%") : -1;
    char name[DIAG_NAME];
    snprintf(name, sizeof name, "GPU %d", s->table_index - 1);
    s->table_index = 0;
    struct diag_sampled_gpu *g = percent >= 0 && percent <= 100 ? diag_gpu(d, name) : NULL;
    double limit = 0;
    if (power)
        diag_number(power + 3, &limit);
    if (g)
        diag_gpu_sample(d, g, percent, s->table_s, power ? number_before(line, "W / ") : 0, limit);
    return g != NULL;
}

/* ---- topo -m ---- */

int diag_read_topo(struct diagnosis *d, const char *line)
{
    static const char *const links[] = {"NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
    size_t len;
    const char *name = field(&line, 0, &len), *link;
    int self = 0, counts[6] = {0};
    if (!name || strncmp(name, "GPU", 3) != 0 || len < 4 || name[3] < '0' || name[3] > '9')
        return 0;
    while ((link = field(&line, 0, &len))) {
        if (len == 1 && *link == 'X') {
            self = 1;
            break; /* what follows mirrors the rows below */
        }
        size_t i = 0;
        while (i < 6 && strncmp(link, links[i], strlen(links[i])) != 0)
            i++;
        if (i == 6)
            return 0;
        counts[i]++;
    }
    for (size_t i = 0; self && i < 6; i++)
        d->topo_links[i] += counts[i];
    if (self && !d->topo_gpus++)
        diag_here(d, d->topo_place);
    return self;
}
