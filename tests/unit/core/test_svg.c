/* Words from anywhere in a picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/svg.h"

static void check(const char *s, int most, const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    svg_put(out, s, most);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void marks_are_escaped(void **state)
{
    (void)state;
    check("a<b & \"c\" > 'd'", SVG_WHOLE, "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;");
    check("a\n\033[31mb\177", SVG_WHOLE, "a[31mb");
}

static void long_text_is_cut_at_a_letter(void **state)
{
    (void)state;
    check("mlx5_0", 6, "mlx5_0");
    check("mlx5_10", 6, "mlx5_1…");
    check("同步", 3, "同…");
    check("同步", 4, "同步"); /* a letter that has begun is finished */
    check("", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_escaped),
        cmocka_unit_test(long_text_is_cut_at_a_letter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
