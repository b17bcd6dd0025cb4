/* Lets msync, fdatasync and fsync fail with EIO while the file named by FAILING_SYNC holds a word. The word is
 * part of the path of the files whose syncs fail; "msync" stands for all maps, and "once" for the first sync of
 * a map, which takes its time: as of a kernel, nobody hears of that failure a second time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int holds(const char *text) {
    char word[256];
    const char *path = getenv("FAILING_SYNC");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0)
        return 0;
    ssize_t length = read(file, word, sizeof word - 1);
    close(file);
    if (length <= 0)
        return 0;
    word[length] = 0;
    return strstr(text, word) != NULL;
}

static int fails(int descriptor) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    if (!holds(path))
        return 0;
    errno = EIO;
    return 1;
}

int msync(void *start, size_t length, int flags) {
    int (*next)(void *, size_t, int) = dlsym(RTLD_NEXT, "msync");
    static atomic_int failed;
    if (holds("once")) {
        if (atomic_exchange(&failed, 1))
            return next(start, length, flags);
        usleep(300000);
        errno = EIO;
        return -1;
    }
    if (holds("msync")) {
        errno = EIO;
        return -1;
    }
    return next(start, length, flags);
}

int fdatasync(int descriptor) {
    int (*next)(int) = dlsym(RTLD_NEXT, "fdatasync");
    return fails(descriptor) ? -1 : next(descriptor);
}

int fsync(int descriptor) {
    int (*next)(int) = dlsym(RTLD_NEXT, "fsync");
    return fails(descriptor) ? -1 : next(descriptor);
}
