/* What lint holds: settings as readers found them, findings as rules made them, and what rules ask about both. */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "core/hash.h"
#include "core/vars/parse.h"
#include "lint/lint.h"
#include "lint/lint_internal.h"

/* ---- views: the text that a reader reads, and where each byte of it stands in the document ----------------------- */

size_t lint_at(const struct lint_view *v, size_t i)
{
    return v->map ? v->map[i] : i;
}

size_t *lint_index_lines(struct arena *a, const char *s, size_t from, size_t to, size_t *count)
{
    size_t *lines = NULL;
    *count = 0;
    for (size_t at = from; at <= to; at = source_line_end(s, at, to) + 1) {
        lines = arena_grow(a, lines, *count, sizeof *lines);
        lines[(*count)++] = at;
    }
    return lines;
}

struct builder {
    char *s;
    size_t *map, n;
};

static void put_byte(struct builder *b, char c, size_t at)
{
    b->s[b->n] = c;
    b->map[b->n++] = at;
}

static struct builder begin_view(struct lint *l, size_t bytes)
{
    return (struct builder){arena_alloc(l->arena, bytes + 1), arena_alloc(l->arena, (bytes + 1) * sizeof(size_t)), 0};
}

static struct lint_view end_view(struct builder *b, const struct lint_view *v, size_t at)
{
    b->map[b->n] = lint_at(v, at);
    return (struct lint_view){v->t, b->s, 0, b->n, b->map};
}

/* What a backslash and this letter stand for. */
static char unescape_letter(char c)
{
    static const char letters[] = "ntr0", meanings[] = "\n\t\r ";
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? meanings[found - letters] : c;
}

struct lint_view lint_unescape(struct lint *l, const struct lint_view *v, size_t from, size_t to, unsigned style)
{
    if (!(style & LINT_FOLDED ? memchr(v->s + from, '\n', to - from) : NULL) &&
        !(style & LINT_ESCAPES ? memchr(v->s + from, '\\', to - from) : NULL) &&
        !(style & LINT_DOLLARS ? memchr(v->s + from, '$', to - from) : NULL))
        return (struct lint_view){v->t, v->s, from, to, v->map};
    struct builder b = begin_view(l, to - from);
    for (size_t i = from; i < to; i++) {
        size_t at = lint_at(v, i);
        if (v->s[i] == '\\' && (style & LINT_ESCAPES) && i + 1 < to) {
            i++;
            if (v->s[i] != '\n')
                put_byte(&b, unescape_letter(v->s[i]), at);
        } else if (v->s[i] == '$' && (style & LINT_DOLLARS) && i + 1 < to && v->s[i + 1] == '$') {
            i++;
            put_byte(&b, '$', at);
        } else {
            put_byte(&b, v->s[i] == '\n' && (style & LINT_FOLDED) ? ' ' : v->s[i], at);
        }
    }
    return end_view(&b, v, to);
}

/* Walks both texts: where they differ, the source has an escape, an indentation or a fold. */
struct lint_view lint_aligned(struct lint *l, const struct lint_view *v, size_t from, size_t to, const char *decoded)
{
    size_t n = strlen(decoded), i = from;
    struct builder b = begin_view(l, n);
    for (size_t k = 0; k < n; k++) {
        char c = decoded[k];
        while (i < to && v->s[i] != c) {
            if (v->s[i] == '\\' && i + 1 < to && (c == '\n' || c == '\t' || c == '"' || (unsigned char)c >= 0x80)) {
                i++;
                break;
            }
            if (c == ' ' && v->s[i] == '\n')
                break;
            if (!strchr(" \t\r\n\\'", v->s[i]))
                break;
            i++;
        }
        put_byte(&b, c, lint_at(v, i < to ? i : to));
        i += i < to;
    }
    return end_view(&b, v, i < to ? i : to);
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

/* The end of the directive at `at`; 0: none begins here. `unclosed` has what no sign below ends. */
static size_t directive_end(const char *s, size_t at, size_t to, int unclosed[3])
{
    static const char *const pairs[3][2] = {{"{{", "}}"}, {"{%", "%}"}, {"{#", "#}"}};
    for (size_t i = 0; i < 3; i++)
        if (at + 2 <= to && !memcmp(s + at, pairs[i][0], 2) && !unclosed[i]) {
            const char *close = memmem(s + at + 2, to - at - 2, pairs[i][1], 2);
            unclosed[i] = !close;
            return close ? (size_t)(close - s) + 2 : 0;
        }
    return 0;
}

struct lint_view lint_masked(struct lint *l, const struct lint_view *v)
{
    char *out = arena_strndup(l->arena, v->s, v->to);
    struct lint_view masked = *v;
    size_t line = v->from;
    int unclosed[3] = {0};
    for (size_t i = v->from; i < v->to;) {
        size_t stop = directive_end(v->s, i, v->to, unclosed);
        if (!stop) {
            line = v->s[i] == '\n' ? i + 1 : line;
            i++;
            continue;
        }
        size_t end = source_line_end(out, stop, v->to); /* whether nothing else is on its lines: */
        int lines = lint_trim_end(out, line, i) == line && lint_trim_end(out, stop, end) == stop;
        for (size_t k = i; k < stop; k++)
            out[k] = v->s[k] == '\n' ? '\n' : lines ? ' ' : 'Z';
        if (lines && out[line] == ' ' && stop - i > 2)
            out[i] = '#'; /* YAML ends a block at a line that is less indented, but not at a remark */
        i = stop;
    }
    masked.s = out;
    return masked;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static struct lint_setting *append_setting(struct lint *l, const char *name, size_t bytes)
{
    struct lint_setting *s = ARENA_NEW(l->arena, struct lint_setting);
    s->name = arena_strndup(l->arena, name, bytes);
    s->hash = hash_text(s->name);
    s->var = env_var_find(s->name);
    s->number = l->nsettings;
    ARENA_ADD(l->arena, l->settings, l->nsettings) = s;
    return s;
}

/* Whether bytes [at, at + bytes) of a view stand in the document as they are, in one piece. */
static int is_spelt(const struct lint_view *v, size_t at, size_t bytes)
{
    size_t from = lint_at(v, at);
    return bytes > 0 && from + bytes <= v->t->bytes && lint_at(v, at + bytes - 1) == from + bytes - 1 &&
           !memcmp(v->t->data + from, v->s + at, bytes);
}

/* Whether a template fills in a part of them. */
static int is_templated(const struct lint_view *v, size_t at, size_t bytes)
{
    size_t from = lint_at(v, at), to = lint_at(v, at + bytes);
    return v->t->templated && from <= to && to <= v->t->bytes &&
           (memmem(v->t->data + from, to - from, "{{", 2) || memmem(v->t->data + from, to - from, "{%", 2));
}

void lint_understood(struct lint *l, const struct lint_view *v, size_t at)
{
    struct lint_text *t = v->t;
    size_t i = lint_at(v, at);
    if (!t->seen)
        t->seen = arena_alloc(l->arena, t->bytes / 8 + 1);
    if (i <= t->bytes)
        t->seen[i / 8] |= (unsigned char)(1u << i % 8);
}

void lint_talked_of(struct lint *l, const struct lint_view *v, size_t from, size_t to)
{
    const char *s = v->s;
    for (const char *p = s + from; (p = memmem(p, (size_t)(s + to - p), "CCL_", 4)); p += 4) {
        const char *name = p;
        while (name > s + from && lint_name_length(name - 1, 1))
            name--;
        lint_understood(l, v, (size_t)(name - s));
    }
}

struct lint_setting *lint_setting_new(struct lint *l, const struct lint_view *v, size_t at, size_t bytes,
                                      enum lint_how how)
{
    if (!lint_of_interest(v->s + at, bytes) || l->nsettings - v->t->first >= LINT_MOST_SETTINGS ||
        is_templated(v, at, bytes))
        return NULL;
    struct lint_setting *s = append_setting(l, v->s + at, bytes);
    s->text = v->t;
    s->name_at = lint_at(v, at) < v->t->bytes ? lint_at(v, at) : v->t->bytes;
    s->name_bytes = is_spelt(v, at, bytes) ? bytes : 0;
    s->how = how;
    s->group = v->group;
    s->commands = v->t->commands;
    s->branch = l->branch;
    s->body = l->body;
    s->function = l->function;
    lint_understood(l, v, at);
    return s;
}

/* Whether text stands for something that is filled in later: "$X", "{{ x }}", "<path>", "...". */
static int is_placeholder(const char *s, size_t length)
{
    if (word_in("{{|$|...|%(|[^|.*|.+", WORD_OCCURS, s, length)) /* the last three: patterns for text */
        return 1;
    if (length > 2 && s[0] == '[' && s[length - 1] == ']' && !memchr(s, ',', length))
        return 1;
    const char *open = memchr(s, '<', length);
    if (open && memchr(open, '>', length - (size_t)(open - s)))
        return 1;
    open = memchr(s, '{', length);
    return open && memchr(open, '}', length - (size_t)(open - s));
}

void lint_set_value(struct lint *l, struct lint_setting *s, const struct lint_view *v, const char *text, size_t at,
                    size_t bytes)
{
    if (!text)
        text = arena_strndup(l->arena, v->s + at, bytes);
    if (is_placeholder(text, strlen(text)) || is_templated(v, at, bytes))
        return;
    s->value = text;
    if (strlen(text) == bytes && !memcmp(text, v->s + at, bytes) && is_spelt(v, at, bytes)) {
        s->value_at = lint_at(v, at);
        s->value_bytes = bytes;
    }
}

void lint_set_word(struct lint *l, struct lint_setting *s, const struct lint_view *v, size_t at, size_t end)
{
    struct shell_literal text = shell_word_literal(l->arena, v->s, at, end);
    if (text.text)
        lint_set_value(l, s, v, text.text, text.bytes ? text.at : at, text.bytes ? text.bytes : end - at);
}

void lint_end_shell(struct lint *l, const struct lint_text *t, size_t before, int group)
{
    for (size_t k = before; k < l->nsettings; k++)
        if (l->settings[k]->how == LINT_EXPORTED && l->settings[k]->group == group &&
            l->settings[k]->commands == t->commands)
            l->settings[k]->how = LINT_SUBSHELL;
}

int lint_is_experiment(const struct lint_setting *s)
{
    return s->how == LINT_COMMAND && s->text && lint_speaks_of(s->text, "_perf ");
}

const char *lint_meant_name(const char *name, size_t length, char *meant, size_t size)
{
    static const char *const prefixes[] = {"RCCL_", "CCL_", "NCC_", "NCL_", "NCLL_", "NNCCL_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (length > n && length - n + 6 < size && !memcmp(name, prefixes[i], n)) {
            snprintf(meant, size, "NCCL_%.*s", (int)(length - n), name + n);
            return env_var_find(meant) ? meant : NULL;
        }
    }
    return NULL;
}

int lint_of_interest(const char *name, size_t length)
{
    char upper[64];
    if (env_of_interest(name, length) || lint_meant_name(name, length, upper, sizeof upper))
        return 1;
    if (length < 6 || length >= sizeof upper || strncasecmp(name, "NCCL_", 5) != 0)
        return 0;
    for (size_t i = 0; i <= length; i++)
        upper[i] = i < length ? (char)toupper((unsigned char)name[i]) : '\0';
    return env_var_find(upper) != NULL;
}

void lint_add(struct lint *l, const char *name, const char *value)
{
    struct lint_setting *s = append_setting(l, name, strlen(name));
    s->value =
        value && !strchr(value, '`') && !is_placeholder(value, strlen(value)) ? arena_strdup(l->arena, value) : NULL;
    s->how = LINT_EXPORTED;
}

int lint_names_any(const char *s, size_t length)
{
    return word_in("NCCL_|nccl_|RCCL_|HSA_|CUDA_DEVICE_MAX_CONNECTIONS|CUDA_LAUNCH_BLOCKING|FI_", WORD_OCCURS, s,
                   length);
}

size_t lint_name_length(const char *s, size_t most)
{
    size_t n = 0;
    while (n < most && (s[n] == '_' || (s[n] >= 'A' && s[n] <= 'Z') || (s[n] >= 'a' && s[n] <= 'z') ||
                        (n > 0 && s[n] >= '0' && s[n] <= '9')))
        n++;
    return n;
}

size_t lint_skip_blanks(const char *s, size_t at, size_t end)
{
    while (at < end && (s[at] == ' ' || s[at] == '\t'))
        at++;
    return at;
}

size_t lint_trim_end(const char *s, size_t at, size_t end)
{
    while (end > at && (s[end - 1] == ' ' || s[end - 1] == '\t' || s[end - 1] == '\r'))
        end--;
    return end;
}

void lint_unquote(const char *s, size_t *at, size_t *end)
{
    if (*at + 2 <= *end && (s[*at] == '"' || s[*at] == '\'') && s[*end - 1] == s[*at]) {
        ++*at;
        --*end;
    }
}

size_t lint_find_mark(const char *s, size_t at, size_t end, const char *marks)
{
    for (char quote = '\0'; at < end && (quote || !strchr(marks, s[at])); at++)
        if (quote ? s[at] == quote : s[at] == '\'' || s[at] == '"')
            quote = quote ? '\0' : s[at];
    return at;
}

const char *lint_file_word(struct lint *l, const char *s, size_t at, size_t end)
{
    while (at < end && strchr("\"'", s[at]))
        at++;
    while (end > at && strchr("\"'", s[end - 1]))
        end--;
    return arena_strndup(l->arena, s + at, end - at);
}

void lint_place(const struct lint_text *t, size_t at, long *line, long *column)
{
    *line = *column = 0;
    if (!t->lines)
        return;
    size_t low = 0, high = t->nlines;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (t->lines[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    *line = (long)low + 1;
    *column = 1;
    for (size_t i = t->lines[low]; i < at; i++)
        *column += ((unsigned char)t->data[i] & 0xC0) != 0x80;
}

/* ---- what the rules ask ------------------------------------------------------------------------------------------ */

enum lint_part lint_holds(const struct lint *l, int since, int until)
{
    if (l->high < since || (until && l->low > until))
        return LINT_NONE;
    return l->low >= since && (!until || l->high <= until) ? LINT_ALL : LINT_SOME;
}

int lint_can_meet(const struct lint_branch *a, const struct lint_branch *b)
{
    for (; a; a = a->outer)
        for (const struct lint_branch *x = b; x; x = x->outer)
            if (a->block == x->block && a->arm != x->arm)
                return 0;
    return 1;
}

const struct lint_setting *lint_before(const struct lint *l, const struct lint_setting *s, const char *name)
{
    const struct lint_setting *found = NULL;
    if (!s->text)
        return NULL;
    uint64_t hash = hash_text(name);
    for (size_t i = s->text->first; i < s->text->first + s->text->count && l->settings[i] != s; i++) {
        const struct lint_setting *o = l->settings[i];
        if (o->hash == hash && (o->group == 0 || o->group == s->group) && !strcmp(o->name, name) &&
            lint_can_meet(o->branch, s->branch) && !lint_is_uncalled(o))
            found = o;
    }
    return found && found->how != LINT_UNSET ? found : NULL;
}

const struct lint_setting *lint_anywhere(const struct lint *l, const struct lint_setting *s, const char *name)
{
    uint64_t hash = hash_text(name);
    for (size_t i = 0; s->text && i < s->text->count; i++) {
        const struct lint_setting *o = l->settings[s->text->first + i];
        if (o->hash == hash && !strcmp(o->name, name) && !lint_is_uncalled(o))
            return o;
    }
    return NULL;
}

int lint_speaks_of(struct lint_text *t, const char *words)
{
    return t && t->searches++ < LINT_SEARCHES && word_in(words, WORD_OCCURS, t->data, t->bytes);
}

int lint_is(const struct lint_setting *s, const char *names)
{
    return word_in(names, WORD_IS, s->name, strlen(s->name));
}

int lint_number(const struct lint_setting *s, int64_t *value)
{
    if (!s || !s->value)
        return 0;
    enum env_number how = env_parse_number(s->value, value);
    return how != ENV_NUMBER_EMPTY && how != ENV_NUMBER_RANGE;
}

int lint_has_reader(const struct lint_setting *s)
{
    const struct env_other *o = s->var ? NULL : env_other_find(s->name);
    if (s->var)
        return !s->var->last && !(s->var->flags & ENV_DEAD);
    return o && (o->status == ENV_FRAMEWORK || o->status == ENV_RCCL || o->status == ENV_OF_PLUGIN ||
                 o->status == ENV_FABRIC);
}

int lint_choice(const struct lint *l, const struct lint_setting *s, struct env_choice *c)
{
    *c = (struct env_choice){.unknown = NULL};
    if (!s->value || !s->value[0])
        return 0;
    (strcmp(s->name, "NCCL_PROTO") ? env_parse_algo : env_parse_proto)(s->value, l->high, c);
    return !c->unknown;
}

const char *lint_collectives(struct lint *l, unsigned colls)
{
    static const char *const names[COLL_COUNT] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};
    const char *text = "";
    for (int c = 0; c < COLL_COUNT; c++)
        if (colls & 1u << c)
            text = arena_printf(l->arena, "%s%s%s", text, !*text ? "" : colls >> (c + 1) ? ", " : " and ", names[c]);
    return text;
}

int lint_is_on(const struct lint_setting *s)
{
    int64_t value;
    return lint_number(s, &value) && value != 0;
}

static const struct finding_kind kinds[] = {
#define RULE(code, rule, name, severity, title) {"NT" #code, name, FINDING_##severity, title},
#include "lint/rules.inc"
#undef RULE
};

const struct finding_kind *lint_kinds(int *n)
{
    *n = sizeof kinds / sizeof *kinds;
    return kinds;
}

struct lint_finding *lint_find(struct lint *l, enum lint_rule rule, const struct lint_setting *at, const char *says,
                               const char *advice, ...)
{
    struct lint_finding *f = ARENA_NEW(l->arena, struct lint_finding);
    va_list ap;
    ARENA_ADD(l->arena, l->findings, l->nfindings) = f;
    f->kind = &kinds[rule];
    f->severity = f->kind->severity;
    f->at = at;
    va_start(ap, advice);
    f->says = arena_vprintf(l->arena, says, ap);
    va_end(ap);
    f->advice = advice;
    return f;
}

void lint_correct(struct lint_finding *f, enum lint_fix_kind fix, const char *replacement)
{
    f->fix = fix;
    f->replacement = replacement;
    f->changes = 1;
}

/* ---- the outside view -------------------------------------------------------------------------------------------- */

size_t lint_settings(const struct lint *l)
{
    return l->nsettings;
}

int lint_reaches(const struct lint_setting *s)
{
    return s->how != LINT_ASSIGNED && s->how != LINT_LAYER && s->how != LINT_SUBSHELL && !lint_is_uncalled(s);
}

int lint_is_uncalled(const struct lint_setting *s)
{
    return s->function && !s->function->is_named && s->text && s->text->nlaunches;
}

int lint_document(const struct lint *l, size_t n, struct lint_document *d)
{
    if (n >= l->ntexts)
        return 0;
    const struct lint_text *t = l->texts[n];
    *d = t->doc;
    d->settings = t->count - t->inner;
    d->is_sourced = t->sourced_by != NULL;
    return 1;
}

size_t lint_count(const struct lint *l, enum finding_severity severity)
{
    size_t n = 0;
    for (size_t i = 0; i < l->nfindings; i++)
        n += l->findings[i]->severity == severity;
    return n;
}

int lint_finding(const struct lint *l, size_t n, struct finding *found)
{
    if (n >= l->nfindings)
        return 0;
    const struct lint_finding *f = l->findings[n];
    *found = (struct finding){
        .id = f->kind->id,
        .severity = f->severity,
        .subject = f->at->name,
        .value = f->at->value,
        .text = f->says,
        .advice = f->advice,
        .file = f->at->text ? f->at->text->doc.name : NULL,
        .fixable = f->fix != LINT_FIX_NONE,
    };
    if (f->at->text)
        lint_place(f->at->text, f->at->name_at, &found->line, &found->column);
    return 1;
}
