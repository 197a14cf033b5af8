; Each function tells of its entry with its parameters and its frame, of its end, and of each access to memory that is not its
; own. Constants are not told of; what is allocated is, behind the call.
; All that is in a second body, which is called only if somebody is to be told. When functions are simplified, hooks are called only
; while somebody watches, too; what was told once is not told again.
; RUN: UNSEEN_BUILD=access opt -passes=unseen-probes -S %s | FileCheck %s
; RUN: UNSEEN_BUILD=access opt -passes=unseen-cover -S %s | FileCheck %s --check-prefix=GATE
; RUN: UNSEEN_BUILD=access opt -passes=unseen-cover,unseen-cover,unseen-settle -S %s | FileCheck %s --check-prefix=GATE

@counter = global i32 0
@fixed = constant i32 7
@mine = thread_local global i32 0

; CHECK: @__unseen_access_variables = internal constant { ptr, i64, ptr, i64 } { ptr @counter, i64 4, ptr @fixed, i64 -9223372036854775804 }
; CHECK: @__unseen_access_gate = internal global i32 0
; CHECK: @__unseen_access_countdown = internal global [24 x i8] zeroinitializer
; CHECK: @__unseen_access = internal constant { i32, i32, [16 x i8], ptr, i64, ptr, i64, ptr, ptr, ptr } { i32 80, i32 6,
; CHECK-SAME: ptr @__unseen_access_sets,
; CHECK-SAME: ptr @__unseen_access_variables, i64 2, ptr @__unseen_access_resolve, ptr @__unseen_access_gate, ptr @__unseen_access_countdown }
; CHECK: @llvm.global_ctors = {{.*}} ptr @__unseen_access_module_enter

; CHECK: define i32 @reads(ptr %p, i8 %n) [[ATTRIBUTES:#[0-9]+]]
; CHECK-NEXT: %local = alloca i32
; CHECK: [[COUNT:%[0-9]+]] = load i32, ptr @__unseen_access_countdown
; CHECK-NEXT: [[LEFT:%[0-9]+]] = sub i32 [[COUNT]], 1
; CHECK-NEXT: store i32 [[LEFT]], ptr @__unseen_access_countdown
; CHECK-NEXT: [[OPEN:%[0-9]+]] = load i32, ptr @__unseen_access_gate
; CHECK-NEXT: [[EITHER:%[0-9]+]] = or i32 [[LEFT]], [[OPEN]]
; CHECK-NEXT: [[TOLD:%[0-9]+]] = icmp slt i32 [[EITHER]], 0
; CHECK-NEXT: br i1 [[TOLD]]
; CHECK: [[RESULT:%[0-9]+]] = tail call i32 @reads.watched(ptr %p, i8 %n)
; CHECK-NEXT: ret i32 [[RESULT]]
; CHECK-NOT: __unseen
; CHECK: ret i32 %f
define i32 @reads(ptr %p, i8 %n) memory(readwrite) alwaysinline {
  %local = alloca i32
  store i32 0, ptr %local
  %v = load i32, ptr %p
  %f = load i32, ptr @fixed
  store i32 %v, ptr @counter
  ret i32 %f
}

; What is allocated is told of whether somebody watches or not.
; CHECK: define ptr @allocates(i32 %n)
; CHECK: call void @__unseen_access_new(ptr %new, i64 %wide)
; CHECK-NOT: __unseen_access_text
; CHECK: call void @__unseen_access_free(ptr %new)
; CHECK: ret ptr
define ptr @allocates(i32 %n) {
  %wide = zext i32 %n to i64
  %new = call ptr @malloc(i64 %wide)
  %length = call i64 @strlen(ptr @counter)
  call void @free(ptr %new)
  ret ptr %new
}

define void @copies(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}

define i32 @jumps(ptr %p) {
  %r = musttail call i32 @jumps(ptr @mine)
  ret i32 %r
}

define i32 @twice(ptr %p) {
  %a = load i32, ptr %p
  %length = call i64 @strlen(ptr @counter)
  %b = load i32, ptr %p
  %c = load i64, ptr %p
  ret i32 %b
}

; What can't be passed on has one body, which asks itself.
; CHECK: define i32 @varies(ptr %p, ...) [[ALONE:#[0-9]+]]
; CHECK: call void (i32, ptr, ...) @__unseen_access_entry(
; CHECK: call void @__unseen_access_read(ptr %p, i64 4,
; GATE: define i32 @varies(ptr %p, ...)
; GATE: [[FRAME:%[0-9]+]] = call ptr @llvm.frameaddress.p0(i32 0)
; GATE: load i32, ptr getelementptr inbounds (i32, ptr @__unseen_access_countdown, i64 5)
; GATE: icmp slt i32 {{.*}}, 0
; GATE: call void @__unseen_access_tell(i32 5, ptr {{.*}}, i32 1, ptr [[FRAME]])
; GATE: ret i32
define i32 @varies(ptr %p, ...) {
  %v = load i32, ptr %p
  ret i32 %v
}

declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @strlen(ptr)

; CHECK: define internal ptr @__unseen_access_resolve(i32
; CHECK: call {{.*}}ptr @llvm.threadlocal.address.p0(ptr{{.*}} @mine)

; Of all functions this one alone refers to the record.
; GATE: define internal void @__unseen_access_tell(i32 %0, ptr %1, i32 %2, ptr %3) [[TELL:#[0-9]+]]
; GATE-NEXT: call void @__unseen_access_enter(ptr @__unseen_access, i32 %0, ptr %1, i32 %2, ptr %3)
; GATE-NEXT: ret void

; CHECK: define internal i32 @reads.watched(ptr %p, i8 %n) [[WATCHED:#[0-9]+]]
; CHECK-NEXT: %local = alloca i32
; CHECK-NEXT: [[FRAME:%[0-9]+]] = call ptr @llvm.frameaddress.p0(i32 0)
; CHECK-NEXT: [[P:%[0-9]+]] = ptrtoint ptr %p to i64
; CHECK-NEXT: [[N:%[0-9]+]] = zext i8 %n to i64
; CHECK-NEXT: call void (i32, ptr, ...) @__unseen_access_entry(i32 0, ptr [[FRAME]], i64 [[P]], i64 [[N]])
; CHECK-NEXT: store i32 0, ptr %local
; CHECK-NEXT: call void @__unseen_access_read(ptr %p, i64 4, i32 0)
; CHECK-NEXT: %v = load i32, ptr %p
; CHECK-NEXT: %f = load i32, ptr @fixed
; CHECK-NEXT: call void @__unseen_access_write(ptr @counter, i64 4)
; CHECK-NEXT: store i32 %v, ptr @counter
; CHECK-NEXT: call void @__unseen_access_leave(ptr [[FRAME]])
; CHECK-NEXT: ret i32 %f
; GATE: define internal i32 @reads.watched(ptr %p, i8 %n)
; GATE: [[FRAME:%[0-9]+]] = call ptr @llvm.frameaddress.p0(i32 0)
; GATE-NOT: icmp
; GATE: call void @__unseen_access_tell(i32 0, ptr [[WORDS:%[0-9]+]], i32 2, ptr [[FRAME]])
; GATE: store i32 %v, ptr @counter
; GATE-NEXT: [[OPEN:%[0-9]+]] = load i32, ptr @__unseen_access_gate
; GATE-NEXT: icmp ne i32 [[OPEN]], 0
; GATE-NEXT: br
; GATE: call void @__unseen_access_read(ptr %p, i64 4, i32 0)
; GATE-NEXT: call void @__unseen_access_write(ptr @counter, i64 4)
; GATE-NEXT: call void @__unseen_access_leave(ptr [[FRAME]])
; GATE-NEXT: br
; GATE-NOT: call void @__unseen
; GATE: ret i32 %f

; CHECK: define internal ptr @allocates.watched(i32 %n)
; CHECK: %new = call ptr @malloc(i64 %wide)
; CHECK-NEXT: call void @__unseen_access_new(ptr %new, i64 %wide)
; CHECK-NEXT: call void @__unseen_access_text(ptr @counter, i32
; CHECK-NEXT: call i64 @strlen(ptr @counter)
; CHECK: call void @__unseen_access_free(ptr %new)
; CHECK-NEXT: call void @free(ptr %new)

; CHECK: define internal void @copies.watched(ptr %to, ptr %from, i64 %n)
; CHECK: call void @__unseen_access_read(ptr %from, i64 %n, i32
; CHECK-NEXT: call void @__unseen_access_write(ptr %to, i64 %n)
; CHECK-NEXT: call void @llvm.memcpy

; CHECK: define internal i32 @jumps.watched(ptr %p)
; CHECK: call void @__unseen_access_leave
; CHECK-NEXT: musttail call i32 @jumps

; Hooks stay on their side of calls; of two that tell of the same address the second goes.
; GATE: define internal i32 @twice.watched(ptr %p)
; GATE: call void @__unseen_access_read(ptr %p, i64 4,
; GATE: call i64 @strlen
; GATE-NOT: call void @__unseen_access_read(ptr %p, i64 4,
; GATE: call void @__unseen_access_read(ptr %p, i64 8,
; GATE: ret i32

; CHECK-DAG: attributes [[ATTRIBUTES]] = { "frame-pointer"="all" }
; CHECK-DAG: attributes [[WATCHED]] = { noinline "frame-pointer"="all" "unseen-watched" }
; CHECK-DAG: attributes [[ALONE]] = { noinline }
