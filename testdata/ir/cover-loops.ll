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

; Never more than two rounds: to ask costs more than the probes.
; CHECK-LABEL: define void @short(
; CHECK-NOT: @__unseen_epoch
; CHECK: ret
define void @short(i32 %bits, ptr %p) {
entry:
  br label %head
head:
  %i = phi i32 [ %bits, %entry ], [ %next, %body ]
  %more = icmp ult i32 %i, 16
  br i1 %more, label %body, label %end
body:
  store i32 %i, ptr %p
  %next = add nuw i32 %i, 8
  br label %head
end:
  ret void
}

; One probe for many instructions.
; CHECK-LABEL: define i32 @sparse(
; CHECK-NOT: @__unseen_epoch
; CHECK: ret
define i32 @sparse(i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %end
body:
  %v0 = add i32 %i, %n
  %v1 = add i32 %v0, %n
  %v2 = add i32 %v1, %n
  %v3 = add i32 %v2, %n
  %v4 = add i32 %v3, %n
  %v5 = add i32 %v4, %n
  %v6 = add i32 %v5, %n
  %v7 = add i32 %v6, %n
  %v8 = add i32 %v7, %n
  %v9 = add i32 %v8, %n
  %v10 = add i32 %v9, %n
  %v11 = add i32 %v10, %n
  %v12 = add i32 %v11, %n
  %v13 = add i32 %v12, %n
  %v14 = add i32 %v13, %n
  %v15 = add i32 %v14, %n
  %v16 = add i32 %v15, %n
  %v17 = add i32 %v16, %n
  %v18 = add i32 %v17, %n
  %v19 = add i32 %v18, %n
  %v20 = add i32 %v19, %n
  %v21 = add i32 %v20, %n
  %v22 = add i32 %v21, %n
  %v23 = add i32 %v22, %n
  %v24 = add i32 %v23, %n
  %v25 = add i32 %v24, %n
  %v26 = add i32 %v25, %n
  %v27 = add i32 %v26, %n
  %v28 = add i32 %v27, %n
  %v29 = add i32 %v28, %n
  %v30 = add i32 %v29, %n
  %v31 = add i32 %v30, %n
  %v32 = add i32 %v31, %n
  %v33 = add i32 %v32, %n
  %v34 = add i32 %v33, %n
  %v35 = add i32 %v34, %n
  %v36 = add i32 %v35, %n
  %v37 = add i32 %v36, %n
  %v38 = add i32 %v37, %n
  %v39 = add i32 %v38, %n
  %next = add i32 %v39, 1
  br label %head
end:
  ret i32 %i
}
