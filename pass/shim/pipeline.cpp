// The optimisation pipeline of a link: what LLVM does to a module at a level, in an order that suits whole programs.
//
// LLVM's own pipeline simplifies every function with all it has before it goes into its callers. In a module with the whole program most
// functions are gone when they are inlined, and all of that was for nothing. So there are two rounds:
//
//   inline    callees before callers, each tidied up by a few cheap passes so that the inliner sees what it would cost
//   simplify  what is left, once, with all of LLVM's function passes
//
// Then come its passes over the module, loops and vectors as they are.

#include "pipeline.h"

#include "llvm/Analysis/GlobalsModRef.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Transforms/Coroutines/CoroAnnotationElide.h"
#include "llvm/Transforms/Coroutines/CoroCleanup.h"
#include "llvm/Transforms/Coroutines/CoroEarly.h"
#include "llvm/Transforms/Coroutines/CoroSplit.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/Annotation2Metadata.h"
#include "llvm/Transforms/IPO/ArgumentPromotion.h"
#include "llvm/Transforms/IPO/CalledValuePropagation.h"
#include "llvm/Transforms/IPO/DeadArgumentElimination.h"
#include "llvm/Transforms/IPO/ForceFunctionAttrs.h"
#include "llvm/Transforms/IPO/FunctionAttrs.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/GlobalOpt.h"
#include "llvm/Transforms/IPO/InferFunctionAttrs.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/IPO/OpenMPOpt.h"
#include "llvm/Transforms/IPO/SCCP.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/CallSiteSplitting.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LowerExpectIntrinsic.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/EntryExitInstrumenter.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"

using namespace llvm;

namespace {

constexpr ThinOrFullLTOPhase Whole = ThinOrFullLTOPhase::None;
// As often LLVM looks again at functions in which a call through a pointer has become one of a function that is known.
constexpr unsigned MostDevirtualised = 4;

OptimizationLevel level(int Code) {
  switch (Code) {
  case '1':
    return OptimizationLevel::O1;
  case '3':
    return OptimizationLevel::O3;
  case 's':
    return OptimizationLevel::Os;
  case 'z':
    return OptimizationLevel::Oz;
  default:
    return OptimizationLevel::O2;
  }
}

// LLVM gives no way to change the options of a pass builder that someone else made; the linker's are those of the level
// that the driver asks it for, at which nothing is vectorised. An explicit instantiation may name what is private.
PipelineTuningOptions &tuning(PassBuilder &PB);
template <PipelineTuningOptions PassBuilder::*Member> struct Tuning {
  friend PipelineTuningOptions &tuning(PassBuilder &PB) { return PB.*Member; }
};
template struct Tuning<&PassBuilder::PTO>;

// Nor to ask for them.
const std::optional<PGOOptions> &profiles(const PassBuilder &PB);
template <std::optional<PGOOptions> PassBuilder::*Member> struct Profiles {
  friend const std::optional<PGOOptions> &profiles(const PassBuilder &PB) { return PB.*Member; }
};
template struct Profiles<&PassBuilder::PGOOpt>;

auto each(FunctionPassManager FPM) { return createModuleToFunctionPassAdaptor(std::move(FPM), /*EagerlyInvalidate=*/true); }

SimplifyCFGPass simplifyCFG() { return SimplifyCFGPass(SimplifyCFGOptions().convertSwitchRangeToICmp(true)); }

// Functions as the front end wrote them become values in registers, and what is known of the whole program is put in.
void addEarly(PassBuilder &PB, ModulePassManager &MPM, OptimizationLevel Level) {
  MPM.addPass(Annotation2MetadataPass());
  MPM.addPass(ForceFunctionAttrsPass());
  PB.invokePipelineStartEPCallbacks(MPM, Level);
  MPM.addPass(InferFunctionAttrsPass());
  MPM.addPass(CoroEarlyPass());
  FunctionPassManager Registers;
  Registers.addPass(EntryExitInstrumenterPass(/*PostInlining=*/false));
  Registers.addPass(LowerExpectIntrinsicPass());
  Registers.addPass(SimplifyCFGPass());
  // Variables in registers are enough here; structs are taken apart when functions are tidied.
  Registers.addPass(PromotePass());
  if (Level == OptimizationLevel::O3)
    Registers.addPass(CallSiteSplittingPass());
  MPM.addPass(each(std::move(Registers)));
  PB.invokePipelineEarlySimplificationEPCallbacks(MPM, Level, Whole);
  MPM.addPass(OpenMPOptPass(Whole));
  MPM.addPass(IPSCCPPass(IPSCCPOptions(/*AllowFuncSpec=*/Level != OptimizationLevel::Os && Level != OptimizationLevel::Oz)));
  MPM.addPass(CalledValuePropagationPass());
  MPM.addPass(GlobalOptPass());
  MPM.addPass(createModuleToFunctionPassAdaptor(PromotePass()));
}

void addInline(PassBuilder &PB, ModulePassManager &MPM, OptimizationLevel Level) {
  MPM.addPass(AlwaysInlinerPass(/*InsertLifetime=*/true));
  ModuleInlinerWrapperPass Inliner(getInlineParams(Level.getSpeedupLevel(), Level.getSizeLevel()), /*MandatoryFirst=*/false,
                                   InlineContext{Whole, InlinePass::CGSCCInliner}, InliningAdvisorMode::Default,
                                   MostDevirtualised);
  Inliner.addModulePass(RequireAnalysisPass<GlobalsAA, Module>());
  Inliner.addModulePass(createModuleToFunctionPassAdaptor(InvalidateAnalysisPass<AAManager>()));
  Inliner.addModulePass(RequireAnalysisPass<ProfileSummaryAnalysis, Module>());
  CGSCCPassManager &Circles = Inliner.getPM();
  Circles.addPass(PostOrderFunctionAttrsPass(/*SkipNonRecursive=*/true));
  if (Level == OptimizationLevel::O3)
    Circles.addPass(ArgumentPromotionPass());
  Circles.addPass(OpenMPOptCGSCCPass(Whole));
  PB.invokeCGSCCOptimizerLateEPCallbacks(Circles, Level);
  FunctionPassManager Tidy;
  Tidy.addPass(SROAPass(SROAOptions::ModifyCFG));
  Tidy.addPass(EarlyCSEPass());
  Tidy.addPass(simplifyCFG());
  Tidy.addPass(InstCombinePass());
  PB.invokePeepholeEPCallbacks(Tidy, Level);
  Circles.addPass(createCGSCCToFunctionPassAdaptor(std::move(Tidy), /*EagerlyInvalidate=*/true, /*NoRerun=*/true));
  Circles.addPass(PostOrderFunctionAttrsPass());
  Circles.addPass(createCGSCCToFunctionPassAdaptor(RequireAnalysisPass<ShouldNotRunFunctionPassesAnalysis, Function>()));
  Circles.addPass(CoroSplitPass(/*OptimizeFrame=*/true));
  Circles.addPass(CoroAnnotationElidePass());
  Inliner.addLateModulePass(createModuleToFunctionPassAdaptor(InvalidateAnalysisPass<ShouldNotRunFunctionPassesAnalysis>()));
  MPM.addPass(std::move(Inliner));
  MPM.addPass(DeadArgumentEliminationPass());
  MPM.addPass(CoroCleanupPass());
  MPM.addPass(GlobalOptPass());
  MPM.addPass(GlobalDCEPass());
}

} // namespace

ModulePassManager linkPipeline(const PassBuilder &Linkers, int Code) {
  PassBuilder PB = Linkers;
  bool Vectorize = Code == '2' || Code == '3' || Code == 's';
  tuning(PB).LoopVectorization = Vectorize;
  tuning(PB).SLPVectorization = Vectorize;
  OptimizationLevel Level = level(Code);
  // Profiles are read and written at places of LLVM's own pipeline.
  if (profiles(PB))
    return PB.buildPerModuleDefaultPipeline(Level);
  ModulePassManager MPM;
  addEarly(PB, MPM, Level);
  addInline(PB, MPM, Level);
  MPM.addPass(each(PB.buildFunctionSimplificationPipeline(Level, Whole)));
  MPM.addPass(PB.buildModuleOptimizationPipeline(Level, Whole));
  return MPM;
}
