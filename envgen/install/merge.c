/* Our lines in a file that is not ours, between two markers, at its end: NCCL keeps the first of two settings, so the
 * site's own lines win. Everything else stays byte for byte. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/delivered.h"
#include "core/file.h"
#include "core/trust.h"
#include "envgen/install/install.h"

#define BEGIN  DELIVERED_BEGIN ": written by `nccltune install-profile`, removed by its --uninstall"
#define END    DELIVERED_END
#define JOINED " (after a line without an end)" /* so that --uninstall gives that line back as it was */

static const char *behind_line(const char *line)
{
    size_t n = strcspn(line, "\n");
    return line + n + (line[n] == '\n');
}

char *install_merge(const char *old, const char *lines, const char *path, struct arena *a, struct err *e)
{
    old = old ? old : "";
    const char *begin = delivered_line(old, BEGIN), *end = delivered_line(begin ? begin : old, END);
    if (!begin != !end) {
        const char *lone = begin ? begin : end;
        err_at(e, path, 1 + err_lines_before(old, lone), 0,
               "one of nccltune's two marker lines is missing; expected '%s'", begin ? END : BEGIN);
        return NULL;
    }
    const char *head = arena_strndup(a, old, begin ? (size_t)(begin - old) : strlen(old));
    const char *tail = begin ? behind_line(end) : "";
    size_t n = strlen(head);
    int joined = begin ? !strncmp(begin + strlen(BEGIN), JOINED, strlen(JOINED)) : n > 0 && head[n - 1] != '\n';
    if (begin && joined && n)
        head = arena_strndup(a, head, n - 1);
    if (!lines)
        return arena_printf(a, "%s%s", head, tail);
    return arena_printf(a, "%s%s" BEGIN "%s\n%s" END "\n%s", head, joined ? "\n" : "", joined ? JOINED : "", lines,
                        tail);
}

int install_merge_file(const char *path, const char *lines, struct arena *a, struct err *e)
{
    char *old = NULL;
    size_t bytes;
    if ((!access(path, F_OK) || errno != ENOENT) && file_read(path, (size_t)1 << 20, a, &old, &bytes, e))
        return ERR_FAILED;
    const char *text = install_merge(old, lines, path, a, e);
    if (!text)
        return ERR_FAILED;
    if (!*text)
        return old ? trust_unlink(path, e) : 0;
    const mode_t before = umask(022);
    int rc = old && !strcmp(old, text) ? 0 : file_write(path, text, strlen(text), e);
    umask(before);
    return rc;
}
