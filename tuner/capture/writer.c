/* The writer: a word that counts what was asked for, a word that counts what is done, and futexes on both, because the
 * functions of pthread that would wait with a limit bind newer glibc than containers have. */
#include "tuner/capture/writer.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "tuner/libc/thread.h"

static struct {
    void (*write)(void);
    uint64_t interval_ns;
    _Atomic uint32_t asked, done; /* files; both wrap around */
    _Atomic unsigned late;
    _Atomic int hangs; /* somebody waited in vain */
} writer;

/* While the word is `value`, until the time; UINT64_MAX: for ever. 0: the time has come. */
static int sleep_while(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
    while (atomic_load(word) == value) {
        uint64_t now = clock_now_ns(), left = until_ns - now;
        struct timespec t = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
        if (now >= until_ns)
            return 0;
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, until_ns == UINT64_MAX ? NULL : &t, NULL, 0);
    }
    return 1;
}

static void wake_waiters(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Asked for one by one or due by the clock: what came while a file was being written is made up for by the next. */
static void *write_files(void *unused)
{
    uint64_t next = writer.interval_ns ? clock_now_ns() + writer.interval_ns : UINT64_MAX;
    uint32_t done = atomic_load(&writer.done);
    (void)unused;
    prctl(PR_SET_NAME, "nccltune");
    for (;;) {
        sleep_while(&writer.asked, done, next);
        uint32_t asked = atomic_load(&writer.asked);
        uint64_t began = clock_now_ns();
        if (asked - done > 1)
            atomic_fetch_add(&writer.late, asked - done - 1);
        writer.write();
        atomic_store(&writer.hangs, 0);
        atomic_store(&writer.done, done = asked);
        wake_waiters(&writer.done);
        if (!writer.interval_ns)
            continue;
        atomic_fetch_add(&writer.late, (unsigned)((clock_now_ns() - began) / writer.interval_ns));
        next = clock_now_ns() + writer.interval_ns;
    }
    return NULL;
}

int profiler_writer_start(void (*write)(void), uint64_t interval_ns)
{
    writer.write = write;
    writer.interval_ns = interval_ns;
    return plugin_thread_start(write_files, NULL);
}

void profiler_writer_ask(void)
{
    atomic_fetch_add(&writer.asked, 1);
    wake_waiters(&writer.asked);
}

void profiler_writer_wait(uint64_t patience_ns)
{
    uint64_t until = clock_now_ns() + patience_ns;
    uint32_t asked = atomic_load(&writer.asked), done;
    if (atomic_load(&writer.hangs))
        return;
    while ((int32_t)(asked - (done = atomic_load(&writer.done))) > 0)
        if (!sleep_while(&writer.done, done, until)) {
            atomic_store(&writer.hangs, 1);
            return;
        }
}

unsigned profiler_writer_late(void)
{
    return atomic_load(&writer.late);
}
