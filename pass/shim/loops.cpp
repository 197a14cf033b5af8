// Gives loops that call nothing a second copy without probes, which runs once every counter of the loop is set: the
// first rounds record, the others cost what they cost without us. The copies are what the optimiser would have made of
// the loops if there were no probes.
//
//   preheader:  if epoch of the loop == epoch, go to copy, else to ask
//   ask:        if not all counters of the loop are set, go to loop
//               epoch of the loop = the epoch that was read in the preheader; go to copy
//   loop:       probe; body                    copy:  body
//
// In the epoch 0, when nothing is recorded, all loops run their copies; pass/shim/off.cpp knows blocks that ask.

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace {

// Larger loops spend their time otherwise, as do loops with few probes for their size, and copies cost space and links time;
// counters that lie far apart cost time to look at, which a loop of a few rounds does not win back.
constexpr unsigned MostInstructions = 200;
constexpr unsigned MostInstructionsPerProbe = 8;
// Loops of up to this size are copied whatever their number of probes.
constexpr unsigned FewInstructions = 12;
constexpr unsigned MostWords = 3;
constexpr unsigned FewRounds = 4;

/// Some counters that one load can see, and the bits that are set when all of them are.
struct Word {
  uint64_t First, Mask;
};

const ConstantInt *number(const Instruction &I, const Function &Probe) {
  const auto *Call = dyn_cast<CallInst>(&I);
  return Call && Call->getCalledFunction() == &Probe ? dyn_cast<ConstantInt>(Call->getArgOperand(0)) : nullptr;
}

/// The numbers of a loop's probes; none if it is not to be copied.
SmallSetVector<uint64_t, 16> probesOf(const Loop &L, const Function &Probe) {
  SmallSetVector<uint64_t, 16> Probes;
  unsigned Size = 0;
  for (const BasicBlock *Block : L.blocks())
    for (const Instruction &I : *Block) {
      if (const ConstantInt *Number = number(I, Probe))
        Probes.insert(Number->getZExtValue());
      else if (++Size > MostInstructions || (isa<CallBase>(I) && !isa<IntrinsicInst>(I)))
        return {};
    }
  if (Size > std::max<size_t>(FewInstructions, MostInstructionsPerProbe * Probes.size()))
    return {};
  return Probes;
}

/// Eight neighbours a word.
SmallVector<Word, MostWords> wordsOf(ArrayRef<uint64_t> Probes, uint64_t Size) {
  SmallVector<uint64_t, 16> Sorted(Probes);
  sort(Sorted);
  SmallVector<Word, MostWords> Words;
  for (uint64_t Number : Sorted) {
    if (Words.empty() || Number - Words.back().First > 7)
      Words.push_back({std::min(Number, Size - 8), 0});
    Words.back().Mask |= uint64_t(1) << 8 * (Number - Words.back().First);
  }
  return Words;
}

LoadInst *load(IRBuilder<> &Build, Type *Ty, Value *From, Align A) {
  // Volatile: other threads write it, and whoever begins another epoch.
  LoadInst *Load = Build.CreateAlignedLoad(Ty, From, A, /*isVolatile=*/true);
  Load->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(Load->getContext(), {}));
  return Load;
}

/// Ends a chain of blocks that goes to `Set` if all counters are set, and else to `Else`. Returns its first block.
BasicBlock *ask(ArrayRef<Word> Words, GlobalVariable &Counters, BasicBlock *Set, BasicBlock *Else,
                SmallVectorImpl<BasicBlock *> &Asking) {
  BasicBlock *Next = Set;
  for (const Word &W : Words) {
    BasicBlock *Ask = BasicBlock::Create(Set->getContext(), "ask", Set->getParent());
    IRBuilder<> Build(Ask);
    unsigned Bits = W.Mask <= 0xff ? 8 : W.Mask <= 0xffffffff ? 32 : 64;
    Value *Address = Build.CreateConstInBoundsGEP1_64(Build.getInt8Ty(), &Counters, W.First);
    Value *Mask = Build.getIntN(Bits, W.Mask);
    Value *Word = Build.CreateAnd(load(Build, Build.getIntNTy(Bits), Address, Align(1)), Mask);
    Build.CreateCondBr(Build.CreateICmpEQ(Word, Mask), Next, Else);
    Asking.push_back(Ask);
    Next = Ask;
  }
  return Next;
}

void copy(Loop &L, const Function &Probe, ArrayRef<Word> Words, GlobalVariable &Counters, GlobalVariable &Epoch) {
  BasicBlock *Preheader = L.getLoopPreheader(), *Header = L.getHeader();
  Function *F = Preheader->getParent();
  ValueToValueMapTy Map;
  SmallVector<BasicBlock *, 16> Copies;
  for (BasicBlock *Block : L.blocks()) {
    BasicBlock *Copy = CloneBasicBlock(Block, Map, ".quiet", F);
    Map[Block] = Copy;
    Copies.push_back(Copy);
  }
  remapInstructionsInBlocks(Copies, Map);
  auto *Quiet = cast<BasicBlock>(Map[Header]);
  // What leaves the loop leaves through these alone.
  SmallVector<BasicBlock *, 8> Exits;
  L.getUniqueExitBlocks(Exits);
  for (BasicBlock *Exit : Exits)
    for (PHINode &Phi : Exit->phis())
      for (unsigned I = 0, Count = Phi.getNumIncomingValues(); I < Count; ++I)
        if (L.contains(Phi.getIncomingBlock(I))) {
          Value *Incoming = Phi.getIncomingValue(I);
          Value *Copied = Map.lookup(Incoming);
          Phi.addIncoming(Copied ? Copied : Incoming, cast<BasicBlock>(Map[Phi.getIncomingBlock(I)]));
        }
  for (BasicBlock *Copy : Copies)
    for (Instruction &I : make_early_inc_range(*Copy))
      if (number(I, Probe))
        I.eraseFromParent();
  // What runs a few times need not be unrolled.
  for (Loop *Inner : L.getLoopsInPreorder())
    addStringMetadataToLoop(Inner, "llvm.loop.disable_nonforced", 1);

  Instruction *Old = Preheader->getTerminator();
  IRBuilder<> Build(Old);
  Type *I32 = Build.getInt32Ty();
  auto *Own = new GlobalVariable(*F->getParent(), I32, false, GlobalValue::PrivateLinkage, Build.getInt32(0),
                                 Epoch.getName() + ".loop");
  Own->setAlignment(Align(4));
  LoadInst *Now = load(Build, I32, &Epoch, Align(4));
  Value *Same = Build.CreateICmpEQ(load(Build, I32, Own, Align(4)), Now);
  BasicBlock *Set = BasicBlock::Create(F->getContext(), "set", F);
  SmallVector<BasicBlock *, MostWords> Asking;
  BasicBlock *Ask = ask(Words, Counters, Set, Header, Asking);
  BranchInst *New = Build.CreateCondBr(Same, Quiet, Ask, MDBuilder(F->getContext()).createBranchWeights(8, 1));
  New->setDebugLoc(Old->getDebugLoc());
  Old->eraseFromParent();
  Build.SetInsertPoint(Set);
  Build.SetCurrentDebugLocation(DebugLoc());
  StoreInst *Store = Build.CreateAlignedStore(Now, Own, Align(4), /*isVolatile=*/true);
  Store->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(Store->getContext(), {}));
  Build.CreateBr(Quiet);
  for (PHINode &Phi : Quiet->phis())
    Phi.addIncoming(Phi.getIncomingValueForBlock(Preheader), Set);
  for (PHINode &Phi : Header->phis()) {
    Value *Incoming = Phi.getIncomingValueForBlock(Preheader);
    Phi.removeIncomingValue(Preheader, /*DeletePHIIfEmpty=*/false);
    for (BasicBlock *Block : Asking)
      Phi.addIncoming(Incoming, Block);
  }
}

/// Whether a loop is known to run a few rounds at most whenever it is entered.
bool isShort(Loop &L, ScalarEvolution &SE) {
  unsigned Most = SE.getSmallConstantMaxTripCount(&L);
  return Most && Most <= FewRounds;
}

void copyLoops(Function &F, const Function &Probe, GlobalVariable &Counters, GlobalVariable &Epoch) {
  DominatorTree DT(F);
  LoopInfo LI(DT);
  if (LI.empty())
    return;
  TargetLibraryInfoImpl Known(F.getParent()->getTargetTriple());
  TargetLibraryInfo TLI(Known, &F);
  AssumptionCache AC(F);
  ScalarEvolution SE(F, TLI, AC, DT, LI);
  uint64_t Size = cast<ArrayType>(Counters.getValueType())->getNumElements();
  // Outer loops first; what lies in a loop that is copied is copied with it.
  SmallVector<std::pair<Loop *, SmallVector<Word, MostWords>>, 8> Chosen;
  SmallVector<Loop *, 8> Work(LI.begin(), LI.end());
  while (!Work.empty()) {
    Loop *L = Work.pop_back_val();
    auto Words = wordsOf(probesOf(*L, Probe).getArrayRef(), Size);
    if (!Words.empty() && Words.size() <= MostWords && L->isSafeToClone() &&
        !(L->isInnermost() && isShort(*L, SE)))
      Chosen.push_back({L, Words});
    else
      Work.append(L->begin(), L->end());
  }
  for (auto &[L, Words] : Chosen)
    simplifyLoop(L, &DT, &LI, nullptr, nullptr, nullptr, false);
  for (auto &[L, Words] : Chosen)
    formLCSSARecursively(*L, DT, &LI, nullptr);
  for (auto &[L, Words] : Chosen)
    if (L->isLoopSimplifyForm())
      copy(*L, Probe, Words, Counters, Epoch);
}

} // namespace

/// Copies loops of all functions that call `Probe`.
extern "C" void unseen_shim_copy_loops(Function *Probe, GlobalVariable *Counters, GlobalVariable *Epoch) {
  SmallPtrSet<const Function *, 32> Calling;
  for (const User *U : Probe->users())
    if (const auto *Call = dyn_cast<CallInst>(U))
      Calling.insert(Call->getFunction());
  for (Function &F : *Probe->getParent())
    if (Calling.contains(&F) && !F.hasOptNone())
      copyLoops(F, *Probe, *Counters, *Epoch);
}
