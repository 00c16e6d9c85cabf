// SPDX-License-Identifier: Apache-2.0
#include "measure/inputs.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/check.h"
#include "contract/values.h"
#include "language/inputs_program.h"

namespace assay {
namespace {

constexpr int64_t kLine = 64;

}  // namespace

Result<InputDraw> InputDraw::Create(const Contract& contract, const Shape& shape, size_t slots,
                                    const std::set<size_t>& others) {
  InputDraw draw;
  draw.contract_ = &contract;
  draw.shape_ = shape;
  draw.slots_ = slots;
  for (const Tensor& tensor : contract.tensors) {
    ASSAY_TRY(const TensorLayout layout, LayoutOf(contract, tensor, shape));
    const bool filled = tensor.role != Role::kOut && !shape.absent_tensors.contains(tensor.name) &&
                        !others.contains(draw.offsets_.size());
    draw.offsets_.push_back(filled ? draw.bytes_per_slot_ : -1);
    if (filled) draw.bytes_per_slot_ += (layout.byte_span + kLine - 1) / kLine * kLine;
    draw.layouts_.push_back(layout);
  }
  draw.scalars_.resize(slots);
  draw.structured_.resize(slots);
  draw.mapped_ = static_cast<size_t>(std::max<int64_t>(draw.bytes_per_slot_, kLine)) * slots;
  void* memory = ::mmap(nullptr, draw.mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return SystemError("memory for a draw of inputs", errno);
  draw.memory_ = static_cast<std::byte*>(memory);
  return draw;
}

InputDraw::InputDraw(InputDraw&& other) noexcept
    : contract_(other.contract_),
      shape_(std::move(other.shape_)),
      layouts_(std::move(other.layouts_)),
      offsets_(std::move(other.offsets_)),
      scalars_(std::move(other.scalars_)),
      structured_(std::move(other.structured_)),
      memory_(std::exchange(other.memory_, nullptr)),
      mapped_(other.mapped_),
      slots_(other.slots_),
      bytes_per_slot_(other.bytes_per_slot_) {}

InputDraw::~InputDraw() {
  if (memory_ != nullptr) ::munmap(memory_, mapped_);
}

Status InputDraw::Redraw(const Seed& seed, size_t slots, int threads, int regime) {
  ASSAY_CHECK(slots <= slots_);
  // One stream per piece, so that the contents do not depend on which thread filled it.
  struct Piece {
    size_t slot, tensor;
    bool structured = false;
  };
  std::vector<Piece> pieces;
  for (size_t slot = 0; slot < slots; ++slot) {
    for (size_t tensor = 0; tensor < layouts_.size(); ++tensor) {
      if (offsets_[tensor] >= 0 && !contract_->tensors[tensor].from_program()) pieces.push_back({slot, tensor});
    }
  }
  std::atomic<size_t> next{0};
  const auto fill = [&] {
    for (size_t i = next.fetch_add(1); i < pieces.size(); i = next.fetch_add(1)) {
      Piece& piece = pieces[i];
      Stream stream(seed.Derive("tensor", i));
      std::byte* to = memory_ + static_cast<int64_t>(piece.slot) * bytes_per_slot_ + offsets_[piece.tensor];
      const TensorLayout& layout = layouts_[piece.tensor];
      const std::span<std::byte> bytes(to, static_cast<size_t>(layout.byte_span));
      const Tensor& tensor = contract_->tensors[piece.tensor];
      if (regime < 0) {
        piece.structured = FillMixed(tensor, layout, shape_, bytes, stream).structured;
      } else {
        const Generator& pure = tensor.values[PureRegime(tensor, regime)];
        FillTensor(tensor, layout, pure, shape_, bytes, stream);
        piece.structured = assay::Structured(pure);
      }
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && static_cast<size_t>(i) < pieces.size(); ++i) helpers.emplace_back(fill);
  fill();
  for (std::thread& helper : helpers) helper.join();

  // Of what an author's program writes nobody knows the mantissas.
  const auto written = [](const Tensor& tensor) { return tensor.from_program() && Info(tensor.dtype).is_float; };
  const bool any_written = std::any_of(contract_->tensors.begin(), contract_->tensors.end(), written);
  for (size_t slot = 0; slot < slots; ++slot) {
    Stream stream(seed.Derive("scalars", slot));
    scalars_[slot] = DrawScalars(*contract_, shape_, stream, false);
    const auto bytes = [&](size_t tensor) {
      return std::span(memory_ + static_cast<int64_t>(slot) * bytes_per_slot_ + offsets_[tensor],
                       static_cast<size_t>(layouts_[tensor].byte_span));
    };
    ASSAY_TRY_STATUS(FillFromProgram(*contract_, shape_, scalars_[slot], bytes, seed.Derive("slot", slot)));
    structured_[slot] = any_written ? 1 : 0;
  }
  for (const Piece& piece : pieces) structured_[piece.slot] |= piece.structured ? 1 : 0;
  return Ok();
}

std::span<const std::byte> InputDraw::TensorBytes(size_t tensor, size_t slot) const {
  if (offsets_[tensor] < 0) return {};
  return {memory_ + static_cast<int64_t>(slot) * bytes_per_slot_ + offsets_[tensor],
          static_cast<size_t>(layouts_[tensor].byte_span)};
}

std::span<const double> InputDraw::Scalars(size_t slot) const { return scalars_[slot]; }
bool InputDraw::Structured(size_t slot) const { return structured_[slot] != 0; }

}  // namespace assay
