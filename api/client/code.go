package client

// A Code is the stable name of a problem, such as username_taken. It is an error,
// so that errors.Is(err, UsernameTaken) says whether err is that problem. New
// codes may be added: treat one that is not listed here by its status.
type Code string

// Error is the code.
func (c Code) Error() string { return string(c) }

// The codes of the contract. docs/problems.md explains each, and says what to do.
const (
	// Of a token: the login is over, or never was. Each is a 401.
	TokenMissing     Code = "token_missing"
	TokenMalformed   Code = "token_malformed"
	TokenInvalid     Code = "token_invalid"
	TokenExpired     Code = "token_expired"
	TokenIdleTimeout Code = "token_idle_timeout"
	TokenLoggedOut   Code = "token_logged_out"
	TokenReplaced    Code = "token_replaced"
	TokenRevoked     Code = "token_revoked"
	AccountDisabled  Code = "account_disabled" // a 401 of a token or a service key, a 403 of a login

	// Of a service key. Each is a 401, but for ScopeMissing, which is a 403: [Problem] has
	// the scope.
	KeyNotAccepted Code = "key_not_accepted"
	KeyMalformed   Code = "key_malformed"
	KeyInvalid     Code = "key_invalid"
	KeyExpired     Code = "key_expired"
	KeyRevoked     Code = "key_revoked"
	ScopeMissing   Code = "scope_missing"
	// ServiceKeyRequired: a token stands in the place of a service key.
	ServiceKeyRequired Code = "service_key_required"
	// RoleNotIssuable: the key opens no logins of admins and services.
	RoleNotIssuable Code = "role_not_issuable"
	// IdempotencyKeyReused: another request had this key, or the login of this one has ended.
	IdempotencyKeyReused Code = "idempotency_key_reused"

	// Of a caller.
	CredentialsAmbiguous Code = "credentials_ambiguous"
	TokenInURL           Code = "token_in_url"
	Forbidden            Code = "forbidden"

	// Of an impersonation. Impersonated: it changes nothing.
	Impersonated         Code = "impersonated"
	ImpersonationOff     Code = "impersonation_off"
	ImpersonationRefused Code = "impersonation_refused"
	ImpersonationLimit   Code = "impersonation_limit"

	// Of an account.
	// ServiceLoginRefused: a service uses a key, and logs in with no password.
	ServiceLoginRefused    Code = "service_login_refused"
	CredentialsInvalid     Code = "credentials_invalid"
	CurrentPasswordInvalid Code = "current_password_invalid"
	ResetTokenInvalid      Code = "reset_token_invalid"
	RegistrationClosed     Code = "registration_closed"
	UsernameTaken          Code = "username_taken"
	AliasTaken             Code = "alias_taken"
	// AccountProtected: a service key changes no account of an admin or a service.
	AccountProtected Code = "account_protected"
	// SessionLimit: [Problem] has the logins of the user, and a ticket for [Credentials].
	SessionLimit Code = "session_limit"
	TicketOver   Code = "ticket_over"
	LastAdmin    Code = "last_admin"
	// SelfDeletionOff: people do not delete their own accounts at this server.
	SelfDeletionOff Code = "self_deletion_off"

	// Of a second factor.
	SecondFactorRequired    Code = "second_factor_required"
	SecondFactorInvalid     Code = "second_factor_invalid"
	SecondFactorEnrolled    Code = "second_factor_enrolled"
	SecondFactorNotEnrolled Code = "second_factor_not_enrolled"
	SecondFactorOff         Code = "second_factor_off"
	SecondFactorMissing     Code = "second_factor_missing"
	// ReauthenticationRequired: [Client.Reauthenticate], and the call once more.
	ReauthenticationRequired Code = "reauthentication_required"
	CurrentCodeInvalid       Code = "current_code_invalid"
	PasswordTooShort         Code = "password_too_short"
	PasswordResetRequired    Code = "password_reset_required"

	// Of a request.
	BodyMalformed        Code = "body_malformed"
	BodyTooLarge         Code = "body_too_large"
	MediaTypeUnsupported Code = "media_type_unsupported"
	ValidationFailed     Code = "validation_failed"
	SweepRunning         Code = "sweep_running"
	PreconditionRequired Code = "precondition_required"
	VersionConflict      Code = "version_conflict"
	ConfirmationRequired Code = "confirmation_required"
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"

	// Of the server. After these the result is unknown: ask again.
	Unavailable   Code = "unavailable"
	FollowersFull Code = "followers_full"
	RateLimited   Code = "rate_limited"
	Busy          Code = "busy"
	NotReady      Code = "not_ready"
	InternalError Code = "internal_error"
)

// wellFormed reports whether c has the form of every code, known or not: words of
// small letters, joined by single underscores.
func (c Code) wellFormed() bool {
	if len(c) == 0 || len(c) > 100 {
		return false
	}
	before := byte('_')
	for i := range len(c) {
		if (c[i] < 'a' || c[i] > 'z') && (c[i] != '_' || before == '_') {
			return false
		}
		before = c[i]
	}
	return before != '_'
}
