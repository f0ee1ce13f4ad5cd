// Package flakepass is the door that other Go services put in front of their
// handlers: it asks, for every request, the one question that flakepass
// answers.
//
// A token is a question: who is this? A login mints one. The user's row keeps
// it, as a hash. Every request asks. A policy, which an operator may change at
// any moment, says when the answer becomes nobody. A sweep forgets what is
// over.
//
// # Use
//
// A [Guard] in front of a handler lets through only requests whose header
// holds a living token; behind it, [FromContext] says who is asking:
//
//	guard := &flakepass.Guard{Verifier: v}
//	http.Handle("/orders", guard.Handler(orders))
//
//	func orders(w http.ResponseWriter, r *http.Request) {
//		who, _ := flakepass.FromContext(r.Context())
//		...
//	}
//
// Routers whose chain is not an [http.Handler] call [Guard.Admit] instead.
//
// Whoever can tell a token's holder is a [Verifier]. A service that has neither
// flakepass' database nor its Redis uses a [Remote], which asks a flakepass
// server and remembers the answers. The server guards its own routes with this
// package, too; its session service is a Verifier.
//
// # Answers
//
// A request is let through, refused with 401 and a stable code (see
// [Refusal]), or, when the Verifier cannot tell, answered 503 with Retry-After.
// Not knowing is never a 401: an app that reads 401 throws its token away and
// logs in again, which turns a short outage of a database into a stampede on
// the login.
//
// # Dependencies
//
// The package, and everything it imports, uses the standard library only.
//
// # Reading order of the source
//
// token.go (what a token is, and how it refuses to be printed), identity.go
// (the question and its answers), guard.go (the door that asks it), remote.go and
// remote_known.go (how it is asked from far away, and why the answer is fresh);
// then ARCHITECTURE.md for the server behind it.
package flakepass
