// Traces: what a call of a unit is about to read, value by value, as two words that name it.
//
// A copy of the unit runs before it, without its writes, and folds its arguments and each value that it loads into these words. Two
// calls with the same trace do the same, whatever else there is in memory; so if one of them was found to be in a state that all tests
// have seen, the other is, too. It reads nothing that the unit would not read next, and asks nobody whether it may.
//
//   look(a, b)     t = trace(a, b)              trace(a, b)      the unit, but
//                  if t is in traces: count                      x = load p      ->  x = load p; fold x; none if p is near null
//                  return whether it is                          store x, q      ->  nothing
//                                                                return r        ->  return what was folded
//                                                                anything else   ->  return none
//
// What ends a trace, so that there is none: calls that do more than read, volatile and atomic accesses, what may read what the unit has
// written by then. The copy is made before the program is optimised, and becomes a trace when functions are inlined and simplified.

#include "traces.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

extern "C" {
// pass/src/plugin.rs
const char *unseen_pass_gates(size_t *Length);
const char *unseen_pass_probe(size_t *Length);
}

namespace {

// So many rounds of loops are in a trace.
constexpr uint32_t MostRounds = 256;
// Nothing lies below that address.
constexpr uint64_t Lowest = 4096;

// The words of a value that can be folded.
void words(IRBuilder<> &B, Value *V, SmallVectorImpl<Value *> &Out) {
  Type *Ty = V->getType();
  if (auto *Struct = dyn_cast<StructType>(Ty)) {
    for (unsigned I = 0; I < Struct->getNumElements(); I++)
      words(B, B.CreateExtractValue(V, I), Out);
    return;
  }
  if (Ty->isPtrOrPtrVectorTy()) {
    V = B.CreatePtrToInt(V, Ty->getWithNewType(B.getInt64Ty()));
    Ty = V->getType();
  }
  uint64_t Bits = Ty->getPrimitiveSizeInBits().getFixedValue();
  if (!Ty->isIntegerTy())
    V = B.CreateBitCast(V, B.getIntNTy(Bits));
  for (uint64_t At = 0; At < Bits; At += 64) {
    Value *Part = At ? B.CreateLShr(V, At) : V;
    Out.push_back(B.CreateZExtOrTrunc(Part, B.getInt64Ty()));
  }
}

// The two words of a trace while it is made.
struct Folder {
  Value *First, *Second;

  void word(IRBuilder<> &B, Value *W) const {
    Type *Word = B.getInt64Ty();
    Value *A = B.CreateMul(B.CreateXor(B.CreateLoad(Word, First), W), B.getInt64(FirstFactor));
    B.CreateStore(B.CreateXor(A, B.CreateLShr(A, 32)), First);
    Value *Old = B.CreateLoad(Word, Second);
    Value *Turned = B.CreateIntrinsic(Word, Intrinsic::fshl, {Old, Old, B.getInt64(29)});
    B.CreateStore(B.CreateMul(B.CreateAdd(Turned, W), B.getInt64(SecondFactor)), Second);
  }

  void value(IRBuilder<> &B, Value *V, const Plans &Plan) const {
    if (V->getType()->isPointerTy()) {
      Matters Matter = whatMatters(V, Plan);
      if (Matter == Matters::Nothing)
        return;
      if (Matter == Matters::Null)
        return word(B, B.CreateZExt(B.CreateIsNull(V), B.getInt64Ty()));
    }
    whole(B, V);
  }

  void whole(IRBuilder<> &B, Value *V) const {
    SmallVector<Value *, 4> Words;
    words(B, V, Words);
    for (Value *W : Words)
      word(B, W);
  }
};

// Folds what a copy of memory has read.
void foldCopied(MemTransferInst &Move, const Folder &Fold) {
  IRBuilder<> B(Move.getNextNode());
  uint64_t Left = cast<ConstantInt>(Move.getLength())->getZExtValue();
  for (uint64_t At = 0; Left;) {
    uint64_t Size = Left >= 8 ? 8 : bit_floor(Left);
    Value *From = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), Move.getSource(), At);
    Fold.whole(B, B.CreateAlignedLoad(B.getIntNTy(8 * Size), From, Align(1)));
    At += Size;
    Left -= Size;
  }
}

// Whether what must not be is so.
Value *isWrong(IRBuilder<> &B, const Guard &G) {
  Value *V = G.Guarded;
  if (G.Written) {
    // From the start of one the other begins after its end, going round.
    Value *From = B.CreatePtrToInt(readThrough(*G.Before).front(), B.getInt64Ty()), *To = B.CreatePtrToInt(V, B.getInt64Ty());
    Value *Reaches = B.CreateICmpULT(B.CreateSub(From, To), B.getInt64(G.Written));
    return B.CreateOr(Reaches, B.CreateICmpULT(B.CreateSub(To, From), B.getInt64(bytesOf(*G.Before))));
  }
  if (V->getType()->isPointerTy())
    return B.CreateICmpULT(B.CreatePtrToInt(V, B.getInt64Ty()), B.getInt64(Lowest));
  // Least number by -1 does.
  unsigned Opcode = G.Before->getOpcode();
  bool IsSigned = Opcode == Instruction::SDiv || Opcode == Instruction::SRem;
  Value *IsZero = B.CreateIsNull(V);
  return IsSigned ? B.CreateOr(IsZero, B.CreateICmpEQ(V, Constant::getAllOnesValue(V->getType()))) : IsZero;
}

// No trace.
void giveNone(BasicBlock *Block) {
  LLVMContext &C = Block->getContext();
  ReturnInst::Create(C, Constant::getNullValue(pairOfWords(C)), Block);
}

// A call that takes many rounds has no trace: it would take twice as long. Returns where they are counted.
AllocaInst *limitRounds(Function &Trace, BasicBlock *None) {
  BasicBlock &Entry = Trace.getEntryBlock();
  IRBuilder<> B(&Entry, Entry.begin());
  AllocaInst *Rounds = B.CreateAlloca(B.getInt32Ty());
  B.CreateStore(B.getInt32(0), Rounds);
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 8> Edges;
  FindFunctionBackedges(Trace, Edges);
  SmallPtrSet<const BasicBlock *, 8> Done;
  for (auto [From, To] : Edges) {
    if (!Done.insert(From).second)
      continue;
    auto *Block = const_cast<BasicBlock *>(From);
    BasicBlock *Rest = Block->splitBasicBlock(Block->getTerminator());
    Block->getTerminator()->eraseFromParent();
    B.SetInsertPoint(Block);
    Value *Round = B.CreateAdd(B.CreateLoad(B.getInt32Ty(), Rounds), B.getInt32(1));
    B.CreateStore(Round, Rounds);
    B.CreateCondBr(B.CreateICmpUGT(Round, B.getInt32(MostRounds)), None, Rest, MDBuilder(Trace.getContext()).createUnlikelyBranchWeights());
  }
  return Rounds;
}

// Removes what can't be in a trace, and what comes behind it. It is taken out of the plan first: something else may come to lie at its
// address.
void cut(Function &Trace, Plans &Plan) {
  SmallVector<Instruction *, 8> Ends;
  for (BasicBlock &Block : Trace)
    for (Instruction &I : Block)
      if (Plan.lookup(&I) == What::End) {
        Ends.push_back(&I);
        break;
      }
  for (Instruction *End : Ends) {
    BasicBlock *Block = End->getParent();
    for (Instruction &I : make_range(End->getIterator(), Block->end()))
      Plan.erase(&I);
    changeToUnreachable(End);
    Block->getTerminator()->eraseFromParent();
    giveNone(Block);
  }
  df_iterator_default_set<BasicBlock *> Reached;
  for (BasicBlock *Block : depth_first_ext(&Trace, Reached))
    (void)Block;
  for (BasicBlock &Block : Trace)
    if (!Reached.contains(&Block))
      for (Instruction &I : Block)
        Plan.erase(&I);
  // Nothing but these: what else could be simplified is in the plan.
  EliminateUnreachableBlocks(Trace);
}

// Makes the body of a trace of these instructions, which were those of a function.
void makeTrace(Function &Trace, Plans &Plan, ArrayRef<Guard> Guards) {
  LLVMContext &C = Trace.getContext();
  cut(Trace, Plan);
  SmallVector<std::pair<Instruction *, What>, 32> Left;
  for (Instruction &I : instructions(Trace))
    if (auto Found = Plan.find(&I); Found != Plan.end())
      Left.push_back(*Found);
  BasicBlock &Entry = Trace.getEntryBlock();
  IRBuilder<> B(&Entry, Entry.begin());
  auto *First = B.CreateAlloca(B.getInt64Ty()), *Second = B.CreateAlloca(B.getInt64Ty());
  B.CreateStore(B.getInt64(FirstFactor), First);
  B.CreateStore(B.getInt64(SecondFactor), Second);
  Folder Fold{First, Second};
  for (Argument &A : Trace.args())
    Fold.value(B, &A, Plan);
  for (auto [I, Does] : Left) {
    if (Does == What::Nothing || Does == What::Write) {
      Plan.erase(I);
      if (!I->use_empty())
        I->replaceAllUsesWith(PoisonValue::get(I->getType()));
      I->eraseFromParent();
    } else if (Does == What::Read) {
      B.SetInsertPoint(I->getNextNode());
      Fold.value(B, I, Plan);
    } else if (Does == What::Copy) {
      foldCopied(cast<MemTransferInst>(*I), Fold);
    } else if (auto *Return = dyn_cast<ReturnInst>(I)) {
      B.SetInsertPoint(Return);
      Value *Pair = Constant::getNullValue(pairOfWords(C));
      Pair = B.CreateInsertValue(Pair, B.CreateLoad(B.getInt64Ty(), First), 0);
      Pair = B.CreateInsertValue(Pair, B.CreateOr(B.CreateLoad(B.getInt64Ty(), Second), 1), 1);
      B.CreateRet(Pair);
      Plan.erase(I);
      Return->eraseFromParent();
    }
  }
  BasicBlock *None = BasicBlock::Create(C, "", &Trace);
  giveNone(None);
  for (const Guard &G : Guards) {
    if (!Plan.contains(G.Before))
      continue;
    BasicBlock *Block = G.Before->getParent(), *Rest = Block->splitBasicBlock(G.Before);
    Block->getTerminator()->eraseFromParent();
    B.SetInsertPoint(Block);
    B.CreateCondBr(isWrong(B, G), None, Rest, MDBuilder(C).createUnlikelyBranchWeights());
  }
  for (auto [I, Does] : Left)
    if (Does == What::Copy && !pointsToOwn(cast<MemTransferInst>(I)->getDest()))
      I->eraseFromParent();
  AllocaInst *Rounds = limitRounds(Trace, None);
  if (pred_empty(None))
    None->eraseFromParent();
  DominatorTree DT(Trace);
  PromoteMemToReg({First, Second, Rounds}, DT);
}

// In a copy nothing asks for tests, and nothing is counted.
void takeOurs(Function &Copy, StringRef Gates, StringRef Probe) {
  for (Instruction &I : make_early_inc_range(instructions(Copy)))
    if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->getCalledFunction() && Call->getCalledFunction()->getName() == Probe)
      Call->eraseFromParent();
  SmallVector<LoadInst *, 4> Looks;
  for (Instruction &I : instructions(Copy))
    if (auto *Load = dyn_cast<LoadInst>(&I); Load && Load->isVolatile())
      if (auto *Variable = dyn_cast<GlobalVariable>(getUnderlyingObject(Load->getPointerOperand())); Variable && Variable->getName() == Gates)
        Looks.push_back(Load);
  for (LoadInst *Look : Looks) {
    replaceAndRecursivelySimplify(Look, Constant::getNullValue(Look->getType()));
    Look->eraseFromParent();
  }
  for (BasicBlock &Block : Copy)
    ConstantFoldTerminator(&Block, /*DeleteDeadConditions=*/true);
  removeUnreachableBlocks(Copy);
}

// Gives a trace its body. Null if nobody asks for it any more.
Function *settle(Function &Copy, FunctionAnalysisManager &FAM, StringRef Gates, StringRef Probe) {
  Module &M = *Copy.getParent();
  Function *Trace = M.getFunction(Copy.getFnAttribute(BodyOf).getValueAsString());
  removeFromUsedLists(M, [&](Constant *C) { return C->stripPointerCasts() == &Copy; });
  if (!Trace)
    return nullptr;
  LLVMContext &C = M.getContext();
  takeOurs(Copy, Gates, Probe);
  FAM.invalidate(Copy, PreservedAnalyses::none());
  DominatorTree DT(Copy);
  SmallVector<Guard, 8> Guards;
  auto Plan = planTrace(Copy, FAM.getResult<AAManager>(Copy), DT, Guards);
  Trace->setLinkage(GlobalValue::InternalLinkage);
  if (Plan.empty()) {
    giveNone(BasicBlock::Create(C, "", Trace));
    return Trace;
  }
  FAM.clear(Copy, Copy.getName());
  Trace->splice(Trace->begin(), &Copy);
  for (auto [From, To] : zip(Copy.args(), Trace->args()))
    From.replaceAllUsesWith(&To);
  stripDebugInfo(*Trace);
  makeTrace(*Trace, Plan, Guards);
  assert(!verifyFunction(*Trace, &errs()) && "a trace is no valid function");
  return Trace;
}

struct SettleTraces : PassInfoMixin<SettleTraces> {
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    SmallVector<Function *, 16> Copies;
    for (Function &F : M)
      if (F.hasFnAttribute(BodyOf))
        Copies.push_back(&F);
    if (Copies.empty())
      return PreservedAnalyses::all();
    auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
    size_t Length;
    const char *Text = unseen_pass_gates(&Length);
    StringRef Gates(Text, Length);
    Text = unseen_pass_probe(&Length);
    StringRef Probe(Text, Length);
    SmallVector<Function *, 16> Traces;
    for (Function *Copy : Copies)
      if (Function *Trace = settle(*Copy, FAM, Gates, Probe))
        Traces.push_back(Trace);
    for (Function *Copy : Copies)
      Copy->deleteBody();
    for (Function *Copy : Copies) {
      FAM.clear(*Copy, Copy->getName());
      Copy->eraseFromParent();
    }
    for (Function *Trace : Traces)
      for (User *U : make_early_inc_range(Trace->users()))
        // Who looks does nothing else.
        if (auto *Call = dyn_cast<CallBase>(U); Call && !Call->getFunction()->hasFnAttribute(Attribute::Cold)) {
          InlineFunctionInfo Info;
          InlineFunction(*Call, Info);
        }
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

} // namespace

void addSettleTraces(ModulePassManager &MPM) { MPM.addPass(SettleTraces()); }
