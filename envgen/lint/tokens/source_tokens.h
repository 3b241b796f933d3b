/* Source text of languages with quoted strings and brackets, cut into tokens: what read_source.c builds on. */
#ifndef ENVGEN_LINT_TOKENS_SOURCE_TOKENS_H
#define ENVGEN_LINT_TOKENS_SOURCE_TOKENS_H

#include <stddef.h>

enum source_flags {
    SOURCE_TRIPLE = 1,    /* """ and ''' */
    SOURCE_BRACKETS = 2,  /* Lua's [[ ]] */
    SOURCE_HEREDOC = 4,   /* <<EOT */
    SOURCE_LITERAL = 8,   /* no escapes between single quotes */
    SOURCE_PREFIX = 16,   /* f"…", r'…' */
    SOURCE_GLOBALS = 32,  /* NAME = value on the outermost level is the program's own variable */
    SOURCE_BACKTICK = 64, /* `…` */
};

struct source_language {
    const char *kind;
    const char *comments;     /* marks of a comment to the line's end, blank between */
    const char *open, *close; /* of a comment over lines; NULL none */
    unsigned flags;
};

enum source_type { SOURCE_END, SOURCE_WORD, SOURCE_STRING, SOURCE_PUNCT, SOURCE_NEWLINE };

struct source_token {
    enum source_type type;
    size_t from, to; /* a string's text without its quotes */
    size_t after;    /* where to go on */
    char punct;      /* '=' an assignment, 'E' a comparison or another operator of two signs, else the sign */
    int raw;         /* a string without escapes */
    int format;      /* a string whose { } are filled in */
};

/* The token that starts at or after `at` in s[0..to). Words hold dots: os.environ.setdefault is one. */
struct source_token source_next(const struct source_language *g, const char *s, size_t at, size_t to);

#endif
