/* JSON documents through cJSON: errors with line and column, formats with a version, getters with defaults.
 *
 * A document says what it is: {"format": "nccltune-topology/1", ...}. Unknown fields are ignored, an unknown major
 * version is refused.
 *
 * The only file that includes cJSON's header. Headers that mention a document declare `struct cJSON` instead of
 * including this one, so a change here rebuilds only what reads or writes JSON. */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"

/* The largest nesting that is parsed; ours need fewer than 40. cJSON's own limit (1,000) recurses too deep for small
 * thread stacks. */
#define JSON_DEPTH 128

/* Parses `bytes` bytes of `text`, which came from line `first_line` of `file`. NULL after an error; cJSON_Delete frees.
 * Only blanks may follow the value. */
cJSON *json_parse(const char *text, size_t bytes, const char *file, long first_line, struct err *e);

/* Reads a file and checks its "format" against `format` ("nccltune-topology/1"; NULL: any). */
cJSON *json_load(const char *path, const char *format, struct err *e);

/* Check that "format" of `doc` has the name of `format` and its major version; the error says what was found. */
int json_check_format(const cJSON *doc, const char *format, const char *file, struct err *e);

/* Pretty-printed with a final newline, written atomically (see file_write; NULL or "-": standard output). Frees `doc`.
 */
int json_save(cJSON *doc, const char *path, struct err *e);

/* The same to a stream, and in `a`; both free `doc`, too. */
void json_print(cJSON *doc, FILE *out);
const char *json_text(cJSON *doc, struct arena *a);

/* `doc` as one line: without its end, for free(), and with it to a stream. As with an arena, too little memory aborts.
 */
char *json_line(const cJSON *doc);
void json_print_line(const cJSON *doc, FILE *out);

/* Field access. A missing field or one of another type gives the default. Integers outside 53 bits too. */
const char *json_str(const cJSON *o, const char *key, const char *otherwise);
double json_num(const cJSON *o, const char *key, double otherwise);
int64_t json_int(const cJSON *o, const char *key, int64_t otherwise);
int json_bool(const cJSON *o, const char *key, int otherwise);

/* Adds a copy of `s`; NULL adds nothing. Invalid UTF-8 becomes '?': names of devices come from anywhere. */
void json_add_str(cJSON *o, const char *key, const char *s);

/* A new object, or a copy of `s` as above, at the end of `array`. */
cJSON *json_append(cJSON *array);
void json_append_str(cJSON *array, const char *s);

/* Adds an array of copies. */
void json_add_strs(cJSON *o, const char *key, const char *const *texts, int n);

/* Adds an array with one object for each of `n` records of `size` bytes: `fill` adds the members of one. */
typedef void json_fill_fn(cJSON *o, const void *record);
void json_add_each(cJSON *o, const char *key, const void *records, int n, size_t size, json_fill_fn *fill);

/* Bytes of the UTF-8 character at s (RFC 3629); 0 where there is none. */
size_t json_utf8_length(const char *s);
