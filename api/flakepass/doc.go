// Package flakepass is the middleware that other Go services put in front of
// their handlers: for every request it asks flakepass whose token the request
// brings.
//
// A login mints a token. The user's row keeps a hash of it. A policy, which an
// operator may change at any moment, decides when a token is no longer accepted.
// A sweep deletes ended logins from the rows.
//
// # Use
//
// A [Guard] in front of a handler lets through only requests whose header
// holds a living token; behind it, [FromContext] says who is asking:
//
//	guard := &flakepass.Guard{Verifier: v}
//	http.Handle("GET /orders", guard.Handler(orders))
//
//	func orders(w http.ResponseWriter, r *http.Request) {
//		who, _ := flakepass.FromContext(r.Context())
//		...
//	}
//
// Routes with rules of their own have a Guard of their own, derived from that
// one. Deriving copies a few words; do it where routes are declared:
//
//	http.Handle("DELETE /orders/{id}", guard.Only("admin").Handler(remove))
//	http.Handle("GET /news", guard.Optional().Handler(news))      // also without a login
//	http.Handle("GET /unread", guard.Passive().Handler(unread))   // polled: no use of the login
//
// What finds the holder of a token is a [Verifier]. A service that has neither
// flakepass' database nor its Redis uses a [Remote], which asks a flakepass
// server and remembers the answers. One behind a proxy that asks GET /v1/verify
// has a [Forwarded] instead. The server guards its own routes with this package,
// too; its session service is a Verifier.
//
// # Routers
//
// [Guard.Handler] has the shape func(http.Handler) http.Handler, which is what
// most routers call a middleware:
//
//	r.With(guard.Handler).Get("/orders", orders)                 // chi
//	e.GET("/orders", orders, echo.WrapMiddleware(guard.Handler)) // echo
//
// In a router whose chain is no [http.Handler], call [Guard.Admit] and stop if it
// returns false. A middleware for gin:
//
//	func guarded(g *flakepass.Guard) gin.HandlerFunc {
//		return func(c *gin.Context) {
//			r, ok := g.Admit(c.Writer, c.Request)
//			if !ok {
//				c.Abort() // answered
//				return
//			}
//			c.Request = r
//		}
//	}
//
// HEAD and OPTIONS are guarded as any other method. A browser sends the
// preflight of a cross-origin request (OPTIONS, Fetch standard) without the
// token, so what answers it, such as github.com/rs/cors, stands in front of the
// Guard: cors.Handler(guard.Handler(orders)). For scripts of other origins it
// allows the request headers Authorization and X-Auth-Passive, and exposes
// X-Auth-Expires-In, X-Auth-Idle-Expires-In, WWW-Authenticate and Retry-After.
//
// # What to send
//
// The header Authorization, with the scheme Bearer in any case and the token
// (RFC 6750 section 2.1), once. A token in the URL or in a body is not looked
// for: both end up in logs. [Guard.Header] names one more header for apps that
// cannot send Authorization. A request with X-Auth-Passive: 1 is answered as any
// other, and does not count as a use of the login.
//
// # What comes back
//
// From a request that is let through, whatever the handler writes, and how long
// the login has left: [ExpiresInHeader] and [IdleExpiresInHeader], unless
// [Guard.HideTimes] is set. Everything else is a problem document (RFC 9457,
// application/problem+json) with a stable code, and Cache-Control: no-store:
//
//	400  credentials_ambiguous  one header twice, two different tokens, or another scheme
//	                            in Authorization beside Guard.Header; empty ones count
//	401  token_missing          no token; WWW-Authenticate has no error then
//	401  token_malformed        never was a token; no server was asked
//	401  key_not_accepted       a service key, which is no token
//	401  token_invalid          there is none, or its secret is wrong
//	401  token_expired          the absolute lifetime is over
//	401  token_idle_timeout     unused for longer than the idle timeout
//	401  token_logged_out       its owner logged out
//	401  token_replaced         its owner has logged in again since
//	401  token_revoked          an operator or a new password ended the login
//	401  account_disabled       the account was disabled
//	403  forbidden              the token is good; its holder's role is not enough
//	503  unavailable            the answer is unknown; Retry-After says when to ask again
//
// A 401 is a verdict, with a WWW-Authenticate as RFC 6750 section 3 has it: the
// app throws its token away and logs in. Not knowing is therefore never a 401 but
// a 503, with which the app keeps its token: otherwise a short outage of a
// database becomes a stampede on the login. [Guard.Undecided] receives the cause of
// every 503; the client does not.
//
// # Testing your handlers
//
// A handler reads the [Identity] from its context, so its test needs no Guard:
// [NewContext] puts one there. To test the guarded route, a [VerifierFunc] is the
// server, and [NewToken] makes a token that is well-formed and that only your
// function knows.
//
// # Dependencies
//
// The package is part of the module github.com/flakepass/flakepass/api, which
// requires no other module.
//
// # Reading order of the source
//
// token.go (what a token is, and how it refuses to be printed), identity.go (the question
// and its answer), refusal.go (the refusals), guard.go (the middleware that asks), then
// forwarded.go (a signed answer that needs no question), remote.go and remote_known.go
// (how another process asks, and why the answer is fresh); then ARCHITECTURE.md for the
// server behind it.
package flakepass
