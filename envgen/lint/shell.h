/* A shell script while it is read: read_shell.c cuts it into commands, shell_commands.c reads them. */
#ifndef ENVGEN_LINT_SHELL_H
#define ENVGEN_LINT_SHELL_H

#include "envgen/lint/lint_internal.h"
#include "envgen/lint/shell_words.h"

#define SHELL_WORDS  512 /* of one command; what follows is not looked at */
#define SHELL_DEPTH  4   /* scripts quoted inside scripts */
#define SHELL_BODIES 16  /* here-documents that one line opens */

struct shell_body {
    size_t at, end; /* its end mark */
    int conf;       /* written to a configuration file */
};

struct shell {
    struct lint *l;
    const struct lint_text *t;
    size_t to;
    int depth;
    /* Reads bytes [from, to) as a script inside this one; what it exports belongs to `group`. */
    void (*script)(const struct shell *sh, size_t from, size_t to, int group);
    int base_group;    /* what an export belongs to */
    int all_exported;  /* set -a, or an env file */
    enum lint_how how; /* of an export: LINT_EXPORTED, or LINT_LAYER inside a RUN */
    const struct lint_branch *branch;
    struct lint_word words[SHELL_WORDS];
    int nwords;
    struct shell_body bodies[SHELL_BODIES];
    int nbodies;
};

/* Takes the command in sh->words and leaves them empty. */
void shell_command(struct shell *sh);

/* The next arm of the innermost if or case, as ';;' begins it. */
void shell_next_arm(struct shell *sh);

/* NAME=value,NAME=value as --export takes it, in bytes [at, end). */
void shell_list(struct shell *sh, size_t at, size_t end, enum lint_how how, int group);

#endif
