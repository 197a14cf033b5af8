// Gives functions that carry probes a second body without them, so that a program which records nothing pays one
// predictable branch where it is entered from outside, and nothing elsewhere. Done on machine code just before it is
// written out: the work of the optimiser and of the code generator is not done twice.
//
//   f:     cmpl $0, __unseen_epoch(%rip)
//          je   f.off
//   f.on:  ...                                       f.off:  ...
//          movb $1, __unseen_counters+7(%rip)
//          call g.on                                         call g.off
//
// A table of block addresses (computed goto) gets a twin whose entries lead into the second body.
//
// Which functions: those with the attribute that pass/src/instrument/off.rs sets. C++, because LLVM offers machine
// code in no other way.

#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineJumpTableInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCContext.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"

using namespace llvm;

extern "C" {
// pass/src/plugin.rs
const char *unseen_pass_off_attribute(size_t *Length);
const char *unseen_pass_counters(size_t *Length);
const char *unseen_pass_epoch(size_t *Length);
}

namespace {

// What the pass calls them.
StringRef name(const char *(*Ask)(size_t *Length)) {
  size_t Length;
  const char *Text = Ask(&Length);
  return {Text, Length};
}
const StringRef Attribute = name(unseen_pass_off_attribute);
const StringRef Counters = name(unseen_pass_counters);
const StringRef Epoch = name(unseen_pass_epoch);

/// The instructions of the branch at the entrance. LLVM does not publish a target's own names, so they are looked up.
struct Entrance {
  unsigned Compare = 0, Jump = 0, Mark = 0;
  MCRegister Counter;

  Entrance(const TargetInstrInfo &TII, const TargetRegisterInfo &TRI) {
    for (unsigned Op = 0; Op < TII.getNumOpcodes(); ++Op) {
      StringRef Name = TII.getName(Op);
      if (Name == "CMP32mi")
        Compare = Op;
      else if (Name == "JCC_1")
        Jump = Op;
      else if (Name == "ENDBR64")
        Mark = Op;
    }
    for (unsigned Reg = 1; Reg < TRI.getNumRegs(); ++Reg)
      if (StringRef(TRI.getName(Reg)) == "RIP")
        Counter = Reg;
  }
  bool known() const { return Compare && Jump && Mark && Counter; }
};
constexpr unsigned Equal = 4; // X86::COND_E

enum Body { On, Off };

struct OffBody : MachineFunctionPass {
  static char ID;
  OffBody() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Unseen: bodies without probes"; }
  bool doInitialization(Module &M) override;
  bool runOnMachineFunction(MachineFunction &MF) override;

private:
  /// Twins of tables, and the blocks that need a label in the second body.
  DenseMap<const GlobalValue *, GlobalVariable *> Twins;
  DenseMap<const Function *, SmallVector<const BasicBlock *, 4>> Targets;
  DenseMap<const MachineBasicBlock *, MachineBasicBlock *> Blocks;
  DenseMap<MCSymbol *, MCSymbol *> Labels;
  DenseMap<unsigned, unsigned> Tables;
  /// Looked up once: a target has tens of thousands of names.
  std::optional<Entrance> Found;

  MCSymbol *label(MachineFunction &MF, MCSymbol *Old) {
    MCSymbol *&New = Labels[Old];
    if (!New)
      New = MF.getContext().createTempSymbol();
    return New;
  }
  void copyBlock(MachineFunction &MF, const MachineBasicBlock &From, MachineBasicBlock &To);
  void copyLandingPads(MachineFunction &MF);
  void dropQuestions(MachineFunction &MF, ArrayRef<MachineBasicBlock *> Originals);
  void shortenJumps(MachineFunction &MF, ArrayRef<MachineBasicBlock *> Originals);
  bool turnRound(MachineBasicBlock &Jump, MachineBasicBlock &To);
  void adjust(MachineFunction &MF, MachineInstr &MI);
  void call(MachineFunction &MF, MachineInstr &MI, Body B);
};

char OffBody::ID = 0;
RegisterPass<OffBody> Registered("unseen-off", "Unseen: bodies without probes");

MCSymbol *symbol(const MachineFunction &MF, const Function &F, Body B) {
  return MF.getContext().getOrCreateSymbol(F.getName() + (B == On ? ".on" : ".off"));
}

std::string targetName(const Function &F, unsigned Index) {
  return (F.getName() + ".off." + Twine(Index)).str();
}

/// The blocks of a table, if it is a constant array of addresses of blocks of one function that gets a second body,
/// used in that function alone.
SmallVector<const BasicBlock *, 0> blocksOf(const GlobalVariable &Table) {
  SmallVector<const BasicBlock *, 0> Blocks;
  if (!Table.isConstant() || !Table.hasLocalLinkage() || !Table.hasInitializer())
    return {};
  const auto *Array = dyn_cast<ConstantArray>(Table.getInitializer());
  if (!Array)
    return {};
  for (const Use &Element : Array->operands()) {
    const auto *Address = dyn_cast<BlockAddress>(Element);
    if (!Address || !Address->getFunction()->hasFnAttribute(Attribute) ||
        (!Blocks.empty() && Blocks[0]->getParent() != Address->getFunction()))
      return {};
    Blocks.push_back(Address->getBasicBlock());
  }
  for (const User *U : Table.users()) {
    const auto *I = dyn_cast<Instruction>(U);
    if (!I || Blocks.empty() || I->getFunction() != Blocks[0]->getParent())
      return {};
  }
  return Blocks;
}

/// Writes the twins down as assembly: labels inside the second body have no name in LLVM's IR.
bool OffBody::doInitialization(Module &M) {
  Twins.clear();
  Targets.clear();
  SmallVector<std::pair<GlobalVariable *, SmallVector<const BasicBlock *, 0>>, 2> Tables;
  for (GlobalVariable &G : M.globals())
    if (SmallVector<const BasicBlock *, 0> Blocks = blocksOf(G); !Blocks.empty())
      Tables.push_back({&G, std::move(Blocks)});
  for (auto &[Table, Blocks] : Tables) {
    const Function &F = *Blocks[0]->getParent();
    auto &Labels = Targets[&F];
    std::string Name = (F.getName() + ".off.table" + Twine(Twins.size())).str();
    auto *Twin = new GlobalVariable(M, Table->getValueType(), true, GlobalValue::ExternalLinkage, nullptr, Name);
    Twin->setDSOLocal(true);
    Twin->setVisibility(GlobalValue::HiddenVisibility);
    Twins[Table] = Twin;
    std::string Text = ".pushsection .data.rel.ro,\"aw\",@progbits\n.p2align 3\n\"" + Name + "\":\n";
    for (const BasicBlock *Block : Blocks) {
      unsigned Index = std::find(Labels.begin(), Labels.end(), Block) - Labels.begin();
      if (Index == Labels.size())
        Labels.push_back(Block);
      Text += ".quad \"" + targetName(F, Index) + "\"\n";
    }
    M.appendModuleInlineAsm(Text + ".popsection\n");
  }
  return !Tables.empty();
}

/// Whether an instruction refers to a variable of ours whose name begins so.
bool names(const MachineInstr &MI, StringRef Name) {
  if (MI.isCall() || MI.isInlineAsm())
    return false;
  for (const MachineOperand &MO : MI.operands())
    if (MO.isGlobal() && MO.getGlobal()->getName().starts_with(Name))
      return true;
  return false;
}

bool isProbe(const MachineInstr &MI) { return MI.mayStore() && names(MI, Counters); }

/// Whether a block looks whether all counters of a loop are set, as loops.cpp lets it. That is nothing to ask here.
bool asks(const MachineBasicBlock &MBB) {
  return any_of(MBB, [](const MachineInstr &MI) { return MI.mayLoad() && !MI.mayStore() && names(MI, Counters); });
}

/// Whether assembly text may define a label with a name: such a label may stand once only. Numbers may stand again; a colon
/// also follows a segment register, and stands in LLVM's own ${:uid}.
bool definesLabel(StringRef Text) {
  for (size_t At = Text.find(':'); At != StringRef::npos; At = Text.find(':', At + 1)) {
    StringRef Word = Text.take_front(At).rtrim(" \t");
    Word = Word.substr(Word.find_last_of(" \t\n;,(") + 1);
    bool Number = !Word.empty() && Word.find_first_not_of("0123456789") == StringRef::npos;
    if (!Number && !Word.starts_with("%") && !Word.ends_with("${"))
      return true;
  }
  return false;
}

/// Whether a second copy of everything in the function means the same as the first.
bool canBeCopied(const MachineFunction &MF) {
  if (MF.hasBBSections() || MF.hasEHFunclets() || MF.getFunction().hasFnAttribute("patchable-function-entry"))
    return false;
  for (const MachineBasicBlock &MBB : MF) {
    if (MBB.isMachineBlockAddressTaken())
      return false;
    for (const MachineInstr &MI : MBB.instrs()) {
      switch (MI.getOpcode()) {
      case TargetOpcode::BUNDLE:
      case TargetOpcode::INLINEASM_BR:
      case TargetOpcode::STACKMAP:
      case TargetOpcode::PATCHPOINT:
      case TargetOpcode::STATEPOINT:
      case TargetOpcode::FENTRY_CALL:
      case TargetOpcode::PATCHABLE_FUNCTION_ENTER:
        return false;
      case TargetOpcode::INLINEASM:
        if (definesLabel(MI.getOperand(InlineAsm::MIOp_AsmString).getSymbolName()))
          return false;
        break;
      default:
        break;
      }
    }
  }
  return true;
}

/// Whether a second body saves anything. The branch at the entrance costs more than the only probe of a function that calls
/// nothing, and is entered through a pointer.
bool isWorthIt(const MachineFunction &MF) {
  unsigned Probes = 0;
  for (const MachineBasicBlock &MBB : MF)
    for (const MachineInstr &MI : MBB.instrs()) {
      if (MI.isCall() || (isProbe(MI) && ++Probes > 1))
        return true;
    }
  return !MF.getFunction().hasAddressTaken();
}

bool OffBody::runOnMachineFunction(MachineFunction &MF) {
  const Function &F = MF.getFunction();
  if (!F.hasFnAttribute(Attribute))
    return false;
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  MachineBasicBlock &Entry = MF.front();
  auto Label = [&](MachineBasicBlock &MBB, MCSymbol *Symbol) {
    BuildMI(MBB, MBB.begin(), DebugLoc(), TII.get(TargetOpcode::EH_LABEL)).addSym(Symbol);
  };
  // Labels the blocks that a twin leads to; a block that is gone is led to by nothing.
  auto LabelTargets = [&](auto Copy) {
    const auto &Labels = Targets[&F];
    for (unsigned I = 0; I < Labels.size(); ++I) {
      MachineBasicBlock *At = &Entry;
      for (MachineBasicBlock &MBB : MF)
        if (MBB.isIRBlockAddressTaken() && MBB.getAddressTakenIRBlock() == Labels[I])
          At = &MBB;
      Label(*Copy(At), MF.getContext().getOrCreateSymbol(targetName(F, I)));
    }
  };
  const GlobalVariable *Flag = F.getParent()->getNamedGlobal(Epoch);
  if (!Found)
    Found.emplace(TII, *MF.getSubtarget().getRegisterInfo());
  const Entrance &Code = *Found;
  if (!Flag || !Code.known() || !canBeCopied(MF) || !isWorthIt(MF)) {
    // Who calls one of two bodies gets the only one.
    LabelTargets([](MachineBasicBlock *MBB) { return MBB; });
    Label(Entry, symbol(MF, F, On));
    Label(Entry, symbol(MF, F, Off));
    return true;
  }

  Blocks.clear();
  Labels.clear();
  Tables.clear();
  SmallVector<MachineBasicBlock *, 16> Originals;
  for (MachineBasicBlock &MBB : MF)
    Originals.push_back(&MBB);
  for (MachineBasicBlock *MBB : Originals) {
    MachineBasicBlock *New = MF.CreateMachineBasicBlock(MBB->getBasicBlock());
    MF.push_back(New);
    Blocks[MBB] = New;
  }
  if (const MachineJumpTableInfo *Old = MF.getJumpTableInfo()) {
    unsigned Count = Old->getJumpTables().size();
    for (unsigned I = 0; I < Count; ++I) {
      std::vector<MachineBasicBlock *> Targets;
      for (MachineBasicBlock *Target : MF.getJumpTableInfo()->getJumpTables()[I].MBBs)
        Targets.push_back(Blocks[Target]);
      if (!Targets.empty())
        Tables[I] = MF.getOrCreateJumpTableInfo(Old->getEntryKind())->createJumpTableIndex(Targets);
    }
  }
  for (MachineBasicBlock *MBB : Originals)
    copyBlock(MF, *MBB, *Blocks[MBB]);
  dropQuestions(MF, Originals);
  shortenJumps(MF, Originals);
  copyLandingPads(MF);
  LabelTargets([&](MachineBasicBlock *MBB) { return Blocks[MBB]; });
  MachineBasicBlock *OffEntry = Blocks[&Entry];
  for (MachineBasicBlock *MBB : Originals)
    for (MachineInstr &MI : *MBB)
      call(MF, MI, On);

  // The entrance, behind the mark that indirect calls may need.
  MachineBasicBlock *Choice = MF.CreateMachineBasicBlock();
  MF.push_front(Choice);
  for (const auto &LiveIn : Entry.liveins())
    Choice->addLiveIn(LiveIn);
  if (!Entry.empty() && Entry.front().getOpcode() == Code.Mark)
    Choice->splice(Choice->end(), &Entry, Entry.begin());
  Label(Entry, symbol(MF, F, On));
  Label(*OffEntry, symbol(MF, F, Off));
  BuildMI(*Choice, Choice->end(), DebugLoc(), TII.get(Code.Compare))
      .addReg(Code.Counter)
      .addImm(1)
      .addReg(0)
      .addGlobalAddress(Flag)
      .addReg(0)
      .addImm(0)
      .setMIFlag(MachineInstr::FrameSetup);
  BuildMI(*Choice, Choice->end(), DebugLoc(), TII.get(Code.Jump))
      .addMBB(OffEntry)
      .addImm(Equal)
      .setMIFlag(MachineInstr::FrameSetup);
  Choice->addSuccessor(&Entry, BranchProbability(1, 2));
  Choice->addSuccessor(OffEntry, BranchProbability(1, 2));
  MF.RenumberBlocks();
  return true;
}

void OffBody::copyBlock(MachineFunction &MF, const MachineBasicBlock &From, MachineBasicBlock &To) {
  for (const MachineInstr &MI : From) {
    if (isProbe(MI))
      continue;
    MachineInstr *New = MF.CloneMachineInstr(&MI);
    adjust(MF, *New);
    To.push_back(New);
    if (MI.isCandidateForAdditionalCallInfo())
      MF.copyAdditionalCallInfo(&MI, New);
  }
  for (auto I = From.succ_begin(); I != From.succ_end(); ++I)
    To.addSuccessor(Blocks[*I], From.getSuccProbability(I));
  for (const auto &LiveIn : From.liveins_dbg())
    To.addLiveIn(LiveIn);
  To.setAlignment(From.getAlignment());
  To.setIsEHPad(From.isEHPad());
}

void OffBody::adjust(MachineFunction &MF, MachineInstr &MI) {
  for (MachineOperand &MO : MI.operands()) {
    if (MO.isMBB()) {
      MO.setMBB(Blocks[MO.getMBB()]);
    } else if (MO.isJTI()) {
      MO.setIndex(Tables[MO.getIndex()]);
    } else if (MO.isMCSymbol() && MI.isLabel()) {
      MO.ChangeToMCSymbol(label(MF, MO.getMCSymbol()));
    } else if (MO.isGlobal()) {
      if (GlobalVariable *Twin = Twins.lookup(MO.getGlobal()))
        MO.ChangeToGA(Twin, MO.getOffset(), MO.getTargetFlags());
    }
  }
  call(MF, MI, Off);
  if (MI.getPreInstrSymbol())
    MI.setPreInstrSymbol(MF, nullptr);
  if (MI.getPostInstrSymbol())
    MI.setPostInstrSymbol(MF, nullptr);
}

/// In the second body every loop runs its copy: nothing asks whether it may, and the loop with the probes goes.
void OffBody::dropQuestions(MachineFunction &MF, ArrayRef<MachineBasicBlock *> Originals) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  SmallPtrSet<const MachineBasicBlock *, 8> Asking;
  for (MachineBasicBlock *Original : Originals)
    if (asks(*Original))
      Asking.insert(Blocks[Original]);
  if (Asking.empty())
    return;
  for (MachineBasicBlock *Original : Originals) {
    MachineBasicBlock *From = Blocks[Original], *True = nullptr, *False = nullptr;
    SmallVector<MachineOperand, 4> Condition;
    if (Asking.contains(From) || TII.analyzeBranch(*From, True, False, Condition) || Condition.empty())
      continue;
    if (!False)
      False = From->getNextNode();
    if (!False || Asking.contains(True) == Asking.contains(False))
      continue;
    MachineBasicBlock *Keep = Asking.contains(True) ? False : True, *Drop = Keep == True ? False : True;
    TII.removeBranch(*From);
    if (!From->isLayoutSuccessor(Keep))
      TII.insertBranch(*From, Keep, nullptr, {}, DebugLoc());
    From->removeSuccessor(Drop);
    for (MachineInstr &MI : make_early_inc_range(*From))
      if (names(MI, Epoch))
        MI.eraseFromParent();
  }

  SmallPtrSet<MachineBasicBlock *, 32> Reached;
  SmallVector<MachineBasicBlock *, 32> Work;
  for (MachineBasicBlock *Original : Originals)
    if (Original == Originals[0] || Original->isEHPad() || Original->isIRBlockAddressTaken())
      Work.push_back(Blocks[Original]);
  while (!Work.empty()) {
    MachineBasicBlock *MBB = Work.pop_back_val();
    if (Reached.insert(MBB).second)
      Work.append(MBB->succ_begin(), MBB->succ_end());
  }
  SmallVector<MachineBasicBlock *, 16> Gone;
  for (MachineBasicBlock *Original : Originals)
    if (!Reached.contains(Blocks[Original]))
      Gone.push_back(Original);
  // Calls and jumps by table leave traces elsewhere. A loop that was copied has no calls.
  for (MachineBasicBlock *Original : Gone)
    for (const MachineInstr &MI : *Original)
      if (MI.isCall() || MI.isIndirectBranch() || MI.isEHLabel())
        return;
  for (MachineBasicBlock *Original : Gone)
    while (!Blocks[Original]->succ_empty())
      Blocks[Original]->removeSuccessor(Blocks[Original]->succ_begin());
  for (MachineBasicBlock *Original : Gone) {
    Blocks[Original]->eraseFromParent();
    Blocks.erase(Original);
  }
}

/// Where a block leads that only jumps on.
MachineBasicBlock *jumpsTo(const MachineBasicBlock &MBB) {
  if (MBB.isEHPad() || MBB.isIRBlockAddressTaken() || MBB.succ_size() != 1)
    return nullptr;
  MachineBasicBlock *To = nullptr;
  for (const MachineInstr &MI : MBB) {
    if (MI.isDebugInstr())
      continue;
    if (To || !MI.isUnconditionalBranch() || MI.isIndirectBranch() || !MI.getOperand(0).isMBB())
      return nullptr;
    To = MI.getOperand(0).getMBB();
  }
  return To == &MBB ? nullptr : To;
}

/// Blocks that held a probe and a jump hold only the jump in the second body: whoever jumps to them jumps on. The blocks
/// themselves stay, for those who fall into them.
void OffBody::shortenJumps(MachineFunction &MF, ArrayRef<MachineBasicBlock *> Originals) {
  for (MachineBasicBlock *Original : Originals) {
    MachineBasicBlock *From = Blocks.lookup(Original);
    if (!From || Original->isIRBlockAddressTaken())
      continue;
    MachineBasicBlock *To = jumpsTo(*From);
    if (!To)
      continue;
    SmallVector<MachineBasicBlock *, 8> Predecessors(From->predecessors());
    for (MachineBasicBlock *Predecessor : Predecessors) {
      bool Jumps = false, Falls = Predecessor->isLayoutSuccessor(From);
      for (MachineInstr &MI : Predecessor->terminators()) {
        // By a table, which is changed below.
        if (MI.isIndirectBranch())
          Jumps = true, Falls = false;
        for (MachineOperand &MO : MI.operands())
          if (MO.isMBB() && MO.getMBB() == From) {
            MO.setMBB(To);
            Jumps = true;
          }
      }
      if (!Jumps)
        continue;
      if (!Falls)
        Predecessor->replaceSuccessor(From, To);
      else if (!Predecessor->isSuccessor(To))
        Predecessor->addSuccessor(To);
    }
    for (auto [Old, New] : Tables)
      MF.getJumpTableInfo()->ReplaceMBBInJumpTable(New, From, To);
    if (turnRound(*From, *To))
      Blocks.erase(Original);
  }
}

/// Where a branch leads past a block that only jumps on, and control falls into that block otherwise, the reverse branch
/// jumps on, and the block goes.
bool OffBody::turnRound(MachineBasicBlock &Jump, MachineBasicBlock &To) {
  if (Jump.pred_size() != 1)
    return false;
  MachineBasicBlock *From = *Jump.pred_begin(), *Past = nullptr, *Else = nullptr;
  const TargetInstrInfo &TII = *From->getParent()->getSubtarget().getInstrInfo();
  SmallVector<MachineOperand, 4> Condition;
  // Some conditions take two branches, or none of the reverse.
  if (!From->isLayoutSuccessor(&Jump) || std::distance(From->terminators().begin(), From->terminators().end()) != 1 ||
      TII.analyzeBranch(*From, Past, Else, Condition) || Condition.empty() || !Jump.isLayoutSuccessor(Past) ||
      TII.reverseBranchCondition(Condition))
    return false;
  DebugLoc Where = From->findBranchDebugLoc();
  TII.removeBranch(*From);
  TII.insertBranch(*From, &To, nullptr, Condition, Where);
  if (From->isSuccessor(&To))
    From->removeSuccessor(&Jump);
  else
    From->replaceSuccessor(&Jump, &To);
  Jump.removeSuccessor(&To);
  Jump.eraseFromParent();
  return true;
}

/// Lets a direct call go to the same body of the callee, past the branch at its entrance. Not where another
/// definition may take the callee's place when the program is loaded.
void OffBody::call(MachineFunction &MF, MachineInstr &MI, Body B) {
  if (!MI.isCall() || MI.mayLoad())
    return;
  for (MachineOperand &MO : MI.operands()) {
    const auto *Callee = MO.isGlobal() && !MO.getOffset() ? dyn_cast<Function>(MO.getGlobal()) : nullptr;
    if (Callee && Callee->hasFnAttribute(Attribute) && Callee->isDSOLocal() && !Callee->isDeclaration())
      MO.ChangeToMCSymbol(symbol(MF, *Callee, B), 0);
  }
}

void OffBody::copyLandingPads(MachineFunction &MF) {
  std::vector<LandingPadInfo> Old = MF.getLandingPads();
  for (const LandingPadInfo &Pad : Old) {
    LandingPadInfo &New = MF.getOrCreateLandingPadInfo(Blocks[Pad.LandingPadBlock]);
    for (MCSymbol *Begin : Pad.BeginLabels)
      New.BeginLabels.push_back(label(MF, Begin));
    for (MCSymbol *End : Pad.EndLabels)
      New.EndLabels.push_back(label(MF, End));
    if (Pad.LandingPadLabel)
      New.LandingPadLabel = label(MF, Pad.LandingPadLabel);
    New.TypeIds = Pad.TypeIds;
  }
}

} // namespace

extern "C" void unseen_shim_register_off() {
  static RegisterTargetPassConfigCallback Callback(
      [](TargetMachine &, PassManagerBase &, TargetPassConfig *Config) {
        Config->insertPass(&LiveDebugValuesID, &OffBody::ID);
      });
}
