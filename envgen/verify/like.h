/* What is measured again is what a profile was made for. */
#ifndef ENVGEN_VERIFY_LIKE_H
#define ENVGEN_VERIFY_LIKE_H

#include "bench/search/options.h"
#include "envgen/profile/profile.h"

/* What was not said in `o`, once its engine is known, is taken over from the profile: collectives, sizes, shapes of
 * groups, as far as they fit, and for OpenMPI the ranks a node. */
void verify_measure_like(struct bench_options *o, const struct env_profile *p);

#endif
