/* core/sha256.c against the examples of FIPS 180-4 and a long message fed in odd pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/sha256.h"

static void expect(const char *text, size_t piece, const char *hex)
{
    struct sha256 s;
    char got[SHA256_HEX];
    sha256_init(&s);
    for (size_t at = 0, len = strlen(text); at < len; at += piece)
        sha256_update(&s, text + at, len - at < piece ? len - at : piece);
    sha256_hex(&s, got);
    assert_string_equal(got, hex);
}

static void examples(void **state)
{
    (void)state;
    expect("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t piece = 1; piece < 60; piece++)
        expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", piece,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void million(void **state)
{
    (void)state;
    struct sha256 s;
    char got[SHA256_HEX], block[1000];
    memset(block, 'a', sizeof block);
    sha256_init(&s);
    for (int i = 0; i < 1000; i++)
        sha256_update(&s, block, sizeof block);
    sha256_hex(&s, got);
    assert_string_equal(got, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples), cmocka_unit_test(million)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
