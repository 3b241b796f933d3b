/* core/progress.c and core/log.c on a file that is no terminal: plain lines, few of them, nothing that controls one. */
#include "core/log.h"
#include "core/progress.h"
#include "tests/lib/unit.h"

/* What `write` prints to a temporary file. */
static void expect_output(void (*write)(FILE *), const char *want)
{
    char got[1024] = "";
    FILE *f = tmpfile();
    assert_non_null(f);
    write(f);
    rewind(f);
    got[fread(got, 1, sizeof got - 1, f)] = 0;
    fclose(f);
    assert_string_equal(got, want);
}

static void one_line_in_ten_seconds(FILE *f)
{
    struct progress p;
    progress_start(&p, f);
    for (int i = 1; i < 100; i++)
        progress_update(&p, i / 100.0, i == 1 ? 90 : -1, "allreduce 64 KiB");
    progress_clear(&p);
}

TEST_CASE(plain_lines)
{
    expect_output(one_line_in_ten_seconds, "  1% done, 1 min 30 s left: allreduce 64 KiB\n");
}

TEST_CASE(silent_progress)
{
    struct progress p;
    progress_start(&p, NULL);
    progress_update(&p, 0.5, 1, "x");
    progress_clear(&p);
    progress_update(NULL, 0.5, 1, "x");
    progress_clear(NULL);
}

static void log_lines(FILE *f)
{
    struct log l = {.out = f, .program = "probe"};
    log_info(&l, "%d GPUs", 8);
    log_warn(&l, "name \033[2J%s", "mlx5_0\n");
    l.quiet = 1;
    log_info(&l, "not said");
    log_warn(&l, "said");
    log_info(NULL, "nowhere");
}

TEST_CASE(logged)
{
    expect_output(log_lines, "probe: 8 GPUs\nprobe: warning: name ?[2Jmlx5_0?\nprobe: warning: said\n");
}

TEST_CASES(test_progress)
