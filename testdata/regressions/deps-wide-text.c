// A wide text goes on behind the first byte that is zero. The set had two bytes of it, and the library call was watched by the same model.
// What `sysconf` answers is not decided by its argument.
//
// RUN: unseen-clang -g -O2 --unseen=access %s -o prog
// RUN: unseen deps prog wide any two text pages | FileCheck %s
// CHECK: {{^}}any({{.*}} opaque
// CHECK: a format that may ask for wide texts
// CHECK: {{^}}pages {{.*}} opaque
// CHECK: {{^}}text({{.*}} exact
// CHECK: {{^}}two({{.*}} exact
// CHECK: {{^}}wide({{.*}} opaque
// CHECK: a format that may ask for wide texts
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

__attribute__((noinline)) int wide(const wchar_t *w, char *b) { return snprintf(b, 20, "%d%-10.5ls", 1, w); }
__attribute__((noinline)) int any(const char *format, const char *s, char *b) { return snprintf(b, 20, format, s); }
__attribute__((noinline)) int two(int n, const char *s, char *b) { return snprintf(b, 20, n ? "%s%ld%%ls" : "%.3s %lu", s, 5L); }
__attribute__((noinline)) int text(const char *s, char *b) { return snprintf(b, 20, "all %s", s); }
__attribute__((noinline)) long pages(void) { return sysconf(_SC_AVPHYS_PAGES); }

int main(int argc, char **argv) {
  char b[20];
  return wide(L"abc", b) + any("%s", "a", b) + two(argc, "a", b) + text("a", b) + (pages() > 0) < 0;
}
