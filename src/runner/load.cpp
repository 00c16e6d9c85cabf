// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "runner/runner.h"

namespace assay::runner {
namespace {

void SayFailed(ring::Report* report, ring::Stage stage, const char* fallback) {
  const char* text = ::dlerror();
  std::strncpy(report->text, text != nullptr ? text : fallback, sizeof(report->text) - 1);
  report->stage = stage;
}

struct Extent {
  uint64_t base;
  uint64_t end;
};

int FindExtent(dl_phdr_info* info, size_t, void* data) {
  Extent* extent = static_cast<Extent*>(data);
  if (info->dlpi_addr != extent->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const uint64_t end = info->dlpi_addr + part.p_vaddr + part.p_memsz;
    if (part.p_type == PT_LOAD && end > extent->end) extent->end = end;
  }
  return 1;
}

}  // namespace

bool LoadArtifact(const Shared& shared, void* (&symbols)[ring::kSymbols]) {
  const ring::StartPlan& start = shared.plan->start;
  // Local: nothing that it exports can come between the runner and its own calls.
  void* library = ::dlopen(start.artifact, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    SayFailed(shared.report, ring::Stage::kOpenFailed, "dlopen failed");
    return false;
  }
  const link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
    SayFailed(shared.report, ring::Stage::kOpenFailed, "dlinfo failed");
    return false;
  }
  Extent extent{map->l_addr, map->l_addr};
  ::dl_iterate_phdr(FindExtent, &extent);
  shared.report->artifact_base = extent.base;
  shared.report->artifact_bytes = extent.end - extent.base;
  for (uint32_t i = 0; i < start.symbol_count && i < ring::kSymbols; ++i) {
    symbols[i] = ::dlsym(library, start.symbols[i]);
    if (symbols[i] == nullptr) {
      SayFailed(shared.report, ring::Stage::kSymbolFailed, "the symbol is null");
      return false;
    }
    // Looked up in the artifact first, then in what it needs.
    const auto address = reinterpret_cast<uint64_t>(symbols[i]);
    if (start.trusted == 0 && !(address >= extent.base && address < extent.end)) {
      SayFailed(shared.report, ring::Stage::kSymbolFailed, "the symbol is another library's");
      return false;
    }
  }
  return true;
}

}  // namespace assay::runner
