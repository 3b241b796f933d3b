/* What a program writes, held as a whole against a file of tests/fixtures that somebody has read and found right. */
#pragma once

#include "tests/lib/unit.h"

/* Says the first line that differs. With NCCLTUNE_WRITE_FIXTURES set the file is written anew instead: read then what
 * has become of it. */
static inline void assert_whole(const char *text, const char *path)
{
    static char want[1 << 20];
    FILE *f = fopen(path, getenv("NCCLTUNE_WRITE_FIXTURES") ? "w+" : "r");
    if (!f)
        fail_msg("%s: cannot be opened", path);
    if (getenv("NCCLTUNE_WRITE_FIXTURES")) {
        fputs(text, f);
        rewind(f);
    }
    want[fread(want, 1, sizeof want - 1, f)] = 0;
    fclose(f);
    size_t same = 0, line = 1, start = 0;
    for (; text[same] && text[same] == want[same]; same++)
        if (text[same] == '\n') {
            line++;
            start = same + 1;
        }
    if (text[same] != want[same])
        fail_msg("%s:%zu: here is\n%.*s\ninstead of\n%.*s\n(NCCLTUNE_WRITE_FIXTURES=1 writes the file anew)", path,
                 line, (int)strcspn(text + start, "\n"), text + start, (int)strcspn(want + start, "\n"), want + start);
}
