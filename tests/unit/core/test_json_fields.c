/* Records by tables: there and back, what is left out, and what is refused where. */
#include "core/arena.h"
#include "core/json.h"
#include "core/json_fields.h"
#include "tests/lib/unit.h"

struct leaf {
    const char *name;
    int colour;
};

struct tree {
    const char *name, *why;
    const char **notes;
    int nnotes;
    int age, tall, colour;
    double height;
    uint64_t bytes;
    struct leaf top;
    struct leaf *leaves;
    int nleaves;
};

static const char *colour_name(int colour)
{
    static const char *const names[] = {NULL, "green", "red"};
    return colour >= 0 && colour < 3 ? names[colour] : NULL;
}

static const struct json_field leaf_fields[] = {
    {"name", &json_as_text, offsetof(struct leaf, name), .required = 1},
    {"colour", &json_as_word, offsetof(struct leaf, colour), .low = 1, .name = colour_name, .required = 1},
    {NULL},
};

static int check_leaf(struct json_reader *in, void *record)
{
    const struct leaf *l = record;
    return strcmp(l->name, "branch") ? 0 : json_wrong(in, "name", "a leaf");
}

static int has_name(const void *leaf)
{
    return ((const struct leaf *)leaf)->name != NULL;
}

static const struct json_record leaf = {leaf_fields, sizeof(struct leaf), 3, check_leaf},
                                top = {leaf_fields, .known = has_name};

#define AT(member) offsetof(struct tree, member)
static const struct json_field tree_fields[] = {
    {"format", &json_as_constant, .text = "tree/1"},
    {"name", &json_as_text, AT(name)},
    {"why", &json_as_text, AT(why), .text = ""},
    {"notes", &json_as_texts, AT(notes)},
    {"age", &json_as_int, AT(age), .low = -1, .high = 500, .unknown = -1},
    {"tall", &json_as_flag, AT(tall)},
    {"colour", &json_as_word, AT(colour), .low = 1, .name = colour_name},
    {"height_m", &json_as_number, AT(height), .always = 1},
    {"bytes", &json_as_bytes, AT(bytes)},
    {"top", &json_as_object, AT(top), .record = &top},
    {"leaves", &json_as_array, AT(leaves), .required = 1, .record = &leaf},
    {NULL},
};

/* Reads `text` at `place`; NULL after an error. */
static struct tree *read_tree(struct arena *a, const char *text, const char *place, struct err *e)
{
    struct json_reader in = {.arena = a, .file = "t.json", .err = e};
    struct tree *t = ARENA_NEW(a, struct tree);
    cJSON *doc = json_parse(text, strlen(text), "t.json", 1, e);
    assert_non_null(doc);
    strcpy(in.place, place);
    int rc = json_get_fields(&in, &(const struct json_record){tree_fields}, doc, t);
    cJSON_Delete(doc);
    assert_string_equal(in.place, place);
    return rc ? NULL : t;
}

TEST_CASE(there_and_back)
{
    static const char *const texts[] = {
        "{\"format\":\"tree/1\",\"name\":\"oak\",\"why\":\"old\",\"notes\":[\"a\",\"b\"],\"age\":77,\"tall\":true,"
        "\"colour\":\"red\",\"height_m\":7.5,\"bytes\":4194304,\"top\":{\"name\":\"t\",\"colour\":\"red\"},"
        "\"leaves\":[{\"name\":\"one\",\"colour\":\"green\"},{\"name\":\"two\",\"colour\":\"red\"}]}",
        "{\"format\":\"tree/1\",\"why\":\"\",\"height_m\":0,\"leaves\":[]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena *a = arena_new();
        struct err e = {0};
        struct tree *t = read_tree(a, texts[i], "", &e);
        assert_non_null(t);
        assert_int_equal(t->age, i ? -1 : 77);
        assert_int_equal(t->nleaves, i ? 0 : 2);
        cJSON *doc = cJSON_CreateObject();
        json_put_fields(doc, tree_fields, t);
        char *text = cJSON_PrintUnformatted(doc);
        assert_string_equal(text, texts[i]);
        cJSON_free(text);
        cJSON_Delete(doc);
        arena_free(a);
    }
}

TEST_CASE(members_in_any_order_unknown_ones_among_them)
{
    struct arena *a = arena_new();
    struct err e = {0};
    struct tree *t = read_tree(a, "{\"leaves\":[],\"x\":1,\"age\":3,\"name\":null,\"y\":{},\"why\":\"so\"}", "", &e);
    assert_non_null(t);
    assert_int_equal(t->age, 3);
    assert_null(t->name);
    assert_string_equal(t->why, "so");
    arena_free(a);
}

TEST_CASE(what_does_not_fit_is_refused_where_it_stands)
{
    static const struct {
        const char *text, *place, *error;
    } cases[] = {
        {"[]", "", "t.json: expected an object"},
        {"{}", "", "t.json: leaves: expected an array of at most 3"},
        {"{\"leaves\":[{},{},{},{}]}", "", "leaves: expected an array of at most 3"},
        {"{\"leaves\":[3]}", "", "t.json: leaves[0]: expected an object"},
        {"{\"leaves\":[{\"name\":\"a\",\"colour\":\"red\"},{}]}", "woods[7]", "woods[7].leaves[1].name: expected text"},
        {"{\"leaves\":[{\"name\":\"\"}]}", "", "leaves[0].name: expected text"},
        {"{\"leaves\":[{\"name\":\"a\"}]}", "", "leaves[0].colour: expected one of \"green\", \"red\""},
        {"{\"leaves\":[{\"name\":\"branch\",\"colour\":\"red\"}]}", "", "leaves[0].name: expected a leaf"},
        {"{\"top\":{\"name\":7},\"leaves\":[]}", "", "t.json: top.name: expected text"},
        {"{\"top\":7,\"leaves\":[]}", "", "t.json: top: expected an object"},
        {"{\"colour\":\"blue\",\"leaves\":[]}", "", "colour: expected one of \"green\", \"red\""},
        {"{\"colour\":1,\"leaves\":[]}", "", "colour: expected one of \"green\", \"red\""},
        {"{\"age\":501,\"leaves\":[]}", "", "age: expected a whole number from -1 to 500"},
        {"{\"age\":1.5,\"leaves\":[]}", "", "age: expected a whole number"},
        {"{\"age\":\"1\",\"leaves\":[]}", "", "age: expected a whole number"},
        {"{\"tall\":1,\"leaves\":[]}", "", "tall: expected true or false"},
        {"{\"height_m\":-1,\"leaves\":[]}", "", "height_m: expected a number from 0"},
        {"{\"height_m\":1e999,\"leaves\":[]}", "", "height_m: expected a number from 0"},
        {"{\"bytes\":9007199254740994,\"leaves\":[]}", "", "bytes: expected a whole number from 0"},
        {"{\"notes\":\"a\",\"leaves\":[]}", "", "notes: expected an array of texts"},
        {"{\"notes\":[1],\"leaves\":[]}", "", "notes: expected an array of texts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct err e = {0};
        assert_null(read_tree(a, cases[i].text, cases[i].place, &e));
        if (!strstr(e.text, cases[i].error))
            fail_msg("case %zu says '%s', expected '%s'", i, e.text, cases[i].error);
        arena_free(a);
    }
}

TEST_CASES(test_json_fields)
