/* A profile as one page of HTML that can be mailed: what was found, measured, decided and why, and the data of it. */
#pragma once

#include <stdio.h>

#include "envgen/profile/profile.h"

#define ENV_REPORT "report.html" /* what tune calls it, beside the files that the profile consists of */

/* Topology, fabric and journal are read from the profile's directory; what is missing there is not told. Errors:
 * `out` cannot be written, or one of these files makes no sense. The same profile gives the same bytes. */
int env_report_write(const struct env_profile *p, FILE *out, struct err *e);

/* The same into a file; NULL: ENV_REPORT in the profile's directory, which is no part of what its hash is of. */
int env_report_save(const struct env_profile *p, const char *path, struct err *e);

/* The lines for a job script, up to a NULL: none where the profile sets nothing and its table has no rule. In `a`. */
const char **env_report_lines(const struct env_profile *p, struct arena *a);

/* What came of it, in one to three sentences; in `a`. */
const char *env_report_verdict(const struct env_profile *p, struct arena *a);

/* Commands that do something with this profile, at most ENV_NEXT, into `rows`; return how many. `self` and `dir`: this
 * program and the profile's directory as words of a shell. */
#define ENV_NEXT 3
struct env_next {
    const char *command, *why;
};
int env_report_next(const struct env_profile *p, const char *self, const char *dir, struct env_next *rows,
                    struct arena *a);
