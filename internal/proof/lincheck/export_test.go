package lincheck

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// Plainly is Check for one user by the definition: nothing is left out, and each
// unknown op may have happened at any time after it was asked.
func Plainly(history []Op, bound time.Duration) bool {
	var ops []porcupine.Operation
	for _, o := range history {
		if o.Kind == Verify && o.unknown() {
			continue
		}
		if o.accept() {
			o.Call -= bound
		}
		if o.unknown() {
			o.Return = never
		}
		ops = append(ops, porcupine.Operation{Input: &o, Call: int64(o.Call), Return: int64(o.Return)})
	}
	plain := model
	plain.Step = func(now, input, _ any) (bool, any) {
		s, _ := now.(state)
		o, _ := input.(*Op)
		const unnamed = -1
		switch {
		case o.Kind == Login && o.unknown() && !s.disabled:
			s = s.end(codeReplaced)
			s.live = unnamed
			return true, s
		case o.refusal() && s.last == unnamed && o.Token != s.live && o.Token <= s.highest:
			return true, s
		}
		return s.step(o)
	}
	return porcupine.CheckOperations(plain, ops)
}
