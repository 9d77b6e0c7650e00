/* Disturbs one call of a program to the system: loaded before the C library by LD_PRELOAD, for the tests in disturbed.rs.
 *
 * Calls about files of the test are counted: those that were opened by a path outside the system's directories, and standard output. The call
 * with the number CRFKIT_FAULT_AT is disturbed as CRFKIT_FAULT says:
 *   fail   it fails with ENOSPC (writing) or EIO
 *   short  it reads or writes half of its bytes, and the next one fails
 *   again  it fails with EINTR once, as an interrupted call does, and succeeds when it is tried again
 *   drip   it and all that follow read or write one byte
 *   kill   it writes half of its bytes, and the process is killed
 *   term   the process gets SIGTERM, and the call is made
 * At the end, the number of calls is written to the file CRFKIT_FAULT_COUNT, if it is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls, broken;
static atomic_char watched[1024] = {0, 1};

static long number(void) {
    const char *at = getenv("CRFKIT_FAULT_AT");
    return at ? atol(at) : 0;
}

static int is(const char *how) {
    const char *wanted = getenv("CRFKIT_FAULT");
    return wanted && strcmp(wanted, how) == 0;
}

/* Whether a path is one of the test's. */
static int ours(const char *path) {
    static const char *others[] = {"/proc", "/sys", "/dev", "/etc", "/usr", "/lib"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strncmp(path, others[k], strlen(others[k])) == 0) return 0;
    return 1;
}

static int open_ours(int fd) { return fd >= 0 && fd < 1024 && atomic_load(&watched[fd]); }

static void watch(int fd, const char *path) {
    if (fd >= 0 && fd < 1024) atomic_store(&watched[fd], ours(path));
}

enum action { GO, FAIL, HALF, ONE, AGAIN };

/* Counts a call, and says what becomes of it. */
static enum action turn(int moves_bytes) {
    long now = atomic_fetch_add(&calls, 1) + 1, at = number();
    if (at == 0 || now < at) return GO;
    if (is("drip")) return moves_bytes ? ONE : GO;
    if (is("short") && moves_bytes) {
        /* Not every disturbed call is one that moves bytes: the first such call from there on is cut. */
        long stage = atomic_fetch_add(&broken, 1);
        return stage == 0 ? HALF : stage == 1 ? FAIL : GO;
    }
    if (now > at) return GO;
    if (is("again")) return AGAIN;
    if (is("fail")) return FAIL;
    if (is("kill")) {
        if (moves_bytes) return HALF; /* the caller kills after half of it */
        raise(SIGKILL);
    }
    if (is("term")) kill(getpid(), SIGTERM);
    return GO;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int refused(int error) {
    errno = error;
    return -1;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = va_arg(rest, mode_t);                                                                            \
        va_end(rest);                                                                                                  \
        if (ours(path)) {                                                                                              \
            enum action action = turn(0);                                                                              \
            if (action == FAIL) return refused(flags & (O_WRONLY | O_RDWR) ? ENOSPC : EIO);                            \
            if (action == AGAIN) return refused(EINTR);                                                                \
        }                                                                                                              \
        int fd = REAL(name)(path, flags, mode);                                                                        \
        watch(fd, path);                                                                                               \
        return fd;                                                                                                     \
    }
OPEN(open)
OPEN(open64)

ssize_t read(int fd, void *bytes, size_t n) {
    if (open_ours(fd) && n > 0) switch (turn(1)) {
        case FAIL: return refused(EIO);
        case AGAIN: return refused(EINTR);
        case HALF:
            if (is("kill")) raise(SIGKILL);
            n = (n + 1) / 2;
            break;
        case ONE: n = 1; break;
        case GO: break;
        }
    return REAL(read)(fd, bytes, n);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    if (open_ours(fd) && n > 0) switch (turn(1)) {
        case FAIL: return refused(ENOSPC);
        case AGAIN: return refused(EINTR);
        case HALF: {
            ssize_t done = REAL(write)(fd, bytes, (n + 1) / 2);
            if (is("kill")) raise(SIGKILL);
            return done;
        }
        case ONE: n = 1; break;
        case GO: break;
        }
    return REAL(write)(fd, bytes, n);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (open_ours(fd) && count > 0) return write(fd, parts[0].iov_base, parts[0].iov_len);
    return REAL(writev)(fd, parts, count);
}

int fsync(int fd) {
    if (open_ours(fd)) {
        enum action action = turn(0);
        if (action == FAIL) return refused(EIO);
        if (action == AGAIN) return refused(EINTR);
    }
    return REAL(fsync)(fd);
}

int rename(const char *from, const char *to) {
    if (ours(to) && turn(0) == FAIL) return refused(ENOSPC);
    return REAL(rename)(from, to);
}

int unlink(const char *path) {
    if (ours(path) && turn(0) == FAIL) return refused(EIO);
    return REAL(unlink)(path);
}

#define MAP(name, offset_type)                                                                                         \
    void *name(void *place, size_t n, int access, int flags, int fd, offset_type offset) {                             \
        if (open_ours(fd) && !(flags & MAP_ANONYMOUS) && turn(0) == FAIL) {                                            \
            errno = ENODEV;                                                                                            \
            return MAP_FAILED;                                                                                         \
        }                                                                                                              \
        return REAL(name)(place, n, access, flags, fd, offset);                                                        \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

int close(int fd) {
    if (fd > 2 && fd < 1024) atomic_store(&watched[fd], 0);
    return REAL(close)(fd);
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("CRFKIT_FAULT_COUNT");
    if (!path) return;
    FILE *file = fopen(path, "w");
    if (!file) return;
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
}
