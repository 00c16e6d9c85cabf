// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "sandbox/report.h"
#include "sandbox/session_state.h"

namespace assay {
namespace {

constexpr int kRounds = 10;
constexpr size_t kMostThreads = 64;

}  // namespace

std::vector<int> ThreadsOf(pid_t pid) {
  std::vector<int> threads;
  std::error_code failed;
  // The process may end while its threads are listed; the operator ++ of a plain loop would throw.
  const std::filesystem::directory_iterator end;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/task", failed);
  for (; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename();
    int thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (threads.size() < kMostThreads) threads.push_back(thread);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

namespace {

// "NUMBER arg... stack-pointer program-counter", where NUMBER is -1 outside of system calls.
ThreadSample ReadSample(pid_t pid, int thread) {
  ThreadSample sample{};
  const std::string path = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/syscall";
  std::string line = ReadProcFile(path);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  if (line.empty()) return sample;
  sample.in_system_call = line.rfind("-1 ", 0) != 0;
  const size_t last = line.find_last_of(' ');
  if (last == std::string::npos) return sample;
  unsigned long long counter = 0;
  if (std::sscanf(line.c_str() + last, "%llx", &counter) == 1) sample.program_counter = counter;
  return sample;
}

}  // namespace

std::string ReadProcFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t got = fd.valid() ? ::read(fd.get(), text, sizeof(text)) : 0;
  return std::string(text, got > 0 ? static_cast<size_t>(got) : 0);
}

std::vector<ThreadSample> SampleThreads(Session::State& state) {
  std::vector<ThreadSample> samples;
  const ArtifactRange artifact = ReadArtifact(*state.report);
  for (int round = 0; round < kRounds; ++round) {
    const auto ending = state.process->Stop(false);
    if (!ending.ok() || ending.value()) return {};
    const pid_t pid = state.process->job();
    int ordinal = 0;
    for (const int thread : ThreadsOf(pid)) {
      ThreadSample sample = ReadSample(pid, thread);
      sample.round = round;
      sample.thread = ordinal++;
      sample.artifact_offset = artifact.OffsetOf(sample.program_counter);
      samples.push_back(sample);
    }
    if (round + 1 == kRounds) break;
    state.process->Continue();
    // Uneven gaps, so that a loop's period cannot hide in them; nothing waits for this to pass.
    std::this_thread::sleep_for(std::chrono::microseconds(700 + 370 * round));
  }
  return samples;
}

}  // namespace assay
