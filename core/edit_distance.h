/* Edit distance of two words, for "did you mean". */
#pragma once

#define EDIT_DISTANCE_LENGTH 64 /* words above are far from everything */

/* Letters to insert, remove, replace or swap with the neighbour to turn one word into the other (Damerau, restricted);
 * anything above `most` may be returned as most + 1. */
int edit_distance(const char *a, const char *b, int most);

/* Guess the word that was meant by `word`: the nearest of at(0), at(1), … up to a NULL, or without `at` of
 * `words`, whatever the case, and without what is no letter or digit; a part of a name is near it. NULL when nothing is
 * near. */
const char *edit_distance_nearest(const char *word, const char *(*at)(int i), const char *const *words);
