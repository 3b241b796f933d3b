/* The catalogue of messages: which entry a line is, and what the entry says. Private to its directory. */
#pragma once

#include <stddef.h>

/* Role of a message in a failure: its cause, a wrong call, a state that NCCL does not expect, something that follows
 * from a failure elsewhere, or no failure at all. The earlier ones win. */
enum message_kind { MESSAGE_CAUSE, MESSAGE_CALL, MESSAGE_INTERNAL, MESSAGE_ECHO, MESSAGE_NOTE };

struct message {
    const char *id;
    enum message_kind kind;
    int area;                  /* the heading it stands under */
    const char *since, *until; /* NCCL releases whose sources print it; "" for another program's */
    const char *fragments;     /* "a*b|c" */
    const char *means, *causes, *check, *remedy;
};

size_t message_count(void);
const struct message *message_at(size_t i);

/* The first entry that a line is, -1: none. `is_warning`: the line is a warning of NCCL, RCCL or a plugin. */
int message_of(const char *line, int is_warning);
