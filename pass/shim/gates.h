// What gates.cpp and bodies.cpp know of the hooks of `access`.

#pragma once

#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

// The hooks, as pass/src/llvm/gates.rs passes them.
struct Hooks {
  llvm::Function *Entry, *Enter, *Leave, *Read, *Text, *Write;
  llvm::GlobalVariable *Gate, *Countdown;
};
static_assert(sizeof(Hooks) == 64, "gates.rs: Gates");

// An attribute of functions that run only when their entry is to be told of.
constexpr const char *Watched = "unseen-watched";

inline llvm::CallInst *callOf(llvm::Instruction &I, const llvm::Function *F) {
  auto *Call = llvm::dyn_cast<llvm::CallInst>(&I);
  return Call && Call->getCalledFunction() == F ? Call : nullptr;
}

inline bool isGated(llvm::Instruction &I, const Hooks &H) {
  return callOf(I, H.Leave) || callOf(I, H.Read) || callOf(I, H.Text) || callOf(I, H.Write);
}

inline llvm::MDNode *rarely(llvm::LLVMContext &C) { return llvm::MDBuilder(C).createUnlikelyBranchWeights(); }

// Splits the block before an instruction by whether an entry is to be told of: counts the call, and looks at the gate. Returns the
// end of the block in which it is.
llvm::Instruction *askAtEntry(llvm::Instruction *Before, llvm::Value *Unit, const Hooks &H);
