/* The distance of Damerau and Levenshtein over three rows of its table. */
#include "core/edit_distance.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int least(int a, int b)
{
    return a < b ? a : b;
}

int edit_distance(const char *a, const char *b, int most)
{
    int la = (int)strlen(a), lb = (int)strlen(b);
    int row[3][EDIT_DISTANCE_LENGTH + 1];
    if (la > EDIT_DISTANCE_LENGTH || lb > EDIT_DISTANCE_LENGTH || abs(la - lb) > most)
        return most + 1;
    for (int j = 0; j <= lb; j++)
        row[0][j] = j;
    for (int i = 1; i <= la; i++) {
        int *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= lb; j++) {
            now[j] = least(least(up[j], now[j - 1]) + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], up2[j - 2] + 1);
        }
    }
    return row[la % 3][lb];
}

/* Small letters and digits only; longer words are cut. */
static void plain_word(const char *s, char text[EDIT_DISTANCE_LENGTH + 1])
{
    int n = 0;
    for (; *s && n < EDIT_DISTANCE_LENGTH; s++)
        if (isalnum((unsigned char)*s))
            text[n++] = (char)tolower((unsigned char)*s);
    text[n] = '\0';
}

const char *edit_distance_nearest(const char *word, const char *(*at)(int i), const char *const *words)
{
    char wanted[EDIT_DISTANCE_LENGTH + 1] = "", other[EDIT_DISTANCE_LENGTH + 1] = "";
    const char *best = NULL, *candidate;
    plain_word(word, wanted);
    int length = (int)strlen(wanted), least_so_far = 1 + length / 4;
    for (int i = 0; length > 1 && (candidate = at ? at(i) : words[i]); i++) {
        plain_word(candidate, other);
        /* "ndv5" for azure-ndv5, "gh200-480gb" for gh200. */
        int part = length > 2 && (strstr(other, wanted) || (other[0] && other[1] && strstr(wanted, other)));
        int distance = !strcmp(wanted, other) ? 0 : part ? 1 : edit_distance(wanted, other, least_so_far);
        if (distance < least_so_far || (distance == least_so_far && !best)) {
            best = candidate;
            least_so_far = distance;
        }
    }
    return best;
}
