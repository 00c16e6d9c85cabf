// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "verify/answers.h"
#include "verify/reference.h"

// What nobody has to write: answers that must be refused, and honest ones that must pass.
namespace assay {

// Evaluations that no honest kernel is: narrow operands, accumulators and outputs, terms left out, a
// tensor read one element further.  One that changes nothing under a contract does not apply to it.
std::vector<Variant> MutantVariants(const Contract& contract);

// Honest evaluations that are no part of the ensemble they are judged by.
std::vector<Variant> AdmissionHonestVariants();

// A null: an answer that needs no computing.  `answers` are those of this call, `others` of another
// call at the same shape; the numbers are parallel to answers.elements.
struct Null {
  std::string name;
  std::function<std::vector<double>(const TimedCall& call, const Answers& answers, const Answers& others)> numbers;
};
std::vector<Null> Nulls(const Contract& contract);

// A fault that only outputs of one class can have, put into the numbers of an honest evaluation.
struct ClassFault {
  std::string name;
  NumbersFault apply;
  // What the contract lacks if the fault changes nothing in any regime; empty: it does not apply then.
  std::string needs;
};
std::vector<ClassFault> ClassFaults(const Contract& contract);

}  // namespace assay
