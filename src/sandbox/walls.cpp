// SPDX-License-Identifier: Apache-2.0
#include "sandbox/walls.h"

#include "base/text.h"

namespace assay {
namespace {

struct Named {
  const char* name;
  bool stands;
};

std::vector<Named> All(const Walls& walls) {
  return {{"user", walls.user_namespace || walls.own_user},
          {"pid", walls.pid_namespace},
          {"root", walls.empty_root},
          {"net", walls.network_namespace},
          {"ipc", walls.ipc_namespace},
          {"uts", walls.uts_namespace},
          {"landlock", walls.landlock > 0},
          {"seccomp", walls.seccomp},
          {"notify", walls.notification},
          {"threads", walls.thread_budget},
          {"nnp", walls.no_new_privileges},
          {"rlimits", walls.resource_limits}};
}

}  // namespace

std::vector<std::string> Walls::Missing() const {
  std::vector<std::string> missing;
  for (const Named& wall : All(*this)) {
    if (!wall.stands) missing.emplace_back(wall.name);
  }
  return missing;
}

std::string Walls::Summary() const {
  std::vector<std::string> standing;
  for (const Named& wall : All(*this)) {
    if (wall.stands) standing.emplace_back(wall.name);
  }
  return Join(standing, " ");
}

}  // namespace assay
