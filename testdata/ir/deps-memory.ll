; What lies behind pointers: only what may still be as it was before the call counts.
; RUN: opt -passes=unseen-deps -disable-output %s | FileCheck %s

@g = global ptr null
@table = constant [2 x ptr] [ptr @g, ptr null]
@t = thread_local global i32 0

; Certainly written first.
; CHECK-LABEL: function written
; CHECK-NEXT: writes [arg0]:4
; CHECK-NEXT: function perhaps_written
define i32 @written(ptr %p) {
  store i32 1, ptr %p
  %v = load i32, ptr %p
  ret i32 %v
}

; CHECK-NEXT: reads [arg0]:4
; CHECK-NEXT: reads arg1
; CHECK-NEXT: writes [arg0]:4
; CHECK-NEXT: function two_names
define i32 @perhaps_written(ptr %p, i1 %c) {
  br i1 %c, label %then, label %end
then:
  store i32 1, ptr %p
  br label %end
end:
  %v = load i32, ptr %p
  ret i32 %v
}

; The pointer that is followed may be the one that was stored, if both names mean the same place.
; CHECK-NEXT{LITERAL}: reads [[arg1]]:4
; CHECK-NEXT: reads [arg1]:8
; CHECK-NEXT: reads [arg2]:4
; CHECK-NEXT: reads arg2
; CHECK-NEXT: writes [arg0]:8
; CHECK-NEXT: function noalias
define i32 @two_names(ptr %p, ptr %q, ptr %r) {
  store ptr %r, ptr %p
  %s = load ptr, ptr %q
  %v = load i32, ptr %s
  ret i32 %v
}

; CHECK-NEXT{LITERAL}: reads [[arg1]]:4
; CHECK-NEXT: reads [arg1]:8
; CHECK-NEXT: reads arg2
; CHECK-NEXT: writes [arg0]:8
; CHECK-NEXT: function list
define i32 @noalias(ptr noalias %p, ptr %q, ptr %r) {
  store ptr %r, ptr %p
  %s = load ptr, ptr %q
  %v = load i32, ptr %s
  ret i32 %v
}

; CHECK-NEXT: reads [arg0(+8)*+8]:8
; CHECK-NEXT: reads [arg0(+8)*]:4
; CHECK-NEXT: reads arg0
; CHECK-NEXT: function elements
define i32 @list(ptr %p) {
entry:
  br label %loop
loop:
  %n = phi ptr [ %p, %entry ], [ %next, %loop ]
  %v = load i32, ptr %n
  %at = getelementptr i8, ptr %n, i64 8
  %next = load ptr, ptr %at
  %end = icmp eq ptr %next, null
  br i1 %end, label %out, label %loop
out:
  ret i32 %v
}

; CHECK-NEXT: reads [arg0+4+16*]:4
; CHECK-NEXT: reads arg1
; CHECK-NEXT: function constants
define i32 @elements(ptr %p, i64 %i) {
  %at = getelementptr { i32, i32, ptr }, ptr %p, i64 %i, i32 1
  %v = load i32, ptr %at
  ret i32 %v
}

; A constant is no state; what it points to may be.
; CHECK-NEXT: reads [@g]:8
; CHECK-NEXT: function own_memory
define ptr @constants() {
  %p = load ptr, ptr @table
  %q = load ptr, ptr %p
  ret ptr %q
}

; CHECK-NEXT: reads arg0
; CHECK-NEXT: function thread
define i32 @own_memory(i32 %v) {
  %m = call ptr @malloc(i64 8)
  store i32 %v, ptr %m
  %r = load i32, ptr %m
  ret i32 %r
}

; CHECK-NEXT: reads [@t]:4
; CHECK-NEXT: function unknown
define i32 @thread() {
  %p = call ptr @llvm.threadlocal.address.p0(ptr @t)
  %v = load i32, ptr %p
  ret i32 %v
}

; CHECK-NEXT: opaque external mystery
; CHECK-NEXT: function forged
define void @unknown() {
  call void @mystery()
  ret void
}

; CHECK-NEXT: reads arg0
; CHECK-NEXT: opaque integer-to-pointer
define i32 @forged(i32 %n) {
  %w = zext i32 %n to i64
  %x = add i64 %w, 4096
  %p = inttoptr i64 %x to ptr
  %v = load i32, ptr %p
  ret i32 %v
}

declare ptr @malloc(i64)
declare void @mystery()
declare ptr @llvm.threadlocal.address.p0(ptr)
