/* What tests of whole jobs share: four ranks as processes of their own with NCCLTUNE_ONLINE, a key and a port of their
 * own, and what each call of each communicator ran with, compared between ranks. */
#ifndef TESTS_UNIT_TUNER_EXPLORE_JOB_H
#define TESTS_UNIT_TUNER_EXPLORE_JOB_H

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "tests/unit/tuner/capture/captured.h"

#define RANKS   4
#define LEAD    40   /* calls that a rank is ahead of another at most, as launches are of kernels */
#define COMMS   4    /* whose choices are compared */
#define KEPT    4096 /* calls of each whose choice is remembered */
#define SETTLED 300  /* calls with the best: it is found */

struct shared {
    _Atomic uint32_t at[RANKS];
    _Atomic uint64_t used[COMMS][KEPT];                          /* the call and 1, and what it ran with */
    _Atomic uint32_t stop, tried, disagreed, told, found, first; /* first: that was tried, and 1 */
    char id[128];                                                /* of the communicator of all */
    _Atomic int has_id;
};
static struct shared *shared;

static inline void use_job(const char *mode, int rank)
{
    char number[16], key[128];
    clear_environment();
    use_capture();
    snprintf(number, sizeof number, "%d", rank);
    snprintf(key, sizeof key, "%s/key", dir);
    setenv("NCCLTUNE_ONLINE", mode, 1);
    setenv("NCCLTUNE_ONLINE_REGRET", "10", 1);
    setenv("NCCLTUNE_ONLINE_KEY_FILE", key, 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", strrchr(dir, '-'), 1); /* a job of its own */
    setenv("WORLD_SIZE", "4", 1);
    setenv("LOCAL_WORLD_SIZE", "4", 1);
    setenv("RANK", number, 1);
}

static inline void keep_pace(uint32_t call)
{
    for (;;) {
        uint32_t slowest = UINT32_MAX;
        for (int i = 0; i < RANKS; i++)
            slowest = shared->at[i] < slowest ? shared->at[i] : slowest;
        if (call <= slowest + LEAD)
            return;
        usleep(200);
    }
}

static inline void note(int comm, uint32_t call, uint32_t choice)
{
    _Atomic uint64_t *place = &shared->used[comm][call % KEPT];
    uint64_t mine = (uint64_t)(call + 1) << 32 | choice, have = *place;
    while (have >> 32 < call + 1)
        if (atomic_compare_exchange_strong(place, &have, mine))
            have = mine;
    shared->disagreed += have != mine;
}

static inline void run_ranks(void (*be_rank)(const void *job, int rank), const void *job)
{
    pid_t ranks[RANKS];
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    shared->stop = UINT32_MAX;
    fflush(NULL);
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = fork();
        if (!ranks[i]) {
            alarm(300);
            be_rank(job, i);
            exit(0);
        }
    }
    for (int i = 0, status; i < RANKS; i++) {
        assert_int_equal(waitpid(ranks[i], &status, 0), ranks[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(shared->disagreed, 0);
}

static inline int end_job(void **state)
{
    munmap(shared, sizeof *shared);
    return remove_dir(state);
}

static inline int put_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    int rc = fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text);
    close(fd);
    return rc;
}

static inline int make_key(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/nccltune-XXXXXX");
    return mkdtemp(dir) ? put_file("key", "0123456789abcdef0123456789abcdef") : -1;
}

#endif
