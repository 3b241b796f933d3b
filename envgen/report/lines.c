/* What a job script needs of a profile, to be pasted. */
#include <string.h>

#include "core/file.h"
#include "core/locate.h"
#include "core/vars/text.h"
#include "envgen/report/report.h"
#include "tuner/table/table.h"

const char *env_report_word(struct arena *a, const char *path)
{
    const char *quoted = env_path_ok(path) ? path : env_shell_quote(a, path);
    return quoted ? quoted : path;
}

static int sets(const struct env_decisions *d, const char *family)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].family, family) && d->settings[i].value)
            return 1;
    return 0;
}

/* Whether tuner.csv says anything, so that a job needs the plugin. */
static int has_rules(struct arena *a, const struct env_profile *p)
{
    struct tuner_table table = {0};
    char *text;
    size_t bytes;
    int found = !file_read_text(arena_printf(a, "%s/tuner.csv", p->dir), TUNER_BYTES_LIMIT, a, &text, &bytes, NULL) &&
                !tuner_table_parse(&table, text, bytes, NULL, NULL) && table.count;
    tuner_table_free(&table);
    return found;
}

const char **env_report_lines(const struct env_profile *p, struct arena *a)
{
    const char **lines = arena_alloc(a, 5 * sizeof *lines), *plugin = locate_plugin(a, NULL);
    int n = 0;
    if (sets(p->decisions, BENCH_FAMILY_NCCL))
        lines[n++] = arena_printf(a, "source %s", env_report_word(a, arena_printf(a, "%s/nccl.sh", p->dir)));
    if (sets(p->decisions, BENCH_FAMILY_OPENMPI))
        lines[n++] = arena_printf(a, "source %s", env_report_word(a, arena_printf(a, "%s/openmpi.sh", p->dir)));
    if (plugin && has_rules(a, p)) {
        lines[n++] = arena_printf(a, "export NCCLTUNE_PROFILE=%s", env_report_word(a, p->dir));
        lines[n++] = arena_printf(a, "export NCCL_TUNER_PLUGIN=%s", env_report_word(a, plugin));
    }
    return lines;
}
