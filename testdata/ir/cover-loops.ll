; A loop that calls nothing gets a copy without probes, which runs once all its counters were set in this epoch.
; RUN: opt -passes='unseen-probes,unseen-settle' -S %s | FileCheck %s

; CHECK: @__unseen_epoch = internal global i32 1, align 4
; CHECK: @__unseen_epoch.loop = private global i32 0, align 4
; CHECK-LABEL: define void @copied(
; CHECK: entry:
; CHECK: %[[NOW:.*]] = load volatile i32, ptr @__unseen_epoch, align 4, !nosanitize
; CHECK: %[[OWN:.*]] = load volatile i32, ptr @__unseen_epoch.loop, align 4, !nosanitize
; CHECK: %[[SAME:.*]] = icmp eq i32 %[[OWN]], %[[NOW]]
; CHECK: br i1 %[[SAME]], label %head.quiet, label %ask, !prof
; CHECK: body:
; CHECK-NEXT: store volatile i8 1, ptr {{.*}}@__unseen_counters
; CHECK: body.quiet:
; CHECK-NOT: store volatile
; CHECK: set:
; CHECK-NEXT: store volatile i32 %[[NOW]], ptr @__unseen_epoch.loop
; CHECK-NEXT: br label %head.quiet
; CHECK: ask:
; CHECK-NEXT: %[[BYTES:.*]] = load volatile i8, ptr {{.*}}@__unseen_counters
; CHECK-NEXT: %[[BITS:.*]] = and i8 %[[BYTES]], 1
; CHECK-NEXT: %[[ALL:.*]] = icmp eq i8 %[[BITS]], 1
; CHECK-NEXT: br i1 %[[ALL]], label %set, label %head
define void @copied(ptr %p, i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %end
body:
  %at = getelementptr i32, ptr %p, i32 %i
  store i32 %i, ptr %at
  %next = add i32 %i, 1
  br label %head
end:
  ret void
}

; CHECK-LABEL: define void @calls(
; CHECK-NOT: @__unseen_epoch
; CHECK: ret
define void @calls(i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %end
body:
  call void @use(i32 %i)
  %next = add i32 %i, 1
  br label %head
end:
  ret void
}
declare void @use(i32)

; Values that leave the loop leave both.
; CHECK-LABEL: define i32 @result(
; CHECK: end:
; CHECK-NEXT: phi i32 [ %i, %head ], [ %i.quiet, %head.quiet ]
define i32 @result(i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %end
body:
  %next = add i32 %i, 3
  br label %head
end:
  ret i32 %i
}
