/* core/hash.c: SHA-256 against the examples of FIPS 180-4 and a long message fed in odd pieces, HMAC-SHA256 against the
 * test cases 1, 2 and 6 of RFC 4231. */
#include "core/hash.h"
#include "tests/lib/unit.h"

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

TEST_CASE(examples)
{
    expect("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t piece = 1; piece < 60; piece++)
        expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", piece,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE(million)
{
    struct sha256 s;
    char got[SHA256_HEX], block[1000];
    memset(block, 'a', sizeof block);
    sha256_init(&s);
    for (int i = 0; i < 1000; i++)
        sha256_update(&s, block, sizeof block);
    sha256_hex(&s, got);
    assert_string_equal(got, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

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

TEST_CASE(published_cases)
{
    unsigned char key[131];
    memset(key, 0x0b, 20);
    assert_mac(key, 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assert_mac("Jefe", 4, "what do ya want for nothing?",
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    assert_mac(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First",
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE(every_bit_counts)
{
    unsigned char a[HMAC_BYTES] = {0}, b[HMAC_BYTES] = {0};
    assert_true(hmac_equal(a, b));
    for (int i = 0; i < 8 * HMAC_BYTES; i++) {
        b[i / 8] ^= (unsigned char)(1 << i % 8);
        assert_false(hmac_equal(a, b));
        b[i / 8] = 0;
    }
}

TEST_CASES(test_hash)
