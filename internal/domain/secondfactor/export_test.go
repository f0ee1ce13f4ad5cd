package secondfactor

import (
	"time"

	"github.com/flakepass/flakepass/internal/domain/hidden"
)

// Fits reports whether text is the code of a secret in that step.
func Fits(secret, text string, at time.Time) bool {
	step := at.Unix() / stepSeconds
	got, ok := NewCode(text).step(Secret{hidden.Of(secret)}, step, 0)
	return ok && got == step
}
