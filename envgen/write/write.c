/* The tables of all writers as one. */
#include "envgen/write/write.h"

#include <string.h>

#include "envgen/write/write_internal.h"

static const struct env_writer *const families[] = {env_writers_decisions, env_writers_nccl, env_writers_openmpi,
                                                    env_writers_tuner, env_writers_formats};

const struct env_writer *env_writer_at(size_t n)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (const struct env_writer *w = families[i]; w->file; w++)
            if (!n--)
                return w;
    return NULL;
}

const struct env_writer *env_writer_of(const char *file)
{
    const struct env_writer *w;
    for (size_t n = 0; (w = env_writer_at(n)) && strcmp(w->file, file) != 0; n++)
        ;
    return w;
}

const struct env_writer *env_format(const char *name)
{
    const struct env_writer *w;
    for (size_t n = 0; (w = env_writer_at(n)) && (!w->format || strcmp(w->format, name) != 0); n++)
        ;
    return w;
}
