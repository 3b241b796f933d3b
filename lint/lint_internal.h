/* Shared by lint's files: documents, settings, findings, rules. */
#pragma once

#include <stdint.h>

#include "core/arena.h"
#include "core/tokens.h"
#include "core/vars/catalogue.h"
#include "lint/lint.h"

/* ---- what was read ----------------------------------------------------------------------------------------------- */

struct lint_text {
    struct lint_document doc; /* less what lint_document adds */
    const char *data;         /* '\0' behind the last byte */
    size_t bytes;
    size_t *lines; /* offset of each line's first byte; NULL: the document has no lines */
    size_t nlines;
    size_t first, count;          /* its settings: they are read one document after the other */
    int searches;                 /* times that rules have looked through all of it */
    int rccl;                     /* it sets what only RCCL has; looked at when the library is not known */
    int templated;                /* {{ }} or {% %} in it were masked for the reader */
    int commands;                 /* programs that its shell text has run so far */
    int slurm, export_none;       /* it speaks of Slurm; with #SBATCH --export=NONE */
    int nodes;                    /* that its job asks for; 0: it does not say, -1: not looked at yet */
    struct lint_text *sourced_by; /* its settings stand among that one's; NULL: it was given */
    size_t inner;                 /* settings of files that it sources */
    struct lint_launch **launches;
    size_t nlaunches;
    unsigned char *seen; /* a bit a byte: a name that a reader understood begins here */
};

/* The way of a setting to NCCL. */
enum lint_how {
    LINT_EXPORTED, /* in the environment of all that follows */
    LINT_ASSIGNED, /* a shell variable that was not exported */
    LINT_COMMAND,  /* in the environment of one command */
    LINT_CONF,     /* a line of nccl.conf */
    LINT_LAYER,    /* exported inside one RUN of a Dockerfile */
    LINT_DECLARED, /* an entry of YAML, JSON, ENV: part of a container's environment */
    LINT_RUNNING,  /* taken from a process */
    LINT_UNSET,    /* taken away again */
    LINT_SUBSHELL, /* exported in a shell that ends before anything could use it */
};

/* Input of a reader: a document's own text, or text derived from it, such as a string without its escapes. Every
 * byte of it knows where it lies in the document. */
struct lint_view {
    struct lint_text *t;
    const char *s;     /* '\0' somewhere behind `to` */
    size_t from, to;   /* the part to read */
    const size_t *map; /* offset in the document of each byte of s, and of its end; NULL: the same offsets */
    const struct lint_format_of *format;
    int group;         /* that its settings belong to; 0: the whole document */
    enum lint_how how; /* that what it exports reaches NCCL */
    struct err *why;   /* for what is wrong with the document itself; NULL: of an inner text nobody asks */
};

/* One arm of an if or case; settings in different arms of the same block are never in force together. */
struct lint_branch {
    const struct lint_branch *outer;
    int block, arm;
    int one_node; /* its condition picks one rank or node */
};

/* A function of a shell script. */
struct lint_function {
    const char *name;
    int is_named; /* elsewhere in the script, which may be a call */
};

struct lint_setting {
    struct lint_text *text;   /* NULL: no document */
    const char *name, *value; /* value NULL: unknown */
    uint64_t hash;            /* of the name: documents may repeat names thousands of times */
    size_t number;            /* its place in struct lint's list */
    enum lint_how how;
    int group;                    /* 0: the whole document; else one command, container or object */
    int commands;                 /* programs that the document has run before it */
    int nothing;                  /* written so that it sets nothing of this name */
    const struct lint_body *body; /* it is written into this file; NULL: it is set here */
    const struct lint_branch *branch;
    const struct lint_function *function; /* that sets it when it is called; NULL: none */
    size_t name_at, name_bytes;           /* where in the document */
    size_t value_at, value_bytes;         /* the literal inside its quotes */
    int is_bare;                /* without quotes where Kubernetes takes only strings: a correction brings them */
    size_t line_at, line_bytes; /* the whole line, when nothing else is on it; bytes 0 otherwise */
    const struct env_var *var;  /* NULL not in the catalogue */
    const struct lint_finding *not_exported; /* that it is a shell variable which NCCL does not see; NULL: none */
};

/* A launch of ranks, and what of the environment it passes on. */
enum lint_launcher { LINT_MPIRUN, LINT_SRUN, LINT_SSH, LINT_SUDO, LINT_CLEAN, LINT_DOCKER, LINT_TORCHRUN };
struct lint_launch {
    enum lint_launcher launcher;
    size_t at;     /* in the document */
    size_t before; /* settings that were read before it */
    int group;
    const struct lint_branch *branch;
    int keeps;          /* the whole environment goes with it */
    const char **names; /* what goes with it otherwise */
    size_t nnames;
    const char *remote; /* ssh: what runs over there; docker run: all of it */
};

/* A file that a here-document or echo writes. */
struct lint_body {
    const char *file;
    size_t end; /* of the text, in the document */
};

/* ---- what was found ---------------------------------------------------------------------------------------------- */

enum lint_fix_kind { LINT_FIX_NONE, LINT_FIX_VALUE, LINT_FIX_NAME, LINT_FIX_LINE };

enum lint_rule {
#define RULE(code, rule, name, severity, title) NT_##rule,
#include "lint/rules.inc"
#undef RULE
};

struct lint_finding {
    const struct finding_kind *kind;
    enum finding_severity severity; /* the kind's, or less */
    const struct lint_setting *at;
    const char *says, *advice;
    enum lint_fix_kind fix;
    int changes;             /* the correction changes what the next run does */
    const char *replacement; /* LINT_FIX_LINE: NULL takes the line out */
    double cost;             /* × the time without the setting, predicted; 0: not known */
    size_t behind;           /* bytes behind the value or name that it takes the place of, too */
};

/* Reads a text inside another document: `name` as a file would be called, NULL unknown. It is read by the format of its
 * name or else its content. */
typedef void lint_inner(struct lint *l, const struct lint_view *v, const char *name, int group, enum lint_how how);
typedef const struct lint_format_of *lint_told(const char *data, size_t bytes); /* see lint_format_told */
#define LINT_DEPTH 5

/* Reads the file that word [at, end) of a script sources, where it lies beside the script: its settings follow those
 * that have been read. `exported`: as set -a makes them. */
typedef void lint_sourced(struct lint *l, const struct lint_view *v, size_t at, size_t end, int exported);
#define LINT_SOURCED 16 /* files, in all */

struct lint {
    struct arena *arena;
    struct lint_options options;
    int low, high; /* releases to judge by */
    int rccl;      /* the setting that is judged is for AMD's RCCL */
    int rccl_sure; /* said by the caller or the topology, not guessed by document */
    struct lint_text **texts;
    struct lint_setting **settings;
    struct lint_finding **findings;
    size_t ntexts, nsettings, nfindings;
    int groups, blocks;         /* last numbers given out */
    lint_inner *read_inner;     /* for readers, which stand below the table of formats that it looks into */
    lint_told *format_told;     /* the same */
    lint_sourced *read_sourced; /* the same; NULL: this document stands alone */
    lint_sourced *follow;       /* that of any document */
    int nsourced;
    int depth;                            /* texts inside others that are being read: at most LINT_DEPTH */
    const struct lint_branch *branch;     /* what is read belongs to this arm … */
    const struct lint_body *body;         /* … is written into this file … */
    const struct lint_function *function; /* … and is a part of this one */
    const struct lint_cost *costs;        /* what was predicted of settings, see rules_costs.c */
    int ncosts;
    struct lint_class *classes; /* of the topology, by their devices, see rules_devices.c */
    int nclasses;
    int channels, channels_nodes; /* that NCCL makes by itself, and on how many nodes … */
    int channels_asked;           /* … as asked for; -1: not yet */
};

/* ---- for the readers --------------------------------------------------------------------------------------------- */

typedef void lint_reader(struct lint *l, const struct lint_view *v);
lint_reader lint_read_shell, lint_read_conf, lint_read_docker, lint_read_yaml, lint_read_source, lint_read_ini;
lint_reader lint_read_make, lint_read_prose, lint_read_diff;

/* A row of the table of formats: how a document is recognised, and who reads it. */
struct lint_format_of {
    const char *kind;
    const char *names; /* of files, blank between: ".sh" is an ending, "Dockerfile" a beginning */
    lint_reader *read; /* NULL: nobody, and its names are counted as not understood */
    unsigned flags;
};
enum {
    LINT_TEMPLATE = 1,    /* may hold {{ }} and {% %} */
    LINT_CR_COUNTS = 2,   /* a CR at the end of a line becomes a part of the value */
    LINT_CSH = 4,         /* a C shell's syntax */
    LINT_EXPORTS = 8,     /* every assignment is exported */
    LINT_FENCES = 16,     /* code between ``` or ~~~ */
    LINT_DIRECTIVES = 32, /* code below ".. code::" or "::" */
    LINT_COMMANDS = 64,   /* commands among other lines */
    LINT_INDENTED = 128,  /* code below a blank line, indented by four */
};
/* The row for a word of --kind, for a name and a content: NULL nothing fits. */
const struct lint_format_of *lint_format_called(const char *kind);
const struct lint_format_of *lint_format_of(const char *path, const char *data, size_t bytes);
const struct lint_format_of *lint_format_named(const char *path);
/* The same for a content that is plainly of one format. */
const struct lint_format_of *lint_format_told(const char *data, size_t bytes);

/* The offset in the document of byte i of a view. */
size_t lint_at(const struct lint_view *v, size_t i);

/* A string's text: bytes [from, to) of `v` without the escapes that `style` takes away. */
enum lint_style {
    LINT_ESCAPES = 1, /* backslash n, t, quotes and so on */
    LINT_FOLDED = 2,  /* a line end is a blank */
    LINT_DOLLARS = 4, /* $$ is $ */
};
struct lint_view lint_unescape(struct lint *l, const struct lint_view *v, size_t from, size_t to, unsigned style);

/* A text that another library decoded from bytes [from, to) of `v`, such as a YAML scalar. */
struct lint_view lint_aligned(struct lint *l, const struct lint_view *v, size_t from, size_t to, const char *decoded);

/* The same part of a document without its template directives: blanks for those that fill a line. */
struct lint_view lint_masked(struct lint *l, const struct lint_view *v);

/* A new setting for the name at [at, at + bytes) of a view. NULL: the name is nothing to lint, or comes from a
 * template, or the document has too many already. */
struct lint_setting *lint_setting_new(struct lint *l, const struct lint_view *v, size_t at, size_t bytes,
                                      enum lint_how how);
/* Its value: `text`, for which bytes [at, at + bytes) of the view stand; NULL: they are the text. One that stands for
 * something that is filled in later leaves the value unknown. */
void lint_set_value(struct lint *l, struct lint_setting *s, const struct lint_view *v, const char *text, size_t at,
                    size_t bytes);
/* Its value: what the word at [at, end) stands for in a shell, unless only a shell can tell. */
void lint_set_word(struct lint *l, struct lint_setting *s, const struct lint_view *v, size_t at, size_t end);
/* Nonzero if lint looks at a name: env_of_interest, a variable of NCCL's in lower case or with its first word misspelt.
 */
int lint_of_interest(const char *name, size_t length);
/* NCCL_DEBUG for CCL_DEBUG, RCCL_DEBUG and their like, written to `meant`; NULL: NCCL has no variable of that name. */
const char *lint_meant_name(const char *name, size_t length, char *meant, size_t size);
/* Mark settings exported in `group` from `before` on as ending with their shell, unless a program ran after it. */
void lint_end_shell(struct lint *l, const struct lint_text *t, size_t before, int group);
#define LINT_MOST_SETTINGS 4000 /* of one document; more is an error */

/* The name at this place of a view was understood, though it sets nothing. */
void lint_understood(struct lint *l, const struct lint_view *v, size_t at);
/* So are all names in bytes [from, to) of it: prose about them. */
void lint_talked_of(struct lint *l, const struct lint_view *v, size_t from, size_t to);

/* Finds the assignments of a whole document that nothing exports or uses, when settings from `before` on are its own.
 */
void lint_find_not_exported(struct lint *l, const struct lint_view *v, size_t before);

/* Nonzero if a text is worth reading as a script or a list of settings. */
int lint_names_any(const char *s, size_t length);

/* The offset of each line's first byte in s[from..to]; the array is in `a`. */
size_t *lint_index_lines(struct arena *a, const char *s, size_t from, size_t to, size_t *count);

/* Line and column of an offset, both from 1; the column counts characters of UTF-8. */
void lint_place(const struct lint_text *t, size_t at, long *line, long *column);

/* Length of a name of letters, digits and '_' at s, not starting with a digit. */
size_t lint_name_length(const char *s, size_t most);

/* The first byte from `at` on that is no blank, at most `end`. */
size_t lint_skip_blanks(const char *s, size_t at, size_t end);
/* The end of [at, end) without the blanks and the CR behind it. */
size_t lint_trim_end(const char *s, size_t at, size_t end);
/* Leave out the pair of quotes around [at, end), if there is one. */
void lint_unquote(const char *s, size_t *at, size_t *end);
/* The first of `marks` in [at, end) that is outside of quotes; `end`: there is none. */
size_t lint_find_mark(const char *s, size_t at, size_t end, const char *marks);
/* A file's name in a shell's word, without the quotes at both ends. */
const char *lint_file_word(struct lint *l, const char *s, size_t at, size_t end);

/* A finding about a setting; `says` is a format for what follows `advice`. Readers use it, too, for mistakes of the
 * document itself. */
struct lint_finding *lint_find(struct lint *l, enum lint_rule rule, const struct lint_setting *at, const char *says,
                               const char *advice, ...) __attribute__((format(printf, 4, 6)));

/* Its correction, which changes what the next run does. */
void lint_correct(struct lint_finding *f, enum lint_fix_kind fix, const char *replacement);

/* ---- for the rules ----------------------------------------------------------------------------------------------- */

/* Part of the judged releases within [since, until]; until 0: no end. */
enum lint_part { LINT_NONE, LINT_SOME, LINT_ALL };
enum lint_part lint_holds(const struct lint *l, int since, int until);

/* Nonzero if both can be in force in one run: they are not in different arms of the same block. */
int lint_can_meet(const struct lint_branch *a, const struct lint_branch *b);

/* The setting of `name` in force where `s` is written: before it in the same document, in a group that includes it and
 * in a branch that can meet its own; the last such one, NULL none or taken away. Its value may be unknown. */
const struct lint_setting *lint_before(const struct lint *l, const struct lint_setting *s, const char *name);

/* Any setting of `name` in the document of `s`, whatever its place: for rules about what is missing. */
const struct lint_setting *lint_anywhere(const struct lint *l, const struct lint_setting *s, const char *name);

/* Nonzero if one of the words ("one|another") stands anywhere in the document; after LINT_SEARCHES times it is not
 * looked through again. */
#define LINT_SEARCHES 200
int lint_speaks_of(struct lint_text *t, const char *words);

/* The later setting that overrides it before any program could read it; NULL: none. */
const struct lint_setting *lint_set_again(const struct lint *l, const struct lint_setting *s);

/* What keeps it from the ranks, "srun in line 3 does not pass"; NULL: nothing that is sure. */
const char *lint_loss(const struct lint *l, const struct lint_setting *s);

/* Nonzero if the environment of ranks has it, or loses it by it. */
int lint_reaches(const struct lint_setting *s);

/* 1 when the value is known and NCCL reads this number from it. */
int lint_number(const struct lint_setting *s, int64_t *value);

/* Nonzero if only a function sets it that its script, which launches something, does not name again. */
int lint_is_uncalled(const struct lint_setting *s);

/* Nonzero if it is set for one command of a document that runs benchmarks of NCCL. */
int lint_is_experiment(const struct lint_setting *s);

/* Nonzero if its name is one of "NAME|ANOTHER". */
int lint_is(const struct lint_setting *s, const char *names);

/* Nonzero if something reads a name: losing any other costs nothing. */
int lint_has_reader(const struct lint_setting *s);

/* Parse the value of NCCL_ALGO or NCCL_PROTO as the newest judged release does; returns 0 if that is not known or
 * empty. */
struct env_choice;
int lint_choice(const struct lint *l, const struct lint_setting *s, struct env_choice *c);

/* "Broadcast, Reduce and AllGather" for the bits of these collectives. */
const char *lint_collectives(struct lint *l, unsigned colls);

/* 1 when that number is not 0. */
int lint_is_on(const struct lint_setting *s);

/* Nonzero if a node class without RDMA ports really has none: a recorded topology may show NICs without their names,
 * and a probe may have had no libibverbs. */
struct topo_class;
int lint_knows_hcas(const struct topo_class *c);

/* Report what the pods of a YAML text lack, after its settings have been read. */
void lint_check_pods(struct lint *l, const struct lint_view *v);

/* Judges a setting, which is never LINT_UNSET. */
typedef void lint_check_fn(struct lint *l, const struct lint_setting *s);
/* The rules of a theme. */
lint_check_fn lint_check_names, lint_check_values, lint_check_effects, lint_check_conflicts, lint_check_devices,
    lint_check_reach, lint_check_costs;
