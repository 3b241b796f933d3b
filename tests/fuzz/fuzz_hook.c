/* Everything that nccltune-hook parses: map, schedule lines, settings, lists of nodes. The files of slurm/ are taken in
 * whole, because what parses a text that was read is private to them. */
#include "slurm/hook_map.c"
#define take_line take_schedule_line
#include "slurm/hook_store.c"
#undef take_line

static int count(void *arg, const char *host, struct err *w)
{
    (void)host;
    (void)w;
    return ++*(int *)arg > 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct hook_settings settings;
    static struct hook_answer answer, again;
    static char printed[HOOK_OUTPUT];
    struct err why = {0}, other = {0};
    struct hook_job job = {.lists = {"n[1-3]"}, .nlists = 1, .partition = "main", .start = 1000};
    struct hook_choice choice = {.near = 0};
    int hosts = 0, mixed = 0;
    char *text = malloc(bytes + 1), *copy = malloc(bytes + 1);
    struct hook_map *m = calloc(1, sizeof *m);
    if (!text || !copy || !m || memchr(data, 0, bytes))
        goto out;
    memcpy(text, data, bytes);
    text[bytes] = 0;
    memcpy(copy, text, bytes + 1);
    m->file = (struct hook_file){.text = copy, .bytes = bytes};
    if (!parse(m, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "map", &why))
        hook_map_fits(m, &job, &mixed, &why);
    hook_nodes_each(text, count, &hosts, &why);
    hook_settings_ours(&settings, text);
    settings.count = 0;
    memcpy(copy, text, bytes + 1);
    hook_settings_add(&settings, "conf", copy);
    settings.count = settings.dropped = 0;
    memcpy(copy, text, bytes + 1);
    /* What can be read can be written, and is read as the same. */
    if (!hook_answer_parse(&answer, copy, "answer", &other) && !hook_answer_print(&answer, printed, sizeof printed) &&
        hook_answer_parse(&again, printed, "answer", &other))
        abort();
    take_schedule_line(text, &job, &choice, &why);
out:
    free(text);
    free(copy);
    if (m)
        free(m->hosts);
    free(m);
    return 0;
}
