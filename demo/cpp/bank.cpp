// Accounts and transfers: bank AMOUNT...; a transfer either happens whole or not at all.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Overdrawn : std::runtime_error {
    explicit Overdrawn(const std::string &name) : std::runtime_error(name + " has not that much") {}
};

class Account {
  public:
    Account(std::string name, long balance) : name_(std::move(name)), balance_(balance) {}
    virtual ~Account() = default;

    virtual long limit() const { return 0; }

    void add(long amount) { balance_ += amount; }

    void take(long amount) {
        if (balance_ + limit() < amount)
            throw Overdrawn(name_);
        balance_ -= amount;
    }

    long balance() const { return balance_; }
    const std::string &name() const { return name_; }

  private:
    std::string name_;
    long balance_;
};

class CreditAccount : public Account {
  public:
    using Account::Account;
    long limit() const override { return 100; }
};

static bool transfer(Account &from, Account &to, long amount) {
    if (amount < 0)
        return transfer(to, from, -amount);
    try {
        from.take(amount);
    } catch (const Overdrawn &why) {
        std::cout << "refused: " << why.what() << "\n";
        return false;
    }
    to.add(amount);
    return true;
}

int main(int argc, char **argv) {
    std::vector<std::unique_ptr<Account>> accounts;
    accounts.push_back(std::make_unique<Account>("Ada", 50));
    accounts.push_back(std::make_unique<CreditAccount>("Bob", 10));
    int refused = 0;
    for (int i = 1; i < argc; i++)
        refused += !transfer(*accounts[0], *accounts[1], std::atol(argv[i]));
    for (const auto &account : accounts)
        std::cout << account->name() << ": " << account->balance() << "\n";
    return refused > 3;
}
