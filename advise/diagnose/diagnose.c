/* Files, streamed: each line to the readers of all formats, traces as a whole. */
#include "advise/diagnose/diagnose.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "advise/diagnose/diagnose_internal.h"
#include "core/file.h"
#include "core/trust.h"

#define DEEPEST    4 /* directories within a job's directory */
#define MOST_FILES 4096

/* The readers of lines. The first one that knows a line has it. DeepSpeed's lines look like those of old Megatron-LM
 * versions, with other names, so it is asked first. */
static const struct {
    const char *name;
    diag_reader *read;
} readers[] = {
    {"DCGM samples", diag_read_dcgm},
    {"nvidia-smi samples", diag_read_smi},
    {"nvidia-smi table", diag_read_smi_table},
    {"nvidia-smi topo -m", diag_read_topo},
    {"tools of the machine", diag_read_tools},
    {"NCCL log", diag_read_nccl},
    {"nccl-tests", diag_read_nccl_tests},
    {"NCCL Inspector", diag_read_inspector},
    {"engine metrics", diag_read_engine},
    {"watchdog of collectives", diag_read_watchdog},
    {"DeepSpeed timers", diag_read_deepspeed},
    {"Megatron-LM timers", diag_read_megatron},
    {"verl console", diag_read_verl},
    {"NeMo-RL console", diag_read_bullets},
    {"AReaL tables", diag_read_boxes},
    {"torchtitan console", diag_read_titan},
    {"exported tables", diag_read_csv},
    {"step lines", diag_read_step_line},
    {"records", diag_read_record},
    {"sums of kernels", diag_read_table},
    {"progress bar", diag_read_bar},
    {"NCCL RAS", diag_read_ras},
    {"stacks", diag_read_stack},
    {"messages", diag_read_notes},
    /* These may stand in any line, whoever else reads it. */
    {"messages of failures", diag_read_messages},
    {"settings", diag_read_settings},
    {"NCCL's variables", diag_read_variables},
};
enum { NREADERS = sizeof readers / sizeof *readers, FOR_ALL = NREADERS - 3, TRACE_READER = NREADERS };
_Static_assert(NREADERS < 32, "every reader has a bit");

struct diagnosis *diagnose_new(void)
{
    struct diagnosis *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->arena = arena_new();
    d->origins = diag_origins_new(d->arena);
    d->events = diag_events_new(d->arena);
    return d;
}

void diagnose_free(struct diagnosis *d)
{
    if (!d)
        return;
    arena_free(d->arena);
    topo_free(d->machine);
    topo_free(d->assumed);
    free(d);
}

/* A line of dmesg, with or without -T, or of a journal. */
static int is_kernel_line(const char *line)
{
    int end = 0;
    line += *line == '<' ? strcspn(line, ">") + 1 : 0;
    sscanf(line, "[%*[ 0-9].%*6[0-9]] %n", &end);
    if (!end)
        sscanf(line, "[%*3[A-Za-z] %*3[A-Za-z] %*d %*d:%*d:%*d %*4[0-9]] %n", &end);
    return end > 0 || strstr(line, " kernel: ");
}

static void read_line(struct diagnosis *d, const char *line)
{
    d->kernel_lines += is_kernel_line(line);
    double now_s = diag_clock(line);
    d->clock_s = now_s >= 0 ? now_s : d->clock_s;
    diag_find_origin(d, line);
    line = import_behind_prefix(line);
    diag_read_shape(d, line);
    for (int i = 0; i < NREADERS; i++)
        if (readers[i].read(d, line)) {
            d->taken++;
            d->readers |= 1u << i;
            i = i < FOR_ALL ? FOR_ALL - 1 : i;
        }
}

/* A terminal cuts long lines at its width, and what is copied from it has them in two. A line of verl's console, or a
 * watchdog's that lacks its end, may be the first of such pieces. */
#define WRAP_MIN 60
#define WRAP_MAX 512
static int is_wrapped(const char *line, size_t bytes)
{
    if (bytes < WRAP_MIN || bytes > WRAP_MAX)
        return 0;
    return (strstr(line, "step:") && strstr(line, " - ")) ||
           (strstr(line, "[Rank ") && strstr(line, "Watchdog caught collective") && !strstr(line, "timing out"));
}

/* Reads on and appends the pieces of a wrapped line to it: equally long but the last, and beginning with nothing that a
 * line begins with. `piece` then holds the line behind them; 0: there is none. */
static int join_wrapped(struct diag_input *in, char *line, size_t width, char *piece)
{
    size_t n = width, len, last = is_wrapped(line, width) ? width : 0;
    while (diag_read_line(in, piece, &len)) {
        const char *step = strstr(piece, "step:");
        if (last != width || !len || len > width || n + len >= DIAG_LINE || import_behind_prefix(piece) != piece ||
            (step && (step == piece || step[-1] == ' ') && step[5] >= '0' && step[5] <= '9'))
            return 1;
        memcpy(line + n, piece, len + 1);
        n += len;
        last = len;
    }
    return 0;
}

static void read_lines(struct diagnosis *d, struct diag_input *in)
{
    char *line = d->lines[0], *next = d->lines[1];
    size_t bytes;
    d->clock_s = d->progress_s = d->console_step = -1;
    d->file_rank = diag_rank_of_name(in->path);
    d->titan = (struct diag_titan){0, -1};
    d->csv.columns = d->in_record = d->in_bullets = 0;
    for (int more = diag_read_line(in, next, &bytes); more;) {
        char *this = next;
        next = line;
        line = this;
        long number = in->line;
        more = join_wrapped(in, line, strlen(line), next);
        long ahead = in->line;
        in->line = number;
        diag_keep_paste(d, line, strlen(line));
        read_line(d, line);
        in->line = ahead;
    }
    diag_read_paste(d);
    diag_end_megatron(d);
    /* A log that ends within a step still has the step; a table that ends early has no total, so it says nothing. */
    for (int f = 0; f < DIAG_FORMATS; f++)
        diag_step_close(d, (enum diag_format)f);
    if (d->progress_s >= 0 && d->clock_s - d->progress_s > d->stands_s) {
        d->stands_s = d->clock_s - d->progress_s;
        diag_here(d, d->stands_place);
    }
    diag_end_table(d);
    diag_end_stack(d);
    d->stacks.is_open = 0;
    d->stacks.pid = 0;
    d->smi.columns = d->smi.table_index = d->ras.open = 0;
}

/* Files of a job that hold no text, by their names; reading gigabytes of them only takes time. */
static int is_weights(const char *name)
{
    static const char *const ends[] = {".safetensors", ".pt",      ".pth",   ".bin", ".distcp",
                                       ".npy",         ".parquet", ".arrow", ".so"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (file_ends_with(name, ends[i]))
            return 1;
    return 0;
}

/* Starts the file's entry in the result. */
static struct diag_file *begin_file(struct diagnosis *d, const char *name)
{
    struct diag_result *r = &d->result;
    ARENA_ADD(d->arena, r->files, r->nfiles) = (struct diag_file){.name = arena_strdup(d->arena, name)};
    return &r->files[r->nfiles - 1];
}

/* The names of the readers of these bits, commas between them. */
static void name_formats(unsigned which, char *to, size_t size)
{
    size_t n = 0;
    for (int i = 0; i <= NREADERS; i++)
        if (which & 1u << i && n < size)
            n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "",
                                  i == TRACE_READER ? "PyTorch trace" : readers[i].name);
}

static int unknown_file(const char *name, struct err *e)
{
    char known[768];
    name_formats(~0u, known, sizeof known);
    return err_at(e, name, 0, 0,
                  "no line of a known format (results of benchmarks: nccltune results); expected lines of: %s", known);
}

static int is_pickle(const struct diag_input *in)
{
    return in->len > 2 && (unsigned char)in->chunk[0] == 0x80 && in->chunk[1] >= 2 && in->chunk[1] <= 5;
}

static int read_input(struct diagnosis *d, struct diag_input *in, struct err *e)
{
    static const char sqlite[] = "SQLite format 3";
    if (in->len >= 2 && (unsigned char)in->chunk[0] == 0x1f && (unsigned char)in->chunk[1] == 0x8b)
        return err_at(e, in->path, 0, 0, "compressed; unpack it first: zcat FILE | nccltune diagnose -");
    if (diag_looks_like_ras(in->chunk, in->len)) {
        for (int i = 0; i < NREADERS; i++)
            d->readers |= readers[i].read == diag_read_ras ? 1u << i : 0;
        return diag_read_ras_json(d, in, e);
    }
    if (in->len >= sizeof sqlite && !memcmp(in->chunk, sqlite, sizeof sqlite))
        return err_at(
            e, in->path, 0, 0,
            "an SQLite export of Nsight Systems; print its sums first: nsys stats -r cuda_gpu_kern_sum FILE | "
            "nccltune diagnose -");
    if (!is_pickle(in) && !diag_looks_like_trace(in->chunk, in->len)) {
        read_lines(d, in);
        return 0;
    }
    int rc = is_pickle(in) ? diag_read_pickle(d, in, e) : diag_read_trace(d, in, e);
    d->readers |= d->taken ? 1u << TRACE_READER : 0;
    return rc;
}

int diagnose_stream(struct diagnosis *d, FILE *f, const char *name, struct err *e)
{
    struct diag_file *file = begin_file(d, name);
    struct diag_input in = {.file = f, .path = file->name};
    d->in = &in;
    d->taken = 0;
    d->readers = 0;
    d->kernel_lines = 0;
    d->first_stand = d->dumps.n;
    diag_input_fill(&in);
    int rc = read_input(d, &in, e);
    if (!rc && in.failed) {
        errno = in.failed;
        rc = err_errno(e, "%s: cannot be read", name);
    } else if (!rc && !d->taken && 2 * d->kernel_lines > in.line) {
        d->clean_kernel_lines += d->kernel_lines;
        snprintf(file->formats, sizeof file->formats, "kernel's log");
    } else if (!rc && !d->taken && !d->passes_over) {
        rc = in.line ? unknown_file(name, e) : err_set(e, ERR_FAILED, "%s: is empty", name);
    }
    if (!*file->formats)
        name_formats(d->readers, file->formats, sizeof file->formats);
    if (rc)
        d->dumps.n = d->first_stand; /* a broken dump says nothing */
    if (rc && e)
        file->problem = arena_strdup(d->arena, e->text);
    d->in = NULL;
    return rc;
}

static int read_directory(struct diagnosis *d, const char *path, int depth, struct err *e);

static int read_path(struct diagnosis *d, const char *path, int depth, struct err *e)
{
    struct stat st;
    int fd = trust_open(path, TRUST_READ, 0, O_RDONLY, &st, e);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!f) {
        struct diag_file *file = begin_file(d, path);
        file->problem = e ? arena_strdup(d->arena, e->text) : NULL;
        return ERR_FAILED;
    }
    int rc = S_ISDIR(st.st_mode) ? read_directory(d, path, depth, e) : diagnose_stream(d, f, path, e);
    fclose(f);
    return rc;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (entry->d_type == DT_REG || entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

/* What else lies in a job's directory, checkpoints above all, says nothing and is not asked to; so does a file in it
 * that cannot be read, beyond its entry in the result. */
static int read_directory(struct diagnosis *d, const char *path, int depth, struct err *e)
{
    struct dirent **entries;
    int n = depth < DEEPEST ? scandir(path, &entries, is_visible, alphasort) : 0;
    if (n < 0)
        return err_errno(e, "%s: cannot be read", path);
    long taken = 0;
    for (int i = 0; i < n; i++) {
        const char *name = arena_printf(d->arena, "%s/%s", path, entries[i]->d_name);
        struct err ignored = {0};
        int was = d->passes_over;
        d->passes_over = 1;
        if (!is_weights(name) && d->result.nfiles < MOST_FILES)
            read_path(d, name, depth + 1, &ignored);
        d->passes_over = was;
        taken += d->taken;
        free(entries[i]);
    }
    if (depth < DEEPEST)
        free(entries);
    d->taken = taken;
    return taken || d->passes_over ? 0
                                   : err_at(e, path, 0, 0, "no file in this directory has a line of a known format");
}

int diagnose_file(struct diagnosis *d, const char *path, struct err *e)
{
    return strcmp(path, "-") != 0 ? read_path(d, path, 0, e) : diagnose_stream(d, stdin, "(standard input)", e);
}

void diagnose_expect(struct diagnosis *d, const struct diag_expected *x)
{
    d->expected = *x;
}

const struct diag_result *diagnose_finish(struct diagnosis *d)
{
    diag_summarise(d);
    diag_finish_gpus(d);
    diag_judge(d);
    return &d->result;
}
