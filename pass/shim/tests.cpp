// Lets functions with tests ask, when they are called, whether a test is to be run.
//
//   f(a, b)        f(a, b)
//     body           if gate != 0:
//     return r         if {a, b} is in the cache: count; now and then ask all the same
//                      due = ask(a, b, hits)
//                    body
//                    if due: ask_after(words, a, b, r)
//                    return r
//
//   ask(a, b, hits)  n = call(record, unit, {a, b}, 2, hits)
//                    if n == RESCUE: rescue(a, b)          (in the program)
//                    else if n == AFTER: due
//                    else if n != 0: run(n, a, b)          (in a copy of the process; does not return)
//
//   ask_after(words, a, b, r)
//                    n = after(record, unit, words)
//                    if n != 0: run_after(n, a, b, r)      (as above)
//
//   run(n, a, b)     by n: verdict(test(a, b)), or compare(...); r = f(a, b); compared(r)
//
// What is seldom done is not in the unit: it stays as small as it can, and is inlined where it would be without tests.
//
// `run` says that nobody called it: what a test throws ends there, and never reaches who called the unit. (To leave its tables out would not
// do: with debug info all functions of a module have them.)

#include "tests.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace {

struct Piece {
  GlobalVariable *Variable;
  uint64_t At, Size;
};
static_assert(sizeof(Piece) == 24, "tests.rs: Piece");

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

// What says how a parameter is passed. What says what the unit does with memory holds for nobody else.
AttrBuilder passing(const Function &Unit, unsigned Param) {
  AttrBuilder Kept(Unit.getContext());
  for (Attribute A : Unit.getAttributes().getParamAttrs(Param)) {
    bool IsPassing = A.isTypeAttribute();
    for (Attribute::AttrKind Kind : {Attribute::ZExt, Attribute::SExt, Attribute::InReg, Attribute::Nest, Attribute::SwiftSelf,
                                     Attribute::SwiftAsync, Attribute::SwiftError, Attribute::NoUndef, Attribute::Alignment,
                                     Attribute::StackAlignment})
      IsPassing |= A.hasAttribute(Kind);
    if (IsPassing)
      Kept.addAttribute(A);
  }
  return Kept;
}

// The attributes of a unit's parameters, for a call that gets them from `First` on.
void giveAttributes(CallInst *Call, const Function &Unit, unsigned First, bool WithResults) {
  unsigned At = First;
  for (const Argument &A : Unit.args())
    if (WithResults || !isResult(A))
      Call->setAttributes(Call->getAttributes().addParamAttributes(Call->getContext(), At++, passing(Unit, A.getArgNo())));
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

// What a unit is given to return its result in, and what it returns, as the last parameters of a function beside it.
SmallVector<Type *, 2> results(const Function &Unit) {
  SmallVector<Type *, 2> Types;
  for (const Argument &A : Unit.args())
    if (isResult(A))
      Types.push_back(A.getType());
  if (!Unit.getReturnType()->isVoidTy())
    Types.push_back(Unit.getReturnType());
  return Types;
}

} // namespace

// For what is seldom done.
Function *beside(Function &Unit, const Twine &Name, Type *Result, ArrayRef<Type *> First, ArrayRef<Type *> Last) {
  Module &M = *Unit.getParent();
  SmallVector<Type *, 8> Types(First);
  for (const Argument &A : Unit.args())
    if (!isResult(A))
      Types.push_back(A.getType());
  Types.append(Last.begin(), Last.end());
  auto *Made = Function::Create(FunctionType::get(Result, Types, false), GlobalValue::InternalLinkage, Name, &M);
  for (Attribute::AttrKind Kind : {Attribute::NoInline, Attribute::Cold})
    Made->addFnAttr(Kind);
  for (StringRef Name : {"target-cpu", "target-features", "tune-cpu", "frame-pointer"})
    if (Unit.hasFnAttribute(Name))
      Made->addFnAttr(Unit.getFnAttribute(Name));
  unsigned At = First.size();
  for (const Argument &A : Unit.args())
    if (!isResult(A))
      Made->addParamAttrs(At++, passing(Unit, A.getArgNo()));
  // Stacks are walked through it.
  Made->setUWTableKind(UWTableKind::Async);
  return Made;
}

Value *hitsOf(IRBuilder<> &B, uint32_t Number, const Asking &H) {
  return B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), B.CreateThreadLocalAddress(H.Hits), 4 * Number);
}

Value *countHit(IRBuilder<> &B, Value *Hits) {
  Value *Counted = B.CreateAdd(B.CreateAlignedLoad(B.getInt32Ty(), Hits, Align(4)), B.getInt32(1));
  B.CreateAlignedStore(Counted, Hits, Align(4));
  return Counted;
}

namespace {

// The function that runs tests in a copy of the process: those for when the unit returns, or all others.
Function *runner(Function &Unit, ArrayRef<Test> Tests, uint32_t Number, const Asking &H, bool IsAfter) {
  Module &M = *Unit.getParent();
  LLVMContext &C = M.getContext();
  SmallVector<Type *, 2> Last;
  if (IsAfter)
    Last = results(Unit);
  Function *Run = beside(Unit, H.Call->getName() + (IsAfter ? "_after." : "_run.") + Unit.getName(), Type::getVoidTy(C),
                         {Type::getInt32Ty(C)}, Last);
  for (Attribute::AttrKind Kind : {Attribute::NoUnwind, Attribute::NoReturn})
    Run->addFnAttr(Kind);
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
  Value *Turned = B.CreateIntrinsic(B.getInt64Ty(), Intrinsic::fshl, {High, High, B.getInt64(32)});
  Value *First = B.CreateMul(Place(B.CreateXor(Low, Turned), H.WidePlaces), B.getInt64(H.WideWords));
  auto Word = [&](uint64_t N) { return load(B, Desk, H.CacheOffset, B.CreateAdd(First, B.getInt64(N))); };
  Value *Number = Word(0), *A = Word(1), *C = Word(2), *Again = Word(0);
  Value *IsState = B.CreateAnd(B.CreateICmpEQ(A, Low), B.CreateICmpEQ(C, High));
  Value *IsWhole = B.CreateAnd(B.CreateICmpEQ(Number, Again), B.CreateIsNull(B.CreateAnd(Number, 1)));
  return B.CreateAnd(IsState, IsWhole);
}

// Calls a function beside the unit with these, the unit's arguments, and those.
CallInst *callBeside(IRBuilder<> &B, Function *To, Function &Unit, ArrayRef<Value *> First, ArrayRef<Value *> Last) {
  SmallVector<Value *, 8> Values(First);
  for (Argument &A : Unit.args())
    if (!isResult(A))
      Values.push_back(&A);
  Values.append(Last.begin(), Last.end());
  return pass(B, To, Values, Unit, First.size());
}

// Runs a test if one was asked for: in a copy of the process.
void runIf(IRBuilder<> &B, Value *Which, Function *Run, ArrayRef<Value *> Values, BasicBlock *Else, const Function &Unit) {
  LLVMContext &C = B.getContext();
  auto *Copy = BasicBlock::Create(C, "unseen.test", Else->getParent(), Else);
  B.CreateCondBr(B.CreateIsNotNull(Which), Copy, Else, MDBuilder(C).createUnlikelyBranchWeights());
  B.SetInsertPoint(Copy);
  SmallVector<Value *, 8> All{Which};
  All.append(Values.begin(), Values.end());
  pass(B, Run, All, Unit, 1);
  B.CreateUnreachable();
}

// If all tests have seen the state, so that nothing is to be done, remembers the trace or the state; then goes to the end, or nothing is due.
void rememberIfSeen(IRBuilder<> &B, Value *Which, std::pair<Value *, Value *> Trace, const Asking &H, BasicBlock *End, bool HasAfter) {
  LLVMContext &C = B.getContext();
  Function *Ask = End->getParent();
  auto *Seen = BasicBlock::Create(C, "unseen.seen", Ask, End), *Other = BasicBlock::Create(C, "", Ask, End);
  B.CreateCondBr(B.CreateICmpEQ(Which, B.getInt32(H.IsSeen)), Seen, Other);
  B.SetInsertPoint(Seen);
  rememberTrace(B, Trace.first, Trace.second, H);
  if (HasAfter)
    B.CreateRet(B.getFalse());
  else
    B.CreateBr(End);
  B.SetInsertPoint(Other);
}

// The function that asks whether a test is to be run before the unit; whether one is due after it. It gets the words that are the state,
// if they are all of it, and else where the unit returns its result.
Function *asker(Function &Unit, ArrayRef<Test> Tests, unsigned StateWords, uint32_t Number, const Asking &H, bool HasAfter, bool HasRescue,
                bool IsTraced) {
  LLVMContext &C = Unit.getContext();
  Type *Word = Type::getInt64Ty(C), *Pointer = PointerType::get(C, 0);
  SmallVector<Type *, 4> Last(StateWords, Word);
  if (StateWords)
    Last.push_back(Pointer);
  else
    for (const Argument &A : Unit.args())
      if (isResult(A))
        Last.push_back(Pointer);
  if (HasAfter)
    Last.push_back(Pointer);
  Type *Result = HasAfter ? Type::getInt1Ty(C) : Type::getVoidTy(C);
  Function *Ask = beside(Unit, H.Call->getName() + "_ask." + Unit.getName(), Result, {}, Last);
  // The unit keeps its registers. Not if something may be thrown: who catches it finds only those that every function keeps.
  if (!HasAfter && !HasRescue)
    Ask->setCallingConv(CallingConv::PreserveMost);
  auto *Entry = BasicBlock::Create(C, "", Ask), *End = BasicBlock::Create(C, "", Ask);
  IRBuilder<> B(Entry);
  size_t Taken = Ask->arg_size() - Last.size();
  SmallVector<Value *, 8> Arguments(make_pointer_range(make_range(Ask->arg_begin(), Ask->arg_begin() + Taken)));
  Argument *More = Ask->arg_begin() + Taken;
  uint64_t Words = StateWords ? StateWords : Unit.arg_size() + (IsTraced ? 2 : 0);
  Value *Room = HasAfter ? Ask->getArg(Ask->arg_size() - 1) : slot(*Ask, ArrayType::get(Word, std::max<uint64_t>(Words, 1)));
  auto Store = [&](Value *What, uint64_t At) { B.CreateStore(What, B.CreateConstInBoundsGEP1_64(Word, Room, At)); };
  Value *Hits = ConstantPointerNull::get(B.getPtrTy());
  SmallVector<Value *, 8> OfUnit;
  if (StateWords) {
    for (unsigned I = 0; I < StateWords; I++)
      Store(More++, I);
    Hits = More;
  } else {
    Argument *Next = Ask->arg_begin();
    for (const Argument &A : Unit.args()) {
      OfUnit.push_back(isResult(A) ? More++ : Next++);
      Store(word(B, *cast<Argument>(OfUnit.back())), A.getArgNo());
    }
  }
  std::pair<Value *, Value *> Trace;
  if (IsTraced) {
    Hits = hitsOf(B, Number, H);
    Trace = traceOfCall(B, Unit, Tests, OfUnit, Number, H);
    Store(Trace.first, Unit.arg_size());
    Store(Trace.second, Unit.arg_size() + 1);
  }
  Value *Which = B.CreateCall(H.Call, {H.Record, B.getInt32(Number), Room, B.getInt32(Words), Hits});
  if (StateWords == 1)
    Trace = {Ask->getArg(Taken), secondWord(B, Number)};
  if (Trace.first)
    rememberIfSeen(B, Which, Trace, H, End, HasAfter);
  if (HasRescue) {
    auto *Save = BasicBlock::Create(C, "unseen.rescue", Ask, End), *Other = BasicBlock::Create(C, "", Ask, End);
    B.CreateCondBr(B.CreateICmpEQ(Which, B.getInt32(H.IsRescue)), Save, Other);
    B.SetInsertPoint(Save);
    for (const Test &T : Tests)
      if (T.Kind == Rescue)
        pass(B, T.Called, Arguments, Unit, 0);
    if (HasAfter)
      B.CreateRet(B.getFalse());
    else
      B.CreateRetVoid();
    B.SetInsertPoint(Other);
  }
  Value *IsDue = nullptr;
  if (HasAfter) {
    IsDue = B.CreateICmpEQ(Which, B.getInt32(H.IsAfter));
    Which = B.CreateSelect(IsDue, B.getInt32(0), Which);
  }
  runIf(B, Which, runner(Unit, Tests, Number, H, /*IsAfter=*/false), Arguments, End, Unit);
  B.SetInsertPoint(End);
  if (HasAfter)
    B.CreateRet(IsDue);
  else
    B.CreateRetVoid();
  return Ask;
}

// The function that asks whether a test is to be run when the unit returns.
Function *afterAsker(Function &Unit, ArrayRef<Test> Tests, uint32_t Number, const Asking &H) {
  LLVMContext &C = Unit.getContext();
  Function *Ask = beside(Unit, H.Call->getName() + "_ask_after." + Unit.getName(), Type::getVoidTy(C), {PointerType::get(C, 0)},
                         results(Unit));
  auto *Entry = BasicBlock::Create(C, "", Ask), *End = BasicBlock::Create(C, "", Ask);
  IRBuilder<> B(Entry);
  Value *Which = B.CreateCall(H.After, {H.Record, B.getInt32(Number), Ask->getArg(0)});
  SmallVector<Value *, 8> Arguments(make_pointer_range(drop_begin(Ask->args())));
  runIf(B, Which, runner(Unit, Tests, Number, H, /*IsAfter=*/true), Arguments, End, Unit);
  B.SetInsertPoint(End);
  B.CreateRetVoid();
  return Ask;
}

// Lets tests run when the unit returns.
void askAtReturns(Function &Unit, ArrayRef<ReturnInst *> Returns, Function *Ask, Value *Due, Value *Room) {
  LLVMContext &C = Unit.getContext();
  for (ReturnInst *Return : Returns) {
    BasicBlock *Block = Return->getParent();
    BasicBlock *End = Block->splitBasicBlock(Return->getIterator());
    auto *Now = BasicBlock::Create(C, "unseen.after", &Unit, End);
    Block->getTerminator()->eraseFromParent();
    IRBuilder<> B(Block);
    B.SetCurrentDebugLocation(Return->getDebugLoc());
    B.CreateCondBr(B.CreateLoad(B.getInt1Ty(), Due), Now, End, MDBuilder(C).createUnlikelyBranchWeights());
    B.SetInsertPoint(Now);
    SmallVector<Value *, 2> Results;
    for (Argument &A : Unit.args())
      if (isResult(A))
        Results.push_back(&A);
    if (Value *Result = Return->getReturnValue())
      Results.push_back(Result);
    callBeside(B, Ask, Unit, {Room}, Results);
    B.CreateBr(End);
  }
}

// What a rescue throws comes out of the unit, and of whoever called it, though their own code throws nothing.
void letThrow(Function &Unit) {
  SmallVector<Function *, 8> All{&Unit};
  while (!All.empty()) {
    Function *F = All.pop_back_val();
    F->removeFnAttr(Attribute::NoUnwind);
    for (User *U : F->users())
      if (auto *Call = dyn_cast<CallBase>(U); Call && Call->getCalledOperand() == F) {
        Call->removeFnAttr(Attribute::NoUnwind);
        // Those that may throw are through with it.
        if (Call->getFunction()->hasFnAttribute(Attribute::NoUnwind))
          All.push_back(Call->getFunction());
      }
  }
}

// Lets the inliner decide about a unit as if it did not ask: what was added is taken off when it comes to this call, which it does before it
// comes to the unit's own code. The numbers are LLVM's: for an instruction, for a call beside its arguments, and by how much a function of
// one block may cost more than others.
void inlineAsBefore(Function &Unit, CallInst *At, unsigned Blocks, unsigned Instructions) {
  const int ForInstruction = 5, ForCall = 25, ForOneBlock = 113;
  int Now = Unit.getInstructionCount();
  At->addFnAttr(Attribute::get(Unit.getContext(), "call-inline-cost",
                               std::to_string(-(Now - int(Instructions) + int(Unit.arg_size())) * ForInstruction - ForCall)));
  if (Blocks == 1)
    At->addFnAttr(Attribute::get(Unit.getContext(), "call-threshold-bonus", std::to_string(ForOneBlock)));
}

} // namespace

// Lets a unit ask about its tests.
extern "C" void unseen_shim_ask_for_tests(Function *Unit, const Test *First, size_t Count, const Piece *Pieces, size_t PieceCount,
                                          uint32_t Exact, bool IsTraced, uint32_t Number, const Asking *H) {
  ArrayRef Tests(First, Count);
  auto Has = [&](uint64_t Kind) { return any_of(Tests, [&](const Test &T) { return T.Kind == Kind; }); };
  unsigned StateWords = Exact > 8 ? 2 : Exact > 0 ? 1 : 0;
  // These make a copy of the unit as it is.
  Function *Looks = IsTraced ? traceLooker(*Unit, Tests, Number, *H) : nullptr;
  Function *Asks = asker(*Unit, Tests, StateWords, Number, *H, Has(After), Has(Rescue), IsTraced);
  unsigned Blocks = Unit->size(), Instructions = Unit->getInstructionCount();
  // What is at these places may be part of the state: it has to be there.
  for (Argument &A : Unit->args())
    for (Attribute::AttrKind Kind : {Attribute::ReadNone, Attribute::ReadOnly, Attribute::WriteOnly, Attribute::Captures,
                                     Attribute::Initializes, Attribute::DeadOnReturn})
      Unit->removeParamAttr(A.getArgNo(), Kind);
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
  Value *Due = nullptr, *Room = nullptr;
  if (Has(After)) {
    uint64_t Words = StateWords ? StateWords : Unit->arg_size();
    Room = B.CreateAlloca(ArrayType::get(B.getInt64Ty(), std::max<uint64_t>(Words, H->DueWords)));
    Due = B.CreateAlloca(B.getInt1Ty());
    B.CreateStore(B.getFalse(), Due);
  }
  MDNode *Rarely = MDBuilder(C).createUnlikelyBranchWeights();
  Value *Desk = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), H->Desks, Number * H->DeskSize);
  Value *Gate = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), H->Gates, Number);
  LoadInst *Open = B.CreateAlignedLoad(B.getInt8Ty(), Gate, Align(1), /*isVolatile=*/true);
  BasicBlock *Ask = Block("unseen.ask");
  SmallVector<Value *, 4> More;
  CallInst *FirstCall = nullptr;
  if (Exact) {
    auto *Look = BasicBlock::Create(C, "unseen.look", Unit, Ask), *Hit = BasicBlock::Create(C, "unseen.hit", Unit, Ask);
    B.CreateCondBr(B.CreateIsNotNull(Open), Look, Body, Rarely);
    B.SetInsertPoint(Look);
    auto [Low, High] = key(B, *Unit, ArrayRef(Pieces, PieceCount));
    More.push_back(Low);
    if (StateWords == 2)
      More.push_back(High);
    FirstCall = B.CreateThreadLocalAddress(H->Hits);
    Value *Hits = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), FirstCall, 4 * Number);
    More.push_back(Hits);
    Value *IsKnown = StateWords == 2 ? isKnown(B, Desk, Low, High, *H) : isTraceKnown(B, Low, secondWord(B, Number), *H);
    B.CreateCondBr(IsKnown, Hit, Ask, MDBuilder(C).createLikelyBranchWeights());
    B.SetInsertPoint(Hit);
    B.CreateCondBr(B.CreateICmpUGE(countHit(B, Hits), B.getInt32(H->MostHits)), Ask, Body, Rarely);
  } else {
    for (Argument &A : Unit->args())
      if (isResult(A))
        More.push_back(&A);
    if (Looks) {
      auto *Look = BasicBlock::Create(C, "unseen.look", Unit, Ask);
      B.CreateCondBr(B.CreateIsNotNull(Open), Look, Body, Rarely);
      B.SetInsertPoint(Look);
      FirstCall = callBeside(B, Looks, *Unit, {}, More);
      B.CreateCondBr(FirstCall, Body, Ask, MDBuilder(C).createLikelyBranchWeights());
    } else {
      B.CreateCondBr(B.CreateIsNotNull(Open), Ask, Body, Rarely);
    }
  }
  B.SetInsertPoint(Ask);
  if (Room)
    More.push_back(Room);
  CallInst *Asked = callBeside(B, Asks, *Unit, {}, More);
  if (Due)
    B.CreateStore(Asked, Due);
  B.CreateBr(Body);
  if (Has(Rescue))
    letThrow(*Unit);
  if (Due)
    askAtReturns(*Unit, Returns, afterAsker(*Unit, Tests, Number, *H), Due, Room);
  inlineAsBefore(*Unit, FirstCall ? FirstCall : Asked, Blocks, Instructions);
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
