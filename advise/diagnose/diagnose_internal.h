/* Private to the diagnose files: input, step series, words, and what each reader keeps between lines. */
#pragma once

#include <stdint.h>

#include "advise/diagnose/diagnose.h"
#include "bench/import/import.h"

/* ---- input ---- */

#define DIAG_CHUNK (64 << 10)
#define DIAG_LINE  (256 << 10) /* longer lines are cut */
#define DIAG_PASTE (1 << 20)

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

/* The number below 1e15 behind `key` and quotes, colons, dots or blanks; -1: there is none. */
double diag_number_behind(const char *line, const char *key);

/* A date and time at `s`, in seconds that only differences have a meaning of; a bare time of day too. -1: none. */
double diag_timestamp(const char *s);
/* The time that a line of a log begins with, -1: none. */
double diag_clock(const char *line);

/* A row of fields, between commas (of which names between quotes may hold some), blanks, or at least two blanks. */
#define DIAG_FIELDS 128
enum diag_between { DIAG_COMMAS, DIAG_BLANKS, DIAG_GAPS };
struct diag_fields {
    int n;
    const char *at[DIAG_FIELDS];
    size_t len[DIAG_FIELDS];
};
int diag_split(struct diag_fields *f, const char *line, enum diag_between by); /* f->n */

/* "4.52 s", "850 ms", three digits. Returns `text`. */
#define DIAG_TIME 24
char *diag_time_text(char text[DIAG_TIME], double ms);
char *diag_time_beside(char text[DIAG_TIME], double ms, double other_ms); /* in the unit of the other */

/* ---- words ---- */

/* Nonzero if a word of `len` bytes is one of "a|b|c". */
int diag_is_one_of(const char *list, const char *word, size_t len);

/* Meaning of a timer's name. A timer with a `parent` ("a|b": whichever the log has, a before b) runs within that phase,
 * and is taken out of it. */
struct diag_word {
    const char *word;  /* lower case, joined by '_'; several names "a|b" */
    const char *phase; /* what people are shown; NULL: not a phase */
    enum diag_kind kind;
    enum diag_side side;
    const char *parent;
    int guessed; /* from parts of the name, or not at all */
};
#define DIAG_TOTAL ((const char *)diag_total_mark)
extern const char diag_total_mark[]; /* a `phase` of this is the whole step */

/* The row of a table (NULL-word ended, may be NULL) that has the word; NULL. */
const struct diag_word *diag_find_word(const struct diag_word *table, const char *word, size_t len);

/* Looks `name` (any case, '-', ' ' or '_') up in `own` (may be NULL), then in the common words, then
 * guesses from its parts. Never fails: an unknown word becomes a phase of its own, kind OTHER. `word->phase` may point
 * into `buffer`. */
struct diag_word diag_word_of(const struct diag_word *own, const char *name, size_t len, char buffer[DIAG_NAME]);

/* ---- series ---- */

#define DIAG_STEPS 2048 /* kept of a source: every step, then every second one... */

struct diag_step {
    long number, line;
    int file;                   /* index into the result's */
    int origin;                 /* index into the series' */
    double total_ms, hidden_ms; /* total -1: the sum of the phases */
    int has_total;              /* a timer said it */
    uint64_t has;               /* phases that were timed, by bit */
    double ms[DIAG_PHASES];
};

/* Origin of steps: a rank, an actor of Ray, a task of srun, a file; a new one after each restart. */
#define DIAG_LOGGERS 1024
struct diag_logger {
    char name[DIAG_NAME], host[DIAG_NAME]; /* "rank 5", "pid=4112"; "" unknown */
    int is_driver;                         /* there is one to a job */
    int file, run;                         /* run: index into the series' runs */
    long first, last;                      /* when it logged, counted over all steps of the series */
    long low, high, count;                 /* numbers of its steps, and how many */
};

struct diag_series {
    struct diag_word labels[DIAG_PHASES]; /* of its phases */
    int nlabels;
    struct diag_step *steps; /* DIAG_STEPS, allocated with the first */
    int nsteps;
    long stride; /* steps whose number is a multiple of stride are kept */
    struct diag_logger *origins;
    int norigins;
    long logged;       /* steps opened, of all origins */
    int is_unnumbered; /* the numbers come again and again */
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
    DIAG_BAR,
    DIAG_BULLETS,
    DIAG_BOXES,
    DIAG_CSV,
    DIAG_TITAN,
    DIAG_FORMATS,
};
_Static_assert(DIAG_FORMATS <= DIAG_SOURCES, "every format has a place in the result");

/* Opens a step of a format, closing the one before; adds times to the open step; closes it. */
void diag_step_open(struct diagnosis *d, enum diag_format f, long number);
void diag_step_add(struct diagnosis *d, enum diag_format f, const struct diag_word *w, double ms);
void diag_step_close(struct diagnosis *d, enum diag_format f);
extern const char *const diag_format_names[DIAG_FORMATS];
/* Adds to the last step of a format what happened after it, beside its total. */
void diag_step_after(struct diagnosis *d, enum diag_format f, const struct diag_word *w, double ms);
/* The label's index of a phase; the last place stands for everything that has no place left. */
int diag_label(const struct diagnosis *d, struct diag_series *s, const struct diag_word *w);
/* The label's index of a phase that there is; -1. */
int diag_find_label(const struct diag_series *s, const char *name, size_t len);
/* The sum of a step's phases without those of a kind; DIAG_METRIC: of all. */
double diag_sum(const struct diag_series *s, const struct diag_step *step, enum diag_kind without);
#define DIAG_WAIT_SLOWEST "waiting for slower ranks"
#define DIAG_WAIT_ROLLOUT "waiting for the rollout"

/* Puts the ranks of a job into one run, restarts and other jobs into runs of their own. Returns how many (ranks.c). */
int diag_runs(const struct diagnosis *d, struct diag_series *s);
/* The steps of a run as they are over its ranks, by number; into `out` (DIAG_STEPS). Fills what `source` says of ranks.
 */
int diag_merge_run(struct diagnosis *d, struct diag_series *s, int run, struct diag_step *out,
                   struct diag_source *source);

/* Nonzero if collectives may run within a phase unseen: training, and what nobody knows. */
int diag_may_hold(const struct diag_phase *p);

/* A file's name with its numbers left out; whether it speaks of a rank or node. */
#define DIAG_FOLDED 256
int diag_fold_file(const char *name, char folded[DIAG_FOLDED]);

/* ---- what the readers keep ---- */

/* Origin of a line; -1 or "" if unknown. */
struct diag_origin {
    char host[DIAG_NAME];
    long pid;
    int gpu, rank;
};
struct diag_origins; /* the processes that were seen */
struct diag_events;  /* the messages that were seen */

/* A value that all ranks should share, and the first differing one. */
#define DIAG_FACTS 48
struct diag_fact {
    char name[DIAG_NAME], value[160], other[160], place[DIAG_PLACE];
    struct diag_origin who, other_who;
    int varies; /* within a process */
};

struct diag_setting {
    struct diag_finding finding;
    int if_hung; /* a known stall: only said of jobs that stand still */
};
#define DIAG_SETTINGS 48 /* messages too */

#define DIAG_POWERS 64 /* of 32 W each */
struct diag_sampled_gpu {
    struct diag_gpu out;
    double sum, squares, power_sum, gap_start_s, run_start_s, last_s;
    long idle, powers, at_W[DIAG_POWERS]; /* at_W: samples at full utilisation, by power */
    int in_gap, has_worked, round_seen;
    char gap_began[DIAG_PLACE];
};

struct diag_samples {
    struct diag_sampled_gpu *gpus; /* DIAG_GPUS */
    int ngpus;
    long rounds;
    double spread_sum, round_low, round_high, first_s, started_s;
    int in_round, has_started;
};

/* Columns of nvidia-smi; `at` -1: absent. */
enum diag_smi_column { SMI_TIME, SMI_INDEX, SMI_NAME, SMI_UTIL, SMI_POWER, SMI_LIMIT, SMI_PID, SMI_COLUMNS };
struct diag_smi {
    int columns, commas, unnamed;
    int at[SMI_COLUMNS];
    const struct diag_sampled_gpu *last;
    int table_index; /* of the table's row that is being read, plus 1 */
    double table_s;
};

/* The trainer's progress bar: what is done, and the bar's time when it last moved and when it was last printed. */
struct diag_progress {
    long done, total;
    double at_s, last_s;
    char place[DIAG_PLACE];
};

#define DIAG_RANKS 16384
/* Where a rank stands in a process group, by PyTorch's watchdog, which gave the collective up, or by its flight
 * recorder. The watchdog's [Rank N] is a rank of a group, "[rankN]:" before it the global one. */
struct diag_stand {
    int global, member;                                         /* rank in the job, in its group; -1: unknown */
    int is_over;                                                /* the last collective that it called is complete */
    long seq, elements, waited_ms;                              /* of the collective; -1: unknown */
    char op[DIAG_NAME], group[24], name[48], place[DIAG_PLACE]; /* group: "" unknown; op: "" unknown */
};
struct diag_stands {
    struct diag_stand *of; /* DIAG_RANKS at most */
    int n;
};

/* An entry of a dump of the flight recorder, the file being read: in each process group the first collective that is
 * not complete counts, else the last. Returns 0 where it has no state or number. */
int diag_note_entry(struct diagnosis *d, const char *group, const char *op, const char *state, double sequence);
/* The dump's end: its rank, -1 where it says none and the file's name or the digits in that count. */
void diag_end_dump(struct diagnosis *d, int rank);

/* NCCL's RAS: how many ranks or processes are in a state, and the first of them. */
enum diag_ras_state { RAS_MISSING, RAS_DEAD, RAS_BEHIND, RAS_ERROR, RAS_STATES };
struct diag_ras {
    long lines;
    int open; /* within its report */
    enum diag_ras_state section;
    long most, lowest; /* operations of the ranks that are furthest, and of the one that is spelled out and least far */
    int has_lowest;
    char collective[24];
    int count[RAS_STATES];
    struct diag_origin first[RAS_STATES];
    char what[RAS_STATES][64], place[RAS_STATES][DIAG_PLACE];
};

/* Stacks of processes, by where they stand. */
#define DIAG_STACK_GROUPS 24
struct diag_stack_group {
    char at[96], top[96], place[DIAG_PLACE];
    int count, rank; /* rank and pid of the first; -1 and 0: unknown */
    long pid;
};
struct diag_stacks {
    int n, ngroups;
    struct diag_stack_group groups[DIAG_STACK_GROUPS];
    /* The stack being read. */
    int is_open;
    long pid;
    const char *what;
    char top[96], place[DIAG_PLACE];
};

#define DIAG_HCAS  16
#define DIAG_NODES 1024
/* Facts of NCCL_DEBUG=INFO, over all ranks. */
struct diag_nccl {
    long lines;
    char version[24], other_version[24]; /* another one, of other ranks */
    char hcas[DIAG_HCAS][32];
    int nhcas;
    struct diag_node {
        char name[48];
        long ib, gdr;
    } * of;                       /* DIAG_NODES of its nodes, as far as the log names them; NULL: none */
    int nof, no_verbs;            /* no_verbs: libibverbs could not be opened */
    char network[32], plugin[64]; /* plugin: "" where NCCL's own tuner is used, or none is spoken of */
    int ranks, nodes, channels;
    long p2p, shm, ib, socket, gdr;                               /* connections */
    int no_device, gdr_off, own_tuner, roce, infiniband, peermem; /* peermem: lsmod lists it */
    char no_table[128]; /* what our plugin says of its table when it leaves NCCL's choices */
    char place[DIAG_PLACE], socket_place[DIAG_PLACE], gdr_place[DIAG_PLACE];
    char version_place[DIAG_PLACE], tuner_place[DIAG_PLACE];
};

/* NCCL variables of a job, from a script or NCCL's log; the last value. */
#define DIAG_VARIABLES 32
struct diag_variable {
    char name[DIAG_NAME], value[128], place[DIAG_PLACE];
    int run, of_command; /* of nccl-tests: the run in or behind which it stands, -1 none; whether its command has it */
};

/* A timer of Megatron-LM that has a line for every rank, while it is read. */
#define DIAG_VOTES 1024
struct diag_rank_timer {
    char name[DIAG_NAME];
    int ranks;
    long slowest;
    double low, high;
};

/* Columns of an exported table: the timer of each, "" others. */
#define DIAG_COLUMNS 64
struct diag_csv {
    int columns, step;
    char keys[DIAG_COLUMNS][DIAG_NAME];
};

/* torchtitan's last line: its steps' times are those between lines. */
struct diag_titan {
    long step;
    double at_s;
};

#define DIAG_COLLECTIVES 8
/* A table of kernels that is being read; 0 columns: none. */
struct diag_table {
    int columns, commas, name, self, percent; /* columns in all; of the kernel's name, its time, its share or -1 */
    double unit_ms;                           /* of the time; 0: each row says its own */
    double nccl_ms[DIAG_COLLECTIVES], other_ms, shown; /* shown: the sum of shares */
};
void diag_end_table(struct diagnosis *d);

/* Metrics of an inference engine; sums over its samples. */
enum diag_gauge { ENGINE_RUNNING, ENGINE_WAITING, ENGINE_CACHE, ENGINE_TOKENS, ENGINE_PREEMPTIONS, ENGINE_GAUGES };
struct diag_engine {
    long lines, full;            /* read; with waiting requests and a cache that is 90 % full */
    long samples[ENGINE_GAUGES]; /* cache: percent; tokens: generated a second; preemptions: the largest count */
    double sums[ENGINE_GAUGES];
    char place[DIAG_PLACE], full_place[DIAG_PLACE];
};

struct diag_range {
    double at, low, high; /* GB/s */
};

/* A run of nccl-tests, or the records of NCCL Inspector: the best row, and who took part. */
struct diag_tests {
    long rows, wrong;                 /* sizes; those with wrong values */
    double busbw_GBps, bytes;         /* of the best: busbw, size */
    double time_us;                   /* and its time */
    const char *program, *gpu, *path; /* gpu: as CUDA names it; path: of the table; NULL: not known */
    const char **hosts;
    int ranks, nhosts;
    int runs;                                  /* of the one that is judged: of how many */
    int is_inspector;                          /* records of a job, not a benchmark's */
    int coll;                                  /* of the table; -1: not known */
    unsigned colls;                            /* which it may be, as bits */
    struct import_clues clues;                 /* what tells its collective */
    const char *machine;                       /* the bundled one that the nodes most likely are; NULL */
    struct diag_range expected, with_it;       /* of the best row by the model, at 0: not known; and with */
    const struct diag_variable *slow_variable; /* the variable that makes it slowest; NULL: none does */
    char place[DIAG_PLACE], wrong_place[DIAG_PLACE], twin_place[DIAG_PLACE];
};

/* The heaviest collective of all ranks in a PyTorch trace; count 0: none tells its size. */
struct diag_traced {
    int coll, ranks;
    uint64_t bytes;
    long count;
    double total_us, shortest_us;
};

/* NCCL Inspector: how long each rank was in the collectives of the largest communicator. */
struct diag_inspector {
    long id; /* of the communicator */
    int ranks;
    char place[DIAG_PLACE];
    struct diag_inspected {
        double time_us;
        long n;
    } * of; /* DIAG_RANKS, by rank; NULL: none was seen */
};

/* Error counters of ports and links that are not zero. */
#define DIAG_COUNTERS 9
struct diag_counter {
    double value;
    char place[DIAG_PLACE];
};

/* The job's shape by its logs; 0: unknown. */
struct diag_shape {
    double peak_TFLOPs; /* dense bf16, of the GPUs that are named */
    int is_hopper;
    int rollout_tp, train_tp, experts, context, zero_stage;
    int is_slow_link; /* no custom all-reduce: the rollout's tensor parallelism goes over PCIe */
    int is_async;     /* rollouts run beside training */
};

struct diagnosis {
    struct diag_series series[DIAG_FORMATS];
    struct diag_logger writer; /* of the line being read */
    struct diag_shape shape;
    const struct diag_input *in; /* of the file being read */
    long taken;                  /* lines and events that a reader understood, of this file */
    unsigned readers;            /* which ones */
    long kernel_lines;           /* of this file, whether understood or not */
    long clean_kernel_lines;     /* of files with nothing else, none of them understood */
    int passes_over;             /* files of a directory that say nothing are no errors */
    struct diag_origins *origins;
    struct diag_events *events;
    struct diag_origin who; /* of the line being read */
    int file_rank;          /* by the file's name, -1 */
    struct diag_fact facts[DIAG_FACTS];
    int nfacts;
    double clock_s, progress_s; /* the file's last time, and that of its last step; -1: none */
    double stands_s;            /* the longest such difference of a file */
    char stands_place[DIAG_PLACE];
    struct diag_samples samples;
    struct diag_smi smi;
    int topo_nics;
    char topo_place[DIAG_PLACE]; /* of nvidia-smi topo -m; "": there is none */
    char lines[2][DIAG_LINE];    /* the line being read, and the next */
    char paste[DIAG_PASTE];      /* the text that was read; what is longer is a log */
    size_t paste_bytes;
    int paste_tells;
    struct topology *machine; /* what the paste tells of it; NULL */
    struct topology *assumed; /* a bundled one; NULL */
    struct diag_progress bar;
    struct diag_stands timeouts, dumps;
    int first_stand; /* of the dump that is the file being read */
    struct diag_ras ras;
    struct diag_stacks stacks;
    struct diag_nccl nccl;
    struct arena *arena;
    struct diag_expected expected;
    struct diag_variable variables[DIAG_VARIABLES];
    int nvariables, by_rank; /* by_rank: a script that looks at the rank of its process */
    struct diag_setting settings[DIAG_SETTINGS];
    int nsettings, open_setting; /* the setting whose value is a line below, plus 1 */
    char record[16 << 10];       /* of several lines, being read */
    size_t record_bytes;
    int in_record;
    struct diag_csv csv;
    struct diag_titan titan;
    int in_bullets;     /* within NeMo-RL's list of timers */
    long console_step;  /* the step that a console last named, -1 */
    int megatron_block; /* inside a block of timers */
    struct diag_rank_timer rank_timer;
    int slow_votes[DIAG_VOTES]; /* how often each rank was the slowest */
    struct diag_table table;
    struct diag_engine engine;
    struct diag_tests *runs; /* of nccl-tests, in the order of the logs */
    struct diag_tests tests; /* the one that is judged, with the sizes of all of them */
    int nruns;
    struct diag_traced traced;
    struct diag_inspector inspector;
    struct diag_counter counters[DIAG_COUNTERS];
    int other_devices, cut_traces;
    struct diag_result result;
};

/* "train.log:812", "train.log" for line 0; and for the line being read. */
void diag_place(char place[DIAG_PLACE], const char *file, long line);
void diag_here(const struct diagnosis *d, char place[DIAG_PLACE]);

/* Keeps a line of a paste; reads the machine that the paste tells of; NULL where it tells of none. */
void diag_keep_paste(struct diagnosis *d, const char *line, size_t bytes);
void diag_read_paste(struct diagnosis *d);

/* Find who prints a line, by the prefix of Ray, torchrun, mpirun, srun or NCCL; and its text: "rank 3, node n7, GPU 2".
 */
struct diag_origins *diag_origins_new(struct arena *a);
struct diag_events *diag_events_new(struct arena *a);
void diag_find_origin(struct diagnosis *d, const char *raw);
char *diag_origin_text(const struct diag_origin *who, char text[2 * DIAG_NAME]);
int diag_rank_of_name(const char *path);
int diag_host_count(const struct diagnosis *d);

/* Keeps what a rank has; the first that has something else is a difference. */
void diag_note_fact(struct diagnosis *d, const char *name, size_t name_len, const char *value, size_t len);

/* The variable of NCCL's of that name that the job sets; NULL. */
const struct diag_variable *diag_find_variable(const struct diagnosis *d, const char *name);

/* Adds a value under the key of a tracker to the open step, where the key is known; whether it is a timer. */
void diag_add_pair(struct diagnosis *d, enum diag_format f, const char *key, size_t len, double value);
int diag_is_timer(const char *key, size_t len);

/* The readers: 1 when the line was theirs. Settings and NCCL's variables are looked for in every line: 1 when a new one
 * was found. */
typedef int diag_reader(struct diagnosis *d, const char *line);
diag_reader diag_read_smi, diag_read_smi_table, diag_read_topo, diag_read_inspector, diag_read_nccl_tests,
    diag_read_tools, diag_read_ras, diag_read_bar, diag_read_watchdog, diag_read_stack, diag_read_nccl,
    diag_read_engine, diag_read_messages, diag_read_notes, diag_read_megatron, diag_read_deepspeed, diag_read_verl,
    diag_read_step_line, diag_read_record, diag_read_table, diag_read_settings, diag_read_bullets, diag_read_boxes,
    diag_read_csv, diag_read_titan, diag_read_dcgm, diag_read_variables;
void diag_read_shape(struct diagnosis *d, const char *line);
void diag_end_stack(struct diagnosis *d);
void diag_end_megatron(struct diagnosis *d); /* at the end of a file, before its step is closed */

void diag_finish_gpus(struct diagnosis *d);

/* One sentence on what NCCL said, behind what stands in `to`. */
void diag_say_engine(const struct diag_engine *g, char to[DIAG_SENTENCE]);
void diag_judge_tests(struct diagnosis *d); /* chooses the run that lies furthest below what the model expects */
void diag_say_tests(const struct diagnosis *d, char to[DIAG_SENTENCE]);
int diag_is_below(const struct diag_tests *t); /* of what is expected */
void diag_say_nccl(const struct diag_nccl *n, char to[DIAG_SENTENCE]);

/* A Kineto trace as a whole; `in` stands at its first byte. */
int diag_read_trace(struct diagnosis *d, struct diag_input *in, struct err *e);
/* A dump of PyTorch's flight recorder as a pickle. */
int diag_read_pickle(struct diagnosis *d, struct diag_input *in, struct err *e);
/* NCCL's RAS status as JSON, as a whole. */
int diag_read_ras_json(struct diagnosis *d, struct diag_input *in, struct err *e);
int diag_looks_like_ras(const char *chunk, size_t bytes);
int diag_looks_like_trace(const char *chunk, size_t bytes);

/* ---- overlap of intervals, in constant memory ---- */

/* Which of up to 8 kinds of work ran at each of the sampling points; the points move apart as the time grows. */
struct diag_timeline;
struct diag_timeline *diag_timeline_new(void); /* free() frees it */
void diag_timeline_add(struct diag_timeline *t, double start_us, double duration_us, unsigned bit);
/* Microseconds within the span where the bits under `mask` are exactly `bits`. */
double diag_timeline_us(const struct diag_timeline *t, unsigned mask, unsigned bits);

/* ---- judging ---- */

void diag_summarise(struct diagnosis *d); /* series -> result.sources */
void diag_judge(struct diagnosis *d);     /* result -> verdict and findings */

/* ---- the catalogue of messages: which entry a line is, and what the entry says ---- */

/* Role of a message in a failure: its cause, a wrong call, a state that NCCL does not expect, something that follows
 * from a failure elsewhere, or no failure at all. The earlier ones win. */
enum message_kind { MESSAGE_CAUSE, MESSAGE_CALL, MESSAGE_INTERNAL, MESSAGE_ECHO, MESSAGE_NOTE };

struct message {
    const char *id;
    enum message_kind kind;
    int area;                  /* the heading it stands under */
    const char *since, *until; /* NCCL releases whose sources print it; "" for another program's */
    const char *fragments;     /* "a*b|c" */
    const char *means, *causes, *check, *remedy;
};

size_t message_count(void);
const struct message *message_at(size_t i);

/* The first entry that a line is, -1: none. `is_warning`: the line is a warning of NCCL, RCCL or a plugin. */
int message_of(const char *line, int is_warning);
