// SPDX-License-Identifier: Apache-2.0
#include "measure/environment.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

namespace assay {
namespace {

// What is gone, such as a process that ended between the listing and the reading, is empty.
std::string ReadAll(const std::filesystem::path& path) {
  Result<std::string> text = ReadFile(path);
  return text.ok() ? std::move(text).value() : std::string();
}

// The value of the first "key : value" line.
std::string FieldOf(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && Trim(line.substr(0, colon)) == key)
      return std::string(Trim(line.substr(colon + 1)));
  }
  return "";
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : Split(text, ' ')) {
    if (!Trim(word).empty()) words.push_back(Trim(word));
  }
  return words;
}

double NumberOf(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// How many numbers a list such as "0-3,8" has.
int CountOfList(std::string_view list) {
  int count = 0;
  for (const std::string_view range : Split(list, ',')) {
    const size_t dash = range.find('-');
    if (range.empty()) continue;
    const double first = NumberOf(range),
                 last = dash == std::string_view::npos ? first : NumberOf(range.substr(dash + 1));
    count += static_cast<int>(last - first) + 1;
  }
  return count;
}

double TickSeconds() { return 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)); }

struct ProcessTimes {
  pid_t parent = 0;
  double seconds = 0;         // its own
  double buried_seconds = 0;  // of the children that it has waited for
};

// /proc/PID/stat: the name in brackets may hold anything, so counting starts behind the last one.
std::optional<ProcessTimes> TimesOf(std::string_view stat) {
  const size_t bracket = stat.rfind(')');
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> words = Words(stat.substr(bracket + 1));
  constexpr size_t kParent = 1, kUser = 11, kSystem = 12, kBuriedUser = 13, kBuriedSystem = 14;
  if (words.size() <= kBuriedSystem) return std::nullopt;
  ProcessTimes times;
  times.parent = static_cast<pid_t>(NumberOf(words[kParent]));
  times.seconds = (NumberOf(words[kUser]) + NumberOf(words[kSystem])) * TickSeconds();
  times.buried_seconds = (NumberOf(words[kBuriedUser]) + NumberOf(words[kBuriedSystem])) * TickSeconds();
  return times;
}

// This process and everything below it, wherever in the tree it lives.
void AddTreeSeconds(CpuSnapshot& snapshot) {
  std::map<pid_t, ProcessTimes> all;
  std::error_code failed;  // the operator ++ of a plain loop would throw
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator at("/proc", failed); !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename();
    if (name.empty() || name[0] < '1' || name[0] > '9') continue;
    // A process that ends between the listing and the reading is counted by its parent.
    if (const auto times = TimesOf(ReadAll(at->path() / "stat"))) all[static_cast<pid_t>(NumberOf(name))] = *times;
  }
  const auto below = [&](pid_t pid) {
    for (int depth = 0; depth < 64 && pid > 1; ++depth) {
      if (pid == ::getpid()) return true;
      const auto found = all.find(pid);
      if (found == all.end()) return false;
      pid = found->second.parent;
    }
    return false;
  };
  for (const auto& [pid, times] : all) {
    if (!below(pid)) continue;
    (pid == ::getpid() ? snapshot.self_seconds : snapshot.descendant_seconds) += times.seconds;
    snapshot.descendant_seconds += times.buried_seconds;
  }
}

// What OwnTime has counted, by processor.
std::array<std::atomic<int64_t>, CPU_SETSIZE> own_ns{};

int64_t ThreadNanoseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

std::string DistributionName() {
  const std::string release = ReadAll("/etc/os-release");
  for (const std::string_view line : Split(release, '\n')) {
    constexpr std::string_view kKey = "PRETTY_NAME=";
    if (!line.starts_with(kKey)) continue;
    std::string name(Trim(line.substr(kKey.size())));
    std::erase(name, '"');
    return name;
  }
  return "";
}

}  // namespace

// Asked once: later the asking thread may have moved aside for a measurement.
const std::vector<int>& AllowedProcessors() {
  static const std::vector<int> processors = [] {
    std::vector<int> allowed;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
      for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(static_cast<size_t>(i), &set)) allowed.push_back(i);
      }
    }
    if (allowed.empty()) allowed.push_back(0);
    return allowed;
  }();
  return processors;
}

std::vector<CacheLevel> CacheLevels() {
  std::vector<CacheLevel> levels;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string text = ReadAll(folder + "size"), type = ReadAll(folder + "type");
    const std::string_view size = Trim(text);
    if (size.empty() || Trim(type) == "Instruction") continue;
    CacheLevel level;
    level.level = static_cast<int>(NumberOf(Trim(ReadAll(folder + "level"))));
    level.bytes = static_cast<int64_t>(NumberOf(size));
    if (size.back() == 'K') level.bytes <<= 10;
    if (size.back() == 'M') level.bytes <<= 20;
    level.sharers = std::max(1, CountOfList(Trim(ReadAll(folder + "shared_cpu_list"))));
    levels.push_back(level);
  }
  std::sort(levels.begin(), levels.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  return levels;
}

int64_t LastLevelCacheBytes() {
  int64_t most = 0;
  for (const CacheLevel& level : CacheLevels()) most = std::max(most, level.bytes);
  return most > 0 ? most : int64_t{32} << 20;
}

int64_t AllCachesBytes() {
  const int64_t processors = std::ssize(AllowedProcessors());
  int64_t all = 0;
  for (const CacheLevel& level : CacheLevels()) all += level.bytes * ((processors + level.sharers - 1) / level.sharers);
  return std::max(all, LastLevelCacheBytes());
}

int64_t AvailableMemoryBytes() {
  return static_cast<int64_t>(NumberOf(FieldOf(ReadAll("/proc/meminfo"), "MemAvailable"))) << 10;
}

Machine ThisMachine() {
  Machine machine;
  const std::string info = ReadAll("/proc/cpuinfo");
  machine.processor = fmt::format("{} family {} model {} stepping {}", FieldOf(info, "model name"),
                                  FieldOf(info, "cpu family"), FieldOf(info, "model"), FieldOf(info, "stepping"));
  utsname name{};
  if (::uname(&name) == 0) machine.kernel = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  machine.distribution = DistributionName();
  machine.cores = static_cast<int>(AllowedProcessors().size());
  const std::string memory = FieldOf(ReadAll("/proc/meminfo"), "MemTotal");
  machine.memory_gib = NumberOf(memory) / (1 << 20);
  // Only what kernels are written for; the rest of the line is long and says nothing here.
  const std::string flags = FieldOf(info, "flags");
  for (const std::string_view flag : Words(flags)) {
    const bool vector = flag.starts_with("avx") || flag.starts_with("amx") || flag == "fma" || flag == "f16c" ||
                        flag == "sse4_2" || flag == "gfni" || flag == "asimd" || flag == "sve";
    if (vector) machine.features.emplace_back(flag);
  }
  std::sort(machine.features.begin(), machine.features.end());
  machine.id = RecordHash("machine")
                   .Add("processor", machine.processor)
                   .Add("cores", static_cast<int64_t>(machine.cores))
                   .Add("kernel", machine.kernel)
                   .Add("memory", static_cast<int64_t>(machine.memory_gib + 0.5))
                   .Finish();
  return machine;
}

Result<CpuSnapshot> TakeCpuSnapshot(const std::vector<int>& processors) {
  CpuSnapshot snapshot;
  snapshot.when = std::chrono::steady_clock::now();
  const double now = std::chrono::duration<double>(snapshot.when.time_since_epoch()).count();
  const std::string stat = ReadAll("/proc/stat");
  size_t found = 0;
  for (const std::string_view line : Split(stat, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() < 9 || !words[0].starts_with("cpu") || words[0] == "cpu") continue;
    const int processor = static_cast<int>(NumberOf(words[0].substr(3)));
    if (std::find(processors.begin(), processors.end(), processor) == processors.end()) continue;
    ++found;
    // user nice system idle iowait irq softirq steal.  Busy is what is left of the wall: the kernel
    // measures idle time and only samples the rest at its ticks, which misjudges short units badly.
    const double idle = (NumberOf(words[4]) + NumberOf(words[5])) * TickSeconds();
    const double steal = NumberOf(words[8]) * TickSeconds();
    snapshot.busy_seconds += now - idle - steal;
    snapshot.steal_seconds += steal;
    if (processor < CPU_SETSIZE)
      snapshot.helper_seconds += 1e-9 * static_cast<double>(own_ns[static_cast<size_t>(processor)].load());
  }
  if (found != processors.size())
    return Error{ErrorCode::kUnavailable, "/proc/stat does not list the measured processors"};
  AddTreeSeconds(snapshot);
  return snapshot;
}

OwnTime::OwnTime(int processor) : processor_(processor), began_ns_(ThreadNanoseconds()) {
  ASSAY_CHECK(processor >= 0 && processor < CPU_SETSIZE);
}

OwnTime::~OwnTime() { own_ns[static_cast<size_t>(processor_)].fetch_add(ThreadNanoseconds() - began_ns_); }

Disturbance Between(const CpuSnapshot& before, const CpuSnapshot& after, bool self_elsewhere) {
  Disturbance disturbance;
  disturbance.wall_seconds = std::chrono::duration<double>(after.when - before.when).count();
  const double self =
      self_elsewhere ? after.helper_seconds - before.helper_seconds : after.self_seconds - before.self_seconds;
  const double own = self + after.descendant_seconds - before.descendant_seconds;
  disturbance.foreign_seconds = std::max(0.0, after.busy_seconds - before.busy_seconds - own);
  disturbance.steal_seconds = std::max(0.0, after.steal_seconds - before.steal_seconds);
  return disturbance;
}

bool Disturbed(const Disturbance& disturbance, int processors) {
  // Both counters are sampled at ticks: two of them on each processor are within their error.
  const double allowance = 2 * TickSeconds() * processors;
  const double available = disturbance.wall_seconds * processors;
  return disturbance.foreign_seconds > allowance + kForeignShare * available ||
         disturbance.steal_seconds > allowance + kStealShare * available || !(disturbance.slowed <= kProbeShare);
}

std::string Disturbance::Describe() const {
  // What took less than a clock tick is no news.
  std::vector<std::string> causes;
  if (!(foreign_seconds < TickSeconds()))
    causes.push_back(
        fmt::format("other processes used {:.2f} s of the measured cores in {:.2f} s", foreign_seconds, wall_seconds));
  if (!(steal_seconds < TickSeconds())) causes.push_back(fmt::format("the host took {:.2f} s", steal_seconds));
  if (!(slowed <= kProbeShare))
    causes.push_back(
        fmt::format("fixed work of our own between the units took {:.1f} % longer than usual", 100 * slowed));
  return causes.empty() ? "nothing" : Join(causes, ", ");
}

}  // namespace assay
