package secondfactor

import "time"

// Fits reports whether text is the code of a secret in that step.
func Fits(secret, text string, at time.Time) bool {
	step := at.Unix() / stepSeconds
	got, ok := NewCode(text).step(Secret{hide(secret)}, step, 0)
	return ok && got == step
}
