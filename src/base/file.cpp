// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/unique_fd.h"

namespace assay {

Result<std::string> ReadFile(const std::filesystem::path& path, size_t limit) {
  // O_NONBLOCK: a pipe that somebody left under the name must not hang the open.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Error{code, path.string() + ": " + SystemError("cannot open", errno).message};
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return SystemError(path.string(), errno);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::kInvalidInput, path.string() + ": is not a regular file"};
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path.string(), errno);
    if (got == 0) return bytes;
    if (bytes.size() + static_cast<size_t>(got) > limit) {
      return Error{ErrorCode::kInvalidInput,
                   path.string() + ": larger than the limit of " + std::to_string(limit) + " bytes"};
    }
    bytes.append(buffer, static_cast<size_t>(got));
  }
}

Status WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes) {
  const std::string part = path.string() + ".part." + std::to_string(::getpid());
  {
    const UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd.valid()) return SystemError("cannot write " + part, errno);
    while (!bytes.empty()) {
      const ssize_t put = ::write(fd.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) {
        const int saved = errno;
        ::unlink(part.c_str());
        return SystemError("cannot write " + part, saved);
      }
      bytes.remove_prefix(static_cast<size_t>(put));
    }
    if (::fsync(fd.get()) != 0) return SystemError("cannot sync " + part, errno);
  }
  if (::rename(part.c_str(), path.c_str()) != 0) return SystemError("cannot rename to " + path.string(), errno);
  return Ok();
}

namespace {

// Whose folder it is: process ids mean nothing in another pid namespace that shares the folder.
std::string OwnerMark(pid_t pid) {
  struct stat space {};
  const bool known = ::stat("/proc/self/ns/pid", &space) == 0;
  return std::to_string(known ? space.st_ino : 0) + "-" + std::to_string(pid) + "-";
}

// A killed process cannot clear away; the next one does it.
void ClearAfterTheDead(const std::filesystem::path& base, std::string_view prefix) {
  std::error_code error;
  for (std::filesystem::directory_iterator at_entry(base, error), end; !error && at_entry != end;
       at_entry.increment(error)) {
    const std::filesystem::path folder = at_entry->path();
    const std::string name = folder.filename().string();
    if (!name.starts_with(prefix)) continue;
    const size_t at = name.find('-', prefix.size());
    const pid_t pid = at == std::string::npos ? 0 : static_cast<pid_t>(std::strtol(name.c_str() + at + 1, nullptr, 10));
    const bool ours = pid > 0 && name.starts_with(std::string(prefix) + OwnerMark(pid));
    if (ours && ::kill(pid, 0) != 0 && errno == ESRCH) {
      std::error_code ignored;  // somebody else's may resist
      std::filesystem::remove_all(folder, ignored);
    }
  }
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::Create(std::string_view prefix) {
  const char* named = std::getenv("TMPDIR");
  const std::string base = named != nullptr && *named != '\0' ? named : "/tmp";
  ClearAfterTheDead(base, prefix);
  std::string pattern = base + "/" + std::string(prefix) + OwnerMark(::getpid()) + "XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return SystemError("cannot make a folder like " + pattern, errno);
  return TemporaryFolder(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  std::error_code ignored;  // a leftover in /tmp is not worth an abort
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace assay
