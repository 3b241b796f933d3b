/* The catalogue of variables: what NCCL reads, in which releases, with which default, and what the names beside it are.
 *
 * Facts come from NCCL's source at 60 tags from 2.4.2 to 2.30.7, of 2.31 from its development branch (2.31.0a7), and
 * from RCCL 2.21.5 and the plugins' own sources; where guide and source differ the source was believed. All data is
 * constant and compiled in. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Versions are NCCL's own numbers, major * 10000 + minor * 100 + patch: 22809 is 2.28.9. */
#define ENV_OLDEST_IN_USE 21900 /* what is judged when no version is given starts here … */
#define ENV_NEWEST        23100 /* … and ends here; releases after 2.30.7 are taken to behave like it */
#define ENV_CATALOGUED    23007 /* the newest release whose source was read; of later ones what is known beforehand */

enum env_kind { ENV_BOOL, ENV_INT, ENV_STRING, ENV_ENUM, ENV_LIST };
enum env_scope {
    ENV_PROCESS, /* read once and kept */
    ENV_COMM,    /* read again for every communicator */
    ENV_PLUGIN,  /* read by a plugin */
};
enum env_agree { ENV_AGREE_NO, ENV_AGREE_YES, ENV_AGREE_ADVISED, ENV_AGREE_UNKNOWN }; /* same value on all ranks? */

/* NCCL's way of reading the value: see core/vars/parse.h. */
enum env_grammar {
    ENV_G_INT,  /* strtoll, base 0 */
    ENV_G_FLAG, /* the same, 0 or 1 */
    ENV_G_TEXT,
    ENV_G_PATH, /* text; no '~' is expanded */
    ENV_G_PLUGIN,
    ENV_G_HCA,
    ENV_G_IFNAME,
    ENV_G_ALGO,
    ENV_G_PROTO,
    ENV_G_LEVEL,
    ENV_G_MERGE_LEVEL,
    ENV_G_GROUPS, /* NCCL_NET_FORCE_MERGE */
    ENV_G_FAMILY,
    ENV_G_CIDR,
    ENV_G_DEBUG,
    ENV_G_SUBSYS,
    ENV_G_CTA_POLICY,
    ENV_G_NETDEVS,
    ENV_G_MERGE_POLICY,
    ENV_G_LAUNCH,
    ENV_G_CHECK_MODE,
    ENV_G_WORD_BOOL, /* words are understood from 2.30.3 on */
};

enum {
    ENV_DOCUMENTED = 1,
    ENV_DEAD = 2,  /* declared in the source, used by nothing */
    ENV_OLDER = 4, /* older than `since`, which is only the first release that was looked at */
    ENV_FIELD_FALLBACK =
        8, /* ncclConfig_t's field counts only when the variable is unset; elsewhere the variable wins */
};

#define ENV_ANY_LOW  INT64_MIN /* no lower bound known */
#define ENV_ANY_HIGH INT64_MAX

struct env_var {
    const char *name;
    enum env_kind kind;
    enum env_grammar grammar;
    enum env_scope scope;
    enum env_agree agree;
    int since, last; /* first and last release that reads it; last 0: still read */
    unsigned flags;
    int64_t low, high;     /* sensible numbers, for ENV_G_INT and ENV_G_FLAG */
    const char *defaults;  /* "2.4.2=14; 2.14.3=18; 2.23.4=20": from which release on which */
    const char *effective; /* what a default that stands for "automatic" comes to; NULL: the default says it */
    const char *field;     /* of ncclConfig_t, NULL none */
    const char *meaning;
    const char *interacts; /* names, blank between; NULL none */
};

/* Names that NCCL's current source does not read, or only as an alias. */
enum env_status {
    ENV_REMOVED,      /* NCCL read it once */
    ENV_DECLARED,     /* in the source, without effect */
    ENV_DEPRECATED,   /* still works */
    ENV_NEVER,        /* plausible, never read by anything */
    ENV_MISSPELT,     /* the same, with a clear right name */
    ENV_OLD_SPELLING, /* another program's former name */
    ENV_FRAMEWORK,
    ENV_RCCL,
    ENV_ROCM,
    ENV_OF_PLUGIN,
    ENV_FABRIC,
    ENV_BUILD, /* a name that builds and scripts use for themselves */
};

struct env_other {
    const char *name;
    enum env_status status;
    const char *owner;
    const char *use;  /* what to use instead, NULL nothing known */
    const char *note; /* NULL none */
};

/* Values that the reader of such a name takes: numbers from low to high (none where low is above high), and words in
 * any case, blank between; NULL none. */
struct env_limit {
    const char *name;
    int64_t low, high;
    const char *words;
    const char *meaning; /* NULL: the name says it */
};

/* Prefix of its names. */
struct env_prefix {
    const char *prefix;
    enum env_status status;
    const char *owner;
};

/* NULL when the name is not there. A removed variable is in both. */
const struct env_var *env_var_find(const char *name);
const struct env_other *env_other_find(const char *name);
const struct env_prefix *env_prefix_find(const char *name);

/* Why a profile may not set this variable to this value, whichever way it is delivered; NULL: it may. A profile comes
 * from measurements, that is from anybody: it sets what NCCL, its network plugins and OpenMPI's collectives do, never
 * what they load, write or connect to, and never with a character that a shell, a list or a settings file would read as
 * more. */
const char *env_undeliverable(const char *name, const char *value);

/* The n-th variable or other name, in no useful order; NULL past the end. */
const struct env_var *env_var_at(size_t n);
const struct env_other *env_other_at(size_t n);

/* The variable that a wrong name most likely means: one or two letters off, or the same words in another order; NULL
 * when none is near. Only names that start with NCCL_ are considered. */
const struct env_var *env_nearest(const char *name);

/* The name that a wrong one of OFI_NCCL_*, TORCH_NCCL_* or RCCL_* most likely means; NULL when none is near. */
const struct env_other *env_nearest_other(const char *name);

/* The values, what each does, and how a list is written; NULL: nothing to say. */
const char *env_syntax(const struct env_var *v);

const struct env_limit *env_limit_find(const char *name);
#define ENV_LIMIT_TEXT 128
/* "numbers from 1 up", "0 to 1, true false". Return `text`. */
const char *env_limit_text(const struct env_limit *limit, char text[ENV_LIMIT_TEXT]);
/* Describe the limit if the value is outside it; NULL: it is inside. */
const char *env_limit_broken(const struct env_limit *limit, const char *value, char text[ENV_LIMIT_TEXT]);

/* Nonzero if a name is one that lint looks at: in the catalogue (but not HOME and the like), or of a known family. */
int env_of_interest(const char *name, size_t length);

#define ENV_VALUE 96
/* The n-th default of a variable, as text, and the first release that has it (the first one's also stands for releases
 * older than the catalogue). 0 past the last. */
int env_default_change(const struct env_var *v, size_t n, int *since, char text[ENV_VALUE]);

/* The default of a variable in a release, as text ("20", "unset", "INIT,ENV"). 0 when that release does not read it. */
int env_default_at(const struct env_var *v, int version, char text[ENV_VALUE]);

#define ENV_VERSION 16
/* "2.28.9" for 22809. Returns `text`. */
char *env_version_text(char text[ENV_VERSION], int version);

/* "2.28.9", "2.28" (all of its patches) or "2.19-2.28": 0 and the first and last version meant, -1 for other text. */
int env_version_parse(const char *s, int *low, int *high);

/* The same for the name of a library: "NCCL 2.21.5", "RCCL 2.21.5 /opt/...", "NCCL 2.21.5 (RCCL)". -1: it says none. */
int env_library_release(const char *library, int *low, int *high);
