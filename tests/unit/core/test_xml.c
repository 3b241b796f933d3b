/* core/xml.c: trees with line numbers; what is refused, and where. */
#include "core/xml.h"
#include "tests/lib/unit.h"

static const struct xml_node *parse(struct arena *a, const char *text, struct err *e)
{
    memset(e, 0, sizeof *e);
    return xml_parse(arena_strdup(a, text), strlen(text), "node.xml", a, e);
}

TEST_CASE(tree)
{
    struct arena *a = arena_new();
    struct err e;
    const struct xml_node *n = parse(a,
                                     "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
                                     "<system version='1'>\n  <cpu numaid=\"-3\" x=\"0x10\" bad=\"1z\"/>\n"
                                     "  <v>1 2\n3 </v>\n</system>\n",
                                     &e);
    assert_non_null(n);
    assert_true(xml_is(n, "system"));
    assert_int_equal(n->line, 3);
    assert_string_equal(xml_attribute(n, "version"), "1");
    assert_null(xml_attribute(n, "versio"));
    const struct xml_node *cpu = n->first;
    assert_int_equal(cpu->line, 4);
    assert_ptr_equal(cpu->parent, n);
    assert_int_equal(xml_int(cpu, "numaid", -5, 5, 99), -3);
    assert_int_equal(xml_int(cpu, "numaid", 0, 5, 99), 99);
    assert_int_equal(xml_int(cpu, "x", 0, 100, 99), 16);
    assert_int_equal(xml_int(cpu, "bad", 0, 100, 99), 99);
    assert_int_equal(xml_int(cpu, "none", 0, 100, 99), 99);
    assert_string_equal(cpu->next->text, "1 2\n3 ");
    assert_null(n->text);
    assert_null(cpu->next->next);
    arena_free(a);
}

TEST_CASE(several_tops_and_loose_comments)
{
    struct arena *a = arena_new();
    struct err e;
    const struct xml_node *n = parse(a, "<!-- one -- two\n--><a/>\n<!-- \n --><b>\n</b><c/>  \n", &e);
    assert_non_null(n);
    assert_string_equal(n->name, "a");
    assert_int_equal(n->line, 2);
    assert_string_equal(n->next->name, "b");
    assert_int_equal(n->next->line, 4);
    assert_string_equal(n->next->next->name, "c");
    assert_int_equal(n->next->next->line, 5);
    assert_null(n->next->next->next);
    arena_free(a);
}

TEST_CASE(refused)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "node.xml: expected an XML element"},
        {"   \n ", "node.xml:"},
        {"<a>\n<b>\n</a>", "node.xml:3:3: mismatched tag"},
        {"<a>\n<b/>", "node.xml:2:5: no element found"},
        {"<a x=\"1\" x=\"2\"/>", "node.xml:1:10: duplicate attribute"},
        {"<a>\n<!-- no end", "node.xml:2: expected \"-->\""},
        {"<a/>\nrubbish", "node.xml:2:1: junk after document element"},
        {"<a x=\"&#27;[31m\"/>", "node.xml:1:7: reference to invalid character number"},
        {"<a>&lol;</a>", "node.xml:1:4: undefined entity"},
        {"<!DOCTYPE a [\n<!ENTITY l \"lol\">\n<!ENTITY m \"&l;&l;\">\n]>\n<a>&m;</a>", "node.xml:1:"},
        {"<!DOCTYPE a SYSTEM \"x.dtd\" [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><a>&e;</a>",
         "a DOCTYPE with declarations of its own is refused"},
    };
    struct arena *a = arena_new();
    struct err e;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(parse(a, cases[i].text, &e));
        assert_int_equal(e.code, ERR_FAILED);
        if (!strstr(e.text, cases[i].error))
            fail_msg("'%s' instead of '%s'", e.text, cases[i].error);
    }
    arena_free(a);
}

TEST_CASE(bounds)
{
    struct arena *a = arena_new();
    struct err e = {0};
    enum { DEEP = 300000, MANY = 1600000 };
    char *deep = arena_alloc(a, DEEP + 1), *many = arena_alloc(a, MANY + 1);
    for (int i = 0; i < DEEP; i++)
        deep[i] = "<a>"[i % 3];
    assert_null(xml_parse(deep, DEEP, "deep.xml", a, &e));
    assert_non_null(strstr(e.text, "deep.xml:1:193: nested deeper than 64"));
    for (int i = 3; i < MANY; i++)
        many[i] = "<a/>"[(i - 3) % 4];
    many[0] = '<';
    many[1] = 't';
    many[2] = '>';
    assert_null(xml_parse(many, MANY, "many.xml", a, &e));
    assert_non_null(strstr(e.text, "more than 300,000 elements"));
    arena_free(a);
}

static void check_put(const char *s, int most, const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    xml_put(out, s, most);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

TEST_CASE(marks_are_escaped)
{
    check_put("a<b & \"c\" > 'd'", XML_WHOLE, "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;");
    check_put("a\n\033[31mb\177", XML_WHOLE, "a\n[31mb");
}

TEST_CASE(long_text_is_cut_at_a_letter)
{
    check_put("mlx5_0", 6, "mlx5_0");
    check_put("mlx5_10", 6, "mlx5_1…");
    check_put("同步", 3, "同…");
    check_put("同步", 4, "同步"); /* a letter that has begun is finished */
    check_put("", 0, "");
    check_put(NULL, XML_WHOLE, "");
}

TEST_CASES(test_xml)
