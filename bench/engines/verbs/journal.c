/* Lines of a measurement under way. */
#include "bench/engines/verbs/journal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"

#define LIMIT ((size_t)1 << 30)

const char *verbs_journal_path(const char *document, struct arena *a)
{
    return arena_printf(a, "%s.journal", document);
}

static int check_head(const char *line, const char *path, const char *what, struct err *e)
{
    cJSON *head = json_parse(line, strlen(line), path, 1, e);
    int code = head ? json_check_format(head, VERBS_JOURNAL_FORMAT, path, e) : ERR_FAILED;
    const char *then = json_str(head, "what", "");
    if (!code && strcmp(then, what) != 0)
        code =
            err_set(e, ERR_FAILED, "%s: was begun for something else: \"%s\", and now it is \"%s\"", path, then, what);
    cJSON_Delete(head);
    return code;
}

/* What is there; `*kept` gets the bytes up to the end of the last whole line. */
static int read_old(struct verbs_journal *j, const char *what, struct arena *a, off_t *kept, struct err *e)
{
    char *text, *newline;
    size_t bytes;
    int code = file_read(j->path, LIMIT, a, &text, &bytes, e), n = 0;
    for (char *line = text; !code && (newline = memchr(line, '\n', bytes - (size_t)(line - text)));
         line = newline + 1) {
        *newline = '\0';
        *kept = newline + 1 - text;
        if (n++ == 0) {
            code = check_head(line, j->path, what, e);
            continue;
        }
        j->lines = arena_grow(a, j->lines, (size_t)j->nlines, sizeof *j->lines);
        j->lines[j->nlines++] = line;
    }
    return code;
}

int verbs_journal_open(struct verbs_journal *j, const char *path, const char *what, int resume, struct arena *a,
                       struct err *e)
{
    off_t kept = 0;
    *j = (struct verbs_journal){.path = path, .fd = -1};
    int code = resume && !access(path, F_OK) ? read_old(j, what, a, &kept, e) : 0;
    if (code)
        return code;
    j->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (j->fd < 0 || ftruncate(j->fd, kept)) {
        code = err_errno(e, "%s: cannot be written", path);
        verbs_journal_close(j, 0);
        return code;
    }
    if (kept)
        return 0;
    cJSON *head = cJSON_CreateObject();
    cJSON_AddStringToObject(head, "format", VERBS_JOURNAL_FORMAT);
    json_add_str(head, "what", what);
    char *line = cJSON_PrintUnformatted(head);
    code = line ? verbs_journal_add(j, line, e) : err_set(e, ERR_FAILED, "out of memory");
    free(line);
    cJSON_Delete(head);
    return code;
}

int verbs_journal_add(struct verbs_journal *j, const char *line, struct err *e)
{
    size_t n = strlen(line);
    struct iovec parts[] = {{(void *)(uintptr_t)line, n}, {"\n", 1}};
    if (j->fd >= 0 && (writev(j->fd, parts, 2) != (ssize_t)n + 1 || fdatasync(j->fd)))
        return err_errno(e, "%s: cannot be written", j->path);
    return 0;
}

void verbs_journal_close(struct verbs_journal *j, int complete)
{
    if (j->fd < 0)
        return;
    close(j->fd);
    if (complete)
        unlink(j->path);
    j->fd = -1;
}
