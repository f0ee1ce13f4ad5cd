// Package wire has the JSON documents of the HTTP contract, api/openapi.yaml, as Go
// types: each exists once. The server writes them, package client reads them, and the
// command line prints them.
//
// A method Complete reports whether a document that was read has all that every one of
// its kind has, with values that can be: a client believes nothing else.
package wire

// A Problem is a problem document (RFC 9457): every answer that is not a success.
type Problem struct {
	Type       string       `json:"type"` // the address of the page that explains the code
	Title      string       `json:"title"`
	Status     int          `json:"status"` // of HTTP
	Detail     string       `json:"detail,omitempty"`
	Code       string       `json:"code"` // stable, snake_case; clients switch on it
	RequestID  string       `json:"request_id,omitempty"`
	RetryAfter int          `json:"retry_after,omitempty"` // in seconds
	Errors     []FieldError `json:"errors,omitempty"`      // for validation_failed
	Reasons    []string     `json:"reasons,omitempty"`     // for not_ready
	Effect     *Effect      `json:"effect,omitempty"`      // for confirmation_required: what would happen
	Scope      string       `json:"scope,omitempty"`       // for scope_missing: what the service key needs

	// For session_limit: the logins of the user, and what stands for the proofs in the next
	// request.
	Sessions []MySession `json:"sessions,omitempty"`
	Ticket   string      `json:"ticket,omitempty"`

	// For OAuth clients (RFC 6749 section 5.2); empty elsewhere.
	OAuthError       string `json:"error,omitempty"`
	OAuthDescription string `json:"error_description,omitempty"`
}

// A FieldError says what is wrong with one field of a request. Message goes after the
// name of the field, and never repeats the value.
type FieldError struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}
