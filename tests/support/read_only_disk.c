/* Loaded before the C library: while the file named by READ_ONLY_WHILE is there, whatever changes files below READ_ONLY_BELOW
   fails as on a disk that the kernel has made read-only after an error, files that are open included. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int switched(void) {
  const char *flag = getenv("READ_ONLY_WHILE");
  int before = errno, found = flag && syscall(SYS_access, flag, F_OK) == 0;
  errno = before;
  return found;
}
static int below(const char *path) {
  const char *root = getenv("READ_ONLY_BELOW");
  return root && path && strncmp(path, root, strlen(root)) == 0;
}
static int shut_handle(int handle) {
  char link[64], path[PATH_MAX];
  if (!switched()) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return below(path);
}
static int shut_path(int folder, const char *path) {
  if (!path || !switched()) return 0;
  if (path[0] == '/') return below(path);
  if (folder != AT_FDCWD) return shut_handle(folder);
  char here[PATH_MAX];
  return getcwd(here, sizeof here) && below(here);
}
#define REFUSE(test) do { if (test) { errno = EROFS; return -1; } } while (0)
#define REAL(name) (dlsym(RTLD_NEXT, name))
#define OPENING(NAME, CALL)                                                                  \
  {                                                                                          \
    mode_t mode = 0;                                                                         \
    if (flags & (O_CREAT | __O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); } \
    REFUSE((flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) && shut_path(folder, path));    \
    return CALL;                                                                             \
  }
int open(const char *path, int flags, ...) { int folder = AT_FDCWD; OPENING("open", syscall(SYS_openat, folder, path, flags, mode)) }
int open64(const char *path, int flags, ...) { int folder = AT_FDCWD; OPENING("open64", syscall(SYS_openat, folder, path, flags, mode)) }
int openat(int folder, const char *path, int flags, ...) OPENING("openat", syscall(SYS_openat, folder, path, flags, mode))
int openat64(int folder, const char *path, int flags, ...) OPENING("openat64", syscall(SYS_openat, folder, path, flags, mode))
ssize_t write(int handle, const void *from, size_t size) { REFUSE(shut_handle(handle)); return syscall(SYS_write, handle, from, size); }
ssize_t pwrite(int handle, const void *from, size_t size, off_t at) { REFUSE(shut_handle(handle)); return syscall(SYS_pwrite64, handle, from, size, at); }
ssize_t pwrite64(int handle, const void *from, size_t size, off64_t at) { REFUSE(shut_handle(handle)); return syscall(SYS_pwrite64, handle, from, size, at); }
ssize_t writev(int handle, const struct iovec *parts, int count) { REFUSE(shut_handle(handle)); return syscall(SYS_writev, handle, parts, count); }
int ftruncate(int handle, off_t size) { REFUSE(shut_handle(handle)); return syscall(SYS_ftruncate, handle, size); }
int ftruncate64(int handle, off64_t size) { REFUSE(shut_handle(handle)); return syscall(SYS_ftruncate, handle, size); }
int fallocate(int handle, int mode, off_t at, off_t size) { REFUSE(shut_handle(handle)); return syscall(SYS_fallocate, handle, mode, at, size); }
int fallocate64(int handle, int mode, off64_t at, off64_t size) { REFUSE(shut_handle(handle)); return syscall(SYS_fallocate, handle, mode, at, size); }
int posix_fallocate(int handle, off_t at, off_t size) { if (shut_handle(handle)) return EROFS; return syscall(SYS_fallocate, handle, 0, at, size) ? errno : 0; }
int posix_fallocate64(int handle, off64_t at, off64_t size) { if (shut_handle(handle)) return EROFS; return syscall(SYS_fallocate, handle, 0, at, size) ? errno : 0; }
int fchmod(int handle, mode_t mode) { REFUSE(shut_handle(handle)); return syscall(SYS_fchmod, handle, mode); }
int rename(const char *old, const char *path) { REFUSE(shut_path(AT_FDCWD, old) || shut_path(AT_FDCWD, path)); return syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, path, 0); }
int renameat(int folder, const char *old, int other, const char *path) { REFUSE(shut_path(folder, old) || shut_path(other, path)); return syscall(SYS_renameat2, folder, old, other, path, 0); }
int link(const char *old, const char *path) { REFUSE(shut_path(AT_FDCWD, path)); return syscall(SYS_linkat, AT_FDCWD, old, AT_FDCWD, path, 0); }
int linkat(int folder, const char *old, int other, const char *path, int flags) { REFUSE(shut_path(other, path)); return syscall(SYS_linkat, folder, old, other, path, flags); }
int unlink(const char *path) { REFUSE(shut_path(AT_FDCWD, path)); return syscall(SYS_unlinkat, AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { REFUSE(shut_path(folder, path)); return syscall(SYS_unlinkat, folder, path, flags); }
int rmdir(const char *path) { REFUSE(shut_path(AT_FDCWD, path)); return syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR); }
int mkdir(const char *path, mode_t mode) { REFUSE(shut_path(AT_FDCWD, path)); return syscall(SYS_mkdirat, AT_FDCWD, path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { REFUSE(shut_path(folder, path)); return syscall(SYS_mkdirat, folder, path, mode); }
int symlink(const char *to, const char *path) { REFUSE(shut_path(AT_FDCWD, path)); return syscall(SYS_symlinkat, to, AT_FDCWD, path); }
int utimensat(int folder, const char *path, const struct timespec times[2], int flags) { REFUSE(path ? shut_path(folder, path) : shut_handle(folder)); return syscall(SYS_utimensat, folder, path, times, flags); }
