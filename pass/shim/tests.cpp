// Lets functions with tests ask, when they are called, whether a test is to be run.
//
//   f(a, b)        f(a, b)
//     body           if gate != 0:
//     return r         if {a, b} is in the cache: count; now and then ask all the same
//                      n = call(record, unit, {a, b}, 2, hits)
//                      if n == RESCUE: rescue(a, b)       (in the program)
//                      if n == AFTER: due = n
//                      else if n != 0: run(n, a, b)       (in a copy of the process; does not return)
//                    body
//                    if due != 0:
//                      n = after(record, unit, words)
//                      if n != 0: run_after(n, a, b, r)   (as above)
//                    return r
//
//   run(n, a, b)     by n: verdict(test(a, b)), or compare(...); r = f(a, b); compared(r)
//
// `run` says that nobody called it: what a test throws ends there, and never reaches who called the unit. (To leave its tables out would not
// do: with debug info all functions of a module have them.)

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace {

// As pass/src/llvm/tests.rs passes them.
struct Asking {
  Function *Call, *After, *Verdict, *Compare, *Compared;
  GlobalVariable *Record, *Desks, *Hits;
  uint64_t DeskSize, CacheOffset, NarrowPlaces, WidePlaces, WideWords, Spread, MostHits, DueWords;
  int64_t IsRescue, IsAfter;
};
static_assert(sizeof(Asking) == 144, "tests.rs: Asking");

enum Kind : uint64_t { Before, After, Determinism, Rescue, Watch };

struct Test {
  Function *Called;
  uint64_t Kind;
};
static_assert(sizeof(Test) == 16, "tests.rs: Test");

struct Piece {
  GlobalVariable *Variable;
  uint64_t At, Size;
};
static_assert(sizeof(Piece) == 24, "tests.rs: Piece");

bool isResult(const Argument &A) { return A.hasStructRetAttr(); }

// A parameter as a 64-bit word; 0 if it is larger. All numbers that are none are one.
Value *word(IRBuilder<> &B, Argument &A) {
  Type *Ty = A.getType();
  if (Ty->isPointerTy())
    return B.CreatePtrToInt(&A, B.getInt64Ty());
  if (Ty->isIntegerTy() && Ty->getIntegerBitWidth() <= 64)
    return B.CreateZExt(&A, B.getInt64Ty());
  if (Ty->isFloatingPointTy() && Ty->getPrimitiveSizeInBits() <= 64) {
    Value *Number = B.CreateSelect(B.CreateFCmpUNO(&A, &A), ConstantFP::getNaN(Ty), &A);
    return B.CreateZExt(B.CreateBitCast(Number, B.getIntNTy(Ty->getScalarSizeInBits())), B.getInt64Ty());
  }
  const DataLayout &DL = A.getParent()->getDataLayout();
  if (DL.getTypeStoreSize(Ty).isScalable() || DL.getTypeStoreSize(Ty) > 8)
    return B.getInt64(0);
  // A vector or a struct of a few bytes: as it lies in memory.
  BasicBlock &Entry = A.getParent()->getEntryBlock();
  Value *Slot = IRBuilder<>(&Entry, Entry.begin()).CreateAlloca(B.getInt64Ty());
  B.CreateStore(B.getInt64(0), Slot);
  B.CreateStore(&A, Slot);
  return B.CreateLoad(B.getInt64Ty(), Slot);
}

// Stores the parameters as words.
void storeWords(IRBuilder<> &B, iterator_range<Function::arg_iterator> Args, Value *Room) {
  unsigned At = 0;
  for (Argument &A : Args)
    B.CreateStore(word(B, A), B.CreateConstInBoundsGEP1_64(B.getInt64Ty(), Room, At++));
}

// The attributes of a unit's parameters, for a call that gets them from `First` on.
void giveAttributes(CallInst *Call, const Function &Unit, unsigned First, bool WithResults) {
  LLVMContext &C = Call->getContext();
  unsigned At = First;
  for (const Argument &A : Unit.args())
    if (WithResults || !isResult(A)) {
      AttrBuilder Attributes(C, Unit.getAttributes().getParamAttrs(A.getArgNo()));
      Call->setAttributes(Call->getAttributes().addParamAttributes(C, At++, Attributes));
    }
}

CallInst *pass(IRBuilder<> &B, Function *To, ArrayRef<Value *> Values, const Function &Unit, unsigned First) {
  CallInst *Call = B.CreateCall(To, Values);
  Call->setCallingConv(To->getCallingConv());
  giveAttributes(Call, Unit, First, /*WithResults=*/false);
  return Call;
}

// What a test takes of a unit's arguments and its result: a struct that is returned in registers comes in as many.
SmallVector<Value *, 8> taken(IRBuilder<> &B, Function *Test, ArrayRef<Value *> Values) {
  SmallVector<Value *, 8> Taken(Values);
  if (Test->arg_size() <= Values.size())
    return Taken;
  Value *Result = Taken.pop_back_val();
  for (unsigned I = 0; Taken.size() < Test->arg_size(); I++)
    Taken.push_back(B.CreateExtractValue(Result, I));
  return Taken;
}

// Makes room in the entry block.
Value *slot(Function &F, Type *Ty) {
  BasicBlock &Entry = F.getEntryBlock();
  return IRBuilder<>(&Entry, Entry.begin()).CreateAlloca(Ty);
}

// Calls the unit and tells what it has done.
void compare(IRBuilder<> &B, Function &Run, Function &Unit, uint32_t Number, const Asking &H) {
  const DataLayout &DL = Unit.getDataLayout();
  Value *Room = slot(Run, ArrayType::get(B.getInt64Ty(), std::max<size_t>(Unit.arg_size(), 1)));
  // Words by the unit's numbering: what it returns in memory has a place, too.
  SmallVector<Value *, 8> Arguments;
  Value *Result = nullptr;
  Type *ResultTy = nullptr;
  auto Next = drop_begin(Run.args()).begin();
  for (Argument &A : Unit.args()) {
    Value *Place = B.CreateConstInBoundsGEP1_64(B.getInt64Ty(), Room, A.getArgNo());
    if (isResult(A)) {
      ResultTy = A.getParamStructRetType();
      Result = slot(Run, ResultTy);
      cast<AllocaInst>(Result)->setAlignment(A.getParamAlign().valueOrOne());
      B.CreateStore(Constant::getNullValue(ResultTy), Result);
      B.CreateStore(B.CreatePtrToInt(Result, B.getInt64Ty()), Place);
      Arguments.push_back(Result);
      continue;
    }
    Argument &Given = *Next++;
    B.CreateStore(word(B, Given), Place);
    Arguments.push_back(&Given);
  }
  B.CreateCall(H.Compare, {H.Record, B.getInt32(Number), Room, B.getInt32(Unit.arg_size())});
  CallInst *Call = B.CreateCall(&Unit, Arguments);
  Call->setIsNoInline();
  Call->setCallingConv(Unit.getCallingConv());
  giveAttributes(Call, Unit, 0, /*WithResults=*/true);
  if (!Call->getType()->isVoidTy()) {
    ResultTy = Call->getType();
    Result = slot(Run, ResultTy);
    B.CreateStore(Constant::getNullValue(ResultTy), Result);
    B.CreateStore(Call, Result);
  }
  uint64_t Size = ResultTy ? DL.getTypeStoreSize(ResultTy).getKnownMinValue() : 0;
  B.CreateCall(H.Compared, {Result ? Result : ConstantPointerNull::get(B.getPtrTy()), B.getInt64(Size)});
}

// The function that runs tests in a copy of the process: those for when the unit returns, or all others.
Function *runner(Function &Unit, ArrayRef<Test> Tests, uint32_t Number, const Asking &H, bool IsAfter) {
  Module &M = *Unit.getParent();
  LLVMContext &C = M.getContext();
  SmallVector<Type *, 8> Types{Type::getInt32Ty(C)};
  for (const Argument &A : Unit.args())
    if (!isResult(A))
      Types.push_back(A.getType());
  if (IsAfter) {
    for (const Argument &A : Unit.args())
      if (isResult(A))
        Types.push_back(A.getType());
    if (!Unit.getReturnType()->isVoidTy())
      Types.push_back(Unit.getReturnType());
  }
  auto *Run = Function::Create(FunctionType::get(Type::getVoidTy(C), Types, false), GlobalValue::InternalLinkage,
                               H.Call->getName() + (IsAfter ? "_after." : "_run.") + Unit.getName(), &M);
  for (Attribute::AttrKind Kind : {Attribute::NoInline, Attribute::NoUnwind, Attribute::NoReturn, Attribute::Cold})
    Run->addFnAttr(Kind);
  for (StringRef Name : {"target-cpu", "target-features", "tune-cpu", "frame-pointer"})
    if (Unit.hasFnAttribute(Name))
      Run->addFnAttr(Unit.getFnAttribute(Name));
  unsigned At = 1;
  for (const Argument &A : Unit.args())
    if (!isResult(A))
      Run->addParamAttrs(At++, AttrBuilder(C, Unit.getAttributes().getParamAttrs(A.getArgNo())));
  Run->setUWTableKind(UWTableKind::Async);
  auto *Entry = BasicBlock::Create(C, "", Run), *Other = BasicBlock::Create(C, "", Run);
  IRBuilder<> B(Entry);
  StringRef Alone = M.getTargetTriple().isAArch64() ? ".cfi_undefined x30" : ".cfi_undefined rip";
  B.CreateCall(InlineAsm::get(FunctionType::get(B.getVoidTy(), false), Alone, "", /*hasSideEffects=*/true));
  SwitchInst *Switch = B.CreateSwitch(Run->getArg(0), Other);
  SmallVector<Value *, 8> Values(make_pointer_range(drop_begin(Run->args())));
  uint64_t Which = 0;
  for (const Test &T : Tests) {
    ++Which;
    if (T.Kind == Rescue || T.Kind == Watch || (T.Kind == After) != IsAfter)
      continue;
    auto *Block = BasicBlock::Create(C, "", Run);
    Switch->addCase(B.getInt32(Which), Block);
    B.SetInsertPoint(Block);
    if (T.Kind == Determinism) {
      compare(B, *Run, Unit, Number, H);
    } else {
      CallInst *Found = pass(B, T.Called, taken(B, T.Called, Values), Unit, 0);
      // A frame of its own: `run` is nothing that stacks could tell of.
      Found->setIsNoInline();
      Value *Verdict = B.getInt32(1);
      if (!Found->getType()->isVoidTy())
        Verdict = B.CreateZExt(B.CreateIsNotNull(Found), B.getInt32Ty());
      B.CreateCall(H.Verdict, {Verdict});
    }
    B.CreateUnreachable();
  }
  B.SetInsertPoint(Other);
  B.CreateUnreachable();
  return Run;
}

// The state of a unit whose state is these pieces, in one or two words.
std::pair<Value *, Value *> key(IRBuilder<> &B, Function &Unit, ArrayRef<Piece> Pieces) {
  Type *Wide = B.getInt128Ty();
  Value *All = Constant::getNullValue(Wide);
  uint64_t Bytes = 0;
  auto Add = [&](Value *Part, uint64_t Size) {
    All = B.CreateOr(All, B.CreateShl(B.CreateZExt(Part, Wide), 8 * Bytes));
    Bytes += Size;
  };
  for (const Piece &P : Pieces) {
    if (!P.Variable) {
      Add(word(B, *Unit.getArg(P.At)), P.Size);
      continue;
    }
    Value *Address = P.Variable;
    if (P.Variable->isThreadLocal())
      Address = B.CreateThreadLocalAddress(P.Variable);
    // Others may be writing: volatile, so that each byte is read once.
    for (uint64_t At = 0; At < P.Size; At += 8) {
      uint64_t Size = std::min<uint64_t>(P.Size - At, 8);
      Type *Ty = B.getIntNTy(8 * Size);
      Value *From = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), Address, P.At + At);
      Add(B.CreateAlignedLoad(Ty, From, Align(1), /*isVolatile=*/true), Size);
    }
  }
  Value *Low = B.CreateTrunc(All, B.getInt64Ty());
  return {Low, Bytes > 8 ? B.CreateTrunc(B.CreateLShr(All, 64), B.getInt64Ty()) : nullptr};
}

Value *load(IRBuilder<> &B, Value *Desk, uint64_t Offset, Value *Index) {
  Value *First = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), Desk, Offset);
  LoadInst *Load = B.CreateAlignedLoad(B.getInt64Ty(), B.CreateInBoundsGEP(B.getInt64Ty(), First, Index), Align(8));
  // Each is read as a whole, in this order.
  Load->setAtomic(AtomicOrdering::Acquire);
  return Load;
}

// Whether a state is in the cache of its unit's desk.
Value *isKnown(IRBuilder<> &B, Value *Desk, Value *Low, Value *High, const Asking &H) {
  auto Place = [&](Value *Of, uint64_t Places) {
    return B.CreateLShr(B.CreateMul(Of, B.getInt64(H.Spread)), 64 - Log2_64(Places));
  };
  if (!High)
    return B.CreateICmpEQ(load(B, Desk, H.CacheOffset, Place(Low, H.NarrowPlaces)), Low);
  Value *Turned = B.CreateIntrinsic(B.getInt64Ty(), Intrinsic::fshl, {High, High, B.getInt64(32)});
  Value *First = B.CreateMul(Place(B.CreateXor(Low, Turned), H.WidePlaces), B.getInt64(H.WideWords));
  auto Word = [&](uint64_t N) { return load(B, Desk, H.CacheOffset, B.CreateAdd(First, B.getInt64(N))); };
  Value *Number = Word(0), *A = Word(1), *C = Word(2), *Again = Word(0);
  Value *IsState = B.CreateAnd(B.CreateICmpEQ(A, Low), B.CreateICmpEQ(C, High));
  Value *IsWhole = B.CreateAnd(B.CreateICmpEQ(Number, Again), B.CreateIsNull(B.CreateAnd(Number, 1)));
  return B.CreateAnd(IsState, IsWhole);
}

// Lets tests run when the unit returns.
void askAtReturns(Function &Unit, ArrayRef<ReturnInst *> Returns, Function *Run, Value *Due, Value *Room, uint32_t Number,
                  const Asking &H) {
  LLVMContext &C = Unit.getContext();
  MDNode *Rarely = MDBuilder(C).createUnlikelyBranchWeights();
  for (ReturnInst *Return : Returns) {
    BasicBlock *Block = Return->getParent();
    BasicBlock *End = Block->splitBasicBlock(Return->getIterator());
    auto *Ask = BasicBlock::Create(C, "unseen.after", &Unit, End), *Copy = BasicBlock::Create(C, "unseen.test", &Unit, End);
    Block->getTerminator()->eraseFromParent();
    IRBuilder<> B(Block);
    B.SetCurrentDebugLocation(Return->getDebugLoc());
    B.CreateCondBr(B.CreateIsNotNull(B.CreateLoad(B.getInt32Ty(), Due)), Ask, End, Rarely);
    B.SetInsertPoint(Ask);
    Value *Which = B.CreateCall(H.After, {H.Record, B.getInt32(Number), Room});
    B.CreateCondBr(B.CreateIsNotNull(Which), Copy, End, Rarely);
    B.SetInsertPoint(Copy);
    SmallVector<Value *, 8> Values{Which};
    for (bool Results : {false, true})
      for (Argument &A : Unit.args())
        if (isResult(A) == Results)
          Values.push_back(&A);
    if (Value *Result = Return->getReturnValue())
      Values.push_back(Result);
    pass(B, Run, Values, Unit, 1);
    B.CreateUnreachable();
  }
}

} // namespace

// Lets a unit ask about its tests.
extern "C" void unseen_shim_ask_for_tests(Function *Unit, const Test *First, size_t Count, const Piece *Pieces, size_t PieceCount,
                                          uint32_t Exact, uint32_t Number, const Asking *H) {
  ArrayRef Tests(First, Count);
  auto Has = [&](uint64_t Kind) { return any_of(Tests, [&](const Test &T) { return T.Kind == Kind; }); };
  Function *Run = runner(*Unit, Tests, Number, *H, /*IsAfter=*/false);
  SmallVector<ReturnInst *, 4> Returns;
  for (BasicBlock &Block : *Unit)
    if (auto *Return = dyn_cast<ReturnInst>(Block.getTerminator()); Return && !Block.getTerminatingMustTailCall())
      Returns.push_back(Return);
  BasicBlock &Entry = Unit->getEntryBlock();
  Instruction *At = &*Entry.getFirstNonPHIOrDbgOrAlloca();
  // Slots of variables stay in the entry block, wherever among them the first other instruction is.
  for (Instruction &I : make_early_inc_range(make_range(At->getIterator(), Entry.end())))
    if (auto *Slot = dyn_cast<AllocaInst>(&I); Slot && isa<Constant>(Slot->getArraySize()))
      Slot->moveBefore(At->getIterator());
  BasicBlock *Body = Entry.splitBasicBlock(At);
  LLVMContext &C = Unit->getContext();
  auto Block = [&](const char *Name) { return BasicBlock::Create(C, Name, Unit, Body); };
  Entry.getTerminator()->eraseFromParent();
  IRBuilder<> B(&Entry);
  if (DISubprogram *SP = Unit->getSubprogram())
    B.SetCurrentDebugLocation(DILocation::get(C, SP->getLine(), 0, SP));
  uint64_t Words = Exact > 8 ? 2 : Exact > 0 ? 1 : Unit->arg_size();
  uint64_t Most = std::max<uint64_t>({Words, 1, Has(After) ? H->DueWords : 0});
  Value *Room = B.CreateAlloca(ArrayType::get(B.getInt64Ty(), Most));
  Value *Due = nullptr;
  if (Has(After)) {
    Due = B.CreateAlloca(B.getInt32Ty());
    B.CreateStore(B.getInt32(0), Due);
  }
  MDNode *Rarely = MDBuilder(C).createUnlikelyBranchWeights();
  Value *Desk = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), H->Desks, Number * H->DeskSize);
  LoadInst *Open = B.CreateAlignedLoad(B.getInt32Ty(), Desk, Align(4), /*isVolatile=*/true);
  BasicBlock *Ask = Block("unseen.ask");
  Value *Hits = ConstantPointerNull::get(B.getPtrTy());
  if (Exact) {
    auto *Look = BasicBlock::Create(C, "unseen.look", Unit, Ask), *Hit = BasicBlock::Create(C, "unseen.hit", Unit, Ask);
    B.CreateCondBr(B.CreateIsNotNull(Open), Look, Body, Rarely);
    B.SetInsertPoint(Look);
    auto [Low, High] = key(B, *Unit, ArrayRef(Pieces, PieceCount));
    if (Exact <= 8)
      High = nullptr;
    Hits = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), B.CreateThreadLocalAddress(H->Hits), 4 * Number);
    B.CreateCondBr(isKnown(B, Desk, Low, High, *H), Hit, Ask, MDBuilder(C).createLikelyBranchWeights());
    B.SetInsertPoint(Hit);
    Value *Counted = B.CreateAdd(B.CreateAlignedLoad(B.getInt32Ty(), Hits, Align(4)), B.getInt32(1));
    B.CreateAlignedStore(Counted, Hits, Align(4));
    B.CreateCondBr(B.CreateICmpUGE(Counted, B.getInt32(H->MostHits)), Ask, Body, Rarely);
    B.SetInsertPoint(Ask);
    B.CreateStore(Low, Room);
    if (High)
      B.CreateStore(High, B.CreateConstInBoundsGEP1_64(B.getInt64Ty(), Room, 1));
  } else {
    B.CreateCondBr(B.CreateIsNotNull(Open), Ask, Body, Rarely);
    B.SetInsertPoint(Ask);
    storeWords(B, Unit->args(), Room);
  }
  Value *Which = B.CreateCall(H->Call, {H->Record, B.getInt32(Number), Room, B.getInt32(Words), Hits});
  BasicBlock *Answer = Block("unseen.answer"), *Copy = Block("unseen.test");
  B.CreateCondBr(B.CreateIsNotNull(Which), Answer, Body, Rarely);
  B.SetInsertPoint(Answer);
  SwitchInst *Switch = B.CreateSwitch(Which, Copy);
  SmallVector<Value *, 8> Values{Which};
  for (Argument &A : Unit->args())
    if (!isResult(A))
      Values.push_back(&A);
  if (Has(Rescue)) {
    BasicBlock *Save = Block("unseen.rescue");
    Switch->addCase(B.getInt32(H->IsRescue), Save);
    B.SetInsertPoint(Save);
    for (const Test &T : Tests)
      if (T.Kind == Rescue)
        pass(B, T.Called, ArrayRef(Values).drop_front(), *Unit, 0);
    B.CreateBr(Body);
  }
  if (Due) {
    BasicBlock *Later = Block("unseen.due");
    Switch->addCase(B.getInt32(H->IsAfter), Later);
    B.SetInsertPoint(Later);
    B.CreateStore(B.getInt32(1), Due);
    B.CreateBr(Body);
  }
  B.SetInsertPoint(Copy);
  pass(B, Run, Values, *Unit, 1);
  B.CreateUnreachable();
  if (Due)
    askAtReturns(*Unit, Returns, runner(*Unit, Tests, Number, *H, /*IsAfter=*/true), Due, Room, Number, *H);
}

// A function that takes what the unit takes, calls it, and then the test with what it returned.
extern "C" Function *unseen_shim_call_with(Function *Unit, Function *Test, const char *Name, size_t Length) {
  LLVMContext &C = Unit->getContext();
  auto *Ty = FunctionType::get(Type::getVoidTy(C), Unit->getFunctionType()->params(), false);
  auto *Both = Function::Create(Ty, GlobalValue::ExternalLinkage, StringRef(Name, Length), Unit->getParent());
  Both->copyAttributesFrom(Unit);
  Both->setAttributes(AttributeList().addFnAttribute(C, Attribute::NoInline));
  for (const Argument &A : Unit->args())
    Both->addParamAttrs(A.getArgNo(), AttrBuilder(C, Unit->getAttributes().getParamAttrs(A.getArgNo())));
  Both->setPersonalityFn(nullptr);
  Both->setComdat(nullptr);
  IRBuilder<> B(BasicBlock::Create(C, "", Both));
  CallInst *Result = B.CreateCall(Unit, SmallVector<Value *, 8>(make_pointer_range(Both->args())));
  Result->setCallingConv(Unit->getCallingConv());
  giveAttributes(Result, *Unit, 0, /*WithResults=*/true);
  SmallVector<Value *, 8> Values;
  for (bool Results : {false, true})
    for (Argument &A : Both->args())
      if (isResult(*Unit->getArg(A.getArgNo())) == Results)
        Values.push_back(&A);
  if (!Result->getType()->isVoidTy())
    Values.push_back(Result);
  pass(B, Test, taken(B, Test, Values), *Unit, 0);
  B.CreateRetVoid();
  return Both;
}

// The address, or the 64-bit number, that the initial value of a variable has at that offset; null if there is none.
extern "C" Constant *unseen_shim_word_at(GlobalVariable *Variable, uint64_t Offset, bool IsPointer) {
  LLVMContext &C = Variable->getContext();
  Type *Ty = IsPointer ? static_cast<Type *>(PointerType::get(C, 0)) : Type::getInt64Ty(C);
  Constant *Found = ConstantFoldLoadFromConst(Variable->getInitializer(), Ty, APInt(64, Offset), Variable->getDataLayout());
  return Found ? Found->stripPointerCasts() : nullptr;
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
