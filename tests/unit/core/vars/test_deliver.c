/* What a profile may set, whichever way it is delivered. */
#include "core/vars/catalogue.h"
#include "tests/lib/unit.h"

static void expect(const char *name, const char *value, const char *why)
{
    const char *said = env_undeliverable(name, value);
    if (!said != !why || (why && !strstr(said, why)))
        fail_msg("%s=%s: expected '%s', found '%s'", name, value, why ? why : "", said ? said : "");
}

TEST_CASE(may_be_set)
{
    static const char *const good[][2] = {
        {"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"},
        {"NCCL_IB_HCA", "^mlx5_0"},
        {"NCCL_IB_ADDR_RANGE", "10.0.0.0/24"},
        {"NCCL_ALGO", "allreduce:tree;allgather:ring"},
        {"NCCL_IB_TC", "-1"},
        {"NCCL_NET", "Socket"},
        {"NCCL_SOCKET_IFNAME", "eth0"}, /* each theme of the catalogue */
        {"NCCL_BUFFSIZE", "4194304"},
        {"NCCL_DEBUG", "WARN"},
        {"NCCL_IGNORE_CPU_AFFINITY", "1"},
        {"NCCL_TOPO_FILE", "/opt/microsoft/ndv5/topo.xml"},
        {"NCCL_TOPO_FILE", "/etc/topo.xml"},
        {"NCCL_TOPO_FILE", "/usr/share/topo.xml"},
        {"NCCL_TOPO_FILE", "/var/run/nvidia-topologyd/virtualTopology.xml"},
        {"FI_CXI_RDZV_PROTO", "alt_read"},
        {"OFI_NCCL_EAGER_MAX_SIZE", "-1"},
        {"RCCL_MSCCL_ENABLE", "1"},
        {"HSA_NO_SCRATCH_RECLAIM", "1"},
        {"OMPI_MCA_coll_tuned_use_dynamic_rules", "1"},
        {"coll_tuned_allreduce_algorithm", "3"},
        {"OMPI_MCA_btl_tcp_if_include", "eth0,eth1"},
        {"btl_tcp_if_exclude", "lo"},
        {"NCCL_AGG_ALLOC_MODE", "a/b"}, /* the first of each table */
        {"FI_CXI_DEFAULT_CQ_SIZE", "1"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        expect(good[i][0], good[i][1], NULL);
}

TEST_CASE(may_not_be_set)
{
    static const char unknown[] = "is not a variable", file[] = "names a file", characters[] = "characters";
    static const char *const bad[][3] = {
        {"OMPI_MCAXcoll_tuned_use_dynamic_rules", "1", unknown},
        {"coll_tunedXallreduce_algorithm", "3", unknown},
        {"OFI_NCCL_EAGER_MAX_SIZE", "/x", characters},
        {"LD_PRELOAD", "/x.so", unknown},
        {"PATH", "/x", unknown},
        {"", "1", unknown},
        {"NCCL_", "1", unknown},
        {"nccl_ib_hca", "1", unknown},
        {"NCCL_IB_HCAS", "1", unknown},
        {"NCCL_NOT_A_VARIABLE", "1", unknown},
        {"NCCL_UCX_TLS", "rc", unknown}, /* of a plugin that may read paths under such names */
        {"NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE", "x", unknown},
        {"NCCLTUNE_PROFILE", "/x", unknown},
        {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "x", unknown},
        {"UCX_TLS", "rc", unknown},
        {"FI_NOT_KNOWN", "1", unknown},
        {"OFI_NCCL_NOT_KNOWN", "1", unknown},
        {"RCCL_NOT_KNOWN", "1", unknown},
        {"HSA_NO_SCRATCH_RECLAIMED", "1", unknown},
        {"OMPI_MCA_plm_rsh_agent", "id", unknown},
        {"OMPI_MCA_mca_base_component_path", "/x", unknown},
        {"OMPI_MCA_OMPI_MCA_coll_tuned_x", "1", unknown},
        {"OMPI_MCA_btl_tcp_if_includes", "1", unknown},
        {"plm_rsh_agent", "id", unknown},
        {"NCCL_NET_PLUGIN", "x", "loads code"},
        {"NCCL_TUNER_PLUGIN", "x", "loads code"},
        {"NCCL_PROFILER_PLUGIN", "x", "loads code"},
        {"NCCL_ENV_PLUGIN", "x", "loads code"},
        {"NCCL_GIN_PLUGIN", "x", "loads code"},
        {"NCCL_IBVERBS_LIB", "x", file},
        {"NCCL_DEBUG_FILE", "x", file},
        {"NCCL_GRAPH_FILE", "/opt/x", file},
        {"NCCL_TOPO_DUMP_FILE", "/etc/x", file},
        {"NCCL_TOPO_FILE", "/home/mallory/x.xml", file},
        {"NCCL_TOPO_FILE", "/opt/../home/mallory/x.xml", file},
        {"NCCL_TOPO_FILE", "/optional/x.xml", file},
        {"NCCL_TOPO_FILE", "opt/x.xml", file},
        {"NCCL_TOPO_FILE", "x.xml", file},
        {"NCCL_TOPO_FILE", "", file},
        {"NCCL_COMM_ID", "10.0.0.1:1", "what a job connects to"},
        {"NCCL_RAS_ADDR", "0.0.0.0:28028", "where a job listens"},
        {"NCCL_IB_HCA", "", characters},
        {"NCCL_IB_HCA", "a b", characters},
        {"NCCL_IB_HCA", "a|b", characters},
        {"NCCL_IB_HCA", "a$b", characters},
        {"NCCL_IB_HCA", "a'", characters},
        {"NCCL_IB_HCA", "a\n", characters},
        {"NCCL_IB_HCA", "a\\", characters},
        {"NCCL_IB_HCA", "\xc3\xa4", characters},
        {"FI_CXI_RDZV_PROTO", "/x", characters},
        {"RCCL_MSCCL_ENABLE", "x/y", characters},
        {"OMPI_MCA_coll_tuned_dynamic_rules_filename", "/x", characters},
        {"FI_CXI_RDZV_PROTO", "", characters},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(bad[i][0], bad[i][1], bad[i][2]);
}

/* Every variable of NCCL's that names code or a file is one that no profile sets, and the others of NCCL's can be set.
 */
TEST_CASE(the_whole_catalogue)
{
    const struct env_var *v;
    for (size_t i = 0; (v = env_var_at(i)); i++) {
        int loads = v->grammar == ENV_G_PLUGIN, names_file = v->grammar == ENV_G_PATH;
        int lets_in = !strcmp(v->name, "NCCL_COMM_ID") || !strcmp(v->name, "NCCL_RAS_ADDR");
        if (strncmp(v->name, "NCCL_", 5) != 0)
            expect(v->name, "1", "is not a variable");
        else
            expect(v->name, "1", loads ? "loads code" : names_file ? "names a file" : lets_in ? "a job" : NULL);
    }
    assert_true(env_undeliverable("RCCL_MSCCLPP_FILE", "1") != NULL);
}

TEST_CASES(test_deliver)
