/* The table that PyTorch's key_averages() prints: the time of NCCL's kernels against all kernels.
 *
 * Rows are sums over the profile, so overlap cannot be seen: the share is of kernel time, not of wall time. */
#include <string.h>

#include "envgen/diagnose/diagnose_internal.h"

#define COLUMNS 32

/* Cuts a row where two or more blanks stand. Returns the number of fields, at most COLUMNS. */
static int split(const char *line, const char *fields[COLUMNS], size_t lengths[COLUMNS])
{
    int n = 0;
    const char *p = line + strspn(line, " ");
    while (*p && n < COLUMNS) {
        const char *end = strstr(p, "  ");
        size_t len = end ? (size_t)(end - p) : strlen(p);
        while (len && p[len - 1] == ' ')
            len--;
        fields[n] = p;
        lengths[n++] = len;
        p += end ? len : strlen(p);
        p += strspn(p, " ");
    }
    return n;
}

static int is(const char *s, size_t len, const char *word)
{
    return strlen(word) == len && !strncmp(s, word, len);
}

static int read_header(struct diagnosis *d, const char *line)
{
    static const char *const self[] = {"Self CUDA", "Self HIP", "Self XPU", "Self Device"};
    const char *fields[COLUMNS];
    size_t lengths[COLUMNS];
    int n = split(line, fields, lengths);
    d->table_columns = 0;
    d->table_name = d->table_self = -1;
    for (int i = 0; i < n; i++) {
        if (is(fields[i], lengths[i], "Name"))
            d->table_name = i;
        for (size_t k = 0; k < sizeof self / sizeof *self; k++)
            if (is(fields[i], lengths[i], self[k]))
                d->table_self = i;
    }
    if (d->table_name < 0 || d->table_self < 0)
        return 0;
    d->table_columns = n;
    d->table_nccl_ms = 0;
    return 1;
}

/* Kernels, not the operators that launched them: their time is the same time again. */
static int is_nccl_kernel(const char *s, size_t len)
{
    static const char *const parts[] = {"ncclDevKernel", "ncclKernel", "ncclSymkDevKernel", "rcclGenericKernel"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memmem(s, len, parts[i], strlen(parts[i])))
            return 1;
    return 0;
}

/* "Self CUDA time total: 27.000ms" ends the table. */
static int read_total(struct diagnosis *d, const char *line)
{
    static const struct diag_word nccl = {"", "NCCL kernels", DIAG_COMMUNICATION, DIAG_NEITHER, NULL};
    static const struct diag_word rest = {"", "other kernels", DIAG_COMPUTE, DIAG_NEITHER, NULL};
    const char *total = strstr(line, " time total:");
    double ms;
    if (!total || strncmp(line, "Self ", 5) != 0 || !strncmp(line, "Self CPU", 8) || !diag_time(total + 12, 0, &ms))
        return 0;
    diag_step_open(d, DIAG_TABLE, d->series[DIAG_TABLE].seen + 1);
    diag_step_add(d, DIAG_TABLE, &nccl, d->table_nccl_ms < ms ? d->table_nccl_ms : ms);
    diag_step_add(d, DIAG_TABLE, &rest, d->table_nccl_ms < ms ? ms - d->table_nccl_ms : 0);
    diag_step_close(d, DIAG_TABLE);
    d->table_columns = 0;
    return 1;
}

int diag_read_table(struct diagnosis *d, const char *line)
{
    if (strstr(line, "# of Calls") && strstr(line, "Self CPU"))
        return read_header(d, line);
    if (!d->table_columns)
        return 0;
    if (read_total(d, line))
        return 1;
    const char *fields[COLUMNS];
    size_t lengths[COLUMNS];
    double ms;
    int n = split(line, fields, lengths);
    if (n != d->table_columns || !diag_time(fields[d->table_self], 0, &ms))
        return 0;
    if (is_nccl_kernel(fields[d->table_name], lengths[d->table_name]))
        d->table_nccl_ms += ms;
    return 1;
}
