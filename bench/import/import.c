/* Files of all kinds into one list of measurements: journals, and what nccl-tests and rccl-tests print as a table, as
 * CSV and as JSON. */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/import/import_internal.h"
#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"

#define MOST_TIMES 100000
#define BLANKS     " \t\r\n\f\v"

/* ---- words ---- */

struct words {
    char *item[IMPORT_WORDS];
    int n;
};

static int parse_number(const char *s, double *value)
{
    char *end;
    *value = strtod(s, &end);
    return end != s && !*end && !strpbrk(s, "xXnN");
}

static uint64_t parse_whole(const char *s)
{
    char *end;
    unsigned long long n = strtoull(s, &end, 10);
    return isdigit((unsigned char)*s) && !*end ? n : 0;
}

static const char *get_word(const struct words *w, int i)
{
    return i >= 0 && i < w->n ? w->item[i] : "";
}

/* Where `name` stands among the words from `from` on; -1 nowhere, as from nowhere. */
static int find_word_from(const struct words *w, int from, const char *name)
{
    for (int i = from; i >= 0 && i < w->n; i++)
        if (!strcasecmp(w->item[i], name))
            return i;
    return -1;
}

static int find_word(const struct words *w, const char *name)
{
    return find_word_from(w, 0, name);
}

/* ---- NCCL's log and command lines ---- */

/* NAME=VALUE words of a line that starts a program. */
static void read_command(struct import *m, char *line)
{
    import_next_run(m);
    for (char *p = line; (p = strpbrk(p, "NR"));) {
        size_t n = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        int ours = (!strncmp(p, "NCCL_", 5) || !strncmp(p, "RCCL_", 5)) && p[n] == '=';
        if (ours && (p == line || strchr(" \t\"',", p[-1]))) {
            const char *value = p + n + 1, quote = *value == '"' || *value == '\'' ? *value : 0;
            value += quote ? 1 : 0;
            size_t bytes = quote ? strcspn(value, (char[]){quote, 0}) : strcspn(value, " \t\"';");
            import_set(m, p, n, value, bytes);
        }
        p += n;
    }
    import_program(m, line);
}

/* "NCCL_ALGO set by environment to Ring." */
static void read_nccl_log(struct import *m, char *line)
{
    static const char said[] = " set by environment to ", version[] = "NCCL version ";
    char *at = strstr(line, said);
    if (at) {
        char *name = at;
        while (name > line && !isspace((unsigned char)name[-1]))
            name--;
        const char *value = at + sizeof said - 1;
        size_t n = strlen(value);
        import_set(m, name, (size_t)(at - name), value, n && value[n - 1] == '.' ? n - 1 : n);
    }
    if ((at = strstr(line, version))) {
        long code[3] = {0};
        char *p = at + sizeof version - 1;
        for (int i = 0; i < 3; i++, p += *p == '.')
            code[i] = strtol(p, &p, 10);
        if (code[0] == 2 && code[1] < 100 && code[2] < 100)
            import_version(m, 20000 + code[1] * 100 + code[2]);
    }
}

/* ---- nccl-tests ---- */

static void read_header(struct import *m, const struct words *w)
{
    struct import_run *r = import_run(m);
    r->time[0] = find_word(w, "time") - 1; /* without the '#' in front */
    r->time[1] = find_word_from(w, r->time[0] + 2, "time") - 1;
    for (int i = 0; i < 2; i++) {
        int from = r->time[i] + 1, wrong = find_word_from(w, from, "#wrong"), error = find_word_from(w, from, "error");
        r->wrong[i] = (wrong > error ? wrong : error) - 1;
    }
}

/* "PCIe" and "SXM" boards of one model have other links; NULL: the name does not tell. */
static const char *board_of(const char *name)
{
    return strcasestr(name, "pcie") ? "PCIe" : strstr(name, "SXM") || strstr(name, " HBM") ? "SXM" : NULL;
}

int import_is_gpu(const char *name, const char *model)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *board = board_of(name), *other = board_of(model);
    size_t letters = 0, digits = 0;
    if (board && other && strcmp(board, other) != 0)
        return 0;
    for (const char *word = name; digits < 2; word += strspn(word, " ")) { /* capitals with a number behind */
        letters = strspn(word, capitals);
        digits = letters ? strspn(word + letters, "0123456789") : 0;
        name = word;
        word += strcspn(word, " ");
        if (digits < 2 && !*word)
            return 1; /* it names none */
    }
    return memmem(model, strlen(model), name, letters + digits) != NULL;
}

/* The GPU of a rank, in the words from `first` on. */
static void take_gpu(struct import *m, const struct words *w, int first)
{
    const char *name = "";
    for (int i = first; i < w->n; i++)
        name = arena_printf(m->arena, "%s%s%s", name, *name ? " " : "", w->item[i]);
    if (!m->results->gpu)
        m->results->gpu = *name ? name : NULL;
    else if (*name && !m->results->other_gpu && !import_is_gpu(name, m->results->gpu))
        m->results->other_gpu = name;
}

static void read_comment(struct import *m, const struct words *w)
{
    int on = find_word_from(w, find_word(w, "Rank"), "on");
    if (find_word_from(w, on, "device") == on + 2) {
        import_next_run(m);
        import_host(m, get_word(w, on + 1));
        take_gpu(m, w, on + 5);
    } else if (find_word(w, "nccl-tests") == 1 || find_word(w, "nThread") == 1 || find_word(w, "Collective") == 1) {
        import_next_run(m)->graph |= parse_whole(get_word(w, find_word(w, "graph:") + 1)) > 0;
        for (int i = 0; i < w->n; i++)
            if (!strncmp(w->item[i], "nccl-library=", 13))
                import_version(m, (long)parse_whole(w->item[i] + 13));
    } else if (find_word(w, "size") == 1 && find_word(w, "time") > 1) {
        read_header(m, w);
    }
    for (int i = 1; i < w->n; i++)
        if (import_named(w->item[i]) >= 0) {
            import_next_run(m);
            import_program(m, w->item[i]);
        }
}

/* The columns of rows that were pasted without their header: one time or two, each with algbw, busbw and #wrong. */
static void guess_header(struct import_run *r, const struct words *w)
{
    const int sides = w->n == 13 ? 2 : w->n == 9 ? 1 : 0;
    for (int i = 0; i < sides && isalpha((unsigned char)*w->item[2]); i++) {
        r->time[i] = 5 + 4 * i;
        r->wrong[i] = r->time[i] + 3;
    }
}

static void read_table_row(struct import *m, const struct words *w)
{
    struct import_run *r = import_run(m);
    double algbw, busbw;
    if (r->time[0] < 0 && r->time[1] < 0)
        guess_header(r, w);
    if (parse_number(get_word(w, r->time[0] + 1), &algbw) && parse_number(get_word(w, r->time[0] + 2), &busbw))
        import_clue_row(&r->clues, get_word(w, 3), r->time[0] > 4 ? get_word(w, 4) : "", algbw, busbw);
    for (int side = 0; side < 2; side++) {
        struct import_row row = {.bytes = parse_whole(w->item[0]), .in_place = side};
        double wrong = 0;
        if (!parse_number(get_word(w, r->time[side]), &row.time_us))
            continue;
        row.type = isalpha((unsigned char)*get_word(w, 2)) ? get_word(w, 2) : NULL;
        row.wrong = parse_number(get_word(w, r->wrong[side]), &wrong) && wrong > 0.1; /* "error" is small */
        import_row(m, &row);
    }
}

/* ---- CSV ---- */

static const char *const column_names[IMPORT_COLUMNS] = {
    [IMPORT_SIZE] = "size",   [IMPORT_TIME] = "time",        [IMPORT_NAME] = "name",    [IMPORT_NODES] = "nodes",
    [IMPORT_RANKS] = "ranks", [IMPORT_IN_PLACE] = "inPlace", [IMPORT_WRONG] = "#wrong", [IMPORT_TYPE] = "type",
};

/* Splits at every comma; empty fields count. */
static void split_csv(char *line, struct words *w)
{
    w->n = 0;
    for (char *p = line; p && w->n < IMPORT_WORDS;) {
        char *s = strsep(&p, ","), *end = s + strlen(s);
        s += strspn(s, " \t\"");
        while (end > s && strchr(" \t\r\"", end[-1]))
            *--end = 0;
        w->item[w->n++] = s;
    }
}

static void read_csv_row(struct import *m, const struct words *w)
{
    struct import_run *r = import_run(m);
    const int *c = r->csv;
    struct import_row row = {.bytes = parse_whole(get_word(w, c[IMPORT_SIZE])),
                             .in_place = parse_whole(get_word(w, c[IMPORT_IN_PLACE])) > 0};
    double wrong = 0;
    if (!row.bytes || !parse_number(get_word(w, c[IMPORT_TIME]), &row.time_us))
        return;
    const char *name = get_word(w, c[IMPORT_NAME]), *type = get_word(w, c[IMPORT_TYPE]);
    row.type = *type ? type : NULL;
    int coll = coll_parse(name, strcspn(name, "."));
    if (coll >= 0)
        r->coll = coll;
    else
        import_program(m, name);
    r->nodes = (int)parse_whole(get_word(w, c[IMPORT_NODES]));
    r->ranks = (int)parse_whole(get_word(w, c[IMPORT_RANKS]));
    row.wrong = parse_number(get_word(w, c[IMPORT_WRONG]), &wrong) && wrong > 0;
    import_row(m, &row);
}

/* Whether the line belongs to a table with commas, which begins by naming its columns. */
static int read_csv(struct import *m, const char *line)
{
    struct import_run *r = import_run(m);
    struct words w;
    char *copy = strdup(line);
    int is_row = r->csv_columns && isdigit((unsigned char)*line), taken = is_row;
    if (!copy)
        return 0;
    split_csv(copy, &w);
    if (is_row) {
        read_csv_row(m, &w);
    } else if (find_word(&w, "size") >= 0 && find_word(&w, "time") >= 0 && find_word(&w, "ranks") >= 0) {
        r = import_next_run(m);
        for (int i = 0; i < IMPORT_COLUMNS; i++)
            r->csv[i] = find_word(&w, column_names[i]);
        taken = r->csv_columns = w.n;
    }
    free(copy);
    return taken;
}

/* ---- lines ---- */

static void read_line(struct import *m, char *line)
{
    struct words w;
    line[strcspn(line, "\r\n")] = 0;
    if (strstr(line, " NCCL INFO ") || strstr(line, "NCCL version ")) {
        read_nccl_log(m, line);
        return;
    }
    line += import_behind_prefix(line) - line;
    if (strchr(line, ',') && read_csv(m, line))
        return;
    if (!strchr(line, '#') && strstr(line, "_perf") && strpbrk(line, "=/ ")) {
        read_command(m, line);
        return;
    }
    w.n = 0;
    for (char *rest, *p = strtok_r(line, " \t", &rest); p && w.n < IMPORT_WORDS; p = strtok_r(NULL, " \t", &rest))
        w.item[w.n++] = p;
    if (!w.n)
        return;
    if (*w.item[0] == '#')
        read_comment(m, &w);
    else if (isdigit((unsigned char)*w.item[0]) && parse_whole(w.item[0]))
        read_table_row(m, &w);
}

/* ---- JSON of nccl-tests ---- */

static const cJSON *find_item(const cJSON *o, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

static void read_env(struct import *m, const cJSON *env)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, env)
    {
        const char *text = cJSON_IsString(one) ? one->valuestring : "";
        size_t n = strcspn(text, "=");
        if ((!strncmp(text, "NCCL_", 5) || !strncmp(text, "RCCL_", 5)) && text[n])
            import_set(m, text, n, text + n + 1, strlen(text + n + 1));
    }
}

/* Some counts come as text. */
static double read_number(const cJSON *o, const char *key)
{
    const cJSON *value = find_item(o, key);
    return cJSON_IsString(value) ? strtod(value->valuestring, NULL) : json_num(o, key, 0);
}

static void read_times(struct import *m, const cJSON *per_call, struct import_row *row)
{
    const cJSON *list = find_item(per_call, "times_us"), *one;
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (n < 1 || n > MOST_TIMES)
        return;
    double *times = arena_alloc(m->arena, (size_t)n * sizeof *times);
    int from = (int)json_int(per_call, "skipped_iterations", 0), i = 0;
    cJSON_ArrayForEach(one, list)
    {
        if (i++ >= from && cJSON_IsNumber(one) && one->valuedouble > 0 && one->valuedouble < 1e12)
            times[row->ntimes++] = one->valuedouble;
    }
    row->times_us = times;
}

static void read_result(struct import *m, const cJSON *result)
{
    static const char *const sides[] = {"out_of_place", "in_place"}, *const singles[] = {"out_of_place_per_iter",
                                                                                         "in_place_per_iter"};
    for (int side = 0; side < 2; side++) {
        const cJSON *o = find_item(result, sides[side]);
        struct import_row row = {.bytes = (uint64_t)json_int(result, "size", 0),
                                 .type = json_str(result, "type", NULL),
                                 .in_place = side,
                                 .time_us = read_number(o, "time"),
                                 .wrong = read_number(o, "nwrong") > 0};
        if (!cJSON_IsObject(o))
            continue;
        read_times(m, find_item(result, singles[side]), &row);
        import_row(m, &row);
    }
}

/* What nccl-tests write with -J. */
static int read_json(struct import *m, const cJSON *doc, struct err *e)
{
    const cJSON *results = find_item(doc, "results"), *config = find_item(doc, "config"),
                *devices = find_item(doc, "devices"), *one;
    const cJSON *program = cJSON_GetArrayItem(find_item(doc, "args"), 0);
    if (!cJSON_IsArray(results))
        return err_set(e, ERR_FAILED, "%s: expected what nccl-tests write with -J: there are no \"results\"", m->path);
    if (cJSON_IsString(program))
        import_program(m, program->valuestring);
    import_version(m, (long)json_int(doc, "nccl_version", 0));
    read_env(m, find_item(doc, "env"));
    import_run(m)->graph = json_int(config, "graph", 0) > 0;
    cJSON_ArrayForEach(one, devices) import_host(m, json_str(one, "hostname", "?"));
    cJSON_ArrayForEach(one, results) read_result(m, one);
    return 0;
}

/* ---- files ---- */

static int read_document(struct import *m, struct file_lines *lines, struct err *e)
{
    char *text;
    size_t bytes;
    cJSON *doc = file_lines_rest(lines, &text, &bytes, e) ? NULL : json_parse(text, bytes, m->path, 1, e);
    int rc = doc ? read_json(m, doc, e) : ERR_FAILED;
    cJSON_Delete(doc);
    return rc;
}

static int begins_journal(const char *line)
{
    return line[0] == '{' && strstr(line, "\"format\"");
}

int import_is_journal(const char *path)
{
    struct file_lines lines;
    struct err ignored;
    char *line;
    size_t n, blank = 0;
    int more, journal = 1;
    if (!file_lines_open(&lines, path, BENCH_LIMIT, &ignored)) {
        while ((more = file_lines_next(&lines, &line, &n, &ignored)) > 0 && (blank = strspn(line, BLANKS)) == n)
            ;
        journal = more <= 0 || begins_journal(line + blank);
    }
    file_lines_close(&lines);
    return journal;
}

/* What the first line that is not blank begins: a journal, nccl-tests' document, lines of anything else. */
static int read_file(struct import *m, struct file_lines *lines, struct err *e)
{
    char *line;
    size_t n;
    int more, is_document = 0;
    m->path = lines->path;
    m->line = m->left_line = 0;
    m->programs = 0;
    m->first = m->results->count;
    import_next_run(m);
    import_begin_run(m); /* whatever the file before has left */
    for (int first = 1; (more = file_lines_next(lines, &line, &n, e)) > 0 && m->results->count <= BENCH_MOST;) {
        const size_t blank = strspn(line, BLANKS);
        if (first && line[blank] == '{') {
            const int journal = begins_journal(line + blank);
            file_lines_back(lines);
            m->journals += journal;
            if (journal)
                return bench_results_take(m->results, lines, m->log, e);
            is_document = 1;
            break;
        }
        first = first && blank == n;
        m->line = lines->line;
        read_line(m, line);
    }
    if (!more && !lines->line)
        return err_set(e, ERR_FAILED, "%s: is empty", m->path);
    if (more < 0 || (is_document && read_document(m, lines, e)))
        return ERR_FAILED;
    import_tell_runs(m);
    return bench_results_check_count(m->results, m->path, e);
}

struct bench_results *import_load(const char *const *paths, int npaths, const struct import_given *given,
                                  struct log *log, struct err *e)
{
    struct arena *a = arena_new();
    struct import m = {.given = given, .arena = a, .log = log, .results = ARENA_NEW(a, struct bench_results)};
    int rc = 0;
    m.results->arena = a;
    for (int i = 0; i < npaths && !rc; i++) {
        struct file_lines lines;
        rc = file_lines_open(&lines, paths[i], BENCH_LIMIT, e);
        if (!rc)
            rc = read_file(&m, &lines, e);
        file_lines_close(&lines);
    }
    if (m.warnings > IMPORT_WARNINGS)
        log_warn(log, "%ld more lines left out", m.warnings - IMPORT_WARNINGS);
    if (!rc && !m.results->count && !m.journals)
        rc = err_set(e, ERR_FAILED,
                     m.left_out ? "%s: no row could be taken: %ld left out"
                                : "%s: neither a journal of nccltune nor a table of nccl-tests or rccl-tests",
                     npaths ? paths[0] : "", m.left_out);
    if (rc) {
        bench_results_free(m.results);
        return NULL;
    }
    import_name_candidates(&m);
    return m.results;
}
