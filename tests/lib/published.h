/* Published nccl-tests results of the corpus (tests/lib/corpus.h), as calls that the model can be asked about. */
#pragma once

#include "core/hash.h"
#include "model/model.h"

#define PUBLISHED_LEDGER "doc/published.tsv" /* below the repository, where tests run */

enum { PUBLISHED_MOST = 4000, PUBLISHED_RUNS = 200 };

/* What runs have in common, and what is left out at once: a machine, all of its maker or cloud, all of a generation of
 * GPUs, all of a structure (what joins the GPUs of a node, and its nodes; whether each node gives all of its GPUs). */
enum published_kin {
    PUBLISHED_MACHINE,
    PUBLISHED_MAKER,
    PUBLISHED_GENERATION,
    PUBLISHED_STRUCTURE,
    PUBLISHED_KINS,
};

struct published_run {
    char name[96];                /* as the pages call it: machine, nodes, collective */
    char kin[PUBLISHED_KINS][48]; /* the machine is a bundled one, or the file of one below the corpus */
    const char *machine;          /* kin[PUBLISHED_MACHINE] */
    int file;                     /* 0 published.csv, 1 more.csv */
    int nodes, coll;
    enum model_launcher launcher;
    struct model *model;
};

struct published_row {
    int run; /* index into runs */
    struct model_call call;
    double us; /* published */
};

extern struct published_run published_runs[PUBLISHED_RUNS];
extern struct published_row published_rows[PUBLISHED_MOST];
extern int published_nruns, published_nrows;
extern int published_unread; /* rows of machines whose topology is not there */

/* Reads both tables, in `a`. -1: there is no corpus. Anything else that is wrong ends the program. */
int published_read(struct arena *a);

/* Read instead the table that no constant was ever fitted to, and none may be. */
int published_read_unseen(struct arena *a);

/* SHA-256 over "BYTES US\n" of a run's rows, as read. */
void published_checksum(int run, char hex[SHA256_HEX]);

/* What joins the GPUs of a call: an index into names. */
enum { PUBLISHED_FABRICS = 5 };
extern const char *const published_fabrics[PUBLISHED_FABRICS];
int published_fabric(const struct published_run *r, const struct model_time *t);
