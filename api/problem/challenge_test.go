package problem_test

import (
	"testing"

	"github.com/flakepass/flakepass/api/problem"
)

func TestBearerChallenges(t *testing.T) {
	for want, got := range map[string]string{
		`Bearer realm="flakepass"`:                                                                 problem.Bearer(problem.NoError, ""),
		`Bearer realm="flakepass", error="insufficient_scope"`:                                     problem.Bearer(problem.InsufficientScope, ""),
		`Bearer realm="flakepass", error="invalid_token", error_description="login has timed out"`: problem.Bearer(problem.InvalidToken, "login has timed out"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
