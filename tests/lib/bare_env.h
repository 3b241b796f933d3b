#pragma once

/* An environment without variables, but for how cmocka reports. */
#include <stdlib.h>
#include <string.h>

static inline void bare_env(void)
{
    const char *set = getenv("CMOCKA_MESSAGE_OUTPUT");
    char *report = set ? strdup(set) : NULL;
    clearenv();
    if (report)
        setenv("CMOCKA_MESSAGE_OUTPUT", report, 1);
    free(report);
}
