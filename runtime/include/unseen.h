/* unseen.h: what C and C++ programs can say to Unseen.
 *
 * A program does not need this header to be built with Unseen. It is for programs that want to know whether they are being
 * recorded, or to keep a function out of it. With any other compiler, or when nothing is recorded, everything here
 * is still there and does nothing: no library has to be linked, no #ifdef is needed around it.
 *
 *     #include <unseen.h>
 *
 *     UNSEEN_SKIP static void spin(void) { ... }       // not instrumented
 *
 *     load_everything();
 *     unseen_cover_reset();                            // only what is served counts, not what is loaded
 *     serve();
 *
 *     UNSEEN_TEST(parse, parse_agrees_with_print)      // run in a copy of the live process, in states that no test has seen
 *
 * C99 or later, C++11 or later, GCC and Clang on ELF systems.
 */
#ifndef UNSEEN_H
#define UNSEEN_H

/* Version of this header: major * 10000 + minor * 100 + patch. */
#define UNSEEN_VERSION 100

/* Put in front of a function: Unseen leaves it as it is, and the manifest says "excluded by attribute". What it calls is
 * instrumented all the same. Profilers of the compiler itself leave the function alone as well. */
#if defined(__GNUC__) || defined(__clang__)
#define UNSEEN_SKIP __attribute__((no_profile_instrument_function))
#else
#define UNSEEN_SKIP
#endif

/* Attaches a test to a function, the unit. The test takes what the unit takes, and tells whether all is well: it returns non-zero or
 * true, or nothing. It may call the unit, and everything else. In a program built with --unseen=state it runs when the unit is called in
 * a state that no test has seen, with the unit's arguments, before the unit does anything, in a copy of the process: nothing it does
 * reaches the program. A test that returns 0, aborts (assert), throws or exits has failed. With any other compiler, or without a
 * store (UNSEEN_DIR), it never runs.
 *
 *     int area(int width, int height);
 *     static int area_is_symmetric(int width, int height) { return area(width, height) == area(height, width); }
 *     UNSEEN_TEST(area, area_is_symmetric)
 *
 * UNSEEN_TEST_NAMED takes the name of the unit instead: the linker's, or the source's, with or without scopes and parameters. So tests
 * can live in a file of their own, and reach static functions and methods of code that is not touched. A method's test takes the
 * object first.
 *
 *     UNSEEN_TEST_NAMED("shop::Cart::add(int)", cart_total_grows)
 *
 * A unit may have several tests. One that does not fit its unit, or a unit that is not there, ends the link.
 *
 * UNSEEN_TEST_AFTER runs its test when the unit returns: in the state that the unit has left, with the arguments that it was called with
 * and then what it returned (a pointer to it where that is a large struct; nothing more for a function that returns nothing). Whether
 * the test is due depends on the state that the unit was called in. A unit that ends by an exception or longjmp is not tested.
 *
 *     static int sort_sorts(int *of, size_t n) { return is_sorted(of, n); }
 *     UNSEEN_TEST_AFTER(sort, sort_sorts)
 *
 * UNSEEN_DETERMINISTIC needs no test: the unit is called twice from the same state, each time in a copy of the process, and has failed if it
 * returns something else the second time, or leaves something else in what it may write.
 *
 *     UNSEEN_DETERMINISTIC(checksum)
 *
 * UNSEEN_RESCUE attaches a function that is no test. In a program that is only watched (UNSEEN_POLICY=watch, with a seen set from the lab)
 * it is called before the unit, with its arguments, in the program itself, when the unit is called in a state outside that set: it may
 * log, repair, refuse, throw or end the program. While states are collected (any other policy) it is never called.
 *
 *     static void refuse(struct request *r) { r->is_trusted = 0; }
 *     UNSEEN_RESCUE(handle, refuse)
 *
 * All have a form that takes the unit's name: UNSEEN_TEST_AFTER_NAMED, UNSEEN_DETERMINISTIC_NAMED, UNSEEN_RESCUE_NAMED. */
struct unseen_test {
  const void *unit;
  const char *name;
  const void *test;
  unsigned long long kind;
};

#if defined(__GNUC__) || defined(__clang__)
#define UNSEEN_TEST(unit, test) UNSEEN_ATTACH((const void *)(unit), 0, test, 0, __COUNTER__)
#define UNSEEN_TEST_NAMED(name, test) UNSEEN_ATTACH(0, name, test, 0, __COUNTER__)
#define UNSEEN_TEST_AFTER(unit, test) UNSEEN_ATTACH((const void *)(unit), 0, test, 1, __COUNTER__)
#define UNSEEN_TEST_AFTER_NAMED(name, test) UNSEEN_ATTACH(0, name, test, 1, __COUNTER__)
#define UNSEEN_DETERMINISTIC(unit) UNSEEN_ATTACH((const void *)(unit), 0, 0, 2, __COUNTER__)
#define UNSEEN_DETERMINISTIC_NAMED(name) UNSEEN_ATTACH(0, name, 0, 2, __COUNTER__)
#define UNSEEN_RESCUE(unit, handler) UNSEEN_ATTACH((const void *)(unit), 0, handler, 3, __COUNTER__)
#define UNSEEN_RESCUE_NAMED(name, handler) UNSEEN_ATTACH(0, name, handler, 3, __COUNTER__)
#define UNSEEN_ATTACH(unit, name, test, kind, number) UNSEEN_ATTACH_AS(unit, name, test, kind, number)
#define UNSEEN_ATTACH_AS(unit, name, test, kind, number)                                                                  \
  __attribute__((used, section("unseen_tests"))) static const struct unseen_test unseen_test_##number = {                  \
      unit, name, (const void *)(test), kind};
#else
#define UNSEEN_TEST(unit, test)
#define UNSEEN_TEST_NAMED(name, test)
#define UNSEEN_TEST_AFTER(unit, test)
#define UNSEEN_TEST_AFTER_NAMED(name, test)
#define UNSEEN_DETERMINISTIC(unit)
#define UNSEEN_DETERMINISTIC_NAMED(name)
#define UNSEEN_RESCUE(unit, handler)
#define UNSEEN_RESCUE_NAMED(name, handler)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime's side, which is there in programs built with Unseen. Do not call these directly. */
#if defined(__GNUC__) || defined(__clang__)
extern int __unseen_active(void) __attribute__((weak));
extern void __unseen_cover_reset(void) __attribute__((weak));
#define UNSEEN_CALL_IF_THERE(hook, otherwise) (hook ? hook() : otherwise)
#else
#define UNSEEN_CALL_IF_THERE(hook, otherwise) (otherwise)
#endif

/* Whether this process is being recorded right now: 1 or 0. It is 0 in a program built without Unseen, under UNSEEN=off,
 * without a store (UNSEEN_DIR), and where the store can't be written. May be called from anywhere, signal handlers included. */
UNSEEN_SKIP static inline int unseen_active(void) { return UNSEEN_CALL_IF_THERE(__unseen_active, 0); }

/* Forgets what this process has covered so far. A program calls it after the part that should not count (start-up,
 * loading). What its parent process and other processes of the run have covered stays. May be called from anywhere,
 * signal handlers included. */
UNSEEN_SKIP static inline void unseen_cover_reset(void) { UNSEEN_CALL_IF_THERE(__unseen_cover_reset, (void)0); }

#undef UNSEEN_CALL_IF_THERE

#ifdef __cplusplus
}
#endif

#endif
