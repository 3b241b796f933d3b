/* HMAC-SHA256 against the test cases 1, 2 and 6 of RFC 4231. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/hmac.h"

static void assert_mac(const void *key, size_t nkey, const char *data, const char *expected)
{
    struct hmac h;
    unsigned char mac[HMAC_BYTES];
    char hex[2 * HMAC_BYTES + 1];
    hmac_init(&h, key, nkey);
    hmac_update(&h, data, strlen(data) / 2);
    hmac_update(&h, data + strlen(data) / 2, strlen(data) - strlen(data) / 2);
    hmac_end(&h, mac);
    for (int i = 0; i < HMAC_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", mac[i]);
    assert_string_equal(hex, expected);
}

static void published_cases(void **state)
{
    (void)state;
    unsigned char key[131];
    memset(key, 0x0b, 20);
    assert_mac(key, 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assert_mac("Jefe", 4, "what do ya want for nothing?",
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    assert_mac(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First",
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void every_bit_counts(void **state)
{
    (void)state;
    unsigned char a[HMAC_BYTES] = {0}, b[HMAC_BYTES] = {0};
    assert_true(hmac_equal(a, b));
    for (int i = 0; i < 8 * HMAC_BYTES; i++) {
        b[i / 8] ^= (unsigned char)(1 << i % 8);
        assert_false(hmac_equal(a, b));
        b[i / 8] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published_cases), cmocka_unit_test(every_bit_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
