// The only C++ of the plugin: registers callbacks with LLVM's pass builder, and wraps what LLVM offers in C++
// alone. It decides nothing: every choice is made by the Rust functions declared here.

#include "pipeline.h"

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

// What pass/src/plugin.rs returns by value to LLVM.
static_assert(LLVM_PLUGIN_API_VERSION == 2, "plugin.rs: API_VERSION");
static_assert(sizeof(PassPluginLibraryInfo) == 40, "plugin.rs: PluginInfo");
static_assert(offsetof(PassPluginLibraryInfo, RegisterPassBuilderCallbacks) == 24, "plugin.rs: PluginInfo");

extern "C" {
// pass/src/plugin.rs
bool unseen_pass_run(Module *M, int Step);
int unseen_pass_level();
bool unseen_pass_per_unit();
void unseen_pass_warn_alone();
int unseen_pass_step(const char *Name, size_t Length);
bool unseen_pass_drop_repeats(Function *F);
bool unseen_pass_has_gates(Module *M);

// off.cpp
void unseen_shim_register_off();
}

// traces.cpp
void addSettleTraces(ModulePassManager &MPM);

namespace {

// What unseen_pass_step answers; the values are those of plugin.rs.
enum Step { None = -1, Cover = 0, Print = 1, Link = 2, Settle = 3, Last = 4, Traces = 7 };

struct UnseenPass : PassInfoMixin<UnseenPass> {
  int Step;
  explicit UnseenPass(int Step) : Step(Step) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    return unseen_pass_run(&M, Step) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

// Drops probes that say nothing new while functions are simplified: what is inlined further carries fewer.
struct DropRepeats : PassInfoMixin<DropRepeats> {
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    if (!unseen_pass_drop_repeats(&F))
      return PreservedAnalyses::all();
    PreservedAnalyses Preserved;
    Preserved.preserveSet<CFGAnalyses>();
    return Preserved;
  }
};

// Where there are gates, loops get a copy without hooks, and one look at the gate serves for as long as nothing is called.
struct SimplifyGates : PassInfoMixin<SimplifyGates> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    if (!unseen_pass_has_gates(&M))
      return PreservedAnalyses::all();
    FunctionPassManager FPM;
    FPM.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
    LoopPassManager Loops;
    Loops.addPass(LICMPass(LICMOptions()));
    Loops.addPass(SimpleLoopUnswitchPass(/*NonTrivial=*/true));
    FPM.addPass(createFunctionToLoopPassAdaptor(std::move(Loops), /*UseMemorySSA=*/true));
    FPM.addPass(SimplifyCFGPass());
    return createModuleToFunctionPassAdaptor(std::move(FPM)).run(M, MAM);
  }
};

// Whether somebody has asked for the pass: the linker, or opt by a step's name.
bool IsAsked = false;

// The pass on the pristine module, then the whole pipeline that the compile steps left out: one that sees all of the
// program at once. The driver asks the linker for level 1, at which its own pipeline adds next to nothing; the two
// pipelines that link-time optimisation usually runs one after the other would take half as long again.
void addLink(PassBuilder &PB, ModulePassManager &MPM) {
  IsAsked = true;
  int Code = unseen_pass_level();
  if (Code == '0') {
    MPM.addPass(UnseenPass(Cover));
    // Functions that must be inlined are nowhere else: the language's library counts on that.
    MPM.addPass(PB.buildO0DefaultPipeline(OptimizationLevel::O0));
    return;
  }
  MPM.addPass(UnseenPass(Link));
  MPM.addPass(linkPipeline(PB, Code));
  // The code generator makes better use of loops in this form, in which the usual two pipelines leave them.
  FunctionPassManager FPM;
  FPM.addPass(LoopSimplifyPass());
  FPM.addPass(LCSSAPass());
  MPM.addPass(createModuleToFunctionPassAdaptor(std::move(FPM)));
  MPM.addPass(UnseenPass(Last));
}

// Where functions are inlined and simplified, and loops have yet to be unrolled and vectorised.
void addSettle(ModulePassManager &MPM) {
  addSettleTraces(MPM);
  MPM.addPass(UnseenPass(Settle));
  MPM.addPass(createModuleToFunctionPassAdaptor(SimplifyCFGPass()));
  MPM.addPass(SimplifyGates());
}

} // namespace

extern "C" void unseen_shim_register(PassBuilder &PB) {
  PB.registerScalarOptimizerLateEPCallback(
      [](FunctionPassManager &FPM, OptimizationLevel) { FPM.addPass(DropRepeats()); });
  PB.registerOptimizerEarlyEPCallback([](ModulePassManager &MPM, OptimizationLevel Level, ThinOrFullLTOPhase) {
    if (Level != OptimizationLevel::O0)
      addSettle(MPM);
  });
  if (unseen_pass_per_unit()) {
    PB.registerPipelineStartEPCallback([](ModulePassManager &MPM, OptimizationLevel Level) {
      MPM.addPass(UnseenPass(Level == OptimizationLevel::O0 ? Cover : Link));
    });
    return;
  }
  // A compiler that was given the plugin, but not by the driver, asks for nothing and would get just that.
  PB.registerPipelineStartEPCallback([](ModulePassManager &, OptimizationLevel) {
    if (!IsAsked)
      unseen_pass_warn_alone();
  });
  unseen_shim_register_off();
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(
      [&PB](ModulePassManager &MPM, OptimizationLevel) { addLink(PB, MPM); });
  PB.registerPipelineParsingCallback(
      [&PB](StringRef Name, ModulePassManager &MPM, ArrayRef<PassBuilder::PipelineElement>) {
        int Step = unseen_pass_step(Name.data(), Name.size());
        if (Step == None)
          return false;
        IsAsked = true;
        if (Step == Link)
          addLink(PB, MPM);
        else if (Step == Traces)
          addSettleTraces(MPM);
        else
          MPM.addPass(UnseenPass(Step));
        return true;
      });
}

// Splits the edge from a terminator to its successor; edges to the same successor go the same way. Null where the
// edge can't be split.
extern "C" BasicBlock *unseen_shim_split_edge(Instruction *Terminator, unsigned Successor) {
  CriticalEdgeSplittingOptions Options;
  Options.setMergeIdenticalEdges();
  return SplitCriticalEdge(Terminator, Successor, Options);
}

// Declares a function of one number that nobody defines: for the optimiser it changes something that the program can't
// see.
extern "C" Function *unseen_shim_declare_probe(Module *M, const char *Name, size_t Length) {
  LLVMContext &C = M->getContext();
  auto *Type = FunctionType::get(Type::getVoidTy(C), {Type::getInt32Ty(C)}, false);
  auto *F = Function::Create(Type, GlobalValue::ExternalLinkage, StringRef(Name, Length), M);
  for (Attribute::AttrKind Kind : {Attribute::NoCallback, Attribute::NoFree, Attribute::NoMerge, Attribute::NoSync,
                                   Attribute::NoUnwind, Attribute::WillReturn})
    F->addFnAttr(Kind);
  F->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
  F->addFnAttr("call-inline-cost", "0");
  return F;
}

// Before probes become stores: who was said to change only what the program can't see now changes a global.
extern "C" void unseen_shim_admit_stores(Module *M) {
  for (Function &F : *M) {
    MemoryEffects Effects = F.getMemoryEffects();
    MemoryEffects True = Effects | MemoryEffects(IRMemLocation::Other, ModRefInfo::ModRef);
    if (!F.isDeclaration() && isModSet(Effects.getModRef(IRMemLocation::InaccessibleMem)) && True != Effects)
      F.setMemoryEffects(True);
  }
}

extern "C" void unseen_shim_append_ctor(Module *M, Function *F) { appendToGlobalCtors(*M, F, 0); }
extern "C" void unseen_shim_append_dtor(Module *M, Function *F) { appendToGlobalDtors(*M, F, 0); }

static bool marked(const DISubprogram *SP, StringRef Marker) {
  return SP && SP->getUnit() && SP->getUnit()->getFlags() == Marker;
}

// Removes the debug info of compile units whose flags are Marker. Where clang's own --coverage is on it stays: that pass
// comes after ours, and finds functions and lines by nothing else.
extern "C" void unseen_shim_strip_units(Module *M, const char *Text, size_t Length) {
  StringRef Marker(Text, Length);
  NamedMDNode *Units = M->getNamedMetadata("llvm.dbg.cu");
  if (!Units || M->getNamedMetadata("llvm.gcov"))
    return;
  for (Function &F : *M)
    if (marked(F.getSubprogram(), Marker))
      stripDebugInfo(F);
  SmallVector<MDNode *, 8> Kept;
  for (MDNode *Unit : Units->operands())
    if (cast<DICompileUnit>(Unit)->getFlags() != Marker)
      Kept.push_back(Unit);
  Units->clearOperands();
  for (MDNode *Unit : Kept)
    Units->addOperand(Unit);
  if (Kept.empty())
    Units->eraseFromParent();
}

// The name in the source, without scopes.
extern "C" const char *unseen_shim_subprogram_name(DISubprogram *SP, size_t *Length) {
  StringRef Name = SP->getName();
  *Length = Name.size();
  return Name.data();
}
