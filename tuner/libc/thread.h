/* A thread of the plugin's own in a process that is not. */
#pragma once

/* Starts a detached thread that blocks all signals and keeps the plugin loaded until the end of the process: it runs
 * our code. 0, or an errno. */
int plugin_thread_start(void *(*run)(void *arg), void *arg);
