// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace assay {

// Every limit of a jailed process: one name, one default, one comment.
struct Limits {
  // Bytes of virtual memory beyond the shared buffers; malloc fails above it.
  uint64_t address_space = uint64_t{4} << 30;
  // CPU time of the process over its whole life; a backstop behind the wall clock.
  std::chrono::seconds cpu{3600};
  // The largest file that may be written (build profile; the runner has nothing to write to).
  uint64_t file_size = uint64_t{256} << 20;
  // Open descriptors.
  uint64_t descriptors = 256;
  // The main thread's stack.
  uint64_t stack = uint64_t{64} << 20;
  // Stack of each further thread (OMP_STACKSIZE).
  uint64_t thread_stack = uint64_t{16} << 20;
  // Captured standard output and error together; what is beyond it is dropped.
  uint64_t output = uint64_t{64} << 10;
  // Processes and threads of a build; the runner's budget is SessionSpec::threads.
  uint64_t processes = 128;
  // Wall time: of a whole build, or of a session's start until the artifact is loaded.
  std::chrono::milliseconds wall{20'000};
};

}  // namespace assay
