/* Tokens of shell and of other source text, without running any of it: what the readers of lint and of launch scripts
 * build on. */
#pragma once

#include <stddef.h>

#include "core/arena.h"

/* ---- shell ------------------------------------------------------------------------------------------------------- */

enum shell_token {
    SHELL_END,
    SHELL_WORD,
    SHELL_NEWLINE,
    SHELL_SEPARATOR, /* ; & | ( ) and their pairs */
    SHELL_ARM_END,   /* ;; */
    SHELL_HEREDOC,   /* << or <<-: the next word is the end mark */
    SHELL_REDIRECT,  /* > < >> and so on: the next word is a file */
    SHELL_COMMENT,
};

struct shell_word {
    enum shell_token token;
    size_t at, end;
};

/* The token that starts at or after `at` in text[0..to); its `end` is where to go on. Quotes, $( ), ${ }, backquotes
 * and NAME=( ) stay inside one word. */
struct shell_word shell_next_word(const char *text, size_t at, size_t to);

/* Variables of a script: `value` returns NULL for an unknown name. */
struct shell_variables {
    const char *(*value)(const void *arg, const char *name, size_t bytes);
    const void *arg;
};

/* Write the text that the word at [at, end) stands for: without quotes and backslashes, with variables and the sums of
 * $(( )) put in where they are known. Return its length, at most `room`; `out` has one byte more, for the end. */
size_t shell_word_text(const struct shell_variables *v, const char *text, size_t at, size_t end, char *out,
                       size_t room);

/* Value of a word, or of a part of it, that depends on no variables. */
struct shell_literal {
    const char *text; /* without quotes; NULL: only a shell can tell */
    size_t at,
        bytes; /* where the literal lies in the source when it is one piece, e.g. between its quotes; else 0, 0 */
};
/* ${NAME:-literal} gives the literal, since that is what the document itself says. */
struct shell_literal shell_word_literal(struct arena *a, const char *text, size_t at, size_t end);

/* The path of the file that `script` sources by this word, below its own directory, which $( )/ and ${ }/ in front
 * stand for; NULL: it lies elsewhere, or only a shell can tell. */
const char *shell_sourced_path(struct arena *a, const char *script, const char *word);

/* ---- lists of words ---------------------------------------------------------------------------------------------- */

/* Whether a word of `list`, "one|another", is s[0..n), in any case of letters, begins it or occurs in it. */
enum word_match { WORD_IS, WORD_IS_ANY_CASE, WORD_BEGINS, WORD_OCCURS };
int word_in(const char *list, enum word_match how, const char *s, size_t n);

/* ---- languages with quoted strings and brackets ------------------------------------------------------------------ */

enum source_flags {
    SOURCE_TRIPLE = 1,     /* """ and ''' */
    SOURCE_BRACKETS = 2,   /* Lua's [[ ]] */
    SOURCE_HEREDOC = 4,    /* <<EOT */
    SOURCE_LITERAL = 8,    /* no escapes between single quotes */
    SOURCE_PREFIX = 16,    /* f"…", r'…' */
    SOURCE_GLOBALS = 32,   /* NAME = value on the outermost level is the program's own variable */
    SOURCE_BACKTICK = 64,  /* `…` */
    SOURCE_COMPILED = 128, /* a name of the program's own means nothing: calls, maps and lists of strings set */
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

/* Length of what stands at s[at] of letters, digits and '_'. */
size_t source_name_length(const char *s, size_t at, size_t end);

/* The end of the line that holds s[at], without its '\n'. */
size_t source_line_end(const char *s, size_t at, size_t to);

/* The line with the end mark of the here-document whose text begins at `at`; blanks may stand around the mark. `*after`
 * is the end of that line. `to`: no line has it. */
size_t source_heredoc_end(const char *s, size_t at, size_t to, const char *mark, size_t bytes, size_t *after);

/* The token that starts at or after `at` in s[0..to). Words hold dots: os.environ.setdefault is one. */
struct source_token source_next(const struct source_language *g, const char *s, size_t at, size_t to);
