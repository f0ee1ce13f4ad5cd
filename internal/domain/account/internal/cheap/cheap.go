// Package cheap holds the key to password hashes below the minimum cost. Only
// packages below internal/domain/account can import it, and the only one that does,
// besides account, is accounttest: the compiler keeps cheap hashes out of
// everything else.
package cheap

// A Key opens [account.NewCheapHasher]. The zero Key does.
type Key struct{}
