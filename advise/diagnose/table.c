/* Sums of kernels: the table that PyTorch's key_averages() prints, and Nsight Systems' cuda_gpu_kern_sum, as text or
 * CSV: the time of NCCL's kernels, by collective, against all kernels.
 *
 * Rows are sums over the profile, so overlap cannot be seen: the share is of kernel time, not of wall time. */
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

/* Columns that hold the time of kernels, and their unit; 0: each row says its own. */
static const struct {
    const char *name;
    double unit_ms;
} times[] = {
    {"Self CUDA", 0}, {"Self HIP", 0}, {"Self XPU", 0}, {"Self Device", 0}, {"Total Time (ns)", 1e-6},
};

static int read_header(struct diagnosis *d, const char *line, int commas)
{
    struct diag_fields f;
    struct diag_table *t = &d->table;
    int n = diag_split(&f, line, commas ? DIAG_COMMAS : DIAG_GAPS);
    memset(t, 0, sizeof *t);
    t->name = t->self = t->percent = -1;
    t->commas = commas;
    for (int i = 0; i < n; i++) {
        if (diag_is_one_of("Name", f.at[i], f.len[i]))
            t->name = i;
        if (diag_is_one_of("Time (%)", f.at[i], f.len[i]))
            t->percent = i;
        for (size_t k = 0; k < sizeof times / sizeof *times; k++)
            if (diag_is_one_of(times[k].name, f.at[i], f.len[i])) {
                t->self = i;
                t->unit_ms = times[k].unit_ms;
            }
    }
    t->columns = t->name >= 0 && t->self >= 0 ? n : 0;
    return t->columns > 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const char *const collectives[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                          "Reduce",    "SendRecv",  "AllToAll",      "other collectives"};
#define OTHERS (sizeof collectives / sizeof *collectives - 1)
_Static_assert(OTHERS < DIAG_COLLECTIVES, "every collective has a sum");

/* Kernels, not the operators that launched them: their time is the same time again. The collective, -1: no kernel of
 * NCCL. */
static int collective_of(const char *s, size_t len)
{
    static const char *const parts[] = {"ncclDevKernel", "ncclKernel", "ncclSymkDevKernel", "rcclGenericKernel"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *at = memmem(s, len, parts[i], strlen(parts[i]));
        if (!at)
            continue;
        for (size_t k = 0; k < OTHERS; k++)
            if (memmem(at, len - (size_t)(at - s), collectives[k], strlen(collectives[k])))
                return (int)k;
        return (int)OTHERS;
    }
    return -1;
}

/* "1,234,567" of Nsight Systems. */
static int number_of(const char *s, size_t len, double *value)
{
    char digits[40];
    size_t n = 0;
    for (size_t i = 0; i < len && n < sizeof digits - 1; i++)
        if (s[i] != ',')
            digits[n++] = s[i];
    digits[n] = 0;
    return diag_number(digits, value) != NULL;
}

static int read_row(struct diag_table *t, const char *line)
{
    struct diag_fields f;
    double ms;
    if (diag_split(&f, line, t->commas ? DIAG_COMMAS : DIAG_GAPS) != t->columns)
        return 0;
    if (t->unit_ms > 0 ? !number_of(f.at[t->self], f.len[t->self], &ms) : !diag_time(f.at[t->self], 0, &ms))
        return 0;
    ms *= t->unit_ms > 0 ? t->unit_ms : 1;
    double percent;
    if (t->percent >= 0 && number_of(f.at[t->percent], f.len[t->percent], &percent))
        t->shown += percent / 100;
    int k = ms >= 0 && ms < 1e15 ? collective_of(f.at[t->name], f.len[t->name]) : -1;
    if (k >= 0)
        t->nccl_ms[k] += ms;
    else if (t->unit_ms > 0 && ms > 0 && ms < 1e15)
        t->other_ms += ms;
    return 1;
}

/* ---- the table's end --------------------------------------------------------------------------------------------- */

void diag_end_table(struct diagnosis *d)
{
    struct diag_table *t = &d->table;
    static const struct diag_word rest = {"", "other kernels", DIAG_COMPUTE, DIAG_NEITHER};
    static const struct diag_word cut = {"", "kernels not printed", DIAG_OTHER, DIAG_NEITHER, NULL, 1};
    double nccl = 0;
    for (size_t k = 0; k <= OTHERS; k++)
        nccl += t->nccl_ms[k];
    if (t->columns && t->unit_ms > 0 && nccl + t->other_ms > 0) {
        diag_step_open(d, DIAG_TABLE, -1);
        for (size_t k = 0; k <= OTHERS; k++) {
            char name[DIAG_NAME];
            snprintf(name, sizeof name, "NCCL %s", collectives[k]);
            struct diag_word w = {"", name, DIAG_COMMUNICATION, DIAG_NEITHER};
            if (t->nccl_ms[k] > 0)
                diag_step_add(d, DIAG_TABLE, &w, t->nccl_ms[k]);
        }
        diag_step_add(d, DIAG_TABLE, &rest, t->other_ms);
        if (t->shown > 0.01 && t->shown < 0.98) /* rounding of many rows takes less */
            diag_step_add(d, DIAG_TABLE, &cut, (nccl + t->other_ms) * (1 / t->shown - 1));
        diag_step_close(d, DIAG_TABLE);
    }
    memset(t, 0, sizeof *t);
}

/* "Self CUDA time total: 27.000ms" ends PyTorch's table and says what the other kernels took. */
static int read_total(struct diagnosis *d, const char *line)
{
    struct diag_table *t = &d->table;
    const char *total = strstr(line, " time total:");
    double ms, nccl = 0;
    if (!total || strncmp(line, "Self ", 5) != 0 || !strncmp(line, "Self CPU", 8) || !diag_time(total + 12, 0, &ms))
        return 0;
    for (size_t k = 0; k <= OTHERS; k++)
        nccl += t->nccl_ms[k];
    for (size_t k = 0; nccl > ms && k <= OTHERS; k++)
        t->nccl_ms[k] *= ms / nccl;
    t->other_ms = nccl < ms ? ms - nccl : 0;
    t->unit_ms = 1;
    diag_end_table(d);
    return 1;
}

int diag_read_table(struct diagnosis *d, const char *line)
{
    if (strstr(line, "# of Calls") && strstr(line, "Self CPU"))
        return read_header(d, line, 0);
    if (strstr(line, "Total Time (ns)") && strstr(line, "Name")) {
        diag_end_table(d);
        return read_header(d, line, strchr(line, ',') != NULL);
    }
    if (!d->table.columns)
        return 0;
    if (d->table.unit_ms > 0 && !*line) {
        diag_end_table(d);
        return 1;
    }
    return (d->table.unit_ms <= 0 && read_total(d, line)) || read_row(&d->table, line);
}
