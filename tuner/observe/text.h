/* A text that is made in memory and becomes a file, whole or not at all. No number goes through a locale. */
#ifndef TUNER_OBSERVE_TEXT_H
#define TUNER_OBSERVE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct observe_text {
    char *text; /* kept for the next time; not ended by 0 */
    size_t used, size;
    int error; /* errno of what went wrong; 0: nothing */
};

/* Adds up to a thousand bytes. */
__attribute__((format(printf, 2, 3))) void observe_put(struct observe_text *t, const char *fmt, ...);

/* "time_us": 12.345, with a comma before it. */
void observe_put_us(struct observe_text *t, const char *key, double us);

/* Writes it beside its name, synced, and renames it: 0 or an errno, as t->error then is. May take as long as the file
 * system likes. The calling thread blocks SIGXFSZ, which a limit on the size of files would otherwise kill the job
 * with. */
int observe_write(struct observe_text *t, const char *beside, const char *path);

#endif
