/* What lint's own files share: documents, settings, findings, rules. */
#ifndef ENVGEN_LINT_LINT_INTERNAL_H
#define ENVGEN_LINT_LINT_INTERNAL_H

#include <stdint.h>

#include "core/arena.h"
#include "core/vars/catalogue.h"
#include "envgen/lint/lint.h"

/* ---- what was read ----------------------------------------------------------------------------------------------- */

struct lint_text {
    const char *name;
    const char *kind;
    const char *data; /* '\0' behind the last byte */
    size_t bytes;
    size_t *lines; /* offset of each line's first byte; NULL: the document has no lines */
    size_t nlines;
    size_t first, count; /* its settings: they are read one document after the other */
    int rccl;            /* it sets what only RCCL has; looked at when the library is not known */
};

/* How a setting reaches NCCL. */
enum lint_how {
    LINT_EXPORTED, /* in the environment of all that follows */
    LINT_ASSIGNED, /* a shell variable that was not exported */
    LINT_COMMAND,  /* in the environment of one command */
    LINT_CONF,     /* a line of nccl.conf */
    LINT_LAYER,    /* exported inside one RUN of a Dockerfile */
    LINT_DECLARED, /* an entry of YAML, JSON, ENV: part of a container's environment */
    LINT_RUNNING,  /* taken from a process */
    LINT_UNSET,    /* taken away again */
};

/* One arm of an if or case; settings in different arms of the same block are never in force together. */
struct lint_branch {
    const struct lint_branch *outer;
    int block, arm;
};

struct lint_setting {
    const struct lint_text *text; /* NULL: no document */
    const char *name, *value;     /* value NULL: unknown */
    uint64_t hash;                /* of the name: documents may repeat names thousands of times */
    enum lint_how how;
    int group; /* 0: the whole document; else one command, container or object */
    const struct lint_branch *branch;
    size_t name_at, name_bytes;   /* where in the document */
    size_t value_at, value_bytes; /* the literal inside its quotes */
    size_t line_at, line_bytes;   /* the whole line, when nothing else is on it; bytes 0 otherwise */
    const struct env_var *var;    /* NULL not in the catalogue */
};

/* ---- what was found ---------------------------------------------------------------------------------------------- */

enum lint_fix_kind { LINT_FIX_NONE, LINT_FIX_VALUE, LINT_FIX_NAME, LINT_FIX_LINE };

struct lint_finding {
    const struct finding_kind *kind;
    enum finding_severity severity; /* the kind's, or less */
    const struct lint_setting *at;
    const char *says, *advice;
    enum lint_fix_kind fix;
    const char *replacement; /* LINT_FIX_LINE: NULL takes the line out */
};

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
    int groups, blocks; /* last numbers given out */
};

/* ---- for the readers --------------------------------------------------------------------------------------------- */

/* A reader takes bytes [from, to) of a document. Positions are offsets into the document. */
struct lint_reader {
    const char *kind;
    const char *const *names; /* endings or beginnings of file names, see read.c */
    int (*read)(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e);
};
int lint_read_shell(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e);
int lint_read_env(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e);
int lint_read_conf(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e);
int lint_read_docker(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e);
int lint_read_yaml(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e);
int lint_read_json(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e);

/* Names a setting, and looks the name up. */
void lint_name(struct lint_setting *s, const char *name);

/* A shell script inside another document: what it exports belongs to `group` and reaches NCCL as `how` says. */
int lint_read_shell_in(struct lint *l, const struct lint_text *t, size_t from, size_t to, int group, enum lint_how how);

/* A new setting for a name of the document; value fields are the caller's to fill. */
struct lint_setting *lint_setting_new(struct lint *l, const struct lint_text *t, size_t name_at, size_t name_bytes,
                                      enum lint_how how);
#define LINT_MOST_SETTINGS 4000 /* of one document; more is an error */

/* Whether text stands for something that is filled in later: "$X", "{{ x }}", "<path>", "...". */
int lint_is_placeholder(const char *s, size_t length);

/* Line and column of an offset, both from 1; the column counts characters of UTF-8. */
void lint_place(const struct lint_text *t, size_t at, long *line, long *column);

/* Length of a name of letters, digits and '_' at s, not starting with a digit. */
size_t lint_name_length(const char *s, size_t most);

/* A mistake of the document itself, found while it was read, about a setting that has just been made. */
struct lint_finding *lint_find(struct lint *l, const struct finding_kind *kind, const struct lint_setting *at,
                               const char *says, const char *advice);

/* ---- for the rules ----------------------------------------------------------------------------------------------- */

/* How much of the judged releases lies within [since, until]; until 0: no end. */
enum lint_part { LINT_NONE, LINT_SOME, LINT_ALL };
enum lint_part lint_holds(const struct lint *l, int since, int until);

/* The setting of `name` in force where `s` is written: before it in the same document, in a group that includes it and
 * in a branch that can meet its own; the last such one, NULL none or taken away. Its value may be unknown. */
const struct lint_setting *lint_before(const struct lint *l, const struct lint_setting *s, const char *name);

/* Any setting of `name` in the document of `s`, whatever its place: for rules about what is missing. */
const struct lint_setting *lint_anywhere(const struct lint *l, const struct lint_setting *s, const char *name);

/* 1 when the value is known and NCCL reads this number from it. */
int lint_number(const struct lint_setting *s, int64_t *value);

/* Whether a node class without RDMA ports really has none: a recorded topology may show NICs without their names, and a
 * probe may have had no libibverbs. */
struct topo_class;
int lint_knows_hcas(const struct topo_class *c);

/* Rules by theme: the kinds of finding that a source reports, and what finds them. A rule is added to the table of its
 * theme, in one source. Codes never change their meaning and are not used again: people write them into their
 * configuration. NT1 names, NT2 values, NT3 ranges and effect, NT4 settings that do not go together, NT5 devices, NT6
 * the document's form. */
struct lint_rules {
    const struct finding_kind *kinds;
    size_t count;
    void (*check)(struct lint *l,
                  const struct lint_setting *s); /* `s` is never LINT_UNSET; NULL: a reader finds them */
};
extern const struct lint_rules lint_names, lint_values, lint_ranges, lint_effects, lint_conflicts, lint_devices;
extern const struct lint_rules lint_documents, lint_conf, lint_docker, lint_shell, lint_commands;

/* Found in values and, where it becomes a part of the value, in nccl.conf. */
#define LINT_QUOTED_VALUE                                                        \
    {                                                                            \
        "NT218", "quoted-value", FINDING_ERROR, "quotes are a part of the value" \
    }

#endif
