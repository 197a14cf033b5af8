#pragma once

#include "llvm/Passes/PassBuilder.h"

/// The pipeline of a level (`0` aside) for a whole program, with what clang turns on at that level.
llvm::ModulePassManager linkPipeline(const llvm::PassBuilder &Linkers, int Code);
