// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "contract/shape.h"

namespace assay {

// A contract's inputs.cpp, built once per content and run in a jailed process of its own: fills the
// tensors and scalars that say from = "inputs.cpp", once the others are drawn.  What goes wrong in it is
// kInvalidInput with file and remedy: trouble of the contract's author, never a candidate's fault.
class InputsProgram {
 public:
  // The program of this contract in this process of ours, started when it is first asked for.
  static Result<InputsProgram*> Of(const Contract& contract);
  ~InputsProgram();

  // `scalars` in the order of contract.scalars; `bytes`: where a tensor of the call lies.  Equal seeds
  // give equal calls.  May be called by several threads; they wait for each other.
  Status Fill(const Shape& shape, std::span<double> scalars,
              const std::function<std::span<std::byte>(size_t tensor)>& bytes, const Seed& seed);

 private:
  struct State;
  explicit InputsProgram(std::unique_ptr<State> state);
  static Result<std::unique_ptr<InputsProgram>> Start(const Contract& contract);
  std::unique_ptr<State> state_;
};

// What DrawCall and the clock do once everything else of a call is drawn; nothing where nothing is asked.
Status FillFromProgram(const Contract& contract, const Shape& shape, std::span<double> scalars,
                       const std::function<std::span<std::byte>(size_t tensor)>& bytes, const Seed& seed);

}  // namespace assay
