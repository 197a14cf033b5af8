// Gives functions that tell of what they do a second body which does not.
//
//   f(...)                                     f(...)                                          f.watched(...)
//     entry(unit, frame, words...)               n = countdown[unit] - 1; countdown[unit] = n    entry(...)
//     read(p, 4, 1); load p                      if (n | gate) < 0: return f.watched(...)        read(p, 4, 1); load p
//     leave(frame)                               load p                                          leave(frame)
//
// The first body is optimised as if there were no hooks: it may be inlined, since a call that is watched has a frame of its own.
// That it tells nothing is right for the same reason for which gates are: only watches that began before it did concern what it
// does, and there were none.

#include "gates.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace {

bool canBeCopied(const Function &F) {
  // Arguments without names can't be passed on, nor can a table of labels that somebody else holds be copied.
  if (F.isVarArg() || F.isPresplitCoroutine() || F.hasFnAttribute(Attribute::Naked))
    return false;
  if (any_of(F.args(), [](const Argument &A) { return A.hasInAllocaAttr() || A.hasPreallocatedAttr(); }))
    return false;
  return none_of(F, [](const BasicBlock &Block) { return Block.hasAddressTaken(); });
}

CallInst *entryOf(Function &F, const Hooks &H) {
  for (Instruction &I : F.getEntryBlock())
    if (CallInst *Entry = callOf(I, H.Entry))
      return Entry;
  return nullptr;
}

Function *copy(Function &F) {
  ValueToValueMapTy Map;
  Function *Copy = CloneFunction(&F, Map);
  Copy->setName(F.getName() + ".watched");
  Copy->setLinkage(GlobalValue::InternalLinkage);
  Copy->setVisibility(GlobalValue::DefaultVisibility);
  Copy->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  Copy->setComdat(nullptr);
  Copy->addFnAttr(Attribute::NoInline);
  Copy->addFnAttr(Watched);
  // It is not worth the room.
  for (BasicBlock &Block : *Copy)
    for (Instruction &I : Block)
      if (auto *Call = dyn_cast<CallBase>(&I))
        if (Function *Callee = Call->getCalledFunction(); Callee && !Callee->isDeclaration()) {
          Call->removeFnAttr(Attribute::AlwaysInline);
          Call->setIsNoInline();
        }
  return Copy;
}

// Calls the other body instead if somebody is to be told.
void dispatch(CallInst *Entry, Function *Other, const Hooks &H) {
  Function &F = *Entry->getFunction();
  // What has a place in the frame must have it from the start.
  BasicBlock &First = F.getEntryBlock();
  for (Instruction &I : make_early_inc_range(make_range(Entry->getIterator(), First.end())))
    if (auto *Slot = dyn_cast<AllocaInst>(&I); Slot && isa<Constant>(Slot->getArraySize()))
      Slot->moveBefore(First.begin());
  Instruction *Then = askAtEntry(Entry, Entry->getArgOperand(0), H);
  IRBuilder<> B(Then);
  B.SetCurrentDebugLocation(Entry->getDebugLoc());
  SmallVector<Value *, 8> Arguments;
  for (Argument &A : F.args())
    Arguments.push_back(&A);
  CallInst *Call = B.CreateCall(Other, Arguments);
  Call->setCallingConv(F.getCallingConv());
  // What the function promises of its parameters and result holds for the other body too.
  Call->setAttributes(AttributeList::get(F.getContext(), AttributeSet(), F.getAttributes().getRetAttrs(), [&] {
    SmallVector<AttributeSet, 8> Sets;
    for (unsigned I = 0; I < F.arg_size(); I++)
      Sets.push_back(F.getAttributes().getParamAttrs(I));
    return Sets;
  }()));
  if (none_of(F.args(), [](const Argument &A) { return A.hasByValAttr(); }))
    Call->setTailCallKind(CallInst::TCK_Tail);
  F.getReturnType()->isVoidTy() ? B.CreateRetVoid() : B.CreateRet(Call);
  Then->eraseFromParent();
}

void dropHooks(Function &F, const Hooks &H) {
  for (BasicBlock &Block : F)
    for (Instruction &I : make_early_inc_range(Block))
      if (isGated(I, H) || callOf(I, H.Entry))
        I.eraseFromParent();
}

} // namespace

// Returns whether it was done.
extern "C" bool unseen_shim_split(Function *F, const Hooks *H) {
  CallInst *Entry = entryOf(*F, *H);
  if (!Entry || !canBeCopied(*F))
    return false;
  // The frames of callers are found by following frame pointers.
  F->addFnAttr("frame-pointer", "all");
  dispatch(Entry, copy(*F), *H);
  dropHooks(*F, *H);
  return true;
}
