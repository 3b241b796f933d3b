/* Launch scripts and configurations as lists of settings. */
#include "model/workload/script.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/file.h"
#include "core/tokens.h"

#define MOST_SETTINGS 20000
#define DEEPEST       32
#define SOURCED       16   /* files that a script reads others from, in all */
#define LONGEST       4096 /* of a name or value; the rest is cut */

static void add_setting(struct workload_script *s, const char *name, const char *value, long line)
{
    while (*name == '-' || *name == '+' || *name == '~')
        name++;
    if (!*name || s->n == MOST_SETTINGS)
        return;
    s->list = arena_grow(s->arena, s->list, (size_t)s->n, sizeof *s->list);
    char *copy = arena_strndup(s->arena, name, strnlen(name, LONGEST));
    for (char *p = copy; *p; p++)
        *p = *p == '-' ? '_' : *p;
    s->list[s->n++] = (struct workload_setting){
        copy, arena_strndup(s->arena, value, strnlen(value, LONGEST)), s->path, line, 0, s->launch};
}

/* Whether nothing of a value, or only a directory in front of its last part, comes from the environment. */
static int is_known(const char *value)
{
    const char *unknown = strrchr(value, strstr(value, "$(") ? ')' : '$'), *slash = strrchr(value, '/');
    return (!strchr(value, '$') || (unknown && slash && slash > unknown)) && strcmp(value, "null") != 0 &&
           strcmp(value, "None") != 0;
}

const struct workload_setting *workload_script_find(const struct workload_script *s, const char *name)
{
    size_t want = strlen(name);
    for (int i = s->n - 1; i >= 0; i--) {
        size_t n = strlen(s->list[i].name);
        if (n < want || strcmp(s->list[i].name + n - want, name) != 0 ||
            (n > want && s->list[i].name[n - want - 1] != '.'))
            continue;
        if (is_known(s->list[i].value))
            return &s->list[i];
    }
    return NULL;
}

/* ---- shell ---- */

static const char *variable_of(const void *arg, const char *name, size_t bytes)
{
    const struct workload_script *s = arg;
    for (int i = s->n - 1; i >= 0; i--)
        if (strlen(s->list[i].name) == bytes && !strncmp(s->list[i].name, name, bytes)) {
            s->list[i].substituted = 1;
            return s->list[i].value;
        }
    return NULL;
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
        add_setting(s, o->name, value, o->line);
    *o->name = 0;
}

static void read_word(struct workload_script *s, char *word, struct option *o, long line);

#define BLANKS " \t\r\n\\"

/* The words that a variable without quotes becomes. */
static void read_words(struct workload_script *s, const char *value, struct option *o, long line)
{
    struct arena *a = arena_new(); /* variables may be used any number of times */
    char *rest = NULL;
    for (char *w = strtok_r(arena_strdup(a, value), BLANKS, &rest); w; w = strtok_r(NULL, BLANKS, &rest))
        read_word(s, w, o, line);
    arena_free(a);
}

/* Options in a variable's value, MODEL_ARGS="--num-layers 36 …", as if they stood there. */
static void read_value(struct workload_script *s, const char *value, long line)
{
    const char *first = strstr(value, "--");
    struct option inner = {""};
    if (!first || !is_option(first) || (first > value && !strchr(BLANKS, first[-1])) || !strchr(first, ' '))
        return;
    read_words(s, first, &inner, line);
    end_option(s, &inner, "true");
}

/* "--key value", "--key=value", "key=value"; words that are none of them are values or programs. */
static void read_word(struct workload_script *s, char *word, struct option *o, long line)
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
        add_setting(s, word, equals + 1, line);
        if (!is_option(word))
            read_value(s, equals + 1, line);
    } else if (!strcmp(word, "swift") || !strcmp(word, "megatron") || strstr(word, "verl.trainer") ||
               strstr(word, "trl")) {
        add_setting(s, "program", word, line);
    }
}

/* Return where the words of "NAME=( … )" or "NAME=$( … )" begin, which may hold options; else the word's end. */
static size_t words_inside(const char *text, const struct shell_word *w)
{
    size_t at = w->at + source_name_length(text, w->at, w->end);
    at += at < w->end && text[at] == '+';
    size_t open = at + 1 + (at + 1 < w->end && text[at + 1] == '$');
    int is_list = at > w->at && open < w->end && text[at] == '=' && text[open] == '(';
    return is_list && !(open + 1 < w->end && text[open + 1] == '(') ? open + 1 : w->end;
}

/* Whether it is the number of a file descriptor: 2>&1. */
static int is_descriptor(const char *text, size_t bytes, const struct shell_word *w)
{
    size_t at = w->at;
    while (at < w->end && isdigit((unsigned char)text[at]))
        at++;
    return at == w->end && at < bytes && (text[at] == '<' || text[at] == '>');
}

static void read_shell(struct workload_script *s, const char *text, size_t bytes);

/* The settings of a file that a script sources, where it is below the script's own directory. */
static void read_sourced(struct workload_script *s, const char *word)
{
    const char *path = s->path, *file = shell_sourced_path(s->arena, path, word);
    struct err unread = {0};
    char *text;
    size_t bytes;
    if (!file || !file_ends_with(word, ".sh") || s->sourced >= SOURCED ||
        file_read_text(file, 1u << 20, s->arena, &text, &bytes, &unread))
        return;
    s->path = file;
    s->sourced++;
    read_shell(s, text, bytes);
    s->path = path;
}

/* What sbatch puts into the environment for its options in remarks: "#SBATCH -N 4", "#SBATCH --gpus-per-node=8". */
static void read_sbatch(struct workload_script *s, const char *text, size_t bytes)
{
    static const struct {
        const char *option, *names[2];
    } options[] = {
        {"-N", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
        {"--nodes", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
        {"--gpus-per-node", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}},
        {"--gres", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}},
    };
    long line = 1;
    for (const char *p = arena_strndup(s->arena, text, bytes); *p; p += strcspn(p, "\n"), p += *p == '\n', line++) {
        if (strncmp(p, "#SBATCH", 7) != 0)
            continue;
        const char *o = p + 7 + strspn(p + 7, " \t");
        for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
            size_t n = strlen(options[i].option);
            if (strncmp(o, options[i].option, n) != 0)
                continue;
            const char *v = o + n + strspn(o + n, " \t=");
            v += strncmp(v, "gpu:", 4) ? 0 : 4;
            const char *colon = memchr(v, ':', strcspn(v, " \t\n,")); /* a kind of GPU: h100:8 */
            v = colon ? colon + 1 : v;
            for (size_t k = 0; k < 2 && isdigit((unsigned char)*v); k++)
                add_setting(s, options[i].names[k], arena_strndup(s->arena, v, strspn(v, "0123456789")), line);
        }
    }
}

/* Whether a word starts training: torchrun, deepspeed, accelerate, python -m torch.distributed.run, verl.trainer... */
static int starts_training(const char *word)
{
    const char *slash = strrchr(word, '/'), *program = slash ? slash + 1 : word;
    if (word_in("torchrun|deepspeed|accelerate|swift|megatron", WORD_IS, program, strlen(program)))
        return 1;
    return !strncmp(word, "torch.distributed.", 18) || !strncmp(word, "verl.trainer", 12);
}

/* Keeps the settings of one training command, and those that stand in none. */
static void choose_launch(struct workload_script *s)
{
    int *counts = arena_alloc(s->arena, ((size_t)s->nlaunches + 1) * sizeof *counts), chosen = 1, n = 0;
    long *lines = arena_alloc(s->arena, ((size_t)s->nlaunches + 1) * sizeof *lines);
    for (int i = 0; i < s->n; i++)
        if (!counts[s->list[i].launch]++)
            lines[s->list[i].launch] = s->list[i].line;
    for (int k = 2; k <= s->nlaunches; k++)
        chosen = counts[k] >= counts[chosen] ? k : chosen;
    for (int k = 1; k <= s->nlaunches; k++)
        if (k != chosen && 4 * counts[k] > counts[chosen]) /* not "pip install deepspeed --upgrade" */
            s->left_out = s->left_out ? arena_printf(s->arena, "%s, %ld", s->left_out, lines[k])
                                      : arena_printf(s->arena, "%ld", lines[k]);
    s->launch_line = lines[chosen];
    for (int i = 0; i < s->n; i++)
        if (!s->list[i].launch || s->list[i].launch == chosen)
            s->list[n++] = s->list[i];
    s->n = n;
}

/* Nodes that the steps of a batch script ask for: the most of any. */
struct steps {
    int n, open; /* sruns; 1 inside of one, 2 behind its -N */
    long nodes, line;
};

static void read_step_word(struct steps *t, const char *word, long line)
{
    const char *value = t->open == 2 ? word : !strncmp(word, "-N", 2) ? word + 2 : NULL;
    value = !value && !strncmp(word, "--nodes", 7) ? word + 7 + (word[7] == '=') : value;
    if (!strcmp(word, "srun")) {
        t->n++;
        t->open = 1;
    } else if (t->open && value) {
        long nodes = strtol(value, NULL, 10);
        t->open = *value ? 1 : 2;
        t->line = nodes > t->nodes ? line : t->line;
        t->nodes = nodes > t->nodes ? nodes : t->nodes;
    }
}

/* No step has more nodes than the allocation; one node may be that of a helper's step. */
static void end_steps(struct workload_script *s, const struct steps *t)
{
    const struct workload_setting *known = workload_script_find(s, "SLURM_NNODES");
    if (t->nodes > (known ? strtol(known->value, NULL, 10) : t->n > 1))
        add_setting(s, "SLURM_NNODES", arena_printf(s->arena, "%ld", t->nodes), t->line);
}

static void read_shell(struct workload_script *s, const char *text, size_t bytes)
{
    struct steps steps = {0};
    const struct shell_variables variables = {variable_of, s};
    struct option option = {""};
    size_t room = bytes + 1000, counted = 0;
    char *word = arena_alloc(s->arena, room + 1);
    struct shell_word w = {0};
    long line = 1;
    int sourced = 0; /* the word before was "source" or "." */
    do {
        int redirect = w.token == SHELL_REDIRECT || w.token == SHELL_HEREDOC;
        w = shell_next_word(text, w.end, bytes);
        if (w.token == SHELL_WORD && !is_descriptor(text, bytes, &w)) {
            w.end = words_inside(text, &w);
            for (; counted < w.end; counted++)
                line += text[counted] == '\n';
            size_t n = shell_word_text(&variables, text, w.at, w.end, word, room);
            read_step_word(&steps, word, line);
            if (sourced && n)
                read_sourced(s, word);
            sourced = !strcmp(word, "source") || !strcmp(word, ".");
            if (!s->launch && !*option.name && starts_training(word))
                s->launch = ++s->nlaunches;
            int bare = n && w.end - w.at > 1 && text[w.at] == '$' && text[w.at + 1] != '(' && strpbrk(word, BLANKS);
            if (bare && (!*option.name || is_option(word + strspn(word, BLANKS))))
                read_words(s, word, &option, line);
            else if (n && (!redirect || is_option(word)))
                read_word(s, word, &option, line);
        } else if (w.token == SHELL_NEWLINE || w.token == SHELL_SEPARATOR || w.token == SHELL_ARM_END ||
                   w.token == SHELL_END) {
            end_option(s, &option, "true");
            s->launch = 0;
            steps.open = 0;
        }
    } while (w.token != SHELL_END && s->n < MOST_SETTINGS);
    end_steps(s, &steps);
}

/* ---- YAML, and JSON, which is YAML ---- */

struct tree {
    yaml_document_t doc;
    char *seen; /* by node: what an alias stands for has been read where its anchor is */
};

/* The settings of a node and of what is below it, under `name`. */
static void read_node(struct workload_script *s, struct tree *t, int id, const char *name, int depth)
{
    const yaml_node_t *n = yaml_document_get_node(&t->doc, id);
    if (!n || depth > DEEPEST || t->seen[id])
        return;
    t->seen[id] = 1;
    if (n->type == YAML_SCALAR_NODE)
        add_setting(s, name, (const char *)n->data.scalar.value, (long)n->start_mark.line + 1);
    if (n->type == YAML_SEQUENCE_NODE)
        for (const yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++)
            read_node(s, t, *i, name, depth + 1);
    if (n->type == YAML_MAPPING_NODE)
        for (const yaml_node_pair_t *i = n->data.mapping.pairs.start; i < n->data.mapping.pairs.top; i++) {
            const yaml_node_t *key = yaml_document_get_node(&t->doc, i->key);
            const char *text = key && key->type == YAML_SCALAR_NODE ? (const char *)key->data.scalar.value : "";
            text += strspn(text, "-"); /* Megatron-LM's recipes have options as keys */
            char path[1024];
            snprintf(path, sizeof path, "%.*s%s%.256s", (int)sizeof path - 260, name, *name ? "." : "", text);
            read_node(s, t, i->value, path, depth + 1);
        }
}

static int read_yaml(struct workload_script *s, const char *text, size_t bytes, struct err *e)
{
    yaml_parser_t parser;
    struct tree t;
    int rc = 0, more = 1;
    if (!yaml_parser_initialize(&parser))
        return err_set(e, ERR_FAILED, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    while (more) {
        if (!yaml_parser_load(&parser, &t.doc)) {
            rc = err_at(e, s->path, (long)parser.problem_mark.line + 1, (long)parser.problem_mark.column + 1, "%s",
                        parser.problem ? parser.problem : "not valid YAML or JSON");
            break;
        }
        more = yaml_document_get_root_node(&t.doc) != NULL;
        t.seen = arena_alloc(s->arena, (size_t)(t.doc.nodes.top - t.doc.nodes.start) + 1);
        read_node(s, &t, 1, "", 0);
        yaml_document_delete(&t.doc);
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
            const char *ends = v < stop && *v == '[' ? "]\r" : "\"'#\r"; /* a list is one value */
            while (v + n < stop && !strchr(ends, v[n]))
                n++;
            n += *ends == ']' && v + n < stop && v[n] == ']';
            while (n && v[n - 1] == ' ')
                n--;
            snprintf(name, sizeof name, "%s%.*s", section, (int)source_name_length(p, 0, left), p);
            snprintf(value, sizeof value, "%.*s", (int)(n < 250 ? n : 250), v);
            add_setting(s, name, value, line);
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
    else {
        read_sbatch(out, text, bytes);
        read_shell(out, text, bytes);
        choose_launch(out);
    }
    return 0;
}
