// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/workshop.h"
#include "base/text.h"
#include "language/cpp/toolchain.h"
#include "report/table.h"
#include "sandbox/walls.h"

namespace assay {
namespace {

struct Finding {
  std::string what;
  bool there = false;
  std::string detail;  // version or state; when missing: what it costs and how to close it
};

const char* Remedy(const std::string& wall) {
  if (wall.find("user") != std::string::npos)
    return "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 (and "
           "kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu)";
  if (wall.find("landlock") != std::string::npos)
    return "boot a kernel with landlock (5.13 or newer, lsm=...,landlock)";
  return "a verdict here names it as missing";
}

Result<std::vector<Finding>> Findings() {
  std::vector<Finding> findings;
  ASSAY_TRY(const Walls walls, ProbeWalls());
  findings.push_back({"sandbox walls", walls.Missing().empty(), walls.Summary()});
  for (const std::string& missing : walls.Missing()) findings.push_back({"wall " + missing, false, Remedy(missing)});
  const auto& primary = PrimaryToolchain();
  findings.push_back(
      {"compiler", primary.ok(), primary.ok() ? primary.value().version : primary.error().message + "; install g++"});
  const auto& second = SecondToolchain();
  findings.push_back({"second compiler", second.ok(),
                      second.ok() ? second.value().version : "the exam lacks its cross-check; install clang"});
  const auto blas = FindLibrary("openblas");
  findings.push_back({"peer library", blas.ok(),
                      blas.ok() ? blas.value().soname : "no OpenBLAS peer; install libopenblas-pthread-dev"});
  return findings;
}

}  // namespace

Result<int> Command(const DoctorArguments& arguments) {
  ASSAY_TRY(const Machine machine, MachineHere());
  ASSAY_TRY(const std::vector<Finding> findings, Findings());
  bool gap = false;
  TextTable table({"what", "state", "detail"});
  std::string json = "{\"format\": \"assay.doctor.1\", \"findings\": [";
  for (const Finding& finding : findings) {
    gap = gap || !finding.there;
    table.Add({finding.what, finding.there ? "ok" : "MISSING", Printable(finding.detail)});
    std::string detail;
    for (const char c : Printable(finding.detail))
      detail += c == '"' || c == '\\' ? std::string("\\") + c : c == '\n' || c == '\t' ? " " : std::string(1, c);
    json += fmt::format("{}{{\"what\": \"{}\", \"there\": {}, \"detail\": \"{}\"}}",
                        &finding == &findings.front() ? "" : ", ", finding.what, finding.there, detail);
  }
  ASSAY_TRY_STATUS(WriteJson(arguments.json, json + "]}\n"));
  if (arguments.json != "-") {
    Print(Wrap(fmt::format("{}, {} cores, {:.0f} GiB, {}", machine.processor, machine.cores, machine.memory_gib,
                           machine.kernel),
               OutputWidth(), "", "  ") +
          "\n");
    Print(table.Render(OutputWidth()));
    Print(gap ? "\nSomething is missing; what it costs stands beside it.\n" : "\nNo gap.\n");
  }
  return gap ? kNoVerdict : kDone;
}

}  // namespace assay
