package account

import "errors"

// ErrUndecided is in the errors of a login after which nobody has learnt that a
// password is wrong: it was compared with nothing, because the store or the pool
// could not be had or the caller left before, or it was right and something else
// failed. Such an attempt is no guess. Where it is not known which, as after any
// other error, it is one: a caller that leaves in the middle of a comparison is
// answered, if nobody reads it, with [ErrWrong].
var ErrUndecided = errors.New("whether the password is right was not found out, or does not matter")

// Undecided is err, in which errors.Is finds [ErrUndecided] as well.
func Undecided(err error) error { return undecided{err} }

type undecided struct{ error }

func (u undecided) Unwrap() error { return u.error }

func (undecided) Is(target error) bool { return target == ErrUndecided }
