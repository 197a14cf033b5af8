// FNV-1a, with letters folded to lower case.
#include <stddef.h>
#include <stdint.h>

uint64_t words_hash(const unsigned char *text, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = text[i];
        if (c >= 'A' && c <= 'Z')
            c += 'a' - 'A';
        hash = (hash ^ c) * 0x100000001b3u;
    }
    return hash;
}
