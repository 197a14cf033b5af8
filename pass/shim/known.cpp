// Which traces are known (traces.cpp): a unit looks before it asks, and who asks remembers what all tests have seen. States of one word are
// remembered in the same place.

#include "tests.h"
#include "traces.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

// What a second word never is.
static constexpr uint64_t Busy = 2;

// The trace of a function, declared; and the copy of it that will be its body. In that, calls of the unit are inlined, whatever it says itself.
static Function *declareTrace(Function &F, Function &Unit, const Asking &H) {
  Module &M = *F.getParent();
  std::string Name = (H.Call->getName() + "_trace." + F.getName()).str();
  if (Function *Known = M.getFunction(Name))
    return Known;
  LLVMContext &C = M.getContext();
  auto *Ty = FunctionType::get(pairOfWords(C), F.getFunctionType()->params(), false);
  Function *Trace = Function::Create(Ty, GlobalValue::ExternalLinkage, Name, &M);
  Trace->setDoesNotThrow();
  Trace->setOnlyReadsMemory();
  for (StringRef Kept : {"target-cpu", "target-features", "tune-cpu", "frame-pointer"})
    if (F.hasFnAttribute(Kept))
      Trace->addFnAttr(F.getFnAttribute(Kept));
  ValueToValueMapTy Map;
  Function *Copy = CloneFunction(&F, Map);
  Copy->setName(H.Call->getName() + "_copy." + F.getName());
  Copy->setLinkage(GlobalValue::InternalLinkage);
  Copy->setVisibility(GlobalValue::DefaultVisibility);
  Copy->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  Copy->setComdat(nullptr);
  Copy->setSection("");
  stripDebugInfo(*Copy);
  if (&F != &Unit)
    for (Instruction &I : instructions(*Copy))
      if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->getCalledFunction() == &Unit)
        Call->addFnAttr(Attribute::AlwaysInline);
  Copy->addFnAttr(BodyOf, Name);
  appendToCompilerUsed(M, {Copy});
  return Trace;
}

// Whether a function may have a trace.
extern "C" bool unseen_shim_can_be_traced(Function *F) {
  if (F->isVarArg() || F->isPresplitCoroutine() || F->hasGC() || F->hasPrefixData() || F->hasPrologueData())
    return false;
  for (Attribute::AttrKind Kind : {Attribute::Naked, Attribute::ReturnsTwice, Attribute::OptimizeNone})
    if (F->hasFnAttribute(Kind))
      return false;
  for (const Argument &A : F->args())
    if (A.hasInAllocaAttr() || A.hasPreallocatedAttr() || A.hasSwiftErrorAttr() || A.hasNestAttr() || !canFold(A.getType(), F->getDataLayout()))
      return false;
  return none_of(*F, [](const BasicBlock &Block) { return Block.hasAddressTaken(); });
}

std::pair<Value *, Value *> traceOfCall(IRBuilder<> &B, Function &Unit, ArrayRef<Test> Tests, ArrayRef<Value *> Arguments, uint32_t Number,
                                        const Asking &H) {
  CallInst *Own = B.CreateCall(declareTrace(Unit, Unit, H), Arguments);
  Value *Low = B.CreateXor(B.CreateExtractValue(Own, 0), B.getInt64((Number + 1) * H.Spread));
  Value *High = B.CreateExtractValue(Own, 1);
  SmallVector<Value *, 8> Taken;
  for (const Argument &A : Unit.args())
    if (!isResult(A))
      Taken.push_back(Arguments[A.getArgNo()]);
  for (const Test &T : Tests) {
    if (!T.Called)
      continue;
    CallInst *Other = B.CreateCall(declareTrace(*T.Called, Unit, H), Taken);
    Value *OtherHigh = B.CreateExtractValue(Other, 1);
    Low = B.CreateAdd(B.CreateMul(Low, B.getInt64(FirstFactor)), B.CreateExtractValue(Other, 0));
    Value *IsNone = B.CreateOr(B.CreateIsNull(High), B.CreateIsNull(OtherHigh));
    Value *Both = B.CreateOr(B.CreateAdd(B.CreateMul(High, B.getInt64(SecondFactor)), OtherHigh), 1);
    High = B.CreateSelect(IsNone, B.getInt64(0), Both);
  }
  return {Low, High};
}

// Where a trace is, if it is known.
static Value *placeOf(IRBuilder<> &B, Value *Low, Value *High, const Asking &H) {
  Value *Turned = B.CreateIntrinsic(B.getInt64Ty(), Intrinsic::fshl, {High, High, B.getInt64(32)});
  Value *Mixed = B.CreateMul(B.CreateXor(Low, Turned), B.getInt64(H.Spread));
  return B.CreateInBoundsGEP(pairOfWords(B.getContext()), H.Traces, B.CreateLShr(Mixed, 64 - Log2_64(H.TracePlaces)));
}

static Value *secondOf(IRBuilder<> &B, Value *Place) { return B.CreateConstInBoundsGEP1_64(B.getInt64Ty(), Place, 1); }

// One at a time writes to a place: the second word is Busy meanwhile. Nobody waits.
void rememberTrace(IRBuilder<> &B, Value *Low, Value *High, const Asking &H) {
  LLVMContext &C = B.getContext();
  Function *F = B.GetInsertBlock()->getParent();
  Value *Place = placeOf(B, Low, High, H), *Second = secondOf(B, Place);
  BasicBlock *Next = B.GetInsertBlock()->getNextNode();
  auto Block = [&]() { return BasicBlock::Create(C, "", F, Next); };
  BasicBlock *Claim = Block(), *Write = Block(), *Done = Block();
  LoadInst *Old = B.CreateAlignedLoad(B.getInt64Ty(), Second, Align(8));
  Old->setAtomic(AtomicOrdering::Monotonic);
  B.CreateCondBr(B.CreateICmpEQ(Old, B.getInt64(Busy)), Done, Claim);
  B.SetInsertPoint(Claim);
  Value *Claimed = B.CreateAtomicCmpXchg(Second, Old, B.getInt64(Busy), Align(8), AtomicOrdering::AcquireRelease, AtomicOrdering::Monotonic);
  B.CreateCondBr(B.CreateExtractValue(Claimed, 1), Write, Done);
  B.SetInsertPoint(Write);
  // Whoever reads it finds that the second word is not what it was.
  B.CreateAlignedStore(Low, Place, Align(8))->setAtomic(AtomicOrdering::Release);
  B.CreateAlignedStore(High, Second, Align(8))->setAtomic(AtomicOrdering::Release);
  B.CreateBr(Done);
  B.SetInsertPoint(Done);
}

// A second word is odd; that of none is 0, as is a place that was never used.
Value *secondWord(IRBuilder<> &B, uint32_t Number) { return B.getInt64(uint64_t(Number) << 1 | 1); }

Value *isTraceKnown(IRBuilder<> &B, Value *Low, Value *High, const Asking &H) {
  Value *Place = placeOf(B, Low, High, H);
  auto Word = [&](Value *At, AtomicOrdering Order) {
    LoadInst *Load = B.CreateAlignedLoad(B.getInt64Ty(), At, Align(8));
    Load->setAtomic(Order);
    return Load;
  };
  // Others may be writing: what was read goes together if the second word is the same before and after.
  Value *Before = Word(secondOf(B, Place), AtomicOrdering::Acquire), *First = Word(Place, AtomicOrdering::Acquire),
        *After = Word(secondOf(B, Place), AtomicOrdering::Monotonic);
  return B.CreateAnd(B.CreateICmpEQ(First, Low), B.CreateAnd(B.CreateICmpEQ(Before, High), B.CreateICmpEQ(After, High)));
}

Function *traceLooker(Function &Unit, ArrayRef<Test> Tests, uint32_t Number, const Asking &H) {
  LLVMContext &C = Unit.getContext();
  SmallVector<Type *, 1> Last;
  for (const Argument &A : Unit.args())
    if (isResult(A))
      Last.push_back(A.getType());
  Function *Look = beside(Unit, H.Call->getName() + "_look." + Unit.getName(), Type::getInt1Ty(C), {}, Last);
  Look->removeFnAttr(Attribute::Cold);
  Look->setDoesNotThrow();
  // The unit keeps its registers.
  Look->setCallingConv(CallingConv::PreserveMost);
  IRBuilder<> B(BasicBlock::Create(C, "", Look));
  SmallVector<Value *, 8> Arguments;
  Argument *Next = Look->arg_begin(), *Result = Look->arg_end() - Last.size();
  for (const Argument &A : Unit.args())
    Arguments.push_back(isResult(A) ? Result++ : Next++);
  auto [Low, High] = traceOfCall(B, Unit, Tests, Arguments, Number, H);
  Value *IsKnown = B.CreateAnd(isTraceKnown(B, Low, High, H), B.CreateIsNotNull(High));
  auto *Hit = BasicBlock::Create(C, "unseen.hit", Look), *Miss = BasicBlock::Create(C, "", Look);
  B.CreateCondBr(IsKnown, Hit, Miss, MDBuilder(C).createLikelyBranchWeights());
  B.SetInsertPoint(Hit);
  // Now and then all that was counted is told.
  B.CreateRet(B.CreateICmpULT(countHit(B, hitsOf(B, Number, H)), B.getInt32(H.MostHits)));
  B.SetInsertPoint(Miss);
  B.CreateRet(B.getFalse());
  return Look;
}
