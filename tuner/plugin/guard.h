/* Calling what may crash. */
#pragma once

/* Calls f(arg) and hands back its result in *rc. 0; the signal's number when f crashed or aborted: then it was left in
 * the middle, and nothing of its library may be called again. One caller at a time. */
int plugin_guard(int (*f)(void *arg), void *arg, int *rc);
