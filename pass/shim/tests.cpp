// Lets functions with tests ask, when they are called, whether a test is to be run.
//
//   f(a, b)        f(a, b)
//     body           if gate != 0:
//                      n = call(record, unit, {a, b}, 2)
//                      if n != 0: run(n, a, b)            (in a copy of the process; does not return)
//                    body
//
//   run(n, a, b)     by n: verdict(test(a, b))
//
// `run` has nothing with which a stack could be unwound: what a test throws ends there, and never reaches who called the unit.

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace {

// As pass/src/llvm/tests.rs passes them.
struct Asking {
  Function *Call, *Verdict;
  GlobalVariable *Record, *Gate;
};
static_assert(sizeof(Asking) == 32, "tests.rs: Asking");

bool isResult(const Argument &A) { return A.hasStructRetAttr(); }

// A parameter as a 64-bit word; null if it is none. All numbers that are none are one.
Value *word(IRBuilder<> &B, Argument &A) {
  Type *Ty = A.getType();
  if (Ty->isPointerTy())
    return B.CreatePtrToInt(&A, B.getInt64Ty());
  if (Ty->isIntegerTy() && Ty->getIntegerBitWidth() <= 64)
    return B.CreateZExt(&A, B.getInt64Ty());
  if (Ty->isDoubleTy() || Ty->isFloatTy()) {
    Value *Number = B.CreateSelect(B.CreateFCmpUNO(&A, &A), ConstantFP::getNaN(Ty), &A);
    return B.CreateZExt(B.CreateBitCast(Number, B.getIntNTy(Ty->getScalarSizeInBits())), B.getInt64Ty());
  }
  return nullptr;
}

CallInst *pass(IRBuilder<> &B, Function *To, ArrayRef<Value *> Values, const Function &Unit, unsigned First) {
  CallInst *Call = B.CreateCall(To, Values);
  Call->setCallingConv(To->getCallingConv());
  unsigned At = First;
  for (const Argument &A : Unit.args())
    if (!isResult(A)) {
      AttrBuilder Attributes(Call->getContext(), Unit.getAttributes().getParamAttrs(A.getArgNo()));
      Call->setAttributes(Call->getAttributes().addParamAttributes(Call->getContext(), At++, Attributes));
    }
  return Call;
}

Function *runner(Function &Unit, ArrayRef<Function *> Tests, const Asking &H) {
  Module &M = *Unit.getParent();
  LLVMContext &C = M.getContext();
  SmallVector<Type *, 8> Types{Type::getInt32Ty(C)};
  for (const Argument &A : Unit.args())
    if (!isResult(A))
      Types.push_back(A.getType());
  auto *Run = Function::Create(FunctionType::get(Type::getVoidTy(C), Types, false), GlobalValue::InternalLinkage,
                               H.Call->getName() + "_run." + Unit.getName(), &M);
  for (Attribute::AttrKind Kind : {Attribute::NoInline, Attribute::NoUnwind, Attribute::NoReturn, Attribute::Cold})
    Run->addFnAttr(Kind);
  for (StringRef Name : {"target-cpu", "target-features", "tune-cpu", "frame-pointer"})
    if (Unit.hasFnAttribute(Name))
      Run->addFnAttr(Unit.getFnAttribute(Name));
  unsigned At = 1;
  for (const Argument &A : Unit.args())
    if (!isResult(A))
      Run->addParamAttrs(At++, AttrBuilder(C, Unit.getAttributes().getParamAttrs(A.getArgNo())));
  auto *Entry = BasicBlock::Create(C, "", Run), *Other = BasicBlock::Create(C, "", Run);
  IRBuilder<> B(Entry);
  SwitchInst *Switch = B.CreateSwitch(Run->getArg(0), Other);
  SmallVector<Value *, 8> Values(make_pointer_range(drop_begin(Run->args())));
  uint64_t Number = 0;
  for (Function *Test : Tests) {
    auto *Block = BasicBlock::Create(C, "", Run);
    Switch->addCase(B.getInt32(++Number), Block);
    B.SetInsertPoint(Block);
    CallInst *Found = pass(B, Test, Values, Unit, 0);
    Value *Verdict = B.getInt32(1);
    if (!Found->getType()->isVoidTy())
      Verdict = B.CreateZExt(B.CreateIsNotNull(Found), B.getInt32Ty());
    B.CreateCall(H.Verdict, {Verdict});
    B.CreateUnreachable();
  }
  B.SetInsertPoint(Other);
  B.CreateUnreachable();
  return Run;
}

} // namespace

// Lets a unit ask about its tests.
extern "C" void unseen_shim_ask_for_tests(Function *Unit, Function *const *Tests, size_t Count, uint32_t Number,
                                          const Asking *H) {
  Function *Run = runner(*Unit, ArrayRef(Tests, Count), *H);
  BasicBlock &First = Unit->getEntryBlock();
  Instruction *At = &*First.getFirstNonPHIOrDbgOrAlloca();
  // Slots of variables stay in the entry block, wherever among them the first other instruction is.
  for (Instruction &I : make_early_inc_range(make_range(At->getIterator(), First.end())))
    if (auto *Slot = dyn_cast<AllocaInst>(&I); Slot && isa<Constant>(Slot->getArraySize()))
      Slot->moveBefore(At->getIterator());
  BasicBlock *Body = First.splitBasicBlock(At);
  LLVMContext &C = Unit->getContext();
  auto *Ask = BasicBlock::Create(C, "unseen.ask", Unit, Body), *Test = BasicBlock::Create(C, "unseen.test", Unit, Body);
  First.getTerminator()->eraseFromParent();
  IRBuilder<> B(&First);
  if (DISubprogram *SP = Unit->getSubprogram())
    B.SetCurrentDebugLocation(DILocation::get(C, SP->getLine(), 0, SP));
  unsigned Words = Unit->arg_size();
  Value *Room = B.CreateAlloca(ArrayType::get(B.getInt64Ty(), std::max(Words, 1u)));
  MDNode *Rarely = MDBuilder(C).createUnlikelyBranchWeights();
  LoadInst *Open = B.CreateAlignedLoad(B.getInt32Ty(), H->Gate, Align(4), /*isVolatile=*/true);
  B.CreateCondBr(B.CreateIsNotNull(Open), Ask, Body, Rarely);
  B.SetInsertPoint(Ask);
  for (Argument &A : Unit->args()) {
    Value *Word = word(B, A);
    B.CreateStore(Word ? Word : B.getInt64(0), B.CreateConstInBoundsGEP1_64(B.getInt64Ty(), Room, A.getArgNo()));
  }
  Value *Which = B.CreateCall(H->Call, {H->Record, B.getInt32(Number), Room, B.getInt32(Words)});
  B.CreateCondBr(B.CreateIsNotNull(Which), Test, Body, Rarely);
  B.SetInsertPoint(Test);
  SmallVector<Value *, 8> Values{Which};
  for (Argument &A : Unit->args())
    if (!isResult(A))
      Values.push_back(&A);
  pass(B, Run, Values, *Unit, 1);
  B.CreateUnreachable();
}

// Removes a variable that nobody but lists of what must stay refers to.
extern "C" void unseen_shim_remove_descriptor(GlobalVariable *Variable) {
  removeFromUsedLists(*Variable->getParent(), [&](Constant *C) { return C->stripPointerCasts() == Variable; });
  Variable->removeDeadConstantUsers();
  if (Variable->use_empty())
    Variable->eraseFromParent();
}

// The name in the source of a linker's name, with scopes and parameters. `Take` gets it.
extern "C" void unseen_shim_demangle(const char *Name, size_t Length, void *To, void (*Take)(void *, const char *, size_t)) {
  std::string Text = demangle(StringRef(Name, Length));
  Take(To, Text.data(), Text.size());
}

// How a type is written.
extern "C" void unseen_shim_print_type(Type *Ty, void *To, void (*Take)(void *, const char *, size_t)) {
  std::string Text;
  raw_string_ostream(Text) << *Ty;
  Take(To, Text.data(), Text.size());
}
