package problem

// The errors of a challenge (RFC 6750 section 3.1).
const (
	NoError           = "" // no credential was judged
	InvalidRequest    = "invalid_request"
	InvalidToken      = "invalid_token"
	InsufficientScope = "insufficient_scope"
)

// ChallengeHeader carries a challenge.
const ChallengeHeader = "WWW-Authenticate"

// Bearer is the challenge of RFC 6750 section 3 for an answer with that error,
// and a description, which may be empty and holds neither quotes nor backslashes.
func Bearer(code, description string) string {
	challenge := `Bearer realm="flakepass"`
	if code != NoError {
		challenge += `, error="` + code + `"`
	}
	if description != "" {
		challenge += `, error_description="` + description + `"`
	}
	return challenge
}
