// SPDX-License-Identifier: Apache-2.0
#include "sandbox/process_facts.h"

#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "sandbox/session_state.h"

namespace assay {
namespace {

// "SigBlk:\t0000000000000000" -> the part behind the tab.
std::string Field(const std::string& status, std::string_view name) {
  const std::string key = "\n" + std::string(name) + ":\t";
  const size_t at = status.find(key);
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size();
  return status.substr(begin, status.find('\n', begin) - begin);
}

// "START-END PERMISSIONS OFFSET DEVICE INODE      PATH": what can be executed, without the numbers in between.
void AddExecutable(std::string_view line, std::set<std::string>& executable) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.size() < space + 5 || line[space + 3] != 'x') return;
  std::string entry(line.substr(0, space + 5));
  const size_t path = line.find_first_of("/[", space + 5);
  if (path != std::string_view::npos) entry += " " + std::string(line.substr(path));
  executable.insert(std::move(entry));
}

}  // namespace

ProcessFacts ReadProcessFacts(pid_t pid) {
  ProcessFacts facts;
  const std::string folder = "/proc/" + std::to_string(pid);
  const auto maps = ReadFile(folder + "/maps");
  if (!maps.ok() || maps.value().empty()) return facts;
  for (const std::string_view line : Split(maps.value(), '\n')) AddExecutable(line, facts.executable);
  for (const int thread : ThreadsOf(pid)) {
    const auto status = ReadFile(folder + "/task/" + std::to_string(thread) + "/status");
    if (!status.ok()) continue;  // it ends just now
    const std::string all = "\n" + status.value();
    facts.threads[thread] = {Field(all, "Name"), Field(all, "Cpus_allowed"), Field(all, "SigBlk")};
    if (thread != pid) continue;
    facts.ignored = Field(all, "SigIgn");
    facts.caught = Field(all, "SigCgt");
  }
  const auto timers = ReadFile(folder + "/timers");
  facts.timers = timers.ok() && !timers.value().empty();
  facts.readable = facts.threads.contains(pid);
  return facts;
}

std::optional<std::vector<std::string>> ChangesBetween(const ProcessFacts& before, const ProcessFacts& after,
                                                       bool pinned) {
  if (!before.readable || !after.readable) return std::nullopt;
  std::vector<std::string> changes;
  for (const std::string& mapping : after.executable) {
    if (!before.executable.contains(mapping)) changes.push_back("a new executable mapping: " + mapping);
  }
  for (const std::string& mapping : before.executable) {
    if (!after.executable.contains(mapping)) changes.push_back("an executable mapping is gone: " + mapping);
  }
  if (before.caught != after.caught)
    changes.push_back("signal handlers: mask " + before.caught + " became " + after.caught);
  if (before.ignored != after.ignored)
    changes.push_back("ignored signals: mask " + before.ignored + " became " + after.ignored);
  // Fewer, or others, may be OpenMP's doing: it ends threads that a region did not want and makes them anew.
  if (after.threads.size() > before.threads.size()) {
    changes.push_back(std::to_string(before.threads.size()) + " threads became " +
                      std::to_string(after.threads.size()));
  }
  for (const auto& [thread, now] : after.threads) {
    const auto old = before.threads.find(thread);
    if (old == before.threads.end()) continue;
    if (old->second.blocked_signals != now.blocked_signals) {
      changes.push_back("a thread's blocked signals: mask " + old->second.blocked_signals + " became " +
                        now.blocked_signals);
    }
    if (old->second.name != now.name) changes.push_back("a thread was renamed to " + now.name);
    if (!pinned && old->second.processors != now.processors)
      changes.push_back("a thread's processors: mask " + old->second.processors + " became " + now.processors);
  }
  if (after.timers && !before.timers) changes.emplace_back("a timer was left running");
  return changes;
}

}  // namespace assay
