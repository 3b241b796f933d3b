/* Files, without the functions of libc that bind a newer glibc than containers have. */
#pragma once

#include <stddef.h>

/* Read a regular file of at most `most` bytes. Return 0 with its text, ended by 0 and freed by the caller; or an errno
 * with `*text` NULL: EISDIR, ESPIPE of what has no end, such as a pipe, EFBIG. */
int plugin_read_file(const char *path, size_t most, char **text, size_t *bytes);
