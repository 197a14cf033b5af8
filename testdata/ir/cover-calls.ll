; A decision behind a call that may not return keeps its probe: what was entered is never lost. Callees that certainly
; return (by whole-program analysis, attributes or the table of external functions) cost nothing.
; RUN: opt -passes=unseen-print -disable-output %s | FileCheck %s

; CHECK-LABEL: function unknown: cover
; CHECK-NEXT: entry [0]
define void @unknown(i1 %c, ptr %p) {
  call void %p()
  br i1 %c, label %a, label %b
a:
  ret void
b:
  ret void
}

; CHECK-LABEL: function returns: cover
; CHECK-NEXT: entry [3, 4]
define void @returns(i1 %c, ptr %p) {
  %n = call i64 @strlen(ptr %p)
  call void @leaf()
  call void @declared()
  call void asm sideeffect "nop", ""()
  br i1 %c, label %a, label %b
a:
  ret void
b:
  ret void
}

; CHECK-LABEL: function exits: cover
; CHECK-NEXT: entry [5]
define void @exits(i1 %c) {
  call void @deep()
  br i1 %c, label %a, label %b
a:
  ret void
b:
  ret void
}

define internal void @leaf() {
  ret void
}
define internal void @deep() {
  call void @deeper()
  ret void
}
define internal void @deeper() {
  call void @exit(i32 1)
  unreachable
}
declare void @exit(i32)
declare i64 @strlen(ptr)
declare void @declared() nounwind willreturn
