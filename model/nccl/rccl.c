/* RCCL's tables as facts. Sources, in ROCm/rccl and ROCm/rocm-systems projects/rccl: rings and what they need
 * src/graph/rome_models.cc (models 79, 81, 84, 87), their channels src/graph/connect.cc (ncclTopoPostset) and
 * src/init.cc (nc), tuning models src/graph/tuning.cc (rcclTuningModel, rcclGetTuningIndexForArch), protocols
 * src/rccl_wrap.cc (rcclUpdateCollectiveProtocol); releases by the branches rocm-6.0.0 to 6.2.0, develop of November
 * 2024 (2.21.5), rocm-systems 03a8914 and 006a440, and CHANGELOG.md. Tables of releases in between may differ. */
#include "model/nccl/rccl.h"

#include <string.h>

/* clang-format off */
static const struct rccl_tuning tunings[] = {
    /* tuning_model_0 */
    {0, "",
     {{{0.8f, 1.4f, 2.5f}, {0.8f, 2.2f, 3.6f}}, {{2.2f, 2.2f, 5.7f}, {2.2f, 2.2f, 5.7f}},
      {{11.8f, 18.2f, 20.8f}, {9.5f, 19.8f, 15.1f}}},
     {{{0.04f, 0.22f, 0.91f}, {0.04f, 0.34f, 1}}, {{0.04f, 0.22f, 0.95f}, {0.04f, 0.34f, 1}}},
     {{0.1f, 0.2f, 0.1f, 0.1f, 0.9f, 0.3f, 0.4f, 0.1f, 0.2f, 0.4f, 0.2f, 0.1f, 0.3f, 0.3f, 0.2f, 0.2f, 0.2f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0.1f, 0.3f, 1.0f, 0.1f, 0.5f, 1.0f, 0.9f, 1.0f, 1.0f, 1.0f, 0.3f, 0.1f, 0.4f, 0.5f, 0.5f, 0.4f, 0.4f, 0.3f, 0.3f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f},
      {0.2f, 1.0f, 0.1f, 0.1f, 0.7f, 0.2f, 0.4f, 0.1f, 0.1f, 0.3f, 0.4f, 0.3f, 0.6f, 0.8f, 1.0f, 1.0f, 1.0f, 1.0f, 0.9f, 0.8f, 0.8f, 0.8f, 0.8f, 0.8f, 0.9f, 0.9f, 0.9f}},
     {{0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.2f, 0.4f, 0.2f, 0.3f, 0.5f, 0.3f, 0.1f, 0.5f, 0.5f, 0.3f, 0.2f, 0.2f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.3f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.8f, 0.7f, 0.5f, 0.4f, 0.4f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f, 0.3f},
      {1.0f, 0.8f, 0.2f, 1.0f, 1.0f, 0.3f, 1.0f, 0.1f, 0.1f, 0.2f, 0.2f, 0.1f, 0.5f, 1.0f, 0.8f, 0.8f, 1.0f, 0.9f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f}},
     {{{0}}}},
    /* tuning_model_5 of ROCm 6.1 and 6.2 */
    {21806, "gfx942",
     {{{0.8f, 0, 2.5f}, {0.8f, 0, 3.6f}}, {{2.2f, 2.2f, 5.7f}, {2.2f, 2.2f, 5.7f}}, {{12.5f, 0, 22.4f}, {9.5f, 0, 19.8f}}},
     {{{0.41f, 0, 1}, {0.41f, 0, 1}}, {{0.41f, 0, 0.86f}, {0.41f, 0, 1}}},
     {{0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 1.0f, 0.8f, 0.1f, 0.4f, 0.5f, 1.0f, 0.6f, 0.4f, 0.6f, 0.1f, 0.3f, 0.4f, 0.4f, 0.3f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f},
      {0},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 1.0f, 1.0f, 0.4f, 1.0f, 1.0f, 1.0f, 0.2f, 0.7f, 1.0f, 1.0f, 1.0f, 0.8f, 0.7f, 0.7f, 0.8f, 0.8f, 0.8f, 0.9f}},
     {{0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 0.1f, 0.2f, 0.2f, 0.1f, 0.5f, 0.8f, 1.0f, 0.2f, 0.4f, 0.5f, 0.4f, 0.4f, 0.3f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f},
      {0},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.7f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 1.0f, 1.0f, 0.9f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f}},
     {{{0}}}},
    /* tuning_model_5 of ROCm 6.3 */
    {22105, "gfx942",
     {{{0.9f, 0, 2.3f}, {0.8f, 0, 2.1f}}, {{2.2f, 2.2f, 5.7f}, {2.2f, 2.2f, 5.7f}}, {{10.5f, 0, 25}, {9.5f, 0, 320}}},
     {{{0.06f, 0, 0.11f}, {0.08f, 0, 1}}, {{0.06f, 0, 0.59f}, {0.08f, 0, 1}}},
     {{0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.6f, 1.0f, 0.9f, 1.0f, 1.0f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.7f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.8f}},
     {{0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 0.2f, 1.0f, 0.4f, 0.4f, 0.1f, 0.2f, 0.2f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.8f, 1.0f, 1.0f, 1.0f}},
     {{{0}}}},
    /* tuning_model_5 since ROCm 7 */
    {22606, "gfx942",
     {{{0.9f, 0.9f, 2.3f}, {0.8f, 0.8f, 2.1f}}, {{2.2f, 2.2f, 5.7f}, {2.2f, 2.2f, 5.7f}},
      {{10.5f, 10.5f, 25}, {9.5f, 9.5f, 320}}},
     {{{0.06f, 0.06f, 0.11f}, {0.08f, 0.08f, 1}}, {{0.06f, 0.06f, 0.59f}, {0.08f, 0.08f, 1}}},
     {{0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.6f, 1.0f, 0.9f, 1.0f, 1.0f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.6f, 1.0f, 0.9f, 1.0f, 1.0f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.7f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.7f, 0.7f, 0.5f, 0.6f, 0.6f, 0.6f}},
     {{0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 0.2f, 1.0f, 0.4f, 0.4f, 0.1f, 0.2f, 0.2f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 0.2f, 1.0f, 0.4f, 0.4f, 0.1f, 0.2f, 0.2f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.7f, 0.2f, 1.0f, 1.0f, 1.0f}},
     {[COLL_REDUCESCATTER] = {{0, 655360}, {131072, 3211264}}, [COLL_ALLGATHER] = {{0, 98304}, {98304, 5046272}},
      [COLL_ALLREDUCE] = {{0, 524288}, {524288, 4415057}}, [COLL_REDUCE] = {{0, 4096}, {4096, 16777216}},
      [COLL_BROADCAST] = {{0, 8192}, {8192, 33554432}}}},
    /* tuning_model_6 */
    {22606, "gfx950",
     {{{0.9f, 0.9f, 2.3f}, {0.8f, 0.8f, 2.1f}}, {{2.2f, 2.2f, 5.7f}, {2.2f, 2.2f, 5.7f}},
      {{10.5f, 10.5f, 25}, {9.5f, 9.5f, 320}}},
     {{{0.06f, 0.06f, 0.11f}, {0.08f, 0.08f, 1}}, {{0.06f, 0.06f, 0.59f}, {0.08f, 0.08f, 1}}},
     {{0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.6f, 1.0f, 0.9f, 1.0f, 1.0f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.6f, 1.0f, 0.9f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 2.0f, 2.0f, 1.0f, 0.1f, 0.9f, 0.9f, 0.1f, 0.1f},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.7f, 1.0f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.7f, 0.15f, 0.6f, 0.7f, 0.6f}},
     {{0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 0.2f, 1.0f, 0.4f, 0.4f, 0.1f, 0.2f, 0.2f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 1.0f, 0.2f, 1.0f, 0.4f, 0.4f, 0.1f, 0.2f, 0.1f, 0.1f, 0.1f, 0.1f, 5.5f, 0.1f, 0.1f, 1.0f, 1.0f},
      {0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.9f, 0.1f, 1.0f, 0.1f, 0.6f, 1.0f, 1.0f}},
     {[COLL_REDUCESCATTER] = {{0, 65536}, {65536, 8388608}}, [COLL_ALLGATHER] = {{0, 65536}, {65536, 8388608}},
      [COLL_ALLREDUCE] = {{0, 262144}, {262144, 70640910}}, [COLL_REDUCE] = {{0, 16383}, {16383, 16777216}},
      [COLL_BROADCAST] = {{0, 2048}, {2048, 16777216}}}},
};

/* Rings that are laid over eight GPUs that all see one another, four a socket, by NICs in use (0: one node) and
 * release: models 79, 81, 84 and 87. */
static const struct {
    int nics, since, rings;
} layouts[] = {
    {0, 21700, 14}, {0, 21806, 28}, {8, 21803, 16}, {8, 22005, 64}, {16, 21806, 16}, {4, 22105, 64},
};

/* What other kernels than RCCL's own make up to which size, on one node with rings by hand: MSCCL's algorithm files
 * (tools/msccl-algorithms of rocm-6.0.0, 6.1.2, 6.2.2 and 2.21.5, taken by src/misc/msccl/msccl_lifecycle.cc; in place
 * alone before 2.20.5), the DDA kernels since ROCm 7.13 (RCCL_DDA_THRESHOLD, src/rccl_wrap.cc). Files of releases in
 * between may differ. */
static const struct {
    int coll, since;
    uint64_t most;
    const char *who;
} takers[] = {
    {COLL_ALLREDUCE, 21803, 20971519, "MSCCL"}, {COLL_ALLREDUCE, 21806, 11534336, "MSCCL"},
    {COLL_ALLREDUCE, 22005, 16777216, "MSCCL"}, {COLL_ALLREDUCE, 22803, (uint64_t)128 << 20, "DDA"},
    {COLL_ALLGATHER, 21803, 16777216, "MSCCL"}, {COLL_ALLGATHER, 22005, 41943040, "MSCCL"},
    {COLL_ALLGATHER, 22105, 0, NULL},
};
/* clang-format on */

#define FULL_MESH 8 /* GPUs */

static int is_arch(const struct nccl_model *m, const char *begins)
{
    const char *arch = m->c->gpus[0].arch;
    return arch && !strncmp(arch, begins, strlen(begins));
}

int rccl_is_cdna3(const struct nccl_model *m)
{
    return is_arch(m, "gfx94") || is_arch(m, "gfx950");
}

/* Every pair of GPUs has links of its own, as wide as any other's. */
static int is_mesh(const struct graph_system *s)
{
    int n = s->n[GRAPH_GPU];
    float bw = 0;
    for (int i = 0; i < n; i++) {
        int peers = 0;
        const struct graph_node *g = s->nodes[GRAPH_GPU][i];
        for (int k = 0; k < g->nlinks; k++)
            if (g->links[k].type == PATH_NVL && g->links[k].to->kind == GRAPH_GPU) {
                bw = bw > 0 ? bw : g->links[k].bw;
                peers += g->links[k].bw == bw;
            }
        if (peers != n - 1)
            return 0;
    }
    return s->n[GRAPH_CPU] == 2;
}

int rccl_rings(const struct nccl_model *m, const struct graph_system *s)
{
    int rings = 0, nics = m->nodes > 1 ? m->nnets : 0;
    if (!rccl_is_cdna3(m) || m->ranks_per_node != FULL_MESH || (m->nodes > 1 && m->setup.sockets) || !is_mesh(s))
        return 0;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].nics == nics && layouts[i].since <= m->version)
            rings = layouts[i].rings;
    return rings;
}

/* Times that rings are copied at least, before twice (init.cc). */
static int copies_of(const struct nccl_model *m, int rings)
{
    int one_node = m->nodes == 1, n = 2;
    if (is_arch(m, "gfx908"))
        n = 4 / rings > 2 ? 4 / rings : 2;
    if (is_arch(m, "gfx90a"))
        n = one_node || 4 / rings > 2 ? 4 : 2;
    if (is_arch(m, "gfx94") && (m->ranks == 2 || m->ranks == 4))
        n = m->ranks == 2 ? 16 : 4;
    return n;
}

int rccl_channels(const struct nccl_model *m, int rings)
{
    int most = m->nodes > 1 ? 64 : rccl_is_cdna3(m) ? 128 : 32;
    int n = rings <= most / 2 ? 2 * rings : rings, copies = copies_of(m, rings);
    most = is_arch(m, "gfx950") && m->nodes > 1 && m->version >= 22803 ? 48 : most;
    copies = copies > most / rings ? most / rings : copies;
    n = n < copies * rings ? copies * rings : n;
    if (is_arch(m, "gfx950") && m->nodes == 1 && m->ranks == FULL_MESH)
        n = 112;
    return n < most ? n : most;
}

const struct rccl_tuning *rccl_tuning_of(const struct nccl_model *m)
{
    const struct rccl_tuning *found = m->c->gpus[0].arch ? &tunings[0] : NULL;
    for (size_t i = 1; i < sizeof tunings / sizeof *tunings; i++)
        if (tunings[i].since <= m->version && is_arch(m, tunings[i].arch) && (m->rccl_rings || m->version >= 22606))
            found = &tunings[i];
    return found;
}

int rccl_ll128(const struct nccl_model *m)
{
    return m->rccl_rings && m->version >= 22606 && m->ring.type_intra <= PATH_NVL && m->ring.type_inter <= PATH_PXB;
}

/* On one node, as far as a rank's part goes. */
static int by_part(const struct nccl_model *m, int coll, uint64_t part, int proto)
{
    static const struct {
        const char *arch;
        int coll;
        uint64_t most;
    } rules[] = {{"gfx950", COLL_ALLGATHER, 88448},
                 {"gfx950", COLL_REDUCESCATTER, 131072},
                 {"gfx942", COLL_REDUCESCATTER, 352128}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].coll == coll && is_arch(m, rules[i].arch) && part <= rules[i].most)
            return PROTO_LL;
    return proto;
}

int rccl_protocol(const struct nccl_model *m, int coll, uint64_t bytes, int proto)
{
    uint64_t part = coll == COLL_ALLREDUCE ? bytes : bytes / (uint64_t)m->ranks;
    if (m->version < 22606 || m->setup.protos[coll])
        return proto;
    if (m->nodes == 1)
        return by_part(m, coll, part, proto);
    const uint64_t(*ranges)[2] = m->rccl->ranges[coll];
    if (!ranges[0][1] && !ranges[1][1])
        return proto;
    uint64_t most = coll == COLL_ALLREDUCE && m->nodes > 2 ? (uint64_t)((double)ranges[1][1] * 3.8) : ranges[1][1];
    proto = part > ranges[0][0] && part <= ranges[0][1] ? PROTO_LL : PROTO_SIMPLE;
    return rccl_ll128(m) && part > ranges[1][0] && part <= most ? PROTO_LL128 : proto;
}

const char *rccl_taken_by(const struct nccl_model *m, int coll, uint64_t bytes)
{
    const char *who = NULL;
    for (size_t i = 0; i < sizeof takers / sizeof *takers && m->nodes == 1 && m->rccl_rings; i++)
        if (takers[i].coll == coll && takers[i].since <= m->version)
            who = bytes <= takers[i].most ? takers[i].who : NULL;
    return who;
}
