// What tests.cpp and traces.cpp know of functions with tests.

#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

// As pass/src/llvm/tests.rs passes them.
struct Asking {
  llvm::Function *Call, *After, *Verdict, *Compare, *Compared;
  llvm::GlobalVariable *Record, *Gates, *Desks, *Hits, *Traces;
  uint64_t DeskSize, CacheOffset, WidePlaces, WideWords, Spread, MostHits, DueWords, TracePlaces;
  int64_t IsRescue, IsAfter, IsSeen;
};
static_assert(sizeof(Asking) == 168, "tests.rs: Asking");

enum Kind : uint64_t { Before, After, Determinism, Rescue, Watch };

struct Test {
  llvm::Function *Called;
  uint64_t Kind;
};
static_assert(sizeof(Test) == 16, "tests.rs: Test");

// Where a function returns its result. Tests do not get it.
inline bool isResult(const llvm::Argument &A) { return A.hasStructRetAttr(); }

// A function that takes `First`, then what the unit takes but where its result goes, then `Last`.
llvm::Function *beside(llvm::Function &Unit, const llvm::Twine &Name, llvm::Type *Result, llvm::ArrayRef<llvm::Type *> First,
                       llvm::ArrayRef<llvm::Type *> Last);

// Adds one to what this thread counts of calls of a unit that did not have to ask; returns what it is then.
llvm::Value *countHit(llvm::IRBuilder<> &B, llvm::Value *Hits);

// Where this thread counts them.
llvm::Value *hitsOf(llvm::IRBuilder<> &B, uint32_t Number, const Asking &H);

// The trace of a call with these arguments of the unit, and of those tests that are functions: two words, the second 0 if there is none.
std::pair<llvm::Value *, llvm::Value *> traceOfCall(llvm::IRBuilder<> &B, llvm::Function &Unit, llvm::ArrayRef<Test> Tests,
                                                    llvm::ArrayRef<llvm::Value *> Arguments, uint32_t Number, const Asking &H);

// Whether a trace, or a state of one word with the second word of its unit, is known.
llvm::Value *isTraceKnown(llvm::IRBuilder<> &B, llvm::Value *Low, llvm::Value *High, const Asking &H);

// The second word for the states of a unit whose states are one word.
llvm::Value *secondWord(llvm::IRBuilder<> &B, uint32_t Number);

// Remembers it.
void rememberTrace(llvm::IRBuilder<> &B, llvm::Value *Low, llvm::Value *High, const Asking &H);

// A function that tells whether the trace of a call is known. Behind what the unit takes it takes where that returns its result.
llvm::Function *traceLooker(llvm::Function &Unit, llvm::ArrayRef<Test> Tests, uint32_t Number, const Asking &H);
