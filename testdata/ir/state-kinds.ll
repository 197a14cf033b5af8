; Tests that run when the unit returns, a unit that is to do the same twice, and one that is rescued. The function that calls unit and test,
; for the sake of the sets, is gone.
; RUN: UNSEEN_BUILD=state opt -passes=unseen-probes -S %s | FileCheck %s

%test = type { ptr, ptr, ptr, i64 }

@first = internal constant %test { ptr @get, ptr null, ptr @get_is_small, i64 1 }, section "unseen_tests"
@second = internal constant %test { ptr @same, ptr null, ptr null, i64 2 }, section "unseen_tests"
@third = internal constant %test { ptr @handle, ptr null, ptr @refuse, i64 3 }, section "unseen_tests"
@table = internal global [4 x i32] zeroinitializer
@llvm.used = appending global [3 x ptr] [ptr @first, ptr @second, ptr @third], section "llvm.metadata"

; CHECK: @__unseen_state_kinds = internal constant [3 x i8] c"\01\02\03"
; CHECK-NOT: __unseen_both

; The test reads more than the unit: that is part of the state that decides, 4 bytes of the parameter and 4 of the table.
; CHECK: define i32 @get(i32 %i)
; CHECK: [[WORDS:%[0-9]+]] = alloca [4 x i64]
; CHECK: [[DUE:%[0-9]+]] = alloca i1
; CHECK-NEXT: store i1 false, ptr [[DUE]]
; CHECK: load volatile i32, ptr getelementptr inbounds (i8, ptr @table, i64 4)
; CHECK: unseen.ask:
; CHECK-NEXT: [[ASKED:%[0-9]+]] = call i1 @__unseen_state_call_ask.get(i32 %i, i64 %{{[0-9]+}}, ptr %{{[0-9]+}}, ptr [[WORDS]])
; CHECK-NEXT: store i1 [[ASKED]], ptr [[DUE]]
; CHECK: %r = add i32 %i, 1
; CHECK-NEXT: [[IS_DUE:%[0-9]+]] = load i1, ptr [[DUE]]
; CHECK-NEXT: br i1 [[IS_DUE]], label %unseen.after, label %[[END:[0-9]+]]
; CHECK: unseen.after:
; CHECK-NEXT: call void @__unseen_state_call_ask_after.get(ptr [[WORDS]], i32 %i, i32 %r)
; CHECK-NEXT: br label %[[END]]
; CHECK: [[END]]:
; CHECK-NEXT: ret i32 %r
define i32 @get(i32 %i) {
  %r = add i32 %i, 1
  ret i32 %r
}

define internal i32 @get_is_small(i32 %i, i32 %r) {
  %p = getelementptr i32, ptr @table, i32 1
  %v = load i32, ptr %p
  %ok = icmp slt i32 %r, %v
  %z = zext i1 %ok to i32
  ret i32 %z
}

; What the unit does with memory is not what those do that look at its state, and is not said of it any more.
; CHECK: define i64 @same(i64 %a, ptr noundef %to)
; CHECK: call preserve_mostcc void @__unseen_state_call_ask.same(i64 %a, ptr noundef %to)
define i64 @same(i64 %a, ptr noundef writeonly captures(none) initializes((0, 8)) %to) {
  store i64 %a, ptr %to
  ret i64 %a
}

; CHECK: define i32 @handle(i32 %request)
; CHECK: call void @__unseen_state_call_ask.handle(i32 %request, i64 %{{[0-9]+}}, ptr %{{[0-9]+}})
; CHECK: ret i32 %request
define i32 @handle(i32 %request) {
  ret i32 %request
}

define internal void @refuse(i32 %request) {
  ret void
}

; CHECK: define internal i1 @__unseen_state_call_ask.get(i32 %0, i64 %1, ptr %2, ptr %3)
; CHECK: [[N:%[0-9]+]] = call i32 @__unseen_state_call(ptr @__unseen_state, i32 0, ptr %3, i32 1, ptr %2)
; CHECK-NEXT: icmp eq i32 [[N]], -2
; CHECK: unseen.seen:
; CHECK: ret i1 false
; CHECK: [[IS_DUE:%[0-9]+]] = icmp eq i32 [[N]], 1073741824
; CHECK: ret i1 [[IS_DUE]]

; CHECK: define internal void @__unseen_state_call_ask_after.get(ptr %0, i32 %1, i32 %2)
; CHECK-NEXT: [[N:%[0-9]+]] = call i32 @__unseen_state_after(ptr @__unseen_state, i32 0, ptr %0)
; CHECK: call void @__unseen_state_call_after.get(i32 [[N]], i32 %1, i32 %2)
; CHECK-NEXT: unreachable

; CHECK: define internal void @__unseen_state_call_after.get(i32 %0, i32 %1, i32 %2)
; CHECK: call i32 @get_is_small(i32 %1, i32 %2)

; The unit is called in the copy, and what it does is told.
; CHECK: define internal void @__unseen_state_call_run.same(i32 %0, i64 %1, ptr noundef %2)
; CHECK: [[ROOM:%[0-9]+]] = alloca i64
; CHECK: call void @__unseen_state_compare(ptr @__unseen_state, i32 1, ptr %{{[0-9]+}}, i32 2)
; CHECK-NEXT: [[GOT:%[0-9]+]] = call i64 @same(i64 %1, ptr noundef %2)
; CHECK-NEXT: store i64 0, ptr [[ROOM]]
; CHECK-NEXT: store i64 [[GOT]], ptr [[ROOM]]
; CHECK-NEXT: call void @__unseen_state_compared(ptr [[ROOM]], i64 8)

; What a rescue throws goes through it: the unit counts on no register that others do not keep.
; CHECK: define internal void @__unseen_state_call_ask.handle(i32 %0, i64 %1, ptr %2)
; CHECK: [[RESCUED:%[0-9]+]] = icmp eq i32 %{{[0-9]+}}, -1
; CHECK-NEXT: br i1 [[RESCUED]], label %unseen.rescue
; CHECK: unseen.rescue:
; CHECK-NEXT: call void @refuse(i32 %0)
; CHECK-NEXT: ret void
