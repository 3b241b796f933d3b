/* Dockerfiles. */
#include <string.h>
#include <strings.h>

#include "envgen/lint/lint_internal.h"
#include "envgen/lint/shell_words.h"

enum { RUN_LAYER };
static const struct finding_kind kinds[] = {
    [RUN_LAYER] = {"NT610", "lost-export", FINDING_WARNING, "an export that ends with its RUN"},
};

/* The end of an instruction: '\' continues a line, and comment lines in between belong to nothing. */
static size_t instruction_end(const char *s, size_t at, size_t to)
{
    for (;;) {
        const char *newline = memchr(s + at, '\n', to - at);
        size_t end = newline ? (size_t)(newline - s) : to;
        size_t last = end;
        while (last > at && (s[last - 1] == ' ' || s[last - 1] == '\t' || s[last - 1] == '\r'))
            last--;
        size_t text = at + strspn(s + at, " \t");
        int comment = text < end && s[text] == '#';
        if (!newline || (!comment && (last == at || s[last - 1] != '\\')))
            return end;
        at = end + 1;
    }
}

static void add_env(struct lint *l, const struct lint_text *t, size_t at, size_t name, size_t value, size_t end)
{
    if (!env_of_interest(t->data + at, name) || l->nsettings - t->first >= LINT_MOST_SETTINGS)
        return;
    struct lint_setting *s = lint_setting_new(l, t, at, name, LINT_DECLARED);
    struct lint_literal v = lint_word_literal(l->arena, t->data, value, end);
    if (v.text && !lint_is_placeholder(v.text, strlen(v.text))) {
        s->value = v.text;
        s->value_at = v.at;
        s->value_bytes = v.bytes;
    }
}

/* ENV A=1 B="2", or the old ENV A 1. */
static void read_env_instruction(struct lint *l, const struct lint_text *t, size_t at, size_t end)
{
    const char *s = t->data;
    struct lint_word w = lint_next_word(s, at, end);
    size_t n = w.token == LINT_WORD ? lint_name_length(s + w.at, w.end - w.at) : 0;
    if (n > 0 && w.at + n == w.end) {
        struct lint_word value = lint_next_word(s, w.end, end);
        if (value.token == LINT_WORD)
            add_env(l, t, w.at, n, value.at, value.end);
        return;
    }
    while (w.token != LINT_END) {
        n = w.token == LINT_WORD ? lint_name_length(s + w.at, w.end - w.at) : 0;
        if (n > 0 && w.at + n < w.end && s[w.at + n] == '=')
            add_env(l, t, w.at, n, w.at + n + 1, w.end);
        w = lint_next_word(s, w.end, end);
    }
}

static void find_lost_exports(struct lint *l, size_t first)
{
    for (size_t i = first; i < l->nsettings; i++)
        if (l->settings[i]->how == LINT_LAYER)
            lint_find(l, &kinds[RUN_LAYER], l->settings[i],
                      "An export in a RUN ends with that build step: containers of this image do not have it.",
                      "Use an ENV instruction, or write it to /etc/nccl.conf.");
}

int lint_read_docker(struct lint *l, const struct lint_text *t, size_t from, size_t to, struct err *e)
{
    (void)e;
    const char *s = t->data;
    size_t first = l->nsettings;
    for (size_t at = from; at < to;) {
        size_t text = at + strspn(s + at, " \t");
        size_t end = instruction_end(s, at, to);
        size_t word = strcspn(s + text, " \t\r\n");
        if (word == 3 && !strncasecmp(s + text, "ENV", 3))
            read_env_instruction(l, t, text + 3, end);
        else if (word == 3 && !strncasecmp(s + text, "RUN", 3))
            lint_read_shell_in(l, t, text + 3, end, ++l->groups, LINT_LAYER);
        at = end + 1;
    }
    find_lost_exports(l, first);
    return 0;
}

const struct lint_rules lint_docker = {kinds, sizeof kinds / sizeof *kinds, NULL};
