/* core/option.c: one table gives parsing, help, manual and completion. */
#include "core/option.h"
#include "tests/lib/unit.h"

struct own {
    int json, ranks;
    const char *output, *engine;
    struct option_list files;
    const char *reach;
    int reaches;
};

struct shared {
    uint64_t bytes;
    double budget_s, factor;
    int many[8], count;
};

static const char *engine(int i)
{
    static const char *const words[] = {"mpi", "nccl", "model", NULL};
    return words[i];
}

static int take_reach(const struct option_value *v, void *out, struct err *e)
{
    (void)e;
    *(const char **)out = v->text ? v->text : "everything";
    return 0;
}

static int take_one(const struct option_value *v, void *out, struct err *e)
{
    struct shared *s = out;
    return s->count == 8 ? err_set(e, ERR_USAGE, "%s: too many", v->what) : option_int(v, &s->many[s->count++], e);
}

static int take_many(const struct option_value *v, void *out, struct err *e)
{
    return option_each(v, take_one, out, e);
}

static const struct option_spec own_options[] = {
    {'o', "output", "FILE", "where it goes", option_text, offsetof(struct own, output)},
    {'j', "json", NULL, "as JSON", option_flag, offsetof(struct own, json)},
    {0, "engine", "E", "what measures:", option_word, offsetof(struct own, engine), .word = engine},
    {0, "from", "FILE",
     "a recorded machine - one of many; 'these' words are so many that they do not fit into the line "
     "that they begin in",
     option_append, offsetof(struct own, files)},
    {0, "ranks-per-node", "N", "how many", option_int, offsetof(struct own, ranks), .low = 1, .high = 8},
    {0, "extrapolate", "[=N]", "beyond what was measured", take_reach, offsetof(struct own, reach)},
    {0},
};

static const struct option_spec shared_options[] = {
    {0, "bytes", "N", "size", option_bytes, offsetof(struct shared, bytes), .low = 1, .high = 1 << 20},
    {0, "budget", "T", "at most so long", option_seconds, offsetof(struct shared, budget_s)},
    {0, "factor", "X", "step", option_number, offsetof(struct shared, factor), .low = 1.1, .high = 100},
    {0, "nodes", "LIST", "how many", take_many, 0, .low = 1, .high = 99},
    {0},
};

struct parsed {
    struct own own;
    struct shared shared;
    struct option_group groups[3];
    struct arena *arena;
    struct err err;
    char *warnings;
    int first, argc;
    char *argv[32];
};

/* `line` is split at blanks, and must outlive what is parsed. */
static void parse(struct parsed *p, char *line)
{
    size_t bytes;
    memset(p, 0, sizeof *p);
    p->arena = arena_new();
    p->groups[0] = (struct option_group){NULL, own_options, &p->own};
    p->groups[1] = (struct option_group){"What to measure", shared_options, &p->shared};
    for (char *word = strtok(line, " "); word && p->argc < 31; word = strtok(NULL, " "))
        p->argv[p->argc++] = word;
    struct log log = {.out = open_memstream(&p->warnings, &bytes), .program = "nccltune x"};
    p->first = option_parse(p->groups, p->argc, p->argv, p->arena, &log, &p->err);
    fclose(log.out);
}

static void done(struct parsed *p)
{
    arena_free(p->arena);
    free(p->warnings);
}

TEST_CASE(percentages)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"3", 0.03}, {"3%", 0.03}, {"2.5 %", 0.025}, {"0", 0}, {"1000%", 10}};
    static const char *const bad[] = {"", "%", "x", "3x", "-1", "nan", "1001", "3%%", "3 4"};
    static const struct option_spec margin = {.name = "margin", .low = 0, .high = 1000};
    double fraction;
    struct err e = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const struct option_value v = {&margin, good[i].text, "--margin", NULL, NULL};
        assert_int_equal(option_percent(&v, &fraction, &e), 0);
        assert_near(fraction, good[i].value, 1e-9);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct option_value v = {&margin, bad[i], "--margin", NULL, NULL};
        assert_int_equal(option_percent(&v, &fraction, &e), ERR_USAGE);
    }
}

TEST_CASE(every_type)
{
    struct parsed p;
    char line[] =
        "x one -jo out --engine=nccl --from a --from b --bytes 64K --budget 2m --factor 1.5 --ranks-per-node 4 "
        "two";
    parse(&p, line);
    assert_int_equal(p.first, p.argc - 2);
    assert_string_equal(p.argv[p.first], "one");
    assert_string_equal(p.own.output, "out");
    assert_string_equal(p.own.engine, "nccl");
    assert_int_equal(p.own.json, 1);
    assert_int_equal(p.own.ranks, 4);
    assert_int_equal(p.own.files.count, 2);
    assert_string_equal(p.own.files.items[1], "b");
    assert_true(p.shared.bytes == 65536);
    assert_near(p.shared.budget_s, 120, 0);
    assert_near(p.shared.factor, 1.5, 0);
    assert_string_equal(p.groups[0].given, "--ranks-per-node");
    assert_string_equal(p.groups[1].given, "--factor");
    assert_string_equal(p.warnings, "");
    done(&p);
}

TEST_CASE(optional_arguments_and_lists)
{
    struct parsed p;
    char bare[] = "x --extrapolate 7", with[] = "x --extrapolate=7 --nodes 2,8,32";
    parse(&p, bare);
    assert_string_equal(p.own.reach, "everything");
    assert_string_equal(p.argv[p.first], "7");
    done(&p);
    parse(&p, with);
    assert_string_equal(p.own.reach, "7");
    assert_int_equal(p.shared.count, 3);
    assert_int_equal(p.shared.many[2], 32);
    done(&p);
}

TEST_CASE(errors_name_the_option)
{
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"x --engin2 mpi", "unknown option '--engin2'; did you mean --engine?"},
        {"x --toaster", "unknown option '--toaster'"},
        {"x --f a", "'--f' may be --from or --factor"},
        {"x -x", "unknown option '-x'"},
        {"x --budget", "--budget: T is missing"},
        {"x -o", "--output: FILE is missing"},
        {"x --json=3", "--json takes no argument"},
        {"x --output=", "--output: FILE is empty"},
        {"x --engine cuda", "--engine: 'cuda' is none of mpi, nccl, model"},
        {"x --engine modle", "--engine: 'modle' is none of mpi, nccl, model; did you mean model?"},
        {"x --bytes 2M", "--bytes: '2M' is not within 1 B and 1 MiB"},
        {"x --bytes 0", "--bytes: '0' is not within 1 B and 1 MiB"},
        {"x --budget 0", "--budget: '0' is not a time above 0"},
        {"x --factor 1", "--factor: '1' is not a number from 1.1 to 100"},
        {"x --factor nan", "--factor: 'nan' is not a number from 1.1 to 100"},
        {"x --from a --ranks-per-node 9", "--ranks-per-node: "},
        {"x --ranks 9", "--ranks-per-node: "},
        {"x --nodes 2,,3", "--nodes: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed p;
        char line[64];
        snprintf(line, sizeof line, "%s", cases[i].line);
        parse(&p, line);
        assert_int_equal(p.first, -1);
        assert_int_equal(p.err.code, ERR_USAGE);
        if (strncmp(p.err.text, cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("%s: '%s' instead of '%s'", cases[i].line, p.err.text, cases[i].want);
        done(&p);
    }
}

static char *printed(void (*print)(const struct option_group *, FILE *))
{
    const struct option_group groups[] = {{NULL, own_options}, {"What to measure", shared_options}, {0}};
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    print(groups, out);
    fclose(out);
    return text;
}

TEST_CASE(help)
{
    char *text = printed(option_print_help);
    assert_string_equal(text, "  -o, --output FILE         where it goes\n"
                              "  -j, --json                as JSON\n"
                              "      --engine E            what measures: mpi, nccl, model\n"
                              "      --from FILE           a recorded machine - one of many; 'these' words are\n"
                              "                            so many that they do not fit into the line that they\n"
                              "                            begin in\n"
                              "      --ranks-per-node N    how many\n"
                              "      --extrapolate[=N]     beyond what was measured\n"
                              "\n"
                              "What to measure\n"
                              "      --bytes N             size\n"
                              "      --budget T            at most so long\n"
                              "      --factor X            step\n"
                              "      --nodes LIST          how many\n");
    free(text);
}

TEST_CASE(manual)
{
    char *text = printed(option_print_manual);
    assert_non_null(strstr(text, ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\nwhere it goes.\n"));
    assert_non_null(strstr(text, ".TP\n\\fB\\-\\-engine\\fR \\fIE\\fR\nwhat measures: mpi, nccl, model.\n"));
    assert_non_null(strstr(text, "a recorded machine \\- one of many; 'these' words are so many that they do not fit"));
    assert_non_null(strstr(text, ".SS What to measure\n.TP\n\\fB\\-\\-bytes\\fR \\fIN\\fR\nsize.\n"));
    assert_null(strstr(text, "ranks\\fR"));
    free(text);
}

TEST_CASE(words)
{
    char *text = printed(option_print_words);
    assert_string_equal(text, "--output\n--json\n--engine mpi nccl model\n--from\n--ranks-per-node\n--extrapolate\n"
                              "--bytes\n--budget\n--factor\n--nodes\n");
    free(text);
}

TEST_CASES(test_option)
