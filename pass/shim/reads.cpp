// What a unit's instructions are in its trace (traces.cpp). Reads a copy of the unit, when functions are inlined and simplified, and changes nothing.

#include "traces.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

// Larger functions have no trace, nor do those with so many pairs of a read and a write before it.
static constexpr size_t MostInstructions = 1000, MostPairs = 100000, MostGuards = 64;

bool canFold(Type *Ty, const DataLayout &DL) {
  if (auto *Struct = dyn_cast<StructType>(Ty))
    return Struct->getNumElements() <= 8 && all_of(Struct->elements(), [&](Type *T) { return canFold(T, DL); });
  if (isa<ScalableVectorType>(Ty) || !(Ty->isIntOrIntVectorTy() || Ty->isFPOrFPVectorTy() || Ty->isPtrOrPtrVectorTy()))
    return false;
  if (Ty->isPtrOrPtrVectorTy() && (Ty->getPointerAddressSpace() != 0 || DL.getPointerSize() != 8))
    return false;
  return DL.getTypeStoreSize(Ty).getFixedValue() <= MostBytes;
}

bool pointsToOwn(const Value *Pointer) {
  SmallVector<const Value *, 4> Objects;
  getUnderlyingObjects(Pointer, Objects);
  return all_of(Objects, [](const Value *Object) { return isa<AllocaInst>(Object); });
}

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

namespace {

// Whether all that it may point to never changes.
bool pointsToConstants(const Value *Pointer) {
  SmallVector<const Value *, 4> Objects;
  getUnderlyingObjects(Pointer, Objects);
  return all_of(Objects, [](const Value *Object) {
    auto *Variable = dyn_cast<GlobalVariable>(Object);
    return Variable && Variable->isConstant();
  });
}

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

void addGuards(Function &F, const Plans &Plan, const DominatorTree &DT, SmallVectorImpl<Guard> &Guards) {
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

} // namespace

Plans planTrace(Function &F, AAResults &AA, const DominatorTree &DT, SmallVectorImpl<Guard> &Guards) {
  Plans Plan;
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
  addGuards(F, Plan, DT, Guards);
  return Plan;
}

Matters whatMatters(Value *Pointer, const Plans &Plan) {
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
