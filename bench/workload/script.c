/* Launch scripts and configurations as lists of settings. */
#include "bench/workload/script.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/file.h"

#define MOST_SETTINGS 20000
#define DEEPEST       32
#define LONGEST       4096 /* of a name or value; the rest is cut */

static void add(struct workload_script *s, const char *name, const char *value, long line)
{
    while (*name == '-' || *name == '+' || *name == '~')
        name++;
    if (!*name || s->n == MOST_SETTINGS)
        return;
    s->list = arena_grow(s->arena, s->list, (size_t)s->n, sizeof *s->list);
    char *copy = arena_strndup(s->arena, name, strnlen(name, LONGEST));
    for (char *p = copy; *p; p++)
        *p = *p == '-' ? '_' : *p;
    s->list[s->n++] = (struct workload_setting){copy, arena_strndup(s->arena, value, strnlen(value, LONGEST)), line};
}

const struct workload_setting *workload_script_find(const struct workload_script *s, const char *name)
{
    size_t want = strlen(name);
    for (int i = s->n - 1; i >= 0; i--) {
        size_t n = strlen(s->list[i].name);
        if (n < want || strcmp(s->list[i].name + n - want, name) != 0 ||
            (n > want && s->list[i].name[n - want - 1] != '.'))
            continue;
        /* A directory of the environment does not make a name unknown. */
        const char *value = s->list[i].value, *unknown = strrchr(value, '$'), *slash = strrchr(value, '/');
        if ((!unknown || (slash && slash > unknown)) && strcmp(value, "null") != 0 && strcmp(value, "None") != 0)
            return &s->list[i];
    }
    return NULL;
}

/* ---- shell ---- */

struct words {
    struct workload_script *out;
    const char *p, *end;
    long line;
    char *word; /* as long as the text */
};

static const char *variable(const struct workload_script *s, const char *name, size_t len)
{
    for (int i = s->n - 1; i >= 0; i--)
        if (strlen(s->list[i].name) == len && !strncmp(s->list[i].name, name, len))
            return s->list[i].value;
    return NULL;
}

static size_t name_length(const char *p, const char *end)
{
    size_t n = 0;
    while (p + n < end && (isalnum((unsigned char)p[n]) || p[n] == '_'))
        n++;
    return n;
}

/* What stands behind the name in "${NAME:-otherwise}", without its quotes. */
static void take_default(const char *from, const char *close, char out[256])
{
    from += from < close && *from == ':';
    if (from >= close || (*from != '-' && *from != '='))
        return;
    from++;
    while (from < close && *from == '"')
        from++;
    while (from < close && close[-1] == '"')
        close--;
    snprintf(out, 256, "%.*s", (int)(close - from < 255 ? close - from : 255), from);
}

/* ---- $((1024 * 2)): whole numbers, variables that the script sets, + - * / % and brackets ---- */

struct sum {
    struct words *w;
    const char *p;
    int depth, bad;
};

static long sum_of(struct sum *s);

static void skip_blanks(struct sum *s)
{
    while (s->p < s->w->end && strchr(" \t${}", *s->p))
        s->p++;
}

static long operand(struct sum *s)
{
    skip_blanks(s);
    size_t n = name_length(s->p, s->w->end);
    if (s->p < s->w->end && *s->p == '(' && s->depth < DEEPEST) {
        s->p++;
        s->depth++;
        long value = sum_of(s);
        s->depth--;
        s->bad |= s->p == s->w->end || *s->p != ')';
        s->p += s->p < s->w->end;
        skip_blanks(s);
        return value;
    }
    const char *value = variable(s->w->out, s->p, n);
    const char *text = value ? value : arena_strndup(s->w->out->arena, s->p, n);
    s->p += n;
    skip_blanks(s);
    char *end;
    long number = strtol(text, &end, 10);
    s->bad |= end == text || *end || labs(number) > 1 << 30;
    return s->bad ? 0 : number;
}

static long product_of(struct sum *s)
{
    long value = operand(s);
    while (!s->bad && s->p < s->w->end && strchr("*/%", *s->p)) {
        char sign = *s->p++;
        long by = operand(s);
        s->bad |= (sign != '*' && !by) || labs(value) > 1L << 31 || labs(by) > 1L << 31;
        if (!s->bad)
            value = sign == '*' ? value * by : sign == '/' ? value / by : value % by;
    }
    return value;
}

static long sum_of(struct sum *s)
{
    long value = product_of(s);
    while (!s->bad && s->p < s->w->end && (*s->p == '+' || *s->p == '-')) {
        char sign = *s->p++;
        long by = product_of(s);
        s->bad |= labs(value) > 1L << 61 || labs(by) > 1L << 61;
        value += s->bad ? 0 : sign == '+' ? by : -by;
    }
    return value;
}

/* At "$((": writes the value and goes on behind "))". 0: it is something else. */
static size_t arithmetic(struct words *w, char *to, size_t room)
{
    struct sum s = {.w = w, .p = w->p + 3};
    if (w->end - w->p < 6 || strncmp(w->p, "$((", 3) != 0)
        return 0;
    long value = sum_of(&s);
    if (s.bad || w->end - s.p < 2 || strncmp(s.p, "))", 2) != 0)
        return 0;
    int n = snprintf(to, room, "%ld", value);
    w->p = s.p + 2;
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* "$NAME", "${NAME}", "${NAME:-otherwise}" at w->p; what is not known stays as it is. Returns bytes written, no more
 * than `room`; there is one more byte. */
static size_t expand(struct words *w, char *to, size_t room)
{
    size_t written = arithmetic(w, to, room);
    if (written)
        return written;
    const char *from = w->p, *name = w->p + 1;
    int braces = name < w->end && *name == '{';
    name += braces;
    size_t n = name_length(name, w->end);
    const char *behind = name + n, *value = variable(w->out, name, n);
    char otherwise[256] = "";
    if (braces) {
        const char *close = memchr(behind, '}', (size_t)(w->end - behind));
        take_default(behind, close ? close : w->end, otherwise);
        behind = close ? close : w->end;
        if (!value && n && *otherwise)
            value = otherwise;
    }
    behind += braces && behind < w->end;
    if (!value || strlen(value) + 1 > room) {
        *to = '$';
        w->p = from + 1;
        return room > 0;
    }
    w->p = behind;
    size_t length = strlen(value);
    memcpy(to, value, length + 1);
    return length;
}

/* The next word of a command; 0 at its end (newline, ';', '&', '|'), -1 at the end of the text. */
static int next_word(struct words *w, size_t room)
{
    size_t n = 0;
    char quote = 0;
    for (;;) {
        int left = w->p < w->end;
        char c = left ? *w->p : '\n';
        if (left && c == '\\' && w->p + 1 < w->end && quote != '\'') {
            w->line += w->p[1] == '\n';
            if (w->p[1] != '\n' && n < room)
                w->word[n++] = w->p[1];
            w->p += 2;
        } else if (left && quote && c == quote) {
            quote = 0;
            w->p++;
        } else if (left && !quote && (c == '\'' || c == '"')) {
            quote = c;
            w->p++;
        } else if (left && c == '$' && quote != '\'') {
            n += expand(w, w->word + n, room - n);
        } else if (!left || (!quote && strchr(" \t\r\n;&|", c))) {
            if (n || !left || c == '\n' || strchr(";&|", c))
                break;
            w->p++;
        } else if (!quote && c == '#' && !n) {
            while (w->p < w->end && *w->p != '\n')
                w->p++;
        } else {
            w->line += c == '\n';
            if (n < room)
                w->word[n++] = c;
            w->p++;
        }
    }
    w->word[n] = 0;
    if (n)
        return 1;
    if (w->p >= w->end)
        return -1;
    w->line += *w->p == '\n';
    w->p++;
    return 0;
}

static int is_option(const char *word)
{
    return word[0] == '-' && word[1] == '-' && isalpha((unsigned char)word[2]);
}

/* One that still may get a value; "" none. */
struct option {
    char name[256];
    long line;
};

static void end_option(struct workload_script *s, struct option *o, const char *value)
{
    if (*o->name)
        add(s, o->name, value, o->line);
    *o->name = 0;
}

/* "--key value", "--key=value", "key=value"; words that are none of them are values or programs. */
static void take_word(struct workload_script *s, char *word, struct option *o, long line)
{
    char *equals = strchr(word, '=');
    int key = isalpha((unsigned char)*word) || *word == '+' || *word == '_';
    for (const char *p = word; key && equals && p < equals; p++)
        key = isalnum((unsigned char)*p) || strchr("_.+-@/", *p);
    if (*o->name && !is_option(word)) {
        end_option(s, o, word);
        return;
    }
    end_option(s, o, "true");
    if (is_option(word) && !equals) {
        snprintf(o->name, sizeof o->name, "%s", word);
        o->line = line;
    } else if (equals && (key || is_option(word))) {
        *equals = 0;
        add(s, word, equals + 1, line);
    } else if (!strcmp(word, "swift") || !strcmp(word, "megatron") || strstr(word, "verl.trainer") ||
               strstr(word, "trl")) {
        add(s, "program", word, line);
    }
}

static void read_shell(struct workload_script *s, const char *text, size_t bytes)
{
    struct words w = {s, text, text + bytes, 1, arena_alloc(s->arena, bytes + 1024)};
    struct option option = {""};
    for (int got; (got = next_word(&w, bytes + 1000)) >= 0;)
        if (got)
            take_word(s, w.word, &option, w.line);
        else
            end_option(s, &option, "true");
    end_option(s, &option, "true");
}

/* ---- YAML, and JSON, which is YAML ---- */

struct path {
    char name[1024];
    size_t ends[DEEPEST]; /* length of the name outside of each level */
    char is_map[DEEPEST], want_value[DEEPEST];
    int depth;
};

static void open_level(struct path *p, int is_map)
{
    if (p->depth < DEEPEST) {
        p->ends[p->depth] = strlen(p->name);
        p->is_map[p->depth] = (char)is_map;
        p->want_value[p->depth] = 0;
    }
    p->depth++;
}

/* Behind a value: the key that it belonged to is over. */
static void end_value(struct path *p)
{
    if (p->depth < 1 || p->depth > DEEPEST || !p->is_map[p->depth - 1])
        return;
    p->want_value[p->depth - 1] = 0;
    p->name[p->ends[p->depth - 1]] = 0;
}

static void take_scalar(struct workload_script *s, struct path *p, const yaml_event_t *ev)
{
    const char *text = (const char *)ev->data.scalar.value;
    if (p->depth < 1 || p->depth > DEEPEST)
        return;
    if (!p->is_map[p->depth - 1] || p->want_value[p->depth - 1]) {
        add(s, p->name, text, (long)ev->start_mark.line + 1);
        end_value(p);
        return;
    }
    size_t n = p->ends[p->depth - 1];
    snprintf(p->name + n, sizeof p->name - n, "%s%s", n ? "." : "", text);
    p->want_value[p->depth - 1] = 1;
}

static int read_yaml(struct workload_script *s, const char *text, size_t bytes, struct err *e)
{
    yaml_parser_t parser;
    yaml_event_t ev;
    struct path p = {0};
    int rc = 0, end = 0;
    if (!yaml_parser_initialize(&parser))
        return err_set(e, ERR_FAILED, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    while (!rc && !end) {
        if (!yaml_parser_parse(&parser, &ev)) {
            rc = err_at(e, s->path, (long)parser.problem_mark.line + 1, (long)parser.problem_mark.column + 1, "%s",
                        parser.problem ? parser.problem : "not valid YAML or JSON");
            break;
        }
        if (ev.type == YAML_SCALAR_EVENT)
            take_scalar(s, &p, &ev);
        else if (ev.type == YAML_MAPPING_START_EVENT || ev.type == YAML_SEQUENCE_START_EVENT)
            open_level(&p, ev.type == YAML_MAPPING_START_EVENT);
        else if (ev.type == YAML_MAPPING_END_EVENT || ev.type == YAML_SEQUENCE_END_EVENT) {
            p.depth--;
            if (p.depth < DEEPEST && p.depth >= 0)
                p.name[p.ends[p.depth]] = 0;
            end_value(&p);
        }
        end = ev.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&ev);
    }
    yaml_parser_delete(&parser);
    return rc;
}

/* ---- TOML: [section], key = value ---- */

static void read_toml(struct workload_script *s, const char *text, size_t bytes)
{
    char section[128] = "", name[256], value[256];
    long line = 0;
    for (const char *p = text, *end = text + bytes, *next; p < end; p = next) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        next = newline ? newline + 1 : end;
        line++;
        while (p < stop && isspace((unsigned char)*p))
            p++;
        size_t left = p < stop ? (size_t)(stop - p) : 0;
        const char *equals = memchr(p, '=', left), *close = memchr(p, ']', left);
        if (left && *p == '[' && close) {
            snprintf(section, sizeof section, "%.*s.", (int)(close - p - 1 < 100 ? close - p - 1 : 100), p + 1);
        } else if (equals && *p != '#') {
            const char *v = equals + 1;
            while (v < stop && strchr(" \t\"'", *v))
                v++;
            size_t n = 0;
            while (v + n < stop && !strchr("\"'#\r", v[n]))
                n++;
            while (n && v[n - 1] == ' ')
                n--;
            snprintf(name, sizeof name, "%s%.*s", section, (int)name_length(p, stop), p);
            snprintf(value, sizeof value, "%.*s", (int)(n < 250 ? n : 250), v);
            add(s, name, value, line);
        }
    }
}

/* ---- whole files ---- */

int workload_script_parse(const char *text, size_t bytes, const char *path, struct arena *a,
                          struct workload_script *out, struct err *e)
{
    *out = (struct workload_script){.path = path, .arena = a};
    size_t i = 0;
    while (i < bytes && isspace((unsigned char)text[i]))
        i++;
    if (file_ends_with(path, ".toml"))
        read_toml(out, text, bytes);
    else if (file_ends_with(path, ".yaml") || file_ends_with(path, ".yml") || (i < bytes && text[i] == '{'))
        return read_yaml(out, text, bytes, e);
    else
        read_shell(out, text, bytes);
    return 0;
}

int workload_script_read(const char *path, struct arena *a, struct workload_script *out, struct err *e)
{
    char *text;
    size_t bytes;
    int rc = file_read_text(path, 4u << 20, a, &text, &bytes, e);
    return rc ? rc : workload_script_parse(text, bytes, path, a, out, e);
}
