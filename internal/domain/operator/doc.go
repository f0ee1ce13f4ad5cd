// Package operator is what an operator can do: look at users, logins, the policy,
// the sweep and the record, and change them. The HTTP API, the command line and
// the console are doors to the same verbs.
//
// Every change is an event, written with it in one transaction.
package operator
