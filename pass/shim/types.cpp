// What debug info says about parameters, globals and types, for names of places. LLVM offers these in C++ alone.

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

// pass/src/llvm/types.rs has the same layout.
struct UnseenType {
  uint32_t Kind;
  uint32_t Fields;
  const char *Name;
  size_t NameLength;
  uint64_t Size;
  uint64_t Count;
  const DIType *Base;
};
static_assert(sizeof(UnseenType) == 48, "types.rs: RawType");

// The variable that an argument is, if debug info tells. Indirect: the argument points to the variable. Offset: where in the
// variable the argument's value lies, in bits.
extern "C" const DILocalVariable *unseen_shim_param_variable(Argument *A, bool *Indirect, uint64_t *Offset) {
  *Indirect = false;
  *Offset = 0;
  auto fits = [](DbgVariableRecord *R) {
    return R->getVariable()->getArg() != 0 && !(R->getDebugLoc() && R->getDebugLoc()->getInlinedAt());
  };
  for (DbgVariableRecord *R : findDVRDeclares(A))
    if (fits(R)) {
      *Indirect = true;
      return R->getVariable();
    }
  for (DbgVariableRecord *R : findDVRValues(A))
    if (fits(R)) {
      if (auto Fragment = R->getFragment())
        *Offset = Fragment->OffsetInBits;
      return R->getVariable();
    }
  const DataLayout &DL = A->getParent()->getParent()->getDataLayout();
  for (User *U : A->users()) {
    auto *S = dyn_cast<StoreInst>(U);
    if (!S || S->getValueOperand() != A)
      continue;
    APInt Bytes(DL.getIndexTypeSizeInBits(S->getPointerOperandType()), 0);
    Value *Slot = S->getPointerOperand()->stripAndAccumulateConstantOffsets(DL, Bytes, true);
    for (DbgVariableRecord *R : findDVRDeclares(Slot))
      if (fits(R)) {
        *Offset = Bytes.getZExtValue() * 8;
        return R->getVariable();
      }
  }
  return nullptr;
}

extern "C" const DIGlobalVariable *unseen_shim_global_variable(GlobalVariable *G) {
  SmallVector<DIGlobalVariableExpression *, 1> Found;
  G->getDebugInfo(Found);
  return Found.empty() ? nullptr : Found.front()->getVariable();
}

extern "C" const DIType *unseen_shim_variable(const DIVariable *V, const char **Name, size_t *Length) {
  *Name = V->getName().data();
  *Length = V->getName().size();
  return V->getType();
}

static bool isField(const DINode *N) {
  auto *D = dyn_cast_or_null<DIDerivedType>(N);
  return D && (D->getTag() == dwarf::DW_TAG_member || D->getTag() == dwarf::DW_TAG_inheritance) && !D->isStaticMember();
}

// Kinds: 0 without parts, 1 pointer, 2 array, 3 struct, 4 another name for its base.
extern "C" void unseen_shim_type(const DIType *T, UnseenType *Out) {
  *Out = {0, 0, T->getName().data(), T->getName().size(), T->getSizeInBits() / 8, 0, nullptr};
  if (auto *D = dyn_cast<DIDerivedType>(T)) {
    Out->Base = D->getBaseType();
    switch (D->getTag()) {
    case dwarf::DW_TAG_pointer_type:
    case dwarf::DW_TAG_reference_type:
    case dwarf::DW_TAG_rvalue_reference_type:
      Out->Kind = 1;
      return;
    case dwarf::DW_TAG_ptr_to_member_type:
      return;
    default:
      Out->Kind = Out->Base ? 4 : 0;
      return;
    }
  }
  auto *C = dyn_cast<DICompositeType>(T);
  if (!C)
    return;
  if (C->getTag() == dwarf::DW_TAG_array_type) {
    Out->Kind = 2;
    Out->Base = C->getBaseType();
    Out->Count = 1;
    for (const DINode *N : C->getElements()) {
      auto *R = dyn_cast<DISubrange>(N);
      auto *Number = R ? dyn_cast_if_present<ConstantInt *>(R->getCount()) : nullptr;
      Out->Count *= Number && Number->getSExtValue() > 0 ? Number->getSExtValue() : 0;
    }
    return;
  }
  if (C->getTag() == dwarf::DW_TAG_enumeration_type)
    return;
  Out->Kind = 3;
  for (const DINode *N : C->getElements())
    Out->Fields += isField(N);
}

// The type of a field; its offset in bits.
extern "C" const DIType *unseen_shim_field(const DIType *T, uint32_t Index, const char **Name, size_t *Length,
                                           uint64_t *Offset) {
  for (const DINode *N : cast<DICompositeType>(T)->getElements()) {
    if (!isField(N) || Index--)
      continue;
    auto *D = cast<DIDerivedType>(N);
    *Name = D->getName().data();
    *Length = D->getName().size();
    *Offset = D->getOffsetInBits();
    return D->getBaseType();
  }
  return nullptr;
}
