; While functions are simplified a probe changes nothing that the program can see: the load moves out of the loop although there
; is a probe in it. Later it is a store, which is never put off until the loop ends.
; RUN: opt -passes='unseen-link' -S %s | FileCheck %s

; CHECK-NOT: @__unseen_probe
; CHECK-LABEL: define {{.*}}@sum(
; CHECK: load i32, ptr %p
; CHECK: phi
; CHECK: store volatile i8 1, ptr getelementptr {{.*}}@__unseen_counters
; CHECK-NOT: load i32, ptr %p
; CHECK: ret
define i32 @sum(ptr %p, i32 %n, ptr %q) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %s = phi i32 [ 0, %entry ], [ %t, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %end
body:
  %v = load i32, ptr %p
  %u = mul i32 %s, %v
  %t = xor i32 %u, %i
  %next = add i32 %i, 1
  call void @seen(i32 %s)
  br label %head
end:
  store i32 %s, ptr %q
  ret i32 %s
}
declare void @seen(i32) memory(inaccessiblemem: write) nounwind willreturn
