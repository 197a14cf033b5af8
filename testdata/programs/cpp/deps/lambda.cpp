// What a lambda has captured is the caller's.
// f reads x; y
int f(int x, int y) {
    auto add = [&](int z) { return x + y + z; };
    return add(1);
}
