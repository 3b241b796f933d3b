/* What nvidia-smi prints: --query-gpu CSV, dmon and pmon, the table of plain nvidia-smi (also with -l), topo -m.
 * Columns are found by the names in the header. Where --format=csv,noheader leaves it out, units tell: the first value
 * in percent is the GPU's use, watts are its power, a small whole number is its index. DCGM's exporter and dcgmi dmon
 * say the same under names of their own. */
#include <math.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* ---- how busy each GPU is over the samples of any tool: gaps, spread, and how a file ends ------------------------ */

#define IDLE  5.0  /* percent: nothing runs */
#define FULL  99.0 /* percent: something always runs */
#define WATTS 32.0 /* of a class of power */

/* The GPU of that name; NULL when there is no room. */
static struct diag_sampled_gpu *find_gpu(struct diagnosis *d, const char *name)
{
    struct diag_samples *s = &d->samples;
    for (int i = 0; i < s->ngpus; i++)
        if (!strcmp(s->gpus[i].out.name, name))
            return &s->gpus[i];
    if (!s->gpus)
        s->gpus = arena_alloc(d->arena, DIAG_GPUS * sizeof *s->gpus);
    if (s->ngpus == DIAG_GPUS)
        return NULL;
    struct diag_sampled_gpu *g = &s->gpus[s->ngpus++];
    snprintf(g->out.name, sizeof g->out.name, "%s", name);
    g->out.tail_percent = -1;
    return g;
}

/* Samples of all GPUs at one time. */
static void end_round(struct diag_samples *s)
{
    if (!s->in_round)
        return;
    s->rounds++;
    s->spread_sum += s->round_high - s->round_low;
    s->in_round = 0;
    for (int i = 0; i < s->ngpus; i++)
        s->gpus[i].round_seen = 0;
}

static void end_gap(struct diag_sampled_gpu *g, double now_s)
{
    if (!g->in_gap)
        return;
    g->in_gap = 0;
    if (now_s - g->gap_start_s > g->out.longest_gap_s) {
        g->out.longest_gap_s = now_s - g->gap_start_s;
        memcpy(g->out.gap_place, g->gap_began, sizeof g->gap_began);
    }
}

/* A run of samples at 0 % or at 100 %; the last one lasts to the end of the file. */
static void follow_run(struct diagnosis *d, struct diag_sampled_gpu *g, double percent, double now_s)
{
    int at = percent < IDLE ? 0 : percent >= FULL ? 100 : -1;
    if (at == g->out.tail_percent)
        return;
    if (g->out.tail_percent >= 0)
        g->out.longest_run_s = fmax(g->out.longest_run_s, now_s - g->run_start_s);
    g->out.tail_percent = at;
    g->run_start_s = now_s;
    diag_here(d, g->out.tail_place);
}

/* A sample of `g` (NULL: there was no room): percent busy, seconds (-1: samples count as seconds), watts (0: unknown).
 */
static void take_sample(struct diagnosis *d, struct diag_sampled_gpu *g, double percent, double now_s, double power_W,
                        double limit_W)
{
    struct diag_samples *s = &d->samples;
    if (!g)
        return;
    if (now_s < 0)
        now_s = (double)g->out.samples;
    if (!s->rounds && !s->in_round)
        s->first_s = now_s;
    if (g->round_seen)
        end_round(s);
    s->round_low = s->in_round ? fmin(s->round_low, percent) : percent;
    s->round_high = s->in_round ? fmax(s->round_high, percent) : percent;
    s->in_round = g->round_seen = 1;
    g->out.samples++;
    g->sum += percent;
    g->squares += percent * percent;
    g->idle += percent < IDLE;
    g->power_sum += power_W;
    g->powers += power_W > 0;
    if (percent >= FULL && power_W > 0)
        g->at_W[(int)fmin(power_W / WATTS, DIAG_POWERS - 1)]++;
    g->out.limit_W = limit_W > 0 ? limit_W : g->out.limit_W;
    g->last_s = now_s;
    follow_run(d, g, percent, now_s);
    if (percent >= IDLE) {
        if (!s->has_started) {
            s->started_s = now_s;
            diag_here(d, d->result.gpu_start_place);
        }
        s->has_started = g->has_worked = 1;
        end_gap(g, now_s);
    } else if (g->has_worked && !g->in_gap) {
        g->in_gap = 1;
        g->gap_start_s = now_s;
        diag_here(d, g->gap_began);
    }
}

/* The class of the highest power that any GPU drew at full utilisation. */
static int highest_power(const struct diag_samples *s)
{
    int highest = 0;
    for (int i = 0; i < s->ngpus; i++)
        for (int k = highest; k < DIAG_POWERS; k++)
            highest = s->gpus[i].at_W[k] ? k : highest;
    return highest;
}

void diag_finish_gpus(struct diagnosis *d)
{
    struct diag_samples *s = &d->samples;
    struct diag_result *r = &d->result;
    end_round(s);
    if (!s->ngpus)
        return;
    int highest = highest_power(s);
    r->gpus = arena_alloc(d->arena, (size_t)s->ngpus * sizeof *r->gpus);
    for (int i = 0; i < s->ngpus; i++) {
        struct diag_sampled_gpu *g = &s->gpus[i];
        double n = (double)g->out.samples;
        if (!g->out.samples)
            continue;
        end_gap(g, g->last_s);
        g->out.mean = g->sum / n;
        g->out.deviation = sqrt(fmax(0, g->squares / n - g->out.mean * g->out.mean));
        g->out.idle = (double)g->idle / n;
        g->out.power_W = g->powers ? g->power_sum / (double)g->powers : 0;
        for (int k = 0; 2 * k < highest; k++)
            g->out.spins += (double)g->at_W[k] / n;
        g->out.tail_s = g->out.tail_percent >= 0 ? fmax(0, g->last_s - g->run_start_s) : 0;
        r->gpus[r->ngpus++] = g->out;
    }
    r->gpu_spread = s->rounds ? s->spread_sum / (double)s->rounds : 0;
    r->gpu_start_idle_s = s->has_started ? s->started_s - s->first_s : 0;
}

/* ---- nvidia-smi and DCGM ----------------------------------------------------------------------------------------- */

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
    /* of dcgmi dmon */
    {"Entity", SMI_INDEX},
    {"GPUTL", SMI_UTIL},
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int read_header(struct diag_smi *s, const char *line, int commas)
{
    struct diag_fields f;
    memset(s->at, -1, sizeof s->at);
    s->commas = commas;
    s->columns = diag_split(&f, line, commas ? DIAG_COMMAS : DIAG_BLANKS);
    for (int i = 0; i < f.n; i++)
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            size_t n = strlen(columns[k].name);
            if (f.len[i] >= n && !strncmp(f.at[i], columns[k].name, n) && (f.len[i] == n || f.at[i][n] == ' ') &&
                s->at[columns[k].column] < 0)
                s->at[columns[k].column] = i;
        }
    s->unnamed = s->at[SMI_INDEX] < 0;
    if (s->unnamed)
        s->at[SMI_INDEX] = s->at[SMI_NAME];
    if (s->at[SMI_UTIL] < 0)
        s->columns = 0;
    return s->columns > 0;
}

/* A value such as "85 %" or "63.2 W", -1 without: "[N/A]", "-". */
static double value_at(const struct diag_smi *s, const struct diag_fields *f, enum diag_smi_column column)
{
    double value;
    return s->at[column] >= 0 && diag_number(f->at[s->at[column]], &value) && value >= 0 ? value : -1;
}

/* The GPU of a row: by index, else UUID, else address; rows of a single unnamed GPU are its. */
static struct diag_sampled_gpu *gpu_of(struct diagnosis *d, const struct diag_fields *f)
{
    const struct diag_smi *s = &d->smi;
    char name[DIAG_NAME] = "GPU";
    int i = s->at[SMI_INDEX];
    if (i >= 0)
        snprintf(name, sizeof name, "%s%.*s", s->unnamed ? "" : "GPU ", (int)(f->len[i] < 40 ? f->len[i] : 40),
                 f->at[i]);
    return find_gpu(d, name);
}

static int read_row(struct diagnosis *d, const char *line)
{
    struct diag_smi *s = &d->smi;
    struct diag_fields f;
    int n = diag_split(&f, line, s->commas ? DIAG_COMMAS : DIAG_BLANKS);
    /* Names of processes may hold blanks. */
    if (n < s->columns || (n > s->columns && s->at[SMI_PID] < 0))
        return 0;
    double percent = value_at(s, &f, SMI_UTIL);
    const char *text = f.at[s->at[SMI_UTIL]];
    if (!strncmp(text, "[N/A]", 5) || (!s->commas && *text == '-'))
        return 1;
    if (percent < 0 || percent > 100)
        return 0;
    struct diag_sampled_gpu *g = gpu_of(d, &f);
    /* Of the processes of one GPU the first counts. */
    if (!g || (s->at[SMI_PID] >= 0 && g == s->last))
        return 1;
    s->last = g;
    double power = value_at(s, &f, SMI_POWER), limit = value_at(s, &f, SMI_LIMIT);
    take_sample(d, g, percent, s->at[SMI_TIME] >= 0 ? diag_timestamp(f.at[s->at[SMI_TIME]]) : -1, power > 0 ? power : 0,
                limit > 0 ? limit : 0);
    return 1;
}

static int is_unit(const char *s, size_t len, const char *unit)
{
    size_t n = strlen(unit);
    double value;
    return len > n && !strncmp(s + len - n, unit, n) && diag_number(s, &value);
}

/* Columns by the units of a first row, which has at least an index or a time before the use. */
static int guess_columns(struct diag_smi *s, const char *line)
{
    struct diag_fields f;
    double value;
    memset(s->at, -1, sizeof s->at);
    s->commas = 1;
    s->unnamed = 0;
    s->columns = diag_split(&f, line, DIAG_COMMAS);
    for (int i = 0; i < s->columns; i++) {
        int at = is_unit(f.at[i], f.len[i], " %")                                                     ? SMI_UTIL
                 : is_unit(f.at[i], f.len[i], " W")                                                   ? SMI_POWER
                 : diag_timestamp(f.at[i]) >= 0                                                       ? SMI_TIME
                 : f.len[i] <= 3 && diag_number(f.at[i], &value) && value == (int)value && value >= 0 ? SMI_INDEX
                                                                                                      : SMI_COLUMNS;
        if (at < SMI_COLUMNS && s->at[at] < 0)
            s->at[at] = i;
    }
    if (s->at[SMI_UTIL] < 0 || s->at[SMI_INDEX] < 0 || s->at[SMI_INDEX] > s->at[SMI_UTIL])
        s->columns = 0;
    return s->columns > 0;
}

int diag_read_smi(struct diagnosis *d, const char *line)
{
    struct diag_smi *s = &d->smi;
    if (!s->columns && d->in->line == 1 && strstr(line, " %,") && guess_columns(s, line))
        return read_row(d, line);
    if (strstr(line, "utilization.gpu"))
        return strchr(line, ',') && read_header(s, line, 1);
    if (*line == '#' && (strstr(line, " gpu ") || s->columns))
        return strstr(line, " sm ") ? read_header(s, line + 1, 0) : s->columns > 0;
    return s->columns && read_row(d, line);
}

/* ---- DCGM: "DCGM_FI_DEV_GPU_UTIL{gpu="0",...} 97", and "GPU 0  97  0.81" below "#Entity  GPUTL  SMACT" ----------- */

static int read_exporter(struct diagnosis *d, const char *line)
{
    const char *gpu = strstr(line, "gpu=\""), *host = strstr(line, "Hostname=\""), *end = strchr(line, '}');
    char name[DIAG_NAME];
    double value;
    if (!gpu || !end || !diag_number(end + 1, &value) || value < 0)
        return 0;
    snprintf(name, sizeof name, "%.*s%sGPU %.*s", host ? (int)strcspn(host + 10, "\"") : 0, host ? host + 10 : "",
             host ? " " : "", (int)strcspn(gpu + 5, "\""), gpu + 5);
    if (!strncmp(line, "DCGM_FI_DEV_GPU_UTIL{", 21) && value <= 100)
        take_sample(d, find_gpu(d, name), value, -1, 0, 0);
    return 1;
}

int diag_read_dcgm(struct diagnosis *d, const char *line)
{
    if (!strncmp(line, "DCGM_FI_", 8))
        return read_exporter(d, line);
    if (!strncmp(line, "#Entity", 7))
        return read_header(&d->smi, line + 1, 0);
    return d->smi.columns && !strncmp(line, "GPU ", 4) && read_row(d, line + 4); /* the entity's number is behind it */
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
    struct diag_sampled_gpu *g = percent >= 0 && percent <= 100 ? find_gpu(d, name) : NULL;
    double limit = 0;
    if (power)
        diag_number(power + 3, &limit);
    take_sample(d, g, percent, s->table_s, power ? number_before(line, "W / ") : 0, limit);
    return g != NULL;
}

/* ---- topo -m ----------------------------------------------------------------------------------------------------- */

/* "GPU0  X  NV18 ...": the machine is read from the paste (machine.c). */
int diag_read_topo(struct diagnosis *d, const char *line)
{
    const char *p = line + strspn(line, " ");
    int is_row = !strncmp(p, "GPU", 3) && p[3] >= '0' && p[3] <= '9' && strstr(p, " X ");
    if (is_row && !*d->topo_place)
        diag_here(d, d->topo_place);
    d->paste_tells |= is_row;
    return is_row;
}
