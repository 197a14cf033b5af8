// Makes the hooks of `access` cost next to nothing while nobody watches.
//
//   entry(unit, frame, words...)               n = countdown[unit] - 1; countdown[unit] = n
//                                              if (n | gate) < 0: enter(unit, words on the stack, their number, frame)
//                                              (in a body that runs only then: just that call; see bodies.cpp)
//   read(p, 4, 1); load p; write(q, 4)         load p; if gate != 0: read(p, 4, 1), write(q, 4)
//
// Hooks between two calls share one look at the gate; what was told of the same address before need not be told again. The gate may
// be looked at once for a stretch without calls: for what a function does, only watches count that began before it did.
//
// No function but `enter` refers to the record, behind which are all variables of the program, and what they point to: whoever makes
// a call graph follows that for each function again.

#include "gates.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace {

// A hook that tells of an address of which another one told before, on every way that leads to it, says nothing new: the watches
// that it could concern were there then.
void dropRepeats(Function &F, const Hooks &H) {
  DominatorTree Tree(F);
  DenseMap<Value *, SmallVector<std::pair<CallInst *, uint64_t>, 2>> Told;
  SmallVector<CallInst *, 16> Repeats;
  for (const DomTreeNode *Node : depth_first(Tree.getRootNode()))
    for (Instruction &I : *Node->getBlock()) {
      CallInst *Call = callOf(I, H.Read);
      if (!Call)
        Call = callOf(I, H.Write);
      auto *Size = Call ? dyn_cast<ConstantInt>(Call->getArgOperand(1)) : nullptr;
      if (!Size)
        continue;
      auto &Before = Told[Call->getArgOperand(0)];
      if (any_of(Before, [&](auto &B) { return B.second >= Size->getZExtValue() && Tree.dominates(B.first, Call); }))
        Repeats.push_back(Call);
      else
        Before.push_back({Call, Size->getZExtValue()});
    }
  for (CallInst *Call : Repeats)
    Call->eraseFromParent();
}

// Puts hooks that follow each other without a call in between behind one look at the gate.
void gate(BasicBlock &Block, const Hooks &H) {
  SmallVector<SmallVector<CallInst *, 4>, 4> Groups(1);
  for (Instruction &I : Block) {
    if (isGated(I, H))
      Groups.back().push_back(cast<CallInst>(&I));
    else if (isa<CallBase>(I) && !isa<IntrinsicInst>(I) && !Groups.back().empty())
      Groups.emplace_back();
  }
  // From the end: what is behind has its own block already.
  for (auto &Group : reverse(Groups)) {
    if (Group.empty())
      continue;
    CallInst *Last = Group.back();
    IRBuilder<> B(Last);
    Value *Open = B.CreateICmpNE(B.CreateLoad(B.getInt32Ty(), H.Gate), B.getInt32(0));
    Instruction *Then = SplitBlockAndInsertIfThen(Open, Last->getIterator(), false, rarely(B.getContext()));
    for (CallInst *Call : Group)
      Call->moveBefore(Then->getIterator());
  }
}

// The entry of a function.
void enter(CallInst *Call, const Hooks &H) {
  Function *F = Call->getFunction();
  Value *Unit = Call->getArgOperand(0);
  Instruction *Then = F->hasFnAttribute(Watched) ? Call : askAtEntry(Call, Unit, H);
  unsigned Count = Call->arg_size() - 2;
  BasicBlock &First = F->getEntryBlock();
  IRBuilder<> Start(&First, First.begin());
  Value *Words = Start.CreateAlloca(ArrayType::get(Start.getInt64Ty(), std::max(Count, 1u)));
  IRBuilder<> B(Then);
  B.SetCurrentDebugLocation(Call->getDebugLoc());
  for (unsigned I = 0; I < Count; I++)
    B.CreateStore(Call->getArgOperand(2 + I), B.CreateConstInBoundsGEP1_64(B.getInt64Ty(), Words, I));
  B.CreateCall(H.Enter, {Unit, Words, B.getInt32(Count), Call->getArgOperand(1)});
  Call->eraseFromParent();
}

} // namespace

Instruction *askAtEntry(Instruction *Before, Value *Unit, const Hooks &H) {
  IRBuilder<> B(Before);
  Value *Place = B.CreateInBoundsGEP(B.getInt32Ty(), H.Countdown, B.CreateZExt(Unit, B.getInt64Ty()));
  Value *Left = B.CreateSub(B.CreateLoad(B.getInt32Ty(), Place), B.getInt32(1));
  B.CreateStore(Left, Place);
  Value *Either = B.CreateOr(Left, B.CreateLoad(B.getInt32Ty(), H.Gate));
  Value *Told = B.CreateICmpSLT(Either, B.getInt32(0));
  return SplitBlockAndInsertIfThen(Told, Before->getIterator(), false, rarely(B.getContext()));
}

extern "C" void unseen_shim_gate(Module *M, const Hooks *H) {
  for (Function &F : *M) {
    SmallVector<CallInst *, 2> Entries;
    SmallVector<BasicBlock *, 16> Blocks;
    for (BasicBlock &Block : F) {
      bool HasHooks = false;
      for (Instruction &I : Block) {
        if (CallInst *Entry = callOf(I, H->Entry))
          Entries.push_back(Entry);
        HasHooks |= isGated(I, *H);
      }
      if (HasHooks)
        Blocks.push_back(&Block);
    }
    if (!Blocks.empty())
      dropRepeats(F, *H);
    for (BasicBlock *Block : Blocks)
      gate(*Block, *H);
    for (CallInst *Entry : Entries)
      enter(Entry, *H);
  }
  // Its absence tells that this was done.
  H->Entry->eraseFromParent();
}

// For the optimiser a hook changes something that the program can't see, and does not keep what it is told.
extern "C" void unseen_shim_describe_hook(Function *F, bool Reads) {
  for (Attribute::AttrKind Kind :
       {Attribute::NoCallback, Attribute::NoFree, Attribute::NoMerge, Attribute::NoUnwind, Attribute::WillReturn})
    F->addFnAttr(Kind);
  MemoryEffects Effects = MemoryEffects::inaccessibleMemOnly();
  F->setMemoryEffects(Reads ? Effects | MemoryEffects::readOnly() : Effects);
  if (F->arg_size() > 0)
    F->addParamAttr(0, Attribute::getWithCaptureInfo(F->getContext(), CaptureInfo::none()));
}

// A function of any number of arguments that nobody defines.
extern "C" Function *unseen_shim_declare_entry(Module *M, const char *Name, size_t Length) {
  LLVMContext &C = M->getContext();
  auto *Pointer = PointerType::get(C, 0);
  auto *Type = FunctionType::get(Type::getVoidTy(C), {Type::getInt32Ty(C), Pointer}, true);
  auto *F = Function::Create(Type, GlobalValue::ExternalLinkage, StringRef(Name, Length), M);
  F->addFnAttr(Attribute::NoUnwind);
  F->addFnAttr(Attribute::NoMerge);
  return F;
}

// A function that calls F and stands for it wherever F is not called outright. Null if F is only called.
extern "C" Function *unseen_shim_wrap(Function *F, const char *Name, size_t Length) {
  auto IsValue = [](Use &U) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    return !Call || !Call->isCallee(&U);
  };
  if (F->isVarArg() || none_of(F->uses(), IsValue))
    return nullptr;
  Function *Wrapper =
      Function::Create(F->getFunctionType(), GlobalValue::InternalLinkage, StringRef(Name, Length), F->getParent());
  F->replaceUsesWithIf(Wrapper, IsValue);
  IRBuilder<> B(BasicBlock::Create(F->getContext(), "", Wrapper));
  SmallVector<Value *, 4> Arguments;
  for (Argument &A : Wrapper->args())
    Arguments.push_back(&A);
  CallInst *Call = B.CreateCall(F, Arguments);
  F->getReturnType()->isVoidTy() ? B.CreateRetVoid() : B.CreateRet(Call);
  return Wrapper;
}
