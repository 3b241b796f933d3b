/* Private to the diagnose files: input, step series, words, and what each reader keeps between lines. */
#ifndef ENVGEN_DIAGNOSE_DIAGNOSE_INTERNAL_H
#define ENVGEN_DIAGNOSE_DIAGNOSE_INTERNAL_H

#include <stdint.h>

#include "envgen/diagnose/diagnose.h"

/* ---- input ---- */

#define DIAG_CHUNK (64 << 10)
#define DIAG_LINE  (256 << 10) /* longer lines are cut */

struct diag_input {
    FILE *file;
    const char *path;
    long line;        /* of the last line read, from 1 */
    int after_return; /* the last segment ended at a carriage return: the same line goes on */
    int failed;       /* errno of a read error */
    size_t pos, len;
    char chunk[DIAG_CHUNK];
};
int diag_input_fill(struct diag_input *in); /* 0 at the end */
int diag_getc(struct diag_input *in);       /* the next byte, -1 at the end */

/* Reads a line, or the part of it up to a carriage return, as valid UTF-8 without colour codes and control characters
 * and with full-width punctuation as ASCII. `text` takes DIAG_LINE bytes and is ended by a NUL. 0 at the end. */
int diag_read_line(struct diag_input *in, char *text, size_t *bytes);

/* A time such as "185ms", "1.2 s", "12.345us", "3毫秒" -> milliseconds; `unit_ms` is the unit of a bare number (0: a
 * bare number is not a time). NULL when there is none, else what follows. */
const char *diag_time(const char *s, double unit_ms, double *ms);

/* A number, also "np.float64(1.5)". NULL when there is none, else what follows. */
const char *diag_number(const char *s, double *value);

/* ---- words ---- */

/* What a timer's name means. A timer with a `parent` runs within that phase's, and is taken out of it. */
struct diag_word {
    const char *word;  /* lower case, joined by '_' */
    const char *phase; /* what people are shown; NULL: not a phase */
    enum diag_kind kind;
    enum diag_side side;
    const char *parent;
};
#define DIAG_TOTAL ((const char *)diag_total_mark)
extern const char diag_total_mark[]; /* a `phase` of this is the whole step */

/* Looks `name` (any case, '-', ' ' or '_') up in `own` (NULL-word ended, may be NULL), then in the common words, then
 * guesses from its parts. Never fails: an unknown word becomes a phase of its own, kind OTHER. `word->phase` may point
 * into `buffer`. */
struct diag_word diag_word_of(const struct diag_word *own, const char *name, size_t len, char buffer[DIAG_NAME]);

/* ---- series ---- */

#define DIAG_STEPS 2048 /* kept of a source: every step, then every second one... */

struct diag_step {
    long number, line;
    int file;                   /* index into diagnosis.files */
    double total_ms, hidden_ms; /* total -1: the sum of the phases */
    double ms[DIAG_PHASES];
};

struct diag_label {
    char name[DIAG_NAME], parent[DIAG_NAME];
    enum diag_kind kind;
    enum diag_side side;
};

struct diag_series {
    const char *format;
    struct diag_label labels[DIAG_PHASES];
    int nlabels;
    struct diag_step *steps; /* DIAG_STEPS, allocated with the first */
    int nsteps;
    long seen, stride; /* every stride-th step is kept */
    int is_open;
    struct diag_step open; /* being put together */
};

enum diag_format {
    DIAG_VERL,
    DIAG_STEP_LINE,
    DIAG_JSONL,
    DIAG_MEGATRON,
    DIAG_DEEPSPEED,
    DIAG_MICROSTEP,
    DIAG_TRACE,
    DIAG_TABLE,
    DIAG_FORMATS,
};
_Static_assert(DIAG_FORMATS <= DIAG_SOURCES, "every format has a place in the result");

/* Opens a step of a format, closing the one before; adds times to the open step; closes it. */
void diag_step_open(struct diagnosis *d, enum diag_format f, long number);
void diag_step_add(struct diagnosis *d, enum diag_format f, const struct diag_word *w, double ms);
void diag_step_close(struct diagnosis *d, enum diag_format f);

/* ---- what the readers keep ---- */

struct diag_setting {
    const char *id, *text, *advice;
    double weight;
    char value[32], place[DIAG_PLACE];
};
#define DIAG_SETTINGS 16

struct diag_sampled_gpu {
    struct diag_gpu out;
    double sum, squares, gap_start_s, last_s;
    long idle;
    int in_gap, has_worked, round_seen;
    char gap_began[DIAG_PLACE];
};

struct diag_smi {
    int columns, time, index, util, uuid, bus, name; /* of the header; -1: not there */
    struct diag_sampled_gpu *gpus;                   /* DIAG_GPUS */
    int ngpus;
    long rounds;
    double spread_sum, round_low, round_high, first_s, started_s;
    int in_round, has_started;
};

struct diagnosis {
    struct diag_series series[DIAG_FORMATS];
    const char **files;
    int nfiles;
    const struct diag_input *in; /* of the file being read */
    long taken;                  /* lines and events that a reader understood, of this file */
    struct diag_smi smi;
    struct diag_setting settings[DIAG_SETTINGS];
    int nsettings;
    int megatron_block; /* inside a block of timers */
    char megatron_name[DIAG_NAME];
    int table_columns, table_name, table_self; /* of key_averages(); 0 columns: no table yet */
    double table_nccl_ms;
    int other_devices, cut_traces;
    struct diag_result result;
};

/* "train.log:812" for the line being read. */
void diag_here(const struct diagnosis *d, char place[DIAG_PLACE]);

/* The readers: 1 when the line was theirs. Settings are looked for in every line: 1 when a new one was found. */
int diag_read_smi(struct diagnosis *d, const char *line);
int diag_read_megatron(struct diagnosis *d, const char *line);
int diag_read_deepspeed(struct diagnosis *d, const char *line);
int diag_read_verl(struct diagnosis *d, const char *line);
int diag_read_step_line(struct diagnosis *d, const char *line);
int diag_read_jsonl(struct diagnosis *d, const char *line, size_t bytes);
int diag_read_table(struct diagnosis *d, const char *line);
int diag_read_settings(struct diagnosis *d, const char *line);
void diag_finish_smi(struct diagnosis *d);

/* A Kineto trace as a whole; `in` stands at its first byte. */
int diag_read_trace(struct diagnosis *d, struct diag_input *in, struct err *e);
int diag_looks_like_trace(const char *chunk, size_t bytes);

/* ---- overlap of intervals, in constant memory ---- */

/* Which of up to 8 kinds of work ran at each of the sampling points; the points move apart as the time grows. */
struct diag_timeline;
struct diag_timeline *diag_timeline_new(void);
void diag_timeline_free(struct diag_timeline *t);
void diag_timeline_add(struct diag_timeline *t, double start_us, double duration_us, unsigned bit);
/* Microseconds within the span where the bits under `mask` are exactly `bits`. */
double diag_timeline_us(const struct diag_timeline *t, unsigned mask, unsigned bits);

/* ---- judging ---- */

void diag_summarise(struct diagnosis *d); /* series -> result.sources */
void diag_judge(struct diagnosis *d);     /* result -> verdict and findings */

#endif
