; A function with tests asks, when it is called, whether one of them is to be run; in a copy of the process it runs it. Descriptors are
; gone: the address of the unit is not taken by them, and the test may be called by nobody else.
; RUN: UNSEEN_BUILD=state opt -passes=unseen-probes -S %s | FileCheck %s
; RUN: UNSEEN_BUILD=state opt -passes=unseen-probes,unseen-probes -S %s | FileCheck %s
; RUN: UNSEEN_BUILD=cover opt -passes=unseen-probes -S %s | FileCheck %s --check-prefix=OTHER

%test = type { ptr, ptr, ptr }

@limit = global i32 10
@name = private constant [5 x i8] c"rate\00"
@first = internal constant %test { ptr @clip, ptr null, ptr @clip_is_small }, section "unseen_tests"
@second = internal constant %test { ptr @clip, ptr null, ptr @clip_says_nothing }, section "unseen_tests"
@third = internal constant %test { ptr null, ptr @name, ptr @rate_is_a_number }, section "unseen_tests"
@fourth = internal constant %test { ptr @large, ptr null, ptr @large_is_well }, section "unseen_tests"
@llvm.used = appending global [4 x ptr] [ptr @first, ptr @second, ptr @third, ptr @fourth], section "llvm.metadata"


; CHECK-NOT: section "unseen_tests"
; CHECK: @__unseen_state_variables = internal constant { ptr, i64 } { ptr @limit, i64 4 }
; The parameter and the variable are the state: 8 bytes. Of the other unit nothing counts but the clock.
; CHECK: @__unseen_state_gates = internal global [3 x i8] zeroinitializer, align 64
; CHECK: @__unseen_state_desks = internal global [1728 x i8] zeroinitializer, align 64
; CHECK: @__unseen_state_hits = internal thread_local global [12 x i8] zeroinitializer
; CHECK: @__unseen_state_units = internal constant {{.*}} { i64 1, i64 0, i32 0, i32 2, i32 0, i32 8, i64 0, i64 0, i32 2, i32 1, i32 1, i32 0,
; What is returned in memory has no place among what a test takes: its only parameter is the unit's second.
; It writes behind a pointer, which may lead to what is read: such a state is never the bytes alone.
; CHECK-SAME: i64 2, i64 0, i32 3, i32 1, i32 2, i32 0 }
; CHECK: @__unseen_state_names = internal constant {{.*}} c"clip\00rate\00large\00"
; CHECK: @__unseen_state = internal constant {{.*}} { i32 120, i32 3,
; OTHER: section "unseen_tests"
; OTHER-NOT: __unseen_state

; CHECK: define i32 @clip(i32 %a)
; CHECK-NEXT: %slot = alloca i32
; CHECK-NEXT: [[OPEN:%[0-9]+]] = load volatile i8, ptr @__unseen_state_gates
; CHECK-NEXT: [[ASK:%[0-9]+]] = icmp ne i8 [[OPEN]], 0
; CHECK-NEXT: br i1 [[ASK]], label %unseen.look, label %[[BODY:[0-9]+]]
; The state is in one word: the parameter, and behind it the variable.
; CHECK: unseen.look:
; CHECK: load volatile i32, ptr @limit
; CHECK: shl i128 %{{[0-9]+}}, 32
; CHECK: [[STATE:%[0-9]+]] = trunc i128 %{{[0-9]+}} to i64
; CHECK: [[BOTH:%[0-9]+]] = xor i64 [[STATE]],
; CHECK-NEXT: [[MIXED:%[0-9]+]] = mul i64 [[BOTH]],
; CHECK-NEXT: [[PLACE:%[0-9]+]] = lshr i64 [[MIXED]], 48
; CHECK-NEXT: [[AT:%[0-9]+]] = getelementptr inbounds { i64, i64 }, ptr @__unseen_state_traces, i64 [[PLACE]]
; CHECK: [[KNOWN:%[0-9]+]] = load atomic i64, ptr [[AT]] acquire
; CHECK: icmp eq i64 %{{[0-9]+}}, 1
; CHECK: icmp eq i64 %{{[0-9]+}}, 1
; CHECK: [[SAME:%[0-9]+]] = icmp eq i64 [[KNOWN]], [[STATE]]
; CHECK-NEXT: [[HIT:%[0-9]+]] = and i1 [[SAME]],
; CHECK-NEXT: br i1 [[HIT]], label %unseen.hit, label %unseen.ask
; CHECK: unseen.hit:
; CHECK: icmp uge i32 %{{[0-9]+}}, 1024
; CHECK-NEXT: br i1 %{{[0-9]+}}, label %unseen.ask, label %[[BODY]]
; CHECK: unseen.ask:
; CHECK-NEXT: call preserve_mostcc void @__unseen_state_call_ask.clip(i32 %a, i64 [[STATE]], ptr %{{[0-9]+}})
; CHECK-NEXT: br label %[[BODY]]
; CHECK: [[BODY]]:
; CHECK-NEXT: store i32 %a, ptr %slot
define i32 @clip(i32 %a) {
  %slot = alloca i32
  store i32 %a, ptr %slot
  %l = load i32, ptr @limit
  %v = load i32, ptr %slot
  %big = icmp sgt i32 %v, %l
  %r = select i1 %big, i32 %l, i32 %v
  ret i32 %r
}

define internal i32 @clip_is_small(i32 %a) {
  %v = call i32 @clip(i32 %a)
  %l = load i32, ptr @limit
  %ok = icmp sle i32 %v, %l
  %r = zext i1 %ok to i32
  ret i32 %r
}

define internal void @clip_says_nothing(i32 %a) {
  ret void
}

; CHECK: define double @rate(double %x)
; CHECK: call preserve_mostcc void @__unseen_state_call_ask.rate(double %x)
define double @rate(double %x) {
  %now = call i64 @llvm.readcyclecounter()
  %n = uitofp i64 %now to double
  %r = fmul double %n, %x
  ret double %r
}

define internal zeroext i1 @rate_is_a_number(double %x) {
  ret i1 true
}

define void @large(ptr sret([4 x i64]) %out, i64 %n) {
  store i64 %n, ptr %out
  ret void
}

define internal i32 @large_is_well(i64 %n) {
  %ok = icmp sgt i64 %n, 0
  %r = zext i1 %ok to i32
  ret i32 %r
}

declare i64 @llvm.readcyclecounter()

; CHECK: define internal preserve_mostcc void @__unseen_state_call_ask.clip(i32 %0, i64 %1, ptr %2) [[SELDOM:#[0-9]+]]
; CHECK-NEXT: [[WORDS:%[0-9]+]] = alloca [1 x i64]
; CHECK-NEXT: [[WORD:%[0-9]+]] = getelementptr inbounds i64, ptr [[WORDS]], i64 0
; CHECK-NEXT: store i64 %1, ptr [[WORD]]
; CHECK-NEXT: [[WHICH:%[0-9]+]] = call i32 @__unseen_state_call(ptr @__unseen_state, i32 0, ptr [[WORDS]], i32 1, ptr %2)
; CHECK-NEXT: [[SEEN:%[0-9]+]] = icmp eq i32 [[WHICH]], -2
; CHECK-NEXT: br i1 [[SEEN]], label %unseen.seen, label %{{[0-9]+}}
; CHECK: [[TEST:%[0-9]+]] = icmp ne i32 [[WHICH]], 0
; CHECK-NEXT: br i1 [[TEST]], label %unseen.test, label %[[END:[0-9]+]]
; CHECK: unseen.test:
; CHECK-NEXT: call void @__unseen_state_call_run.clip(i32 [[WHICH]], i32 %0)
; CHECK-NEXT: unreachable
; CHECK: [[END]]:
; CHECK-NEXT: ret void

; What a test throws ends here: nobody is told to have called this. Tests have frames of their own.
; CHECK: define internal void @__unseen_state_call_run.clip(i32 %0, i32 %1) [[RUN:#[0-9]+]]
; CHECK-NEXT: call void asm sideeffect ".cfi_undefined rip", ""()
; CHECK-NEXT: switch i32 %0, label %{{[0-9]+}} [
; CHECK: call i32 @clip_is_small(i32 %1) [[ALONE:#[0-9]+]]
; CHECK: call void @__unseen_state_verdict(i32
; CHECK: call void @clip_says_nothing(i32 %1)
; CHECK-NEXT: call void @__unseen_state_verdict(i32 1)
; Numbers that are none are all one.
; CHECK: define internal preserve_mostcc void @__unseen_state_call_ask.rate(double %0)
; CHECK: [[NONE:%[0-9]+]] = fcmp uno double %0, %0
; CHECK-NEXT: [[X:%[0-9]+]] = select i1 [[NONE]], double {{.*}}, double %0
; CHECK-NEXT: bitcast double [[X]] to i64

; Words have the numbers of the unit's parameters.
; CHECK: define internal preserve_mostcc void @__unseen_state_call_ask.large(i64 %0, ptr %1)
; CHECK: [[OUT:%[0-9]+]] = ptrtoint ptr %1 to i64
; CHECK-NEXT: [[FIRST:%[0-9]+]] = getelementptr inbounds i64, ptr [[ROOM:%[0-9]+]], i64 0
; CHECK-NEXT: store i64 [[OUT]], ptr [[FIRST]]
; CHECK-NEXT: [[SECOND:%[0-9]+]] = getelementptr inbounds i64, ptr [[ROOM]], i64 1
; CHECK-NEXT: store i64 %0, ptr [[SECOND]]

; CHECK-DAG: attributes [[SELDOM]] = { cold noinline uwtable }
; CHECK-DAG: attributes [[RUN]] = { cold noinline noreturn nounwind uwtable }
; CHECK-DAG: attributes [[ALONE]] = { noinline }
