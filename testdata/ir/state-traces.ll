; What a call is about to read is told by a copy of the unit: loads stay and are folded, writes are left out, and what is neither ends it.
; RUN: UNSEEN_BUILD=state opt -passes=unseen-probes,unseen-traces -S %s | FileCheck %s

%test = type { ptr, ptr, ptr, i64 }
%node = type { i32, ptr }

@first = internal constant %test { ptr @second_value, ptr null, ptr @value_is_well, i64 0 }, section "unseen_tests"
@second = internal constant %test { ptr @same_place, ptr null, ptr null, i64 2 }, section "unseen_tests"
@third = internal constant %test { ptr @other_place, ptr null, ptr null, i64 2 }, section "unseen_tests"
@fourth = internal constant %test { ptr @share, ptr null, ptr null, i64 2 }, section "unseen_tests"
@fifth = internal constant %test { ptr @same_pointer, ptr null, ptr null, i64 2 }, section "unseen_tests"
@sixth = internal constant %test { ptr @length, ptr null, ptr null, i64 2 }, section "unseen_tests"
@llvm.used = appending global [6 x ptr] [ptr @first, ptr @second, ptr @third, ptr @fourth, ptr @fifth, ptr @sixth], section "llvm.metadata"

; CHECK: @__unseen_state_traces = internal global [1048576 x i8] zeroinitializer

; The unit looks before it asks.
; CHECK: define i32 @second_value(ptr %list, i32 %least)
; CHECK: unseen.look:
; CHECK-NEXT: [[KNOWN:%[0-9]+]] = call preserve_mostcc i1 @__unseen_state_call_look.second_value(ptr %list, i32 %least)
; CHECK-NEXT: br i1 [[KNOWN]], label %{{[0-9]+}}, label %unseen.ask
define i32 @second_value(ptr %list, i32 %least) {
  %value = load i32, ptr %list
  %small = icmp slt i32 %value, %least
  br i1 %small, label %on, label %done
on:
  %at = getelementptr %node, ptr %list, i32 0, i32 1
  %next = load ptr, ptr %at
  %other = load i32, ptr %next
  ret i32 %other
done:
  ret i32 %value
}

define internal i1 @value_is_well(ptr %list, i32 %least) {
  ret i1 true
}

define i32 @same_place(ptr %p) {
  store i32 1, ptr %p
  %v = load i32, ptr %p
  ret i32 %v
}

define i32 @other_place(ptr %p, ptr %q) {
  store i64 1, ptr %q
  %v = load i32, ptr %p
  ret i32 %v
}

define i32 @share(ptr %p) {
  %n = load i32, ptr %p
  %r = sdiv i32 100, %n
  ret i32 %r
}

define i1 @same_pointer(ptr %p, ptr %q) {
  %v = load i32, ptr %p
  %same = icmp eq ptr %p, %q
  ret i1 %same
}

define i32 @length(ptr %list) {
  br label %loop
loop:
  %n = phi i32 [ 0, %0 ], [ %more, %on ]
  %node = phi ptr [ %list, %0 ], [ %next, %on ]
  %none = icmp eq ptr %node, null
  br i1 %none, label %done, label %on
on:
  %at = getelementptr %node, ptr %node, i32 0, i32 1
  %next = load ptr, ptr %at
  %more = add i32 %n, 1
  br label %loop
done:
  ret i32 %n
}

; Who looks does so by itself; who asks tells the trace behind the arguments, and remembers it if all tests have seen the state.
; CHECK: define internal preserve_mostcc i1 @__unseen_state_call_look.second_value(ptr %0, i32 %1)
; CHECK-NOT: @__unseen_state_call_trace
; CHECK: load atomic i64, ptr %{{[0-9]+}} acquire
; CHECK: load atomic i64, ptr %{{[0-9]+}} acquire
; CHECK: load atomic i64, ptr %{{[0-9]+}} monotonic
; CHECK: unseen.hit:

; The number counts, and what is loaded; where the list lies does not, but it must not be near null.
; CHECK: define internal { i64, i64 } @__unseen_state_call_trace.second_value(ptr %0, i32 %1)
; CHECK-NEXT: [[LEAST:%[0-9]+]] = zext i32 %1 to i64
; CHECK-NEXT: xor i64 {{-?[0-9]+}}, [[LEAST]]
; CHECK: [[AT:%[0-9]+]] = ptrtoint ptr %0 to i64
; CHECK-NEXT: [[NEAR:%[0-9]+]] = icmp ult i64 [[AT]], 4096
; CHECK-NEXT: br i1 [[NEAR]], label %[[NONE:[0-9]+]],
; CHECK: %value = load i32, ptr %0
; CHECK-NEXT: [[VALUE:%[0-9]+]] = zext i32 %value to i64
; CHECK-NEXT: xor i64 %{{[0-9]+}}, [[VALUE]]
; CHECK: %next = load ptr, ptr %at
; CHECK-NEXT: [[NEXT:%[0-9]+]] = ptrtoint ptr %next to i64
; CHECK-NEXT: [[NEAR:%[0-9]+]] = icmp ult i64 [[NEXT]], 4096
; CHECK-NEXT: br i1 [[NEAR]], label %[[NONE]],
; CHECK: [[WORD:%[0-9]+]] = or i64 %{{[0-9]+}}, 1
; CHECK-NEXT: [[BOTH:%[0-9]+]] = insertvalue { i64, i64 } %{{[0-9]+}}, i64 [[WORD]], 1
; CHECK-NEXT: ret { i64, i64 } [[BOTH]]
; CHECK: [[NONE]]:
; CHECK-NEXT: ret { i64, i64 } zeroinitializer

; CHECK: define internal preserve_mostcc void @__unseen_state_call_ask.second_value(ptr %0, i32 %1)
; CHECK: call { i64, i64 } @__unseen_state_call_trace.second_value(ptr %0, i32 %1)
; CHECK: call { i64, i64 } @__unseen_state_call_trace.value_is_well(ptr %0, i32 %1)
; CHECK: [[N:%[0-9]+]] = call i32 @__unseen_state_call(ptr @__unseen_state, i32 0, ptr %{{[0-9]+}}, i32 4, ptr %{{[0-9]+}})
; CHECK-NEXT: icmp eq i32 [[N]], -2
; CHECK: cmpxchg ptr [[SECOND:%[0-9]+]], i64 %{{[0-9]+}}, i64 2 acq_rel monotonic
; CHECK: store atomic i64 %{{[0-9]+}}, ptr %{{[0-9]+}} release
; CHECK-NEXT: store atomic i64 %{{[0-9]+}}, ptr [[SECOND]] release

; What it has written itself is no state, and can't be read here.
; CHECK: define internal { i64, i64 } @__unseen_state_call_trace.same_place(ptr %0)
; CHECK-NEXT: ret { i64, i64 } zeroinitializer

; What it may have written is compared with what it reads.
; CHECK: define internal { i64, i64 } @__unseen_state_call_trace.other_place(ptr %0, ptr %1)
; CHECK: [[FROM:%[0-9]+]] = sub i64 [[P:%[0-9]+]], [[Q:%[0-9]+]]
; CHECK-NEXT: icmp ult i64 [[FROM]], 8
; CHECK-NEXT: [[TO:%[0-9]+]] = sub i64 [[Q]], [[P]]
; CHECK-NEXT: icmp ult i64 [[TO]], 4
; CHECK-NOT: store
; CHECK: load i32, ptr %0
; CHECK-NOT: store
; CHECK: }

; A division that would trap is the unit's, and the tests'.
; CHECK: define internal { i64, i64 } @__unseen_state_call_trace.share(ptr %0)
; CHECK: icmp eq i32 %n, 0
; CHECK-NEXT: icmp eq i32 %n, -1
; CHECK: sdiv i32 100, %n

; Addresses that are compared count.
; CHECK: define internal { i64, i64 } @__unseen_state_call_trace.same_pointer(ptr %0, ptr %1)
; CHECK-NEXT: [[P:%[0-9]+]] = ptrtoint ptr %0 to i64
; CHECK-NEXT: xor i64 {{-?[0-9]+}}, [[P]]
; CHECK: [[Q:%[0-9]+]] = ptrtoint ptr %1 to i64
; CHECK-NEXT: xor i64 %{{[0-9]+}}, [[Q]]

; Of pointers that may be null it counts whether they are. Rounds are counted.
; CHECK: define internal { i64, i64 } @__unseen_state_call_trace.length(ptr %0)
; CHECK-NEXT: [[IS_NULL:%[0-9]+]] = icmp eq ptr %0, null
; CHECK-NEXT: zext i1 [[IS_NULL]] to i64
; CHECK: %next = load ptr, ptr %at
; CHECK-NEXT: icmp eq ptr %next, null
; CHECK: icmp ugt i32 %{{[0-9]+}}, 256
; CHECK-NOT: __unseen_state_call_copy
