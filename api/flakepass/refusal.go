package flakepass

// A Refusal is the answer nobody, with the reason. Its code is part of the
// HTTP contract: clients may switch on it.
//
// A Verifier tells a reason other than [ErrInvalid] and [ErrExpired] only to a
// caller whose secret is the token's own; whoever merely guessed an ID learns
// nothing.
type Refusal struct{ code, title string }

// Code is the stable name of the reason, such as token_expired.
func (r *Refusal) Code() string { return r.code }

// Error is one line in plain words.
func (r *Refusal) Error() string { return r.title }

// The refusals. Each becomes a 401 whose problem document has the code.
var (
	// ErrMissing: the request brings no token.
	ErrMissing = &Refusal{"token_missing", "no token in the request"}
	// ErrMalformed: the text was never a token. Found without asking anybody.
	ErrMalformed = &Refusal{"token_malformed", "not a token"}
	// ErrInvalid: nobody holds this token, or its secret is wrong. The two are
	// not told apart, on purpose.
	ErrInvalid = &Refusal{"token_invalid", "token not valid"}
	// ErrExpired: the absolute lifetime is over. The token's own ID proves it.
	ErrExpired = &Refusal{"token_expired", "login expired"}
	// ErrIdle: the token went unused for longer than the idle timeout.
	ErrIdle = &Refusal{"token_idle_timeout", "login ended after inactivity"}
	// ErrLoggedOut: its owner logged out.
	ErrLoggedOut = &Refusal{"token_logged_out", "logged out"}
	// ErrReplaced: its owner has logged in again since.
	ErrReplaced = &Refusal{"token_replaced", "replaced by a newer login"}
	// ErrRevoked: an operator or a change of password ended the login.
	ErrRevoked = &Refusal{"token_revoked", "login revoked"}
	// ErrAccountDisabled: the account was disabled.
	ErrAccountDisabled = &Refusal{"account_disabled", "account disabled"}
)
