// Ends a program of the tests (SIGKILL) before one of its system calls that change names or sync files: the
// functions here stand for the C library's, and count. For one source of a program.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

namespace {

long calls = 0, last_call = 0;  // last_call: 0: none

void count() {
  if (++calls == last_call) static_cast<void>(std::raise(SIGKILL));
}

}  // namespace

// These stand for the C library's in this program alone.
extern "C" {
int rename(const char* from, const char* to) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_renameat, from_folder, from, to_folder, to));
}
int link(const char* from, const char* to) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
int unlink(const char* path) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}
int mkdir(const char* path, mode_t mode) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_mkdirat, folder, path, mode));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
int rmdir(const char* path) noexcept {
  count();
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}
int fsync(int fd) {
  count();
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
}
