; Each function tells of its entry with its parameters and its frame, of its end, and of each access to memory that is not its
; own. Constants are not told of; what is allocated is, behind the call.
; RUN: UNSEEN_BUILD=access opt -passes=unseen-cover -S %s | FileCheck %s

@counter = global i32 0
@fixed = constant i32 7
@mine = thread_local global i32 0

; CHECK: @__unseen_access_variables = internal constant { ptr, i64, ptr, i64 } { ptr @counter, i64 4, ptr @fixed, i64 -9223372036854775804 }
; CHECK: @__unseen_access = internal constant { i32, i32, [16 x i8], ptr, i64, ptr, i64, ptr } { i32 64, i32 4,
; CHECK-SAME: ptr @__unseen_access_sets,
; CHECK-SAME: ptr @__unseen_access_variables, i64 2, ptr @__unseen_access_resolve }
; CHECK: @llvm.global_ctors = {{.*}} ptr @__unseen_access_module_enter

; CHECK: define i32 @reads(ptr %p, i8 %n) [[ATTRIBUTES:#[0-9]+]]
; CHECK-NEXT: [[WORDS:%[0-9]+]] = alloca [2 x i64]
; CHECK-NEXT: %local = alloca i32
; CHECK: store i64 {{%[0-9]+}}, ptr
; CHECK: [[FRAME:%[0-9]+]] = call ptr @llvm.frameaddress.p0(i32 0)
; CHECK-NEXT: call void @__unseen_access_enter(ptr @__unseen_access, i32 0, ptr [[WORDS]], i32 2, ptr [[FRAME]])
; CHECK-NEXT: store i32 0, ptr %local
; CHECK-NEXT: call void @__unseen_access_read(ptr %p, i64 4, i32 0)
; CHECK-NEXT: %v = load i32, ptr %p
; CHECK-NEXT: %f = load i32, ptr @fixed
; CHECK-NEXT: call void @__unseen_access_write(ptr @counter, i64 4)
; CHECK-NEXT: store i32 %v, ptr @counter
; CHECK-NEXT: call void @__unseen_access_leave(ptr [[FRAME]])
; CHECK-NEXT: ret i32 %f
define i32 @reads(ptr %p, i8 %n) memory(readwrite) alwaysinline {
  %local = alloca i32
  store i32 0, ptr %local
  %v = load i32, ptr %p
  %f = load i32, ptr @fixed
  store i32 %v, ptr @counter
  ret i32 %f
}

; CHECK: define ptr @allocates(i32 %n)
; CHECK: %new = call ptr @malloc(i64 %wide)
; CHECK-NEXT: call void @__unseen_access_new(ptr %new, i64 %wide)
; CHECK-NEXT: call void @__unseen_access_text(ptr @counter, i32
; CHECK-NEXT: call i64 @strlen(ptr @counter)
; CHECK: call void @__unseen_access_free(ptr %new)
; CHECK-NEXT: call void @free(ptr %new)
define ptr @allocates(i32 %n) {
  %wide = zext i32 %n to i64
  %new = call ptr @malloc(i64 %wide)
  %length = call i64 @strlen(ptr @counter)
  call void @free(ptr %new)
  ret ptr %new
}

; CHECK: define void @copies(ptr %to, ptr %from, i64 %n)
; CHECK: call void @__unseen_access_read(ptr %from, i64 %n, i32
; CHECK-NEXT: call void @__unseen_access_write(ptr %to, i64 %n)
; CHECK-NEXT: call void @llvm.memcpy
define void @copies(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}

; CHECK: define i32 @jumps(ptr %p)
; CHECK: call void @__unseen_access_leave
; CHECK-NEXT: musttail call i32 @jumps
define i32 @jumps(ptr %p) {
  %r = musttail call i32 @jumps(ptr @mine)
  ret i32 %r
}

declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @strlen(ptr)

; CHECK: define internal ptr @__unseen_access_resolve(i32
; CHECK: call {{.*}}ptr @llvm.threadlocal.address.p0(ptr{{.*}} @mine)
; CHECK: attributes [[ATTRIBUTES]] = { noinline }
