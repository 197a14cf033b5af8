// An object on the stack, made by its constructor and taken down by its destructor.
// f reads n
// f writes live
int live;
struct s {
    int x;
    explicit s(int n) : x(n) { live = 1; }
    ~s() { live = 0; }
};
int f(int n) {
    s object(n);
    return object.x + live;
}
