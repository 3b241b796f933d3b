/* What lint must not miss: a list of settings that are wrong, in the shapes in which people write them. And what a
 * format's own parser says of a corrected document. */
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/vars/catalogue.h"
#include "lint/lint.h"
#include "tests/lib/unit.h"

#define WRONG  "tests/fixtures/lint/wrong_settings.tsv"
#define FIELDS 5
#define CASES  "tests/fixtures/lint/cases/%s.txt"

/* A row's text with "\n" as ends of lines. */
static char *unescaped(struct arena *a, const char *text)
{
    char *out = arena_alloc(a, strlen(text) + 1), *o = out;
    for (const char *p = text; *p; p++)
        if (p[0] == '\\' && p[1] == 'n') {
            *o++ = '\n';
            p++;
        } else {
            *o++ = *p;
        }
    *o = 0;
    return out;
}

static int is_found(const char *kind, const char *nccl, const char *text, const char *name, const char *code)
{
    struct lint_options o = {.rccl = -1};
    struct finding f;
    int found = 0;
    if (strcmp(nccl, "-") != 0)
        assert_int_equal(env_version_parse(nccl, &o.nccl_low, &o.nccl_high), 0);
    struct lint *l = lint_new(&o);
    assert_int_equal(lint_read_text(l, "x", text, strlen(text), kind, NULL), 0);
    lint_check(l);
    for (size_t n = 0; lint_finding(l, n, &f); n++)
        found |= f.subject && !strcasecmp(f.subject, name) && !strcmp(f.id, code);
    lint_free(l);
    return found;
}

/* Runs `each` over the rows; returns their number. */
static int over_rows(struct arena *a, void (*each)(void *arg, char *const field[FIELDS]), void *arg)
{
    char *text, *rest = NULL, *fields[FIELDS];
    size_t bytes;
    int rows = 0;
    assert_int_equal(file_read_text(WRONG, FILE_LIMIT, a, &text, &bytes, NULL), 0);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (*line == '#')
            continue;
        for (int i = 0; i < FIELDS; i++)
            assert_non_null(fields[i] = strsep(&line, "\t"));
        fields[2] = unescaped(a, fields[2]);
        each(arg, fields);
        rows++;
    }
    return rows;
}

static void count_missed(void *missed, char *const field[FIELDS])
{
    if (is_found(field[0], field[1], field[2], field[3], field[4]))
        return;
    print_error("missed: %s about %s in\n%s", field[4], field[3], field[2]);
    (*(int *)missed)++;
}

TEST_CASE(wrong_settings_are_found)
{
    struct arena *a = arena_new();
    int missed = 0, rows = over_rows(a, count_missed, &missed);
    print_message("%d of %d wrong settings are found\n", rows - missed, rows);
    assert_true(rows >= 80);
    assert_int_equal(missed, 0);
    arena_free(a);
}

/* ---- parsers -------------------------------------------------------------------------------------------------------
 */

struct pairs {
    char dir[64];
    int count, changed;
};

static void put(const struct pairs *p, const char *when, const char *name, const char *text, size_t bytes)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%d-%s", p->dir, when, p->count, name);
    FILE *f = fopen(path, "w");
    assert_true(f && fwrite(text, 1, bytes, f) == bytes && !fclose(f));
}

/* As it is, and with all corrections. `kind` NULL: by the name. */
static void put_pair(struct pairs *p, const char *name, const char *kind, const char *text, size_t bytes)
{
    struct lint_options o = {.rccl = -1};
    struct lint *l = lint_new(&o);
    struct lint_fixed after;
    lint_read_text(l, name, text, bytes, kind, NULL);
    lint_check(l);
    if (!lint_fix(l, 0, 1, &after, NULL) && after.fixed) {
        put(p, "before", name, text, bytes);
        put(p, "after", name, after.text, after.bytes);
        p->count++;
        p->changed += after.fixed;
    }
    free(after.text);
    lint_free(l);
}

static void put_row(void *pairs, char *const field[FIELDS])
{
    char name[32];
    snprintf(name, sizeof name, "x.%s",
             !strcmp(field[0], "shell")    ? "sh"
             : !strcmp(field[0], "python") ? "py"
                                           : field[0]);
    put_pair(pairs, name, field[0], field[2], strlen(field[2]));
}

static void put_cases(struct pairs *pairs, struct arena *a, const char *file)
{
    char path[128], *text;
    size_t bytes;
    snprintf(path, sizeof path, CASES, file);
    assert_int_equal(file_read_text(path, FILE_LIMIT, a, &text, &bytes, NULL), 0);
    for (const char *p = strstr(text, "\n### "); p;) {
        const char *line = strchr(p + 1, '\n') + 1, *next = strstr(line - 1, "\n### ");
        const char *end = next ? next + 1 : text + bytes, *bar = strstr(p, " | ");
        char *name = arena_strndup(a, p + 5, (size_t)(bar - p - 5));
        for (char *c = name; *c; c++)
            *c = (char)(*c == '/' ? '_' : *c);
        put_pair(pairs, name, NULL, line, (size_t)(end - line));
        p = next;
    }
}

/* What a parser took before a correction it takes after it. Formats without a parser here are passed over. */
static const char judge[] =
    "import ast, json, os, subprocess, sys\n"
    "def optional(name):\n"
    "    try: return __import__(name)\n"
    "    except ImportError: return None\n"
    "yaml, toml = optional('yaml'), optional('tomllib')\n"
    "def shell(t): subprocess.run(['bash', '-n'], input=t, text=True, check=True, stderr=subprocess.DEVNULL)\n"
    "parsers = {'.py': ast.parse, '.json': json.loads, '.sh': shell, '.sbatch': shell}\n"
    "if yaml: parsers['.yaml'] = parsers['.yml'] = lambda t: list(yaml.safe_load_all(t))\n"
    "if toml: parsers['.toml'] = toml.loads\n"
    "def takes(parse, path):\n"
    "    try: parse(open(path).read()); return True\n"
    "    except Exception: return False\n"
    "bad = done = 0\n"
    "for name in os.listdir(sys.argv[1] + '/before'):\n"
    "    parse = parsers.get(os.path.splitext(name)[1])\n"
    "    if not parse or not takes(parse, sys.argv[1] + '/before/' + name): continue\n"
    "    done += 1\n"
    "    if not takes(parse, sys.argv[1] + '/after/' + name):\n"
    "        bad += 1\n"
    "        print(name, open(sys.argv[1] + '/after/' + name).read(), file=sys.stderr)\n"
    "print('#', done, 'corrected documents judged by their own parsers')\n"
    "sys.exit(1 if bad or done < 40 else 0)\n";

TEST_CASE(parsers_take_what_they_took)
{
    static const char *const files[] = {"scripts", "launch", "containers", "programs"};
    struct arena *a = arena_new();
    struct pairs p = {"/tmp/nccltune-test-XXXXXX"};
    if (system("python3 -c 'import ast' 2>/dev/null") != 0)
        skip_because("needs python3");
    assert_non_null(mkdtemp(p.dir));
    for (int i = 0; i < 2; i++)
        assert_int_equal(mkdir(arena_printf(a, "%s/%s", p.dir, i ? "after" : "before"), 0700), 0);
    over_rows(a, put_row, &p);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        put_cases(&p, a, files[i]);
    FILE *python = popen(arena_printf(a, "python3 - %s", p.dir), "w");
    assert_non_null(python);
    fputs(judge, python);
    int status = pclose(python);
    assert_int_equal(system(arena_printf(a, "rm -r %s", p.dir)), 0);
    assert_true(p.count >= 60 && p.changed >= p.count);
    assert_int_equal(status, 0);
    arena_free(a);
}

TEST_CASES(test_recall)
