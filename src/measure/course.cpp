// SPDX-License-Identifier: Apache-2.0
#include "measure/course.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "measure/environment.h"
#include "measure/neighbours.h"

namespace assay {

Result<std::vector<Course>> CoursesOf(const Contract& contract, const std::vector<std::string>& names, int threads,
                                      Auditor& auditor, const Seed& seed, Builder* builder) {
  std::vector<std::string> known;
  for (const Workload& workload : contract.workloads) known.push_back(workload.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = Nearest(name, known);
    return Error{ErrorCode::kInvalidInput, fmt::format("contract {} has no workload \"{}\"; {}", contract.name, name,
                                                       near.empty() ? "its workloads are " + Join(known, ", ")
                                                                    : "did you mean \"" + near + "\"?")};
  }
  const int processors = static_cast<int>(AllowedProcessors().size());
  std::vector<Course> courses;
  for (const Workload& workload : contract.workloads) {
    if (!names.empty() && std::find(names.begin(), names.end(), workload.name) == names.end()) continue;
    Course course;
    course.workload = &workload;
    ASSAY_TRY(course.shape, WorkloadShape(contract, workload));
    course.threads = threads > 0 ? threads : workload.threads.value_or(contract.policy.threads);
    if (course.threads == 0) course.threads = processors;
    if (course.threads > processors) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("workload {} wants {} threads, this process may use {} processors; "
                               "give --threads {}",
                               workload.name, course.threads, processors, processors)};
    }
    ASSAY_TRY(course.work, WorkOf(contract, workload, course.shape, course.threads));
    const Seed own = seed.Derive("course " + workload.name);
    ASSAY_TRY(Surroundings around, SurroundingsOf(workload, course.threads, builder, auditor, own));
    course.beside = Describe(around);
    ASSAY_TRY(course.sequences, SequencesOf(contract, course.shape, course.threads, builder, auditor, own));
    course.runner = std::make_unique<GroupRunner>(contract, workload, course.shape, std::move(around), auditor, own);
    courses.push_back(std::move(course));
  }
  if (courses.empty()) return Error{ErrorCode::kInvalidInput, "contract " + contract.name + " has no workload to time"};
  return courses;
}

GroupOptions OptionsOf(const Course& course, Depth depth) {
  return {.threads = course.threads, .depth = depth, .limits = UnitLimits::OfThisMachine()};
}

std::vector<std::string> ArmNames(std::span<const Artifact* const> artifacts, std::set<std::string> taken) {
  std::vector<std::string> names;
  for (const Artifact* artifact : artifacts) {
    std::string name = artifact->name.empty() ? "kernel" : artifact->name;
    if (!taken.insert(name).second) {
      name += " " + artifact->id.substr(0, 8);
      for (int twin = 2; !taken.insert(name).second; ++twin) name = fmt::format("{} ({})", artifact->name, twin);
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace assay
