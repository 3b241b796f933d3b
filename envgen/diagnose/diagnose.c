/* Files, streamed: each line to the readers of all formats, traces as a whole. */
#include "envgen/diagnose/diagnose.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "envgen/diagnose/diagnose_internal.h"

static const char *const format_names[DIAG_FORMATS] = {
    "verl console",     "step lines",
    "JSON lines",       "Megatron-LM timers",
    "DeepSpeed timers", "DeepSpeed micro-steps",
    "PyTorch trace",    "PyTorch key_averages()",
};

static const char *const kind_names[DIAG_KIND_COUNT] = {
    "compute", "communication", "data", "offload", "save", "idle", "other", "metric",
};

static const char *const verdict_names[] = {"unknown", "communication", "not communication"};

const char *diag_kind_name(enum diag_kind k)
{
    return kind_names[k];
}

const char *diag_verdict_name(enum diag_verdict v)
{
    return verdict_names[v];
}

struct diagnosis *diagnose_new(void)
{
    struct diagnosis *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    for (int f = 0; f < DIAG_FORMATS; f++)
        d->series[f].format = format_names[f];
    return d;
}

void diagnose_free(struct diagnosis *d)
{
    if (!d)
        return;
    for (int f = 0; f < DIAG_FORMATS; f++)
        free(d->series[f].steps);
    for (int i = 0; i < d->nfiles; i++)
        free((char *)d->files[i]);
    free(d->files);
    free(d->smi.gpus);
    free(d->result.gpus);
    free(d);
}

/* The first reader that knows the line has it. DeepSpeed's lines look like those of old Megatron-LM versions, with
 * other names, so it is asked first. */
static void read_line(struct diagnosis *d, const char *line, size_t bytes)
{
    d->taken += diag_read_smi(d, line) || diag_read_deepspeed(d, line) || diag_read_megatron(d, line) ||
                diag_read_verl(d, line) || diag_read_step_line(d, line) || diag_read_jsonl(d, line, bytes) ||
                diag_read_table(d, line);
    d->taken += diag_read_settings(d, line);
}

static void read_lines(struct diagnosis *d, struct diag_input *in)
{
    char *line = malloc(DIAG_LINE);
    size_t bytes;
    if (!line)
        abort();
    while (diag_read_line(in, line, &bytes))
        read_line(d, line, bytes);
    free(line);
    /* A log that ends within a step still has the step; a table that ends early has no total, so it says nothing. */
    for (int f = 0; f < DIAG_FORMATS; f++)
        diag_step_close(d, (enum diag_format)f);
    d->megatron_block = d->table_columns = d->smi.columns = 0;
}

static void add_file(struct diagnosis *d, const char *name)
{
    const char **files = realloc(d->files, ((size_t)d->nfiles + 1) * sizeof *files);
    char *copy = strdup(name);
    if (!files || !copy)
        abort();
    d->files = files;
    d->files[d->nfiles++] = copy;
}

int diagnose_stream(struct diagnosis *d, FILE *f, const char *name, struct err *e)
{
    struct diag_input *in = calloc(1, sizeof *in);
    if (!in)
        abort();
    int rc = 0;
    add_file(d, name);
    in->file = f;
    in->path = d->files[d->nfiles - 1];
    d->in = in;
    d->taken = 0;
    diag_input_fill(in);
    if (in->len >= 2 && (unsigned char)in->chunk[0] == 0x1f && (unsigned char)in->chunk[1] == 0x8b)
        rc = err_at(e, name, 0, 0, "compressed; unpack it first: zcat FILE | nccltune diagnose -");
    else if (diag_looks_like_trace(in->chunk, in->len))
        rc = diag_read_trace(d, in, e);
    else
        read_lines(d, in);
    if (!rc && in->failed) {
        errno = in->failed;
        rc = err_errno(e, "%s: cannot be read", name);
    } else if (!rc && !d->taken) {
        rc = err_at(e, name, 0, 0,
                    "no line of a known format; expected verl or \"[Step N] name: 1ms | ...\" lines, JSON "
                    "lines, Megatron-LM or DeepSpeed timers, a PyTorch trace or key_averages() table, or "
                    "nvidia-smi --query-gpu CSV with its header");
    }
    d->in = NULL;
    free(in);
    return rc;
}

int diagnose_file(struct diagnosis *d, const char *path, struct err *e)
{
    if (!strcmp(path, "-"))
        return diagnose_stream(d, stdin, "(standard input)", e);
    struct stat st;
    FILE *f = fopen(path, "rbe");
    if (!f)
        return err_errno(e, "%s: cannot be opened", path);
    int rc = !fstat(fileno(f), &st) && S_ISDIR(st.st_mode) ? err_set(e, ERR_FAILED, "%s: is a directory", path)
                                                           : diagnose_stream(d, f, path, e);
    fclose(f);
    return rc;
}

const struct diag_result *diagnose_finish(struct diagnosis *d)
{
    diag_summarise(d);
    diag_finish_smi(d);
    diag_judge(d);
    return &d->result;
}
