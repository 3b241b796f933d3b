/* model/workload/script.c: every setting of a file with its line, and which of them a name finds. */
#include "core/arena.h"
#include "model/workload/script.h"
#include "tests/lib/unit.h"

static struct workload_script parse(const char *text, const char *path, struct arena *a)
{
    struct workload_script s;
    struct err e = {0};
    if (workload_script_parse(text, strlen(text), path, a, &s, &e))
        fail_msg("%s", e.text);
    return s;
}

/* "name=value@line", one behind the other. */
static const char *settings_of(const char *text, const char *path, struct arena *a)
{
    struct workload_script s = parse(text, path, a);
    const char *all = "";
    for (int i = 0; i < s.n; i++)
        all = arena_printf(a, "%s%s%s=%s@%ld", all, i ? " " : "", s.list[i].name, s.list[i].value, s.list[i].line);
    return all;
}

struct file {
    const char *text, *settings;
};

static void check(const char *path, const struct file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const char *found = settings_of(files[i].text, path, a);
        if (strcmp(found, files[i].settings) != 0)
            fail_msg("%s: %s", files[i].text, found);
        arena_free(a);
    }
}
#define CHECK(path, files) check(path, files, sizeof(files) / sizeof *(files))

TEST_CASE(words_of_a_shell)
{
    static const struct file files[] = {
        {"", ""},
        {"x --tp 4", "tp=4@1"},
        {"x --a-b-c 4", "a_b_c=4@1"},
        {"x\t--a\t1\r\ny --b 2\r\n", "a=1@1 b=2@2"},
        {"x ++actor.tp=2 ~drop=1 -k=3", "actor.tp=2@1"},
        {"x --a=1 --b=", "a=1@1 b=@1"},
        {"x --a --b 1", "a=true@1 b=1@1"},
        {"x --a \\\n  --b \\\n  1 2 \\\n  --c\ny 3", "a=true@1 b=1@2 c=true@4"},
        {"x --4=1 ---=2 --=3 - --", ""},
        {"x -n 4 --o -5", "o=-5@1"},
        {"x a.b-c+d@e/f=1", "a.b_c+d@e/f=1@1"},
        {"x a:b=1 _c=2 1d=3 +e=4", "_c=2@1 e=4@1"},
        {"x --a 1 \\", "a=1@1"},
        {"x --a \\", "a=\\@1"},
        {"x --a '", "a=true@1"},
        {"x --a 'b", "a=b@1"},
        {"x --n a#b # c=1\nd=2", "n=a#b@1 d=2@2"},
        {"x --n 'a # b'", "n=a # b@1"},
        {"x --n \"a\\\"'b\"", "n=a\"'b@1"},
        {"x --n 'a\\b\"c'", "n=a\\b\"c@1"},
        {"x --n a\\ b", "n=a b@1"},
        {"x --n a\\\nb\nc=1", "n=ab@1 c=1@3"},
        {"x a=1 \\\n b=2\n c=3", "a=1@1 b=2@2 c=3@3"},
        {"x a='1\n2'\nb=3", "a=1\n2@2 b=3@3"},
        {"x --f; y --g | z --h && q --i\n--j", "f=true@1 g=true@1 h=true@1 i=true@1 j=true@2"},
        {"x 'a;b=1' \"c&=2\" d=3", "d=3@1"},
        {"x --a >log --b 2>&1 3 <<E --c\n--d 4\nE", "a=true@1 b=3@1 c=true@1 d=4@2"},
        {"A=(--a\n --b 2)\ny --c 3", "A=(@1 a=true@1 b=2@2 c=3@3"},
        {"A=$(x --a 1)\ny --b $(z --c 2) --d 3", "A=$(@1 a=1@1 b=$(z --c 2)@2 d=3@2"},
        {"A=\" --b 2 \\\n  --c\"\nD=\"$E --f $A\"",
         "A= --b 2   --c@2 b=2@2 c=true@2 D=$E --f  --b 2   --c@3 f=true@3 b=2@3 c=true@3"},
        {"A=\"\n a.b=1 \\\n c.d=2\"\nx --e b $A \"$A\"", "A=\n a.b=1  c.d=2@3 e=b@4 a.b=1@4 c.d=2@4"},
        {"G=4\nx --a $(expr 16 / $G) --b $(expr 2 \\* ${G} + 1) --c $(expr 8 / $H)",
         "G=4@1 a=4@2 b=9@2 c=$(expr 8 / $H)@2"},
        {"A=--b C=x--d", "A=--b@1 C=x--d@1"},
        {"python -m verl.trainer.main_ppo\ntrl grpo\nswiftly\n--a swift",
         "program=verl.trainer.main_ppo@1 program=trl@2 a=swift@4"},
        {"megatron", "program=megatron@1"},
        /* of several training commands the one with the most settings, the last of equal ones */
        {"x=1\nswift sft --a 1 --b 2\nswift rlhf --a 3", "x=1@1 program=swift@2 a=1@2 b=2@2"},
        {"swift sft --a 1; swift rlhf --a 3 | tee log\nb=2", "program=swift@1 a=3@1 b=2@2"},
    };
    CHECK("a.sh", files);
}

TEST_CASE(variables)
{
    static const struct file files[] = {
        {"T=3\nx --tp $T", "T=3@1 tp=3@2"},
        {"T=3\nT=4\nx --tp $T-$T", "T=3@1 T=4@2 tp=4-4@3"},
        {"TT=5\nx --tp $T", "TT=5@1 tp=$T@2"},
        {"T=3\nx --tp $TT", "T=3@1 tp=$TT@2"},
        {"T=3\nx --tp ${T}T ${T}", "T=3@1 tp=3T@2"},
        {"T=3\nx --n '$T' --m \"$T\"", "T=3@1 n=$T@2 m=3@2"},
        {"x --tp ${T:-7}x", "tp=7x@1"},
        {"x --tp ${T-7}", "tp=7@1"},
        {"x --tp ${T:=7}", "tp=7@1"},
        {"x --tp ${T=7}", "tp=7@1"},
        {"x --tp ${T:7}", "tp=${T:7}@1"},
        {"x --tp ${T:-}", "tp=${T:-}@1"},
        {"x --tp ${T:-7", "tp=7@1"},
        {"x --tp ${:-7}", "tp=${:-7}@1"},
        {"x --tp $", "tp=$@1"},
        {"x --tp ${", "tp=${@1"},
        {"T=3\nx --tp ${T:-7}x", "T=3@1 tp=3x@2"},
        {"T=3\nx --tp ${T", "T=3@1 tp=3@2"},
        {"x --tp ${T:-\"a b\"}", "tp=a b@1"},
        {"x --tp ${T:-\"\"7\"\"}", "tp=7@1"},
        {"B=4\nx --tp ${T:-${B}}x${T:-$B} --m ${T:-${U:-${V}/m}}", "B=4@1 tp=4x4@2 m=${V}/m@2"},
    };
    CHECK("a.sh", files);
}

TEST_CASE(sums)
{
    static const struct file files[] = {
        {"x --n $((1))", "n=1@1"},
        {"x --n $((1+2))3", "n=33@1"},
        {"x --n $((7 / 2))$((7 % 4))$((0 * 0))", "n=330@1"},
        {"x --n $((2 + 3 * 4 - 5))", "n=9@1"},
        {"x --n $(( (2 + 3) * ( 4 - 1 ) ))", "n=15@1"},
        {"x --n $((10 - 3 - 2))", "n=5@1"},
        {"x --n $((3 - 10))", "n=-7@1"},
        {"x --n $((100 / 5 / 2))", "n=10@1"},
        {"a=3\nx --n $((a + $a\t+ ${a}))", "a=3@1 n=9@2"},
        {"a=b\nx --n \"$((a + 1))\"", "a=b@1 n=$((a + 1))@2"},
        {"a=\nx --n \"$((a + 1))\"", "a=@1 n=$((a + 1))@2"},
        {"a=3x\nx --n \"$((a + 1))\"", "a=3x@1 n=$((a + 1))@2"},
        {"x --n \"$((-3 + 4))\"", "n=$((-3 + 4))@1"},
        {"x --n \"$((1 / 0))\"", "n=$((1 / 0))@1"},
        {"x --n \"$((1 % 0))\"", "n=$((1 % 0))@1"},
        {"x --n \"$((1 + 2)\"", "n=$((1 + 2)@1"},
        {"x --n \"$((1 + (2))\"", "n=$((1 + (2))@1"},
        {"x --n \"$((1 2))\"", "n=$((1 2))@1"},
        {"x --n \"$((1 + 2) )\"", "n=$((1 + 2) )@1"},
        {"x --n \"$(1 + 2))\"", "n=$(1 + 2))@1"},
        {"x --n \"$((1 + \"", "n=$((1 + @1"},
        /* An operand is 2^30 at most, a factor 2^31, a summand 2^61. */
        {"x --n $((1073741824))", "n=1073741824@1"},
        {"x --n \"$((1073741825))\"", "n=$((1073741825))@1"},
        {"x --n $((1073741824 * 2 * 2))", "n=4294967296@1"},
        {"x --n \"$(((1073741824 * 2 + 1) * 2))\"", "n=$(((1073741824 * 2 + 1) * 2))@1"},
        {"x --n $((2 * (1073741824 * 2)))", "n=4294967296@1"},
        {"x --n \"$((2 * (1073741824 * 2 + 1)))\"", "n=$((2 * (1073741824 * 2 + 1)))@1"},
        {"x --n $((1073741824 * 2 * 1073741824 + 1))", "n=2305843009213693953@1"},
        {"x --n $((1 + 1073741824 * 2 * 1073741824))", "n=2305843009213693953@1"},
        {"x --n \"$((1073741824 * 2 * (1073741824 + 1) + 1))\"", "n=$((1073741824 * 2 * (1073741824 + 1) + 1))@1"},
        {"x --n \"$((1 + 1073741824 * 2 * (1073741824 + 1)))\"", "n=$((1 + 1073741824 * 2 * (1073741824 + 1)))@1"},
    };
    CHECK("a.sh", files);
}

/* So many times `open`, `middle`, so many times `close`. */
static const char *nested(struct arena *a, int n, const char *open, const char *middle, const char *close)
{
    for (int i = 0; i < n; i++)
        middle = arena_printf(a, "%s%s%s", open, middle, close);
    return middle;
}

TEST_CASE(depths)
{
    struct arena *a = arena_new();
    assert_string_equal(settings_of(arena_printf(a, "n=$((%s))", nested(a, 32, "(", "1", ")")), "a.sh", a), "n=1@1");
    assert_int_equal(settings_of(arena_printf(a, "n=$((%s))", nested(a, 33, "(", "1", ")")), "a.sh", a)[2], '$');
    assert_string_equal(settings_of(arena_printf(a, "n=$((0%s))", nested(a, 40, "+(1)", "", "")), "a.sh", a), "n=40@1");
    const char *deep = nested(a, 31, "{\"a\":", "{\"k\":1}", "}");
    const char *name = nested(a, 31, "a.", "k", "");
    assert_string_equal(settings_of(deep, "a.json", a), arena_printf(a, "%s=1@1", name));
    deep = arena_printf(a, "{\"a\": %s, \"z\": 2}", deep);
    assert_string_equal(settings_of(deep, "a.json", a), "z=2@1");
    arena_free(a);
}

/* A byte of zero is part of a word: the reader goes on behind it. */
TEST_CASE(bytes_of_zero)
{
    static const char text[] = "swift rlhf --rlhf_type g\0po \0 --lora_rank 16\n";
    struct arena *a = arena_new();
    struct workload_script s;
    assert_int_equal(workload_script_parse(text, sizeof text - 1, "a.sh", a, &s, NULL), 0);
    int found = 0;
    for (int i = 0; i < s.n; i++)
        found |= !strcmp(s.list[i].name, "lora_rank") && !strcmp(s.list[i].value, "16");
    assert_true(found);
    arena_free(a);
}

TEST_CASE(yaml_and_json)
{
    static const struct file yaml[] = {
        {"a:\n  b:\n    tp: 4\n  c: [1, 2]\nd: 5\n", "a.b.tp=4@3 a.c=1@4 a.c=2@4 d=5@5"},
        {"a:\n- b: 1\n- b: 2\n  c: 3\ne-f: x\n", "a.b=1@2 a.b=2@3 a.c=3@4 e_f=x@5"},
        {"{\"zero\": {\"stage\": 3, \"x\": {\"device\": \"cpu\"}}, \"y\": [[1], {\"z\": 2}]}",
         "zero.stage=3@1 zero.x.device=cpu@1 y=1@1 y.z=2@1"},
        {"{\"~a\": 1, \"+b\": 2, \"-c\": 3, \"-\": 4}", "a=1@1 b=2@1 c=3@1"},
        {"alone", ""},
        {"[1, 2]", ""},
        {"", ""},
    };
    static const struct file bare[] = {{" \n {\"a\": 1}", "a=1@2"}, {" \n", ""}, {"x {--a 1}", ""}};
    CHECK("a.yaml", yaml);
    CHECK("a.yml", yaml);
    CHECK("settings", bare);
}

TEST_CASE(toml)
{
    static const struct file files[] = {
        {"[p]\ntp = 2 # two\n[q.r]\ntp=\"3\"\n a = 'x y' \n# b = 1\nc =\n", "p.tp=2@2 q.r.tp=3@4 q.r.a=x y@5 q.r.c=@7"},
        {"k = 1", "k=1@1"},
        {"\n\nk\t=\t1\r\nnothing\n  [s]\n  k = [1, 2]\n", "k=1@3 s.k=[1, 2]@6"},
        {"k = [\"a\", 'b'] # c", "k=[\"a\", 'b']@1"},
        {"[p\nk = 1\n", "k=1@2"},
        {"", ""},
    };
    CHECK("a.toml", files);
}

TEST_CASE(found_by_name)
{
    static const struct {
        const char *text, *name, *value; /* NULL: none, or not known */
    } cases[] = {
        {"a.tp=1 b.tp=2", "tp", "2"},  {"a.tp=1 b.tp=2", "a.tp", "1"},
        {"tp=3 a.tp=1", "tp", "1"},    {"atp=1", "tp", NULL},
        {"tp=1", "a.tp", NULL},        {"tp=1", "t", NULL},
        {"tp=null", "tp", NULL},       {"tp=None", "tp", NULL},
        {"tp=nullx", "tp", "nullx"},   {"tp=4 tp=null", "tp", "4"},
        {"m=$HOME/x", "m", "$HOME/x"}, {"m=/x/$M", "m", NULL},
        {"m=$M", "m", NULL},           {"m=a/$M/b", "m", "a/$M/b"},
        {"m=$(cat a/b)", "m", NULL},   {"m='$(a b)/c'", "m", "$(a b)/c"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct workload_script s = parse(cases[i].text, "a.sh", a);
        const struct workload_setting *found = workload_script_find(&s, cases[i].name);
        if (!found != !cases[i].value || (found && strcmp(found->value, cases[i].value) != 0))
            fail_msg("%s: %s is %s", cases[i].text, cases[i].name, found ? found->value : "not there");
        arena_free(a);
    }
}

/* What is too long is cut, what is too much left out. */
TEST_CASE(limits)
{
    struct arena *a = arena_new();
    char *text = arena_alloc(a, 4 * 20001 + 5000), *end = text;
    memset(text, 'v', 4996);
    text[0] = 'a';
    text[1] = '=';
    struct workload_script s = parse(text, "a.sh", a);
    assert_int_equal(strlen(s.list[0].value), 4096);
    memset(text, 'n', 4996);
    text[4990] = '=';
    s = parse(text, "a.sh", a);
    assert_int_equal(strlen(s.list[0].name), 4096);
    for (int i = 0; i < 20001; i++, end += 4)
        memcpy(end, "a=1\n", 4);
    *end = 0;
    s = parse(text, "a.sh", a);
    assert_int_equal(s.n, 20000);
    arena_free(a);
}

/* A word is as long as the text and 1,000 bytes at most, however often its variables are put in. */
TEST_CASE(words_that_grow)
{
    struct arena *a = arena_new();
    const char *text = arena_printf(a, "A=%s\nx --n %s", nested(a, 100, "v", "", ""), nested(a, 100, "$A", "", ""));
    struct workload_script s = parse(text, "a.sh", a);
    assert_int_equal(strlen(s.list[1].value), strlen(text) + 1000);
    assert_string_equal(s.list[1].value + 1300, "$A$A$A$A$");
    assert_int_equal(strspn(s.list[1].value, "v"), 1300);
    arena_free(a);
}

/* What stands behind the end of the text is not read. */
TEST_CASE(ends)
{
    static const char *const texts[][2] = {
        {"a.sh", "a=3\nx --n=$((a*(2+1)-4%3))${a:-\"7\"}$b \"q\\\"r\" 's' # c\n--d e\\\n f;g=${h:=i}"},
        {"a.toml", "[p]\nk = 1\n[q.r] # s\n t = \"u v\" # w\nx='y'"},
        {"a.json", "{\"a\": {\"b\": [1, {\"c\": 2}]}}"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t n = 0; n <= strlen(texts[i][1]); n++) {
            struct arena *a = arena_new();
            struct workload_script cut, whole;
            const char *text = arena_strndup(a, texts[i][1], n);
            struct err e = {0}, f = {0};
            assert_int_equal(workload_script_parse(texts[i][1], n, texts[i][0], a, &cut, &e),
                             workload_script_parse(text, n, texts[i][0], a, &whole, &f));
            assert_string_equal(e.text, f.text);
            assert_int_equal(cut.n, whole.n);
            for (int k = 0; k < cut.n; k++) {
                assert_string_equal(cut.list[k].name, whole.list[k].name);
                assert_string_equal(cut.list[k].value, whole.list[k].value);
            }
            arena_free(a);
        }
}

TEST_CASES(test_script_syntax)
