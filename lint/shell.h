/* A shell script while it is read: read_shell.c cuts it into commands, shell_commands.c reads them, shell_launch.c the
 * options by which programs take variables and what starts ranks; shell.c is what all of them need. */
#pragma once

#include "lint/lint_internal.h"

#define MOST_WORDS     512 /* of one command; what follows is not looked at */
#define MOST_BODIES    16  /* here-documents that one line opens */
#define MOST_SUBSHELLS 8
#define MOST_NESTED    16 /* braces, and conditions of && and ||, inside one another */

struct shell_body {
    size_t at, end;           /* its end mark */
    struct shell_word target; /* the file that it is written to; end 0: none */
};

/* An open bracket. */
struct subshell {
    size_t first; /* setting inside it */
    const struct lint_branch *branch;
};

/* What stands behind a test and && or behind ||: a branch, up to the end of the line, brace or bracket. */
struct guard {
    const struct lint_branch *outer;
    int depth; /* brackets and braces around it */
};

struct shell {
    struct lint *l;
    const struct lint_view *v;
    const char *s; /* v->s */
    int is_csh;
    int all_exported; /* set -a, or an env file */
    struct shell_word words[MOST_WORDS];
    int nwords;
    struct shell_word target; /* the file that the command's output goes to; end 0: none */
    size_t piped, piped_end;  /* what the command in front of '|' prints; 0, 0: nothing known */
    struct shell_body bodies[MOST_BODIES];
    int nbodies;
    struct subshell subshells[MOST_SUBSHELLS];
    int nsubshells;
    struct guard guards[MOST_NESTED];
    int nguards;
    const struct lint_function *braces[MOST_NESTED]; /* the function around each open brace */
    int nbraces;
    const struct lint_function *defined; /* its body is to come; NULL: none */
    int joined;                          /* the command before ended with && or || */
    unsigned long loops;                 /* those that are open, the innermost lowest: 1 while, 0 for */
};

/* ---- words of the command ---- */

const char *shell_raw(const struct shell *sh, int i);
size_t shell_length(const struct shell *sh, int i);
/* Whether the word is one of "one|another"; or is without the path in front of a program's name. */
int shell_is(const struct shell *sh, int i, const char *list);
int shell_runs(const struct shell *sh, int i, const char *list);
/* Length of NAME when the word is NAME=… (or NAME+=…), else 0. */
size_t shell_assignment(const struct shell *sh, int i);

/* ---- what they set ---- */

/* NULL where the name is nothing to lint. The value is the word at [value, end). */
struct lint_setting *shell_add(struct shell *sh, size_t name, size_t bytes, size_t value, size_t end, enum lint_how how,
                               int group);
/* NAME=VALUE inside [at, end). */
struct lint_setting *shell_pair(struct shell *sh, size_t at, size_t end, enum lint_how how, int group);
/* `export NAME` after `NAME=value`: the assignment is in the environment after all. */
void shell_export_name(struct shell *sh, size_t at, size_t bytes);

/* The script in word i, as a rule in quotes, in a shell or program of its own: `name` as read_inner takes it. */
void shell_script(struct shell *sh, int i, const char *name, int group);
/* --runtime-env-json='{"env_vars": …}' in word i. */
void shell_json(struct shell *sh, int i, int group);
/* Output of echo and printf, and its target; the command begins at word i. */
void shell_print(struct shell *sh, int i);
/* echo … | tee FILE: bytes [from, to) come through the pipe. */
void shell_tee(struct shell *sh, int i, size_t from, size_t to);
/* A text that is written into the file `target`. */
void shell_written(struct shell *sh, const struct lint_view *v, const struct shell_word *target);

/* Takes the command in sh->words and leaves them empty. */
void shell_command(struct shell *sh);

/* The next arm of the innermost if or case, as ';;' begins it. */
void shell_next_arm(struct shell *sh);

/* Nonzero if the command, whose words are still there, asks something rather than doing it: [ … ], grep. */
int shell_asks(const struct shell *sh);

/* Opens a branch behind a condition: `one_node` as shell_picks_one says of it. */
void shell_begin_branch(struct shell *sh, int one_node);
int shell_picks_one(const struct shell *sh);

/* The function whose definition begins with the word at [at, end). */
void shell_define(struct shell *sh, size_t at, size_t end);

/* Reads one option at word i; returns the last word it took. */
int shell_option(struct shell *sh, int i, int group);

/* NAME=value,NAME=value as --export takes it, in bytes [at, end); `mark` stands between the entries. */
void shell_list(struct shell *sh, size_t at, size_t end, const char *mark, enum lint_how how, int group);

/* Notes what starts ranks, or reads what runs elsewhere: the command begins at word i. 1: nothing of it is left to
 * read. */
int shell_launch(struct shell *sh, int i, int group);
