/* What a node's copy of a profile is made of: names inside the copy, and bytes that follow one another in the store's
 * file. Files are checked where they would be written. */
#include <stdlib.h>
#include <string.h>

#include "core/trust.h"

#define trust_put   check_file
#define trust_enter enter_nothing

static const char *behind; /* the last file */

static int check_file(int dir, const char *name, const void *data, size_t bytes, mode_t mode)
{
    (void)mode;
    const char *at = data;
    if (dir != 7 || !*name || *name == '.' || *name == '/' || name[strcspn(name, "/\n")] || at < behind)
        abort();
    behind = at + bytes;
    return 0;
}

static int enter_nothing(int dir, const char *name, mode_t make)
{
    (void)name;
    (void)make;
    return dir;
}

#include "slurm/hook_copy.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char format[] = HOOK_NODE_FORMAT;
    const size_t head = sizeof format - 1;
    struct hook_file f = {.bytes = head + bytes, .text = malloc(head + bytes + 1)};
    if (!f.text)
        return 0;
    memcpy(f.text, format, head);
    memcpy(f.text + head, data, bytes);
    f.text[f.bytes] = 0; /* as hook_read_at leaves one */
    behind = f.text + head;
    int rc = write_files(7, &f);
    if (behind > f.text + f.bytes || (!rc && behind != f.text + f.bytes))
        abort();
    free(f.text);
    return 0;
}
