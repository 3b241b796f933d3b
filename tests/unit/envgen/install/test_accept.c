/* What a profile may hold: files of the kinds that are known, and in those that somebody reads as settings or commands
 * no line but those that are written there. */
#include "core/file.h"
#include "envgen/install/install.h"
#include "tests/lib/unit.h"

static char dir[64];

/* What is said of a profile with one file; "": it may be installed. */
static const char *judge(const char *name, const char *text, size_t bytes)
{
    static struct err e;
    struct env_manifest_file files[] = {{.name = "topology.json"}, {.name = name}};
    struct env_profile p = {.arena = arena_new(), .dir = dir, .manifest = {.files = files, .nfiles = 2}};
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    e = (struct err){0};
    assert_int_equal(file_write(path, text, bytes, &e), 0);
    int before = count_open(), rc = install_accept(&p, &e);
    assert_int_equal(count_open(), before);
    assert_int_equal(rc, *e.text ? ERR_FAILED : 0);
    unlink(path);
    arena_free(p.arena);
    return e.text;
}

static const struct {
    const char *name, *text, *said; /* NULL: nothing */
} table[] = {
    {"nccl.conf", "# of this cluster\n\nNCCL_IB_TC=106\nNCCL_ALGO=ring\n", NULL},
    {"nccl.conf", "NCCL_IB_TC=106", NULL},
    {"nccl.conf", "NCCL_IB_TC=106\n# x\nNCCL_NET_PLUGIN=x\n", "nccl.conf:3: NCCL_NET_PLUGIN loads code; the profile"},
    {"nccl.conf", "NCCL_IB_TC=106 \n", "nccl.conf:1: is not a line that nccltune writes into such a file; the profile"},
    {"nccl.conf", " NCCL_IB_TC=106\n", "not a line"},
    {"nccl.conf", "NCCL_IB_TC=\n", "not a line"},
    {"nccl.conf", "=106\n", "not a line"},
    {"nccl.conf", "NCCL_IB_TC\n", "not a line"},
    {"nccl.conf", "# a\\\n", "not a line"},
    {"nccl.conf", "# a\tb\n", "not a line"},
    {"nccl.conf", "# \xc2\x85 x\n", "not a line"},
    {"nccl.conf", "# a~b \x7f\n", "not a line"},
    {"nccl.conf", "# ~ !\n", NULL},
    {"nccl.conf", "#\n", NULL},
    {"nccl.conf2", "", "/nccl.conf2: is not a file that nccltune writes; the profile is not installed"},
    {"xnccl.conf", "", "not a file"},
    {"nccl.d/x.conf", "LD_PRELOAD=/x\n", "LD_PRELOAD is not a variable"},
    {"nccl.d/x.conf", "NCCL_IB_TC=106\n", NULL},
    {"nccl.docker.env", "NCCL_IB_TC=106\n", NULL},
    {"nccl.docker.env", "LD_PRELOAD=x\n", "LD_PRELOAD"},
    {".env", "id\n", "not a line"},
    {"nccl.sh",
     "if [ \"${NCCLTUNE:-}\" = force ] || { [ \"${NCCLTUNE:-}\" != off ] && [ -z \"${NCCL_IB_TC+set}\" ]; }; then\n"
     "    export NCCL_IB_TC='106'\n    export NCCLTUNE_SOURCED=\"${NCCLTUNE_SOURCED:-}|106\"\nfi\n",
     NULL},
    {"nccl.sh", "    export NCCL_IB_TC='106';id\n", "not a line"},
    {"nccl.sh", "    export NCCL_IB_TC='1'id'06'\n", "not a line"},
    {"nccl.sh", "    export NCCL_IB_TC=106\n", "not a line"},
    {"nccl.sh", "id\n", "not a line"},
    {"nccl.sh", "fi\nfi \n", "nccl.sh:2: is not a line"},
    {"nccl.sh", "    export LD_PRELOAD='x'\n", "LD_PRELOAD"},
    {"nccl.sh", "-- x\n", "not a line"},
    {"openmpi.sh", "nccltune_dir='/shared/a b'\n", NULL},
    {"openmpi.sh", "nccltune_dir='/shared/a'b'\n", "not a line"},
    {"openmpi.sh", "nccltune_dir='/shared/a\tb'\n", "not a line"},
    {"openmpi.sh", "nccltune_dir='/ b'\n", NULL},
    {"openmpi.sh", "nccltune_dir='/'b'\n", "not a line"},
    {"openmpi.sh", "nccltune_dir='a'\n", "not a line"},
    {"openmpi.sh", "nccltune_dir=''\n", "not a line"},
    {"openmpi.sh", "nccltune_dir='/\n", "not a line"},
    {"openmpi.sh", "nccltune_dir='\n", "not a line"},
    {"openmpi.sh", "    export OMPI_MCA_plm_rsh_agent='id'\n", "OMPI_MCA_plm_rsh_agent is not a variable"},
    {"openmpi.sh", "    export OMPI_MCA_plm_rsh_agent=\"$nccltune_dir/openmpi.rules\"\n",
     "OMPI_MCA_plm_rsh_agent is no"},
    {"openmpi.sh", "    export OMPI_MCA_coll_tuned_dynamic_rules_filename=\"$nccltune_dir/openmpi.rules\"\n", NULL},
    {"openmpi.sh",
     "    export NCCLTUNE_SOURCED=\"${NCCLTUNE_SOURCED:-}|OMPI_MCA_coll_tuned_use_dynamic_rules=$OMPI_MCA_coll_tuned_"
     "use_dynamic_rules\"\n",
     NULL},
    {"openmpi-mca-params.conf",
     "coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = /a/openmpi.rules\n", NULL},
    {"openmpi-mca-params.conf", "mca_base_component_path = /tmp\n", "mca_base_component_path is no"},
    {"openmpi-mca-params.conf", "btl_tcp_if_include = a/b\n", "btl_tcp_if_include has a value with unusual characters"},
    {"nccl.lua", "-- x\npushenv(\"NCCL_IB_TC\", \"106\")\n", NULL},
    {"nccl.lua", "--[[\n", "not a line"},
    {"nccl.lua", "pushenv(\"NCCL_IB_TC\", \"106\") os.execute(\"id\")\n", "not a line"},
    {"nccl.lua", "# x\n", "not a line"},
    {"nccl.tcl", "setenv NCCL_IB_TC {106}\n", NULL},
    {"nccl.tcl", "setenv NCCL_IB_TC {[exec id]}\n", "not a line"},
    {"nccl.configmap.yaml", "data:\n  NCCL_IB_TC: \"106\"\n", NULL},
    {"nccl.configmap.yaml", "data:\n  LD_PRELOAD: \"x\"\n", "nccl.configmap.yaml:2: LD_PRELOAD"},
    {"nccl.json", "{\n  \"NCCL_IB_TC\": \"106\",\n  \"NCCL_ALGO\": \"ring\"\n}\n", NULL},
    {"nccl.json", "# x\n", "not a line"},
    {"nccl.json", "\"x\"\n", "not a line"},
    {"other.json", "anything\n", NULL},
    {"results.jsonl", "anything", NULL},
    {"tuner.csv", "anything", NULL},
    {"tuner.bin", "\1\2", NULL},
    {"openmpi.rules", "anything", NULL},
    {"fabric.xml", "<x/>", NULL},
    {"report.html", "<x/>", NULL},
    {"report.svg", "<x/>", NULL},
    {"survey.txt", "x", NULL},
    {"hook.sh", "", "not a file"},
    {"x.so", "", "not a file"},
    {"x", "", "not a file"},
};

TEST_CASE(lines_and_files)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *said = judge(table[i].name, table[i].text, strlen(table[i].text));
        if (table[i].said ? !strstr(said, table[i].said) : *said)
            fail_msg("%s: %s said: %s", table[i].name, table[i].text, said);
    }
    assert_non_null(strstr(judge("nccl.conf", "NCCL_IB_TC=106\n\0LD_PRELOAD=x\n", 29), "contains a NUL byte"));
}

/* A file that is another for everybody who reads it line by line. */
TEST_CASE(long_lines)
{
    static char text[200000];
    memset(text, 'x', sizeof text);
    memcpy(text, "NCCL_IB_TC=", 11); /* NOLINT(bugprone-not-null-terminated-result) */
    assert_non_null(strstr(judge("nccl.conf", text, sizeof text), "larger than"));
    memset(text, '#', sizeof text);
    memcpy(text + 150, "\nLD_PRELOAD=x\n", 14); /* NOLINT(bugprone-not-null-terminated-result) */
    assert_non_null(strstr(judge("nccl.conf", text, 200), "nccl.conf:2: LD_PRELOAD"));
}

TEST_CASE(missing)
{
    struct err e = {0};
    struct env_manifest_file files[] = {{.name = "nccl.conf"}};
    struct env_profile p = {.arena = arena_new(), .dir = dir, .manifest = {.files = files, .nfiles = 1}};
    assert_int_equal(install_accept(&p, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "nccl.conf: cannot be opened"));
    arena_free(p.arena);
}

static int set_up(void **state)
{
    char classes[96];
    strcpy(dir, "/tmp/nccltune-test-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(classes, sizeof classes, "%s/nccl.d", dir);
    return file_mkdirs(classes, NULL);
}

static int tear_down(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

TEST_CASES_WITHIN(test_accept, set_up, tear_down)
