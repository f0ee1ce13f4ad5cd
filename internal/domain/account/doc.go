// Package account owns the people who log in: what their names may look like,
// what a password must be, how it is kept, and how it is checked.
//
// A name goes through [NormalizeUsername] before it is compared, counted,
// stored or looked up, so all spellings of a name are one account. A password
// goes through [NewPassword], and is never seen in the clear again outside
// this package. [Hasher] turns it into an Argon2id hash, in a bounded pool:
// hashing is made to be expensive, and a server that hashes whenever it is
// asked is easy to bring down. [Service] puts the three together.
//
// The package says who someone is. Throttling, tokens and audit belong to its
// callers.
package account
