/* What makers of machines publish for them, said in a profile's files: as settings where NCCL cannot know, as comments
 * where a measurement decides. */
#ifndef ENVGEN_DECIDE_SITE_FACTS_H
#define ENVGEN_DECIDE_SITE_FACTS_H

#include "envgen/profile/decisions.h"
#include "probe/topology/topology.h"

#define ENV_SOURCE_SITE "published for this machine"

/* What the site sets already, outside of nccltune: the value of a variable, NULL for none. */
typedef const char *env_site_value(const void *arg, const char *name);

/* Adds them for the topology's machines and d's releases. What was measured stands; what the site sets to another value
 * is kept and said. `site` may be NULL. */
void env_site_facts(struct env_decisions *d, const struct topology *t, env_site_value *site, const void *arg);

/* The rows that hold for a class, for tests and those who ask: how many of `rows` (at most `room`) are there. */
struct env_site_fact {
    const char *machine, *people; /* id and name of the row's machine */
    const char *name, *value;
    int is_set;   /* as a setting; 0: as a comment */
    int from, to; /* NCCL releases, 0: any */
    const char *purpose, *source;
};
const struct env_site_fact *env_site_facts_all(int *count);

#endif
