/* More nodes for a profile: a copy whose topology knows them, too. */
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "envgen/install/install.h"

int install_extend(const char *store, const char *profile, const struct topology *probed, const char *dir,
                   struct cluster_served *served, struct arena *a, struct err *e)
{
    const char *from = profile ? profile : arena_printf(a, "%s/current", store);
    *served = (struct cluster_served){0};
    if (!profile && access(from, F_OK))
        return err_set(e, ERR_FAILED, "%s: no profile is installed for all jobs; name one", store);
    struct env_profile *p = env_profile_open(from, e);
    struct topology *t = p ? topo_load(arena_printf(a, "%s/topology.json", p->dir), e) : NULL;
    int rc = 0;
    if (t) {
        const int before = t->nhosts;
        *served = cluster_serve(t, probed, a);
        if (served->joined || t->nhosts < before) {
            const char *text = json_text(topo_to_json(t), a);
            rc = env_profile_copy(p, dir, text, e);
        }
    } else {
        rc = e->code;
    }
    topo_free(t);
    env_profile_free(p);
    return rc;
}
