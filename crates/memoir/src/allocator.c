/* Limits of glibc's allocator, set before the first thread starts. */
#include <malloc.h>

__attribute__((constructor)) static void limit_allocator(void) {
    /* By default, eight arenas for each processor: each keeps what its threads have freed, so that a service grows to
       several times what it uses. */
    mallopt(M_ARENA_MAX, 2);
    /* Larger blocks are given back when they are freed. A fixed value: by default it rises to the largest block that was
       freed, up to 32 MB, and such blocks then stay in the arenas. */
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
}
