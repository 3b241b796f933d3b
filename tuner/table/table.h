/* A tuner table: the rules of a tuner.csv, which the plugin applies per call and the nccltune program explains.
 *
 * `#` lines are comments and metadata, then one rule a line, the first that matches wins:
 *   collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps[,regBuff[,chunk_bytes[,nvlDomains]]]]
 * The first ten columns are those of the CSV that NVIDIA's example tuner reads. man/nccltune-tuner.csv.5 has the format
 * in full. libc only and no abort on a full memory, because the plugin parses inside other people's programs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TUNER_ANY          (-1) /* any algorithm, protocol, numPipeOps, regBuff */
#define TUNER_UNKNOWN      (-2) /* a shape or call value that the running interface does not pass */
#define TUNER_MAX_CHANNELS 64   /* MAXCHANNELS of NCCL since 2.25; some paths take more unchecked */
#define TUNER_FORMAT       "nccltune-tuner/1"
#define TUNER_BYTES_LIMIT  ((size_t)64 << 20) /* the largest file that is parsed */
#define TUNER_RULES_LIMIT  ((size_t)1000000)  /* and the most rules that are taken from it */
#define TUNER_MAX_VERSIONS 32

/* A condition on a count: low..high inclusive; the whole range of int stands for "any". */
struct tuner_range {
    int low, high;
};

struct tuner_rule {
    uint64_t min_bytes, max_bytes; /* inclusive */
    uint32_t chunk_bytes;          /* 0: keep NCCL's */
    int channels;                  /* 0: keep NCCL's */
    int pipe_ops;                  /* TUNER_ANY or a number of pipelined operations */
    struct tuner_range nodes, ranks, domains;
    int coll;     /* enum coll */
    int algo;     /* enum algo or TUNER_ANY */
    int proto;    /* enum proto or TUNER_ANY */
    int reg_buff; /* TUNER_ANY, 0 or 1 */
    long line;
};

struct tuner_version {
    int major, minor;
};

struct tuner_table {
    struct tuner_rule *rules; /* in the order of the file */
    size_t count;
    size_t broken; /* lines that were reported and skipped */
    struct tuner_version nccl[TUNER_MAX_VERSIONS];
    size_t nccl_count;
    int nccl_given; /* the table names NCCL versions; 0: it holds for any */
    int next_auto;  /* it was measured over the tuner that NCCL would have without the plugin */
};

/* Called for a line that cannot be used: 1-based line and column, and one sentence that says what was expected there.
 * Line 0 speaks of the whole file. */
typedef void tuner_complain(void *arg, long line, long column, const char *text);

/* Parses a whole tuner.csv. Returns 0, or -1 after a complaint about the file as a whole: empty, not text, of another
 * format version, too large, no memory, or not one line of it could be used. Broken lines are complained about and
 * skipped. A table of comments alone is valid and has no rules. `complain` may be NULL; tuner_table_free also after an
 * error. */
int tuner_table_parse(struct tuner_table *t, const char *text, size_t bytes, tuner_complain *complain, void *arg);
void tuner_table_free(struct tuner_table *t);

/* Nonzero if the table may be used with this NCCL (2, 28). */
int tuner_table_fits(const struct tuner_table *t, int major, int minor);

/* Shape of a communicator; TUNER_UNKNOWN domains match only rules that do not ask for them. */
struct tuner_shape {
    int nodes, ranks, domains;
};

int tuner_rule_fits_shape(const struct tuner_rule *r, const struct tuner_shape *s);

/* The first rule at or behind `from` that this call matches, whatever NCCL offers there; NULL: none. Walking on from
 * the result gives the rules that apply when NCCL does not offer the first ones. pipe_ops and reg_buff as NCCL passes
 * them, or TUNER_UNKNOWN. Linear: for explaining, not for the plugin's calls. */
const struct tuner_rule *tuner_table_match(const struct tuner_table *t, const struct tuner_rule *from,
                                           const struct tuner_shape *s, int coll, uint64_t bytes, int pipe_ops,
                                           int reg_buff);
