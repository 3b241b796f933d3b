/* Records of a document by tables: one table writes a struct as an object and reads it back.
 *
 * A field has a key, a kind and its place in the struct. A document adds kinds of its own: two functions. Whoever reads
 * believes nothing: what does not fit is an error that names the place ("shapes[0].launches[2].points: expected ...").
 */
#pragma once

#include <stddef.h>

struct cJSON;

struct json_reader {
    struct arena *arena;
    const char *file;
    long line;  /* of the file that the document stands in; 0: it is the file */
    void *more; /* what the document's own kinds need */
    struct err *err;
    char place[160]; /* where the reader is: "", "shapes[0].launches[2]" */
};

struct json_field;

struct json_kind {
    /* Adds what is at `at` to `o`; nothing where it is not known. */
    void (*put)(struct cJSON *o, const struct json_field *f, const void *at);
    /* `item` NULL: the document has none. */
    int (*get)(struct json_reader *in, const struct json_field *f, const struct cJSON *item, void *at);
    size_t size;                     /* of what is at `at`; 0: nobody copies it */
    double (*value)(const void *at); /* of numbers and words; NULL: it is neither */
};

/* Records in an array, or one within another record. */
struct json_record {
    const struct json_field *fields; /* ends with a NULL key */
    size_t size;                     /* of a record of an array, */
    int most;                        /* which has no more of them than this; 0: no limit */
    /* 0 if what was read fits together; NULL: always. */
    int (*check)(struct json_reader *in, void *record);
    /* Nonzero if the object, or the array whose pointer this is, is in the document at all; NULL: always. */
    int (*known)(const void *at);
};

struct json_field {
    const char *key;
    const struct json_kind *kind;
    size_t at;
    double low, high;                              /* of numbers; high 0: the type's, or: */
    size_t count;                                  /* where `more` has an int, how many there are of something */
    double unknown;                                /* what a missing number or word is; not written, unless: */
    int always;                                    /* is written whatever it is */
    int required;                                  /* the same, and an error where it is missing; a text is not empty */
    unsigned mark;                                 /* the document's own */
    const char *text;                              /* of a constant; what a missing text is */
    const char *const *words;                      /* up to a NULL; or */
    const char *(*name)(int value);                /* words from `low` up to the first that has none */
    int (*parse)(const char *word, size_t length); /* how they are read, -1: none such; NULL: by their names */
    const struct json_record *record;
};

extern const struct json_kind json_as_text,  /* const char *; NULL unknown */
    json_as_texts,                           /* const char **, with its count, an int, right behind it; as all arrays */
    json_as_int, json_as_flag, json_as_word, /* int */
    json_as_index,                           /* int, below `count` */
    json_as_number,                          /* double */
    json_as_bytes,                           /* uint64_t */
    json_as_object,                          /* a record */
    json_as_array,                           /* records */
    json_as_constant;                        /* is written and not read */

/* For kinds of numbers: the `put`, and the `value` of an int. */
void json_put_number(struct cJSON *o, const struct json_field *f, const void *at);
double json_int_value(const void *at);

/* The `get` of a kind that is written and not read. */
int json_get_nothing(struct json_reader *in, const struct json_field *f, const struct cJSON *item, void *at);

/* The members of `record` into `o`. */
void json_put_fields(struct cJSON *o, const struct json_field *fields, const void *record);

/* And back: members that the document lacks have what the fields say. */
int json_get_fields(struct json_reader *in, const struct json_record *r, const struct cJSON *o, void *record);

/* A whole number from `low` to `high` whatever the field says of that. */
int json_get_int(struct json_reader *in, const struct json_field *f, const struct cJSON *item, int low, int high,
                 int *value);

/* "FILE: PLACE.KEY: expected WHAT", the return code. */
int json_wrong(const struct json_reader *in, const char *key, const char *expected);

/* Nonzero if what is at `at` is anything but unknown. */
int json_is_known(const struct json_field *f, const void *at);

/* The count of the array whose pointer is at `at`. */
int *json_count(void *at);
