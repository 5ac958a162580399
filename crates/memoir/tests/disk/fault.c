/* Put before the C library (LD_PRELOAD): lets the n-th write to a database or a key, or read of one, fail, for the
 * tests of faults.
 *
 * DISK_FAULT is KIND:N; DISK_LOG, a file that gets one byte for each write, sync or read that was counted.
 * KIND: write (the write fails), read (the read fails), sync (the sync fails), full (no room is left from then on), cut (half of it is
 * written, and the process is gone). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long counted;

/* Whether it is the one that fails; of `full`, one from then on. */
static int fails(int file, const char *kinds, char *kind) {
    char link[64], path[4096];
    const char *fault = getenv("DISK_FAULT");
    if (!fault) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    *kind = fault[0];
    /* The folder of the master key, whose drafts have names of their own. */
    int is_key = strstr(path, "/.config/memoir") != NULL;
    if (!(is_key || strstr(path, "memoir.db")) || strstr(path, "-shm") || !strchr(kinds, *kind)) return 0;
    long now = __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST), at = atol(strchr(fault, ':') + 1);
    const char *log = getenv("DISK_LOG");
    int written = open(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    ssize_t ignored = write(written, ".", 1);
    (void)ignored;
    close(written);
    return *kind == 'f' ? now >= at : now == at;
}

#define WRITE(name, offset_type)                                                              \
    ssize_t name(int file, const void *bytes, size_t length, offset_type at) {                \
        ssize_t (*real)(int, const void *, size_t, offset_type) = dlsym(RTLD_NEXT, #name);    \
        char kind;                                                                            \
        if (!fails(file, "wfc", &kind)) return real(file, bytes, length, at);                 \
        if (kind == 'c') {                                                                    \
            real(file, bytes, length / 2, at);                                                \
            kill(getpid(), SIGKILL);                                                          \
        }                                                                                     \
        errno = kind == 'f' ? ENOSPC : EIO;                                                   \
        return -1;                                                                            \
    }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

/* A master key is written without SQLite. */
ssize_t write(int file, const void *bytes, size_t length) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    char kind;
    if (!fails(file, "wfc", &kind)) return real(file, bytes, length);
    if (kind == 'c') {
        real(file, bytes, length / 2);
        kill(getpid(), SIGKILL);
    }
    errno = kind == 'f' ? ENOSPC : EIO;
    return -1;
}

#define READ(name, offset_type)                                                         \
    ssize_t name(int file, void *bytes, size_t length, offset_type at) {                \
        ssize_t (*real)(int, void *, size_t, offset_type) = dlsym(RTLD_NEXT, #name);    \
        char kind;                                                                      \
        if (!fails(file, "r", &kind)) return real(file, bytes, length, at);             \
        errno = EIO;                                                                    \
        return -1;                                                                      \
    }
READ(pread, off_t)
READ(pread64, off64_t)

#define SYNC(name)                                          \
    int name(int file) {                                    \
        int (*real)(int) = dlsym(RTLD_NEXT, #name);         \
        char kind;                                          \
        if (!fails(file, "s", &kind)) return real(file);    \
        errno = EIO;                                        \
        return -1;                                          \
    }
SYNC(fsync)
SYNC(fdatasync)
