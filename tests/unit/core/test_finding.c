/* Findings as text and JSON. */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "core/finding.h"
#include "core/json.h"
#include "tests/lib/unit.h"

static const struct finding whole = {.id = "NT301",
                                     .severity = FINDING_ERROR,
                                     .subject = "NCCL_IB_TIMEOUT",
                                     .value = "40",
                                     .text = "out of range",
                                     .evidence = "0 to 31",
                                     .advice = "use 22",
                                     .file = "my job.sh",
                                     .line = 3,
                                     .column = 8,
                                     .fixable = 1};
static const struct finding bare = {.severity = FINDING_OK, .text = "all is well"};

static void expect_text(const struct finding *f, int indent, const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    finding_print(f, indent, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

TEST_CASE(text)
{
    expect_text(&whole, 0,
                "my job.sh:3:8: error NT301: NCCL_IB_TIMEOUT=40\n"
                "    out of range: 0 to 31\n"
                "    use 22\n");
    expect_text(&bare, 0, "ok: all is well\n");
    struct finding f = {.id = "port-down", .severity = FINDING_WARNING, .text = "a port is down", .advice = "look"};
    expect_text(&f, 2, "  warning port-down: a port is down\n    look\n");
    f.subject = "node1";
    f.advice = NULL;
    f.file = "/etc/nccl.conf";
    expect_text(&f, 0, "/etc/nccl.conf: warning port-down: node1\n    a port is down\n");
}

TEST_CASE(nothing_acts_on_a_terminal)
{
    struct finding f = {.severity = FINDING_NOTE, .subject = "a\033[31mb\n", .text = "2 × 3 \xc2\x9b \x9b\xff \177"};
    expect_text(&f, 0, "note: a?[31mb?: 2 × 3 ? ?? ?\n");
}

/* On a terminal of 40 columns: lines wrap at blanks, and the severity has a colour. */
TEST_CASE(terminal)
{
    char got[1024] = "", *line, *rest = NULL;
    struct winsize size = {.ws_row = 24, .ws_col = 40};
    struct finding f = whole;
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
    assert_true(master >= 0 && !grantpt(master) && !unlockpt(master));
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    FILE *out = fdopen(slave, "w");
    f.text = "The InfiniBand field takes 0 to 31; a larger exponent is cut or refused by the driver";
    unsetenv("NO_COLOR");
    finding_print(&f, 0, out);
    fflush(out);
    fclose(out);
    ssize_t n;
    for (size_t used = 0; used < sizeof got - 1 && (n = read(master, got + used, sizeof got - 1 - used)) > 0;)
        used += (size_t)n; /* until the other end is known to be closed */
    close(master);
    assert_non_null(strstr(got, "\033[49;31merror\033[0m"));
    assert_non_null(strstr(got, "31\r\n    use 22\r\n"));
    for (line = strtok_r(strchr(got, '\n'), "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        assert_true(strlen(line) <= 40);
        assert_memory_equal(line, "    ", 4);
    }
}

TEST_CASE(json)
{
    const struct finding list[] = {whole, bare};
    cJSON *doc = cJSON_CreateObject();
    findings_add_json(doc, "findings", list, 2);
    char *printed = cJSON_PrintUnformatted(cJSON_GetObjectItem(doc, "findings"));
    assert_string_equal(printed, "[{\"id\":\"NT301\",\"severity\":\"error\",\"subject\":\"NCCL_IB_TIMEOUT\","
                                 "\"value\":\"40\",\"text\":\"out of range\",\"evidence\":\"0 to 31\","
                                 "\"advice\":\"use 22\",\"file\":\"my job.sh\",\"line\":3,\"column\":8,"
                                 "\"fixable\":true},{\"severity\":\"ok\",\"text\":\"all is well\"}]");
    cJSON_free(printed);
    cJSON_Delete(doc);
}

TEST_CASE(lists)
{
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    for (int i = 0; i < 5; i++)
        finding_add(&all, i % 2 ? FINDING_ERROR : FINDING_NOTE, "id", "x", "number %d", i)->advice = "none";
    assert_int_equal(all.n, 5);
    assert_string_equal(all.list[4].text, "number 4");
    assert_string_equal(all.list[4].advice, "none");
    assert_int_equal(finding_count(all.list, all.n, FINDING_ERROR), 2);
    assert_int_equal(finding_count(all.list, all.n, FINDING_WARNING), 0);
    arena_free(a);
}

/* From JSON and back; the same id and subject replaces, what is no finding is left out. */
TEST_CASE(takes_back)
{
    struct arena *a = arena_new();
    struct findings all = {.arena = a};
    const struct finding hot = {"gpu-heat", FINDING_WARNING, "GPU 3", NULL, "it is hot", "91 C", "see to fans"};
    const struct finding lost = {.id = "xid", .severity = FINDING_ERROR, .text = "lost"};
    const struct finding found[] = {hot, lost, hot};
    cJSON *doc = cJSON_CreateObject(), *item;
    findings_add_json(doc, "findings", found, 3);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(doc, "findings"))
    {
        finding_take(&all, item);
    }
    cJSON_Delete(doc);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.list[0].id, "gpu-heat");
    assert_string_equal(all.list[0].subject, "GPU 3");
    assert_string_equal(all.list[0].text, "it is hot");
    assert_string_equal(all.list[0].evidence, "91 C");
    assert_string_equal(all.list[0].advice, "see to fans");
    assert_int_equal(all.list[0].severity, FINDING_WARNING);
    assert_int_equal(all.list[1].severity, FINDING_ERROR);
    assert_null(all.list[1].subject);
    static const char *const nonsense[] = {"{}", "[]", "3", "null", "{\"text\": 3}", "{\"id\": \"x\"}"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        doc = cJSON_Parse(nonsense[i]);
        finding_take(&all, doc);
        cJSON_Delete(doc);
    }
    assert_int_equal(all.n, 2);
    arena_free(a);
}

TEST_CASES(test_finding)
