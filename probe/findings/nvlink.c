/* What can be wrong with the links between GPUs of a class. */
#include <string.h>

#include "probe/findings/findings_internal.h"

/* Links of a kind that leave the GPU, over all peers; C2C leads to its own CPU and does not count. */
static int links_of(const struct topo_class *c, int gpu)
{
    int n = 0;
    for (int i = 0; i < c->nlinks; i++)
        n += c->links[i].gpu == gpu && c->links[i].link_kind != TOPO_C2C ? c->links[i].count : 0;
    return n;
}

/* A GPU cut into instances has no NVLink. */
static int counts(const struct topo_class *c, int gpu)
{
    return c->gpus[gpu].mig != TOPO_YES;
}

/* What more than half of the GPUs have, and no GPU more; 0 where there is no such number. */
static int usual_links(const struct topo_class *c)
{
    int most = 0, with = 0, all = 0;
    for (int i = 0; i < c->ngpus; i++) {
        int own = counts(c, i) ? links_of(c, i) : 0;
        all += counts(c, i);
        with = own > most ? 1 : with + (own == most);
        most = own > most ? own : most;
    }
    return with * 2 > all ? most : 0;
}

static void missing(struct search *s)
{
    const struct topo_class *c = s->c;
    int usual = usual_links(c);
    for (int i = 0; i < c->ngpus; i++) {
        int own = links_of(c, i), down = c->gpus[i].links_down;
        if (counts(c, i) && own < usual)
            named(s, "%s",
                  down ? arena_printf(s->a, "%s: %d active, %d inactive", found_gpu(s->a, c, i), own, down)
                       : arena_printf(s->a, "%s: %d", found_gpu(s->a, c, i), own));
    }
    found_named(s, "%d of %d GPUs %s fewer links than the others' %d", s->n, c->ngpus, s->n == 1 ? "has" : "have",
                usual);
}

static int to_nvswitches(const struct topo_class *c, int gpu)
{
    for (int i = 0; i < c->nlinks; i++)
        if (c->links[i].gpu == gpu && c->links[i].peer_object >= 0 &&
            c->objects[c->links[i].peer_object].kind == TOPO_NVSWITCH)
            return 1;
    return 0;
}

/* Boards that bridges join leave some links free; behind NVSwitches all are in use. */
static void inactive(struct search *s)
{
    const struct topo_class *c = s->c;
    for (int i = 0; i < c->ngpus; i++)
        if (c->gpus[i].links_down && to_nvswitches(c, i))
            named(s, "%s: %d of %d", found_gpu(s->a, c, i), c->gpus[i].links_down,
                  c->gpus[i].links_down + links_of(c, i));
    found_named(s, "%d GPU%s NVLinks that are not active", s->n, s->n == 1 ? " has" : "s have");
}

static int links_between(const struct topo_class *c, int gpu, int peer)
{
    int n = 0;
    for (int i = 0; i < c->nlinks; i++)
        n += c->links[i].gpu == gpu && c->links[i].peer_gpu == peer ? c->links[i].count : 0;
    return n;
}

static void one_way(struct search *s)
{
    const struct topo_class *c = s->c;
    for (int i = 0; i < c->nlinks; i++) {
        int gpu = c->links[i].gpu, peer = c->links[i].peer_gpu, there, back;
        if (peer < 0 || (there = links_between(c, gpu, peer)) <= (back = links_between(c, peer, gpu)))
            continue;
        named(s, "%s to %s: %d, back: %d", found_gpu(s->a, c, gpu), found_gpu(s->a, c, peer), there, back);
    }
    found_named(s, "%d pair%s of GPUs %s links in one direction only", s->n, s->n == 1 ? "" : "s",
                s->n == 1 ? "has" : "have");
}

static void fabric(struct search *s)
{
    const struct topo_class *c = s->c;
    for (int i = 0; i < c->ngpus; i++)
        if (c->gpus[i].fabric && strcmp(c->gpus[i].fabric, "completed") != 0)
            named(s, "%s: %s", found_gpu(s->a, c, i), c->gpus[i].fabric);
    found_named(s, "%d GPU%s not registered with the fabric manager", s->n, s->n == 1 ? " is" : "s are");
}

const struct finding_rule findings_of_nvlink[] = {
    {{"fabric-not-ready", NULL, FINDING_ERROR,
      "The fabric manager (on multi-node NVLink with the IMEX service) has not finished registering a GPU. NCCL "
      "then finds no NVLink on it, or hangs. Confirm with nvidia-smi -q (Fabric: State, Status). Start "
      "nvidia-fabricmanager, and look into its log."},
     "nvidia-smi -q shows Fabric: State; start nvidia-fabricmanager and look into its log",
     fabric},
    {{"nvlink-missing", NULL, FINDING_ERROR,
      "A GPU has fewer active NVLink or XGMI links than most others of the machine, or none. NCCL's rings and NVLS "
      "go by the weakest GPU. Confirm with nvidia-smi nvlink -s and look for Xid 74 in the kernel's log. Reset the "
      "GPU; if that does not help, have the board replaced."},
     "nvidia-smi nvlink -s (rocm-smi --showtopo) confirms it; reset the GPUs, and have the board replaced if it stays",
     missing},
    {{"nvlink-one-way", NULL, FINDING_ERROR,
      "One GPU reports links to another that the other does not report back: one end is down. Confirm with nvidia-smi "
      "nvlink -s on both. Reset both GPUs."},
     "nvidia-smi nvlink -s on both GPUs confirms it; reset both",
     one_way},
    {{"nvlink-inactive", NULL, FINDING_WARNING,
      "GPUs behind NVSwitches have links that are not active. Confirm with nvidia-smi nvlink -s. Restart the fabric "
      "manager or reset the GPUs; a link that stays down is the board's."},
     "nvidia-smi nvlink -s confirms it; restart the fabric manager or reset the GPUs",
     inactive},
    {{NULL}},
};
