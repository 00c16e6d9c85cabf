// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/plan.h"

#include <cstring>
#include <type_traits>

namespace assay::jail {
namespace {

// One list of fields for both directions, so that they cannot drift apart.
template <typename Archive, typename Plan>
void Visit(Archive& archive, Plan& plan) {
  archive(plan.profile);
  archive(plan.refuse_namespaces);
  archive(plan.own_user);
  archive(plan.argv);
  archive(plan.environment);
  archive(plan.directory);
  archive(plan.binds);
  archive(plan.links);
  archive(plan.copy_target);
  archive(plan.cpus);
  archive(plan.address_space);
  archive(plan.cpu_seconds);
  archive(plan.file_size);
  archive(plan.descriptors);
  archive(plan.stack);
  archive(plan.processes);
  archive(plan.threads);
}

class Writer {
 public:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void operator()(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void operator()(const std::string& value) {
    (*this)(value.size());
    bytes_ += value;
  }
  void operator()(const Bind& value) {
    (*this)(value.source);
    (*this)(value.target);
    (*this)(value.writable);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    (*this)(values.size());
    for (const T& value : values) (*this)(value);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void operator()(T& value) {
    if (!ok_ || bytes_.size() - at_ < sizeof(value)) {
      ok_ = false;
      return;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(value));
    at_ += sizeof(value);
  }
  void operator()(std::string& value) {
    const size_t size = Count();
    value = bytes_.substr(at_, size);
    at_ += size;
  }
  void operator()(Bind& value) {
    (*this)(value.source);
    (*this)(value.target);
    (*this)(value.writable);
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    // Every element takes at least one byte, so a count beyond the rest is a lie.
    values.resize(Count());
    for (T& value : values) (*this)(value);
  }
  bool complete() const { return ok_ && at_ == bytes_.size(); }

 private:
  size_t Count() {
    size_t count = 0;
    (*this)(count);
    if (!ok_ || count > bytes_.size() - at_) {
      ok_ = false;
      return 0;
    }
    return count;
  }

  const std::string& bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

std::string Encode(const JailPlan& plan) {
  Writer writer;
  Visit(writer, plan);
  return writer.Take();
}

std::optional<JailPlan> Decode(const std::string& bytes) {
  JailPlan plan;
  Reader reader(bytes);
  Visit(reader, plan);
  if (!reader.complete()) return std::nullopt;
  return plan;
}

}  // namespace assay::jail
