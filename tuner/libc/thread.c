/* pthread_create has moved from one library of glibc's to another, so it is looked for among what is loaded. */
#include "tuner/libc/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "tuner/libc/elf.h"

int plugin_thread_start(void *(*run)(void *arg), void *arg)
{
    static const char here = 0;
    const void *at = plugin_elf_function("pthread_create");
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (!at || !plugin_elf_stay(&here) || pthread_attr_init(&attributes))
        return ENOSYS;
    memcpy(&create, &at, sizeof create); /* ISO C has no cast from object to function pointer */
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* of this thread, on Linux; the new one inherits it */
    int error = create(&thread, &attributes, run, arg);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return error;
}
