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

#include "tests.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
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

// An attribute of a copy: whose body it will be.
constexpr const char *BodyOf = "unseen-trace";
// Larger functions have no trace, nor do those with so many pairs of a read and a write before it.
constexpr size_t MostInstructions = 1000, MostPairs = 100000, MostGuards = 64;
// So many rounds of loops are in a trace.
constexpr uint32_t MostRounds = 256;
// As many bytes are folded of a value, or of memory that is copied at once.
constexpr uint64_t MostBytes = 64;
// Nothing lies below that address.
constexpr uint64_t Lowest = 4096;
// What a second word never is.
constexpr uint64_t Busy = 2;
// Odd numbers without a pattern.
constexpr uint64_t FirstFactor = 0xbf58476d1ce4e5b9, SecondFactor = 0x94d049bb133111eb;

Type *pairOfWords(LLVMContext &C) { return StructType::get(Type::getInt64Ty(C), Type::getInt64Ty(C)); }

// The trace of a function, declared; and the copy of it that will be its body. In that, calls of the unit are inlined, whatever it says itself.
Function *declareTrace(Function &F, Function &Unit, const Asking &H) {
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

// The words of a value; false if it has too many, or none.
bool words(IRBuilder<> &B, Value *V, SmallVectorImpl<Value *> &Out) {
  Type *Ty = V->getType();
  if (auto *Struct = dyn_cast<StructType>(Ty)) {
    for (unsigned I = 0; I < Struct->getNumElements(); I++)
      if (!words(B, B.CreateExtractValue(V, I), Out))
        return false;
    return true;
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
  return true;
}

// Whether a value of that type can be folded.
bool canFold(Type *Ty, const DataLayout &DL) {
  if (auto *Struct = dyn_cast<StructType>(Ty))
    return Struct->getNumElements() <= 8 && all_of(Struct->elements(), [&](Type *T) { return canFold(T, DL); });
  if (isa<ScalableVectorType>(Ty) || !(Ty->isIntOrIntVectorTy() || Ty->isFPOrFPVectorTy() || Ty->isPtrOrPtrVectorTy()))
    return false;
  if (Ty->isPtrOrPtrVectorTy() && (Ty->getPointerAddressSpace() != 0 || DL.getPointerSize() != 8))
    return false;
  return DL.getTypeStoreSize(Ty).getFixedValue() <= MostBytes;
}

// Whether all that a pointer may point to is the function's own, or, if asked for, never changes.
bool pointsToOwn(const Value *Pointer) {
  SmallVector<const Value *, 4> Objects;
  getUnderlyingObjects(Pointer, Objects);
  return all_of(Objects, [](const Value *Object) { return isa<AllocaInst>(Object); });
}

bool pointsToConstants(const Value *Pointer) {
  SmallVector<const Value *, 4> Objects;
  getUnderlyingObjects(Pointer, Objects);
  return all_of(Objects, [](const Value *Object) {
    auto *Variable = dyn_cast<GlobalVariable>(Object);
    return Variable && Variable->isConstant();
  });
}

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

What whatIntrinsicDoes(const IntrinsicInst &I) {
  switch (I.getIntrinsicID()) {
  case Intrinsic::lifetime_start:
  case Intrinsic::lifetime_end:
  case Intrinsic::assume:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::invariant_start:
  case Intrinsic::invariant_end:
  case Intrinsic::donothing:
  case Intrinsic::sideeffect:
  case Intrinsic::prefetch:
    return What::Nothing;
  case Intrinsic::memcpy:
  case Intrinsic::memmove:
  case Intrinsic::memcpy_inline: {
    auto &Move = cast<MemTransferInst>(I);
    auto *Length = dyn_cast<ConstantInt>(Move.getLength());
    if (Move.isVolatile() || !Length || Length->getValue().ugt(MostBytes))
      return What::End;
    return What::Copy;
  }
  case Intrinsic::memset: {
    auto &Set = cast<MemSetInst>(I);
    return Set.isVolatile() ? What::End : pointsToOwn(Set.getDest()) ? What::Keep : What::Write;
  }
  // Where a thread has its variables is as good as read.
  case Intrinsic::threadlocal_address:
  case Intrinsic::thread_pointer:
    return What::Read;
  case Intrinsic::returnaddress:
  case Intrinsic::addressofreturnaddress:
  case Intrinsic::frameaddress:
  case Intrinsic::sponentry:
  case Intrinsic::localaddress:
  case Intrinsic::stacksave:
    return What::End;
  default:
    return I.doesNotAccessMemory() && I.doesNotThrow() && I.willReturn() && !I.mayHaveSideEffects() ? What::Keep : What::End;
  }
}

What whatCallDoes(const CallInst &Call, const DataLayout &DL) {
  if (auto *I = dyn_cast<IntrinsicInst>(&Call))
    return whatIntrinsicDoes(*I);
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || Callee->hasFnAttribute(BodyOf) || !Call.doesNotThrow() || !Call.willReturn() || Call.hasOperandBundles() ||
      Call.isMustTailCall() || Call.isConvergent())
    return What::End;
  if (Call.doesNotAccessMemory())
    return What::Keep;
  if (!Call.onlyReadsMemory())
    return What::End;
  if (Call.getType()->isVoidTy())
    return What::Nothing;
  return canFold(Call.getType(), DL) ? What::Read : What::End;
}

What whatItDoes(const Instruction &I, const DataLayout &DL) {
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    if (!Load->isSimple())
      return What::End;
    if (pointsToOwn(Load->getPointerOperand()) || pointsToConstants(Load->getPointerOperand()))
      return What::Keep;
    return canFold(Load->getType(), DL) ? What::Read : What::End;
  }
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return !Store->isSimple() ? What::End : pointsToOwn(Store->getPointerOperand()) ? What::Keep : What::Write;
  if (auto *Call = dyn_cast<CallInst>(&I))
    return whatCallDoes(*Call, DL);
  if (auto *Slot = dyn_cast<AllocaInst>(&I))
    return Slot->isStaticAlloca() ? What::Keep : What::End;
  switch (I.getOpcode()) {
  case Instruction::SDiv:
  case Instruction::UDiv:
  case Instruction::SRem:
  case Instruction::URem: {
    if (auto *By = dyn_cast<ConstantInt>(I.getOperand(1)); By && !By->isZero() && !By->isMinusOne())
      return What::Keep;
    return I.getType()->isVectorTy() ? What::End : What::Divide;
  }
  case Instruction::Ret:
  case Instruction::Br:
  case Instruction::Switch:
    return What::Keep;
  default:
    return I.isTerminator() || I.mayReadOrWriteMemory() || I.mayHaveSideEffects() ? What::End : What::Keep;
  }
}

// Whether a write may change what is read.
bool mayChange(const Instruction &Write, const Instruction &Read, AAResults &AA) {
  if (auto *Call = dyn_cast<CallBase>(&Read); Call && !isa<MemTransferInst>(Call)) {
    if (auto *Store = dyn_cast<StoreInst>(&Write))
      return isRefSet(AA.getModRefInfo(Call, MemoryLocation::get(Store)));
    return isRefSet(AA.getModRefInfo(Call, MemoryLocation::getForDest(cast<MemIntrinsic>(&Write))));
  }
  if (auto *Move = dyn_cast<MemTransferInst>(&Read))
    return isModSet(AA.getModRefInfo(&Write, MemoryLocation::getForSource(Move)));
  return isModSet(AA.getModRefInfo(&Write, MemoryLocation::get(cast<LoadInst>(&Read))));
}

// The pointers that an instruction reads through.
SmallVector<Value *, 2> readThrough(Instruction &I) {
  if (auto *Load = dyn_cast<LoadInst>(&I))
    return {Load->getPointerOperand()};
  if (auto *Move = dyn_cast<MemTransferInst>(&I))
    return {Move->getSource()};
  SmallVector<Value *, 2> Pointers;
  if (!isa<IntrinsicInst>(I))
    for (Value *Argument : cast<CallInst>(I).args())
      if (Argument->getType()->isPointerTy())
        Pointers.push_back(Argument);
  return Pointers;
}

// What must not be, or else there is no trace: a pointer that is read through is near null, or a division would trap, which is for tests
// to find; or what was written, so many bytes, overlaps with what is read.
struct Guard {
  // The pointer, the divisor, or where was written; or what it becomes if it is simplified.
  WeakTrackingVH Guarded;
  Instruction *Before;
  uint64_t Written = 0;
};

// How many bytes are read or written at one place; 0 if that is not known.
uint64_t bytesOf(const Instruction &I) {
  const DataLayout &DL = I.getDataLayout();
  if (auto *Store = dyn_cast<StoreInst>(&I); Store || isa<LoadInst>(I)) {
    TypeSize Size = DL.getTypeStoreSize(Store ? Store->getValueOperand()->getType() : I.getType());
    return Size.isScalable() ? 0 : Size.getFixedValue();
  }
  auto *Memory = dyn_cast<MemIntrinsic>(&I);
  auto *Length = Memory ? dyn_cast<ConstantInt>(Memory->getLength()) : nullptr;
  return Length && Length->getValue().isIntN(16) ? Length->getZExtValue() : 0;
}

// Whether it can be found out when a call is made that a write did not change what is read. The write must happen only once, and before.
bool canCompare(Instruction *Write, Instruction *Read, AAResults &AA, const DominatorTree &DT) {
  auto *Store = dyn_cast<StoreInst>(Write);
  auto *To = dyn_cast<Instruction>(Store ? Store->getPointerOperand() : cast<MemIntrinsic>(Write)->getDest());
  if (!bytesOf(*Write) || !bytesOf(*Read) || (To && !DT.dominates(To, Read)))
    return false;
  bool IsRepeated = any_of(successors(Write->getParent()), [&](BasicBlock *Next) {
    return isPotentiallyReachable(Next, Write->getParent(), nullptr, &DT);
  });
  auto From = isa<LoadInst>(Read) ? MemoryLocation::get(cast<LoadInst>(Read)) : MemoryLocation::getForSource(cast<MemTransferInst>(Read));
  auto Into = Store ? MemoryLocation::get(Store) : MemoryLocation::getForDest(cast<MemIntrinsic>(Write));
  return !IsRepeated && AA.alias(From, Into) == AliasResult::MayAlias;
}

// What is done with instructions that do not just stay, and with returns; empty if there can be no trace.
DenseMap<Instruction *, What> plan(Function &F, AAResults &AA, const DominatorTree &DT, SmallVectorImpl<Guard> &Guards) {
  DenseMap<Instruction *, What> Plan;
  if (F.getInstructionCount() > MostInstructions)
    return Plan;
  const DataLayout &DL = F.getDataLayout();
  SmallVector<Instruction *, 16> Writes, Reads;
  for (Instruction &I : instructions(F)) {
    What Does = whatItDoes(I, DL);
    // Others may be simplified away.
    if (Does != What::Keep || isa<ReturnInst>(I))
      Plan[&I] = Does;
    bool Copies = Does == What::Copy;
    if (Does == What::Write || (Copies && !pointsToOwn(cast<MemTransferInst>(I).getDest())))
      Writes.push_back(&I);
    if (isa<LoadInst>(I) ? Does != What::End : Copies || (Does == What::Read && !isa<IntrinsicInst>(I)))
      Reads.push_back(&I);
  }
  if (Writes.size() * Reads.size() > MostPairs)
    return {};
  for (Instruction *Read : Reads)
    for (Instruction *Write : Writes)
      if (mayChange(*Write, *Read, AA) && isPotentiallyReachable(Write, Read, nullptr, &DT)) {
        if (Plan.contains(Read) && Guards.size() < MostGuards && canCompare(Write, Read, AA, DT)) {
          auto *Store = dyn_cast<StoreInst>(Write);
          Value *To = Store ? Store->getPointerOperand() : cast<MemIntrinsic>(Write)->getDest();
          Guards.push_back({To, Read, bytesOf(*Write)});
        } else {
          Plan[Read] = What::End;
          break;
        }
      }
  return Plan;
}

// What a call does depends of a pointer on nothing but what lies there, or on whether it is null, too, or on its address.
enum class Matters { Nothing, Null, Address };

Matters whatMatters(Value *Pointer, const DenseMap<Instruction *, What> &Plan) {
  // Pointers that are made of it, and whether they are null if it is.
  SmallVector<std::pair<Value *, bool>, 8> Made{{Pointer, true}};
  SmallPtrSet<Value *, 8> Known{Pointer};
  auto Matter = Matters::Nothing;
  while (!Made.empty()) {
    auto [From, IsSame] = Made.pop_back_val();
    for (Use &U : From->uses()) {
      auto *I = cast<Instruction>(U.getUser());
      auto Found = Plan.find(I);
      What Does = Found == Plan.end() ? What::Keep : Found->second;
      if (Does == What::End || Does == What::Nothing || Does == What::Write || isa<ReturnInst>(I))
        continue;
      if (isa<LoadInst>(I) || isa<MemIntrinsic>(I))
        continue;
      if (auto *Compare = dyn_cast<ICmpInst>(I); Compare && Compare->isEquality() && IsSame &&
                                                 isa<ConstantPointerNull>(Compare->getOperand(1 - U.getOperandNo()))) {
        Matter = Matters::Null;
        continue;
      }
      // A store of it comes back by a load; one to where it points to does not.
      if (auto *Store = dyn_cast<StoreInst>(I); Store && U.getOperandNo() == Store->getPointerOperandIndex())
        continue;
      bool IsMade = isa<GetElementPtrInst>(I) || isa<InsertValueInst>(I), Passes = isa<PHINode>(I) || isa<SelectInst>(I) || isa<FreezeInst>(I);
      if (!IsMade && !Passes)
        return Matters::Address;
      if (Known.insert(I).second)
        Made.push_back({I, IsSame && Passes});
    }
  }
  return Matter;
}

void addGuards(Function &F, const DenseMap<Instruction *, What> &Plan, const DominatorTree &DT, SmallVectorImpl<Guard> &Guards) {
  for (Instruction &I : instructions(F)) {
    auto Found = Plan.find(&I);
    if (Found == Plan.end())
      continue;
    if (Found->second == What::Divide)
      Guards.push_back({I.getOperand(1), &I});
    if (Found->second != What::Read && Found->second != What::Copy)
      continue;
    for (Value *Pointer : readThrough(I)) {
      Value *Object = const_cast<Value *>(getUnderlyingObject(Pointer, /*MaxLookup=*/0));
      if (isa<GlobalValue>(Object) || isa<AllocaInst>(Object))
        continue;
      if (none_of(Guards, [&](Guard &G) { return !G.Written && G.Guarded == Object && DT.dominates(G.Before, &I); }))
        Guards.push_back({Object, &I});
    }
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

  void value(IRBuilder<> &B, Value *V, const DenseMap<Instruction *, What> &Plan) const {
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

// Whether that is so.
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

// Makes the body of a trace of these instructions, which were those of a function.
void makeTrace(Function &Trace, DenseMap<Instruction *, What> &Plan, ArrayRef<Guard> Guards) {
  LLVMContext &C = Trace.getContext();
  // What is removed is taken out of the plan first: something else may come to lie at its address.
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
  removeUnreachableBlocks(Trace);
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
  auto Plan = plan(Copy, FAM.getResult<AAManager>(Copy), DT, Guards);
  Trace->setLinkage(GlobalValue::InternalLinkage);
  if (Plan.empty() || any_of(Copy.args(), [&](Argument &A) { return !canFold(A.getType(), M.getDataLayout()); })) {
    giveNone(BasicBlock::Create(C, "", Trace));
    return Trace;
  }
  addGuards(Copy, Plan, DT, Guards);
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
    for (Function *Copy : Copies) {
      if (Function *Trace = settle(*Copy, FAM, Gates, Probe))
        Traces.push_back(Trace);
    }
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
