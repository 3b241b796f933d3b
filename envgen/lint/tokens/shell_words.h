/* Shell text cut into words, without evaluating any: what the shell, Dockerfile and YAML readers build on. */
#ifndef ENVGEN_LINT_TOKENS_SHELL_WORDS_H
#define ENVGEN_LINT_TOKENS_SHELL_WORDS_H

#include <stddef.h>

#include "core/arena.h"

enum lint_token {
    LINT_END,
    LINT_WORD,
    LINT_NEWLINE,
    LINT_SEPARATOR, /* ; & | ( ) and their pairs */
    LINT_ARM_END,   /* ;; */
    LINT_HEREDOC,   /* << or <<-: the next word is the end mark */
    LINT_REDIRECT,  /* > < >> and so on: the next word is a file */
    LINT_COMMENT,
};

struct lint_word {
    enum lint_token token;
    size_t at, end;
};

/* The token that starts at or after `at` in text[0..to); its `end` is where to go on. Quotes, $( ), ${ }, backquotes
 * and NAME=( ) stay inside one word. */
struct lint_word lint_next_word(const char *text, size_t at, size_t to);

/* What a word or a part of one stands for. */
struct lint_literal {
    const char *text; /* quotes taken away; NULL: the shell would have to expand it */
    size_t at,
        bytes; /* where the literal lies in the source when it is one piece, e.g. between its quotes; else 0, 0 */
};
/* ${NAME:-literal} gives the literal, since that is what the document itself says. */
struct lint_literal lint_word_literal(struct arena *a, const char *text, size_t at, size_t end);

#endif
