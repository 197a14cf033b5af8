// Uses every function of libunseen_malloc.so and checks what the C library promises. Run by driver/tests/allocator.rs.
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int filled(const unsigned char *p, size_t n, unsigned char with) {
    while (n--)
        if (*p++ != with)
            return 0;
    return 1;
}

static void *work(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed;
    unsigned char *live[64] = {0};
    size_t size[64] = {0};
    for (int i = 0; i < 20000; i++) {
        state = state * 1664525 + 1013904223;
        unsigned at = state >> 26;
        assert(filled(live[at], size[at], (unsigned char)at));
        size[at] = state % 5000;
        live[at] = realloc(live[at], size[at] + 1);
        memset(live[at], (int)at, size[at]);
    }
    for (int at = 0; at < 64; at++)
        free(live[at]);
    return 0;
}

int main(void) {
    const char *names[] = {"malloc", "calloc", "realloc", "reallocarray", "free", "posix_memalign", "aligned_alloc", "memalign", "malloc_usable_size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Dl_info info;
        assert(dladdr(dlsym(RTLD_DEFAULT, names[i]), &info) && strstr(info.dli_fname, "libunseen_malloc.so"));
    }
    assert(filled(calloc(1000, 7), 7000, 0));
    assert(!calloc(SIZE_MAX / 2, 3));
    assert(!reallocarray(0, SIZE_MAX / 2, 3));
    for (size_t alignment = 16; alignment <= 65536; alignment *= 2) {
        void *p = 0;
        assert(!posix_memalign(&p, alignment, 100) && (uintptr_t)p % alignment == 0);
        void *q = aligned_alloc(alignment, alignment), *r = memalign(alignment, 33);
        assert((uintptr_t)q % alignment == 0 && (uintptr_t)r % alignment == 0 && malloc_usable_size(r) >= 33);
        free(p), free(q), free(r);
    }
    void *p = 0;
    assert(posix_memalign(&p, 3, 8) == EINVAL);
    free(0);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work, (void *)(uintptr_t)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    if (!fork())
        _exit(work((void *)9) != 0);
    int status;
    wait(&status);
    assert(!status);
    puts("fine");
    return 0;
}
