/* Decisions: from measured points to what is worth setting, each with the evidence that it rests on.
 *
 * A decision is made in two steps, because a launch setting holds for a whole process while a call setting may differ
 * from size to size:
 *   1. the launch: per engine, the candidate whose gain over the untouched launch clears the margin, and of several the
 *      fastest, but one that departs further from the library as it comes (more settings, a shorter list of interfaces)
 *      only where its gain over the other clears the margin too;
 *   2. the calls: per collective and size within that launch, the candidate whose gain over the launch's own default
 *      clears the margin. Neighbouring sizes with the same choice become one range,
 *      which is without end where the largest sizes say so (envgen/decide/open_end.h).
 * A gain clears the margin when the lower end of its interval does and, for a call, at least five samples of either
 * side stand behind it. Everything else stays at the library's default. */
#ifndef ENVGEN_DECIDE_DECIDE_H
#define ENVGEN_DECIDE_DECIDE_H

#include "envgen/decide/evidence.h"
#include "envgen/profile/decisions.h"

/* Decides for every shape in `points`. Error: one engine's results come from several library versions.
 *
 * A launch must have been measured at half of the points or more; a point where it was not counts as no gain. A launch
 * is out when its default call failed, hung, crashed or gave wrong data anywhere, or when another call hung, crashed or
 * gave wrong data that never failed in the untouched launch. Since a launch setting is common to all jobs, and a tuner
 * cannot tell one group from several at once, shapes have to agree (envgen/decide/agree.h). A call that failed at one
 * size of a collective is not chosen at another.
 *
 * Islands: a point between two neighbours that agree on another choice takes that choice unless its own is faster than
 * it by the margin; it must have been measured there, and it must not be slower than the default by its median.
 */
int env_decide(struct env_decisions *d, const struct bench_points *points, const struct env_source *sources,
               int nsources, struct err *e);

#endif
