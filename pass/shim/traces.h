// What reads.cpp, traces.cpp and known.cpp have in common: traces, what a call of a unit is about to read (traces.cpp).

#pragma once

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ValueHandle.h"

// An attribute of a copy: whose body it will be.
constexpr const char *BodyOf = "unseen-trace";
// As many bytes are folded of a value, or of memory that is copied at once.
constexpr uint64_t MostBytes = 64;
// Odd numbers without a pattern.
constexpr uint64_t FirstFactor = 0xbf58476d1ce4e5b9, SecondFactor = 0x94d049bb133111eb;

// A trace.
inline llvm::Type *pairOfWords(llvm::LLVMContext &C) {
  return llvm::StructType::get(llvm::Type::getInt64Ty(C), llvm::Type::getInt64Ty(C));
}

// What an instruction of the unit is in its trace.
enum class What {
  // Stays as it is.
  Keep,
  // Stays, and what it gives is folded.
  Read,
  // Writes what is not the function's own: left out.
  Write,
  // Copies memory: what is read is folded.
  Copy,
  // Stays, unless it would trap.
  Divide,
  // Does nothing here.
  Nothing,
  // Ends the trace.
  End,
};

// What is done with instructions that do not just stay, and with returns.
using Plans = llvm::DenseMap<llvm::Instruction *, What>;

// What must not be, or else there is no trace: a pointer that is read through is near null, or a division would trap, which is for tests
// to find; or what was written, so many bytes, overlaps with what is read.
struct Guard {
  // The pointer, the divisor, or where was written; or what it becomes if it is simplified.
  llvm::WeakTrackingVH Guarded;
  llvm::Instruction *Before;
  uint64_t Written = 0;
};

// What a call does depends of a pointer on nothing but what lies there, or on whether it is null, too, or on its address.
enum class Matters { Nothing, Null, Address };

// Whether a value of that type can be folded.
bool canFold(llvm::Type *Ty, const llvm::DataLayout &DL);

// Whether all that a pointer may point to is the function's own.
bool pointsToOwn(const llvm::Value *Pointer);

// The pointers that an instruction reads through.
llvm::SmallVector<llvm::Value *, 2> readThrough(llvm::Instruction &I);

// How many bytes are read or written at one place; 0 if that is not known.
uint64_t bytesOf(const llvm::Instruction &I);

// Plans a trace. Empty if there can be none.
Plans planTrace(llvm::Function &F, llvm::AAResults &AA, const llvm::DominatorTree &DT, llvm::SmallVectorImpl<Guard> &Guards);

// What matters of a pointer that a function of this plan was given, or has loaded.
Matters whatMatters(llvm::Value *Pointer, const Plans &Plan);
