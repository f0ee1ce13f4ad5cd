package lincheck

import "time"

// ownWord holds each instance to what it has said itself: once it has ended a
// login, or has said how it ended, it does not accept it. For this there is no
// bound. That a token is not known ("token_invalid") is no such word: of a login
// before the last the database knows nothing, and an instance keeps nothing.
func ownWord(all []Op) (why string, ops []Op) {
	type place struct {
		at    string
		token int64
	}
	over := map[place]Op{} // the first word
	say := func(token int64, o Op) {
		key := place{o.At, token}
		if first, ok := over[key]; !ok || o.Return < first.Return {
			over[key] = o
		}
	}
	for _, o := range all {
		switch {
		case o.At == "":
		case o.refusal() && o.Code != codeInvalid, o.Kind == Logout && o.Outcome == Done:
			say(o.Token, o)
		case o.Kind == Login && o.Outcome == Done:
			if token := replacedBy(all, &o); token != none {
				say(token, o)
			}
		}
	}
	for _, o := range all {
		if first, ok := over[place{o.At, o.Token}]; ok && o.accept() && first.Return < o.Call {
			return "an instance accepts what it has ended or refused itself", []Op{first, o}
		}
	}
	return "", nil
}

// replacedBy is the login that this one ended for certain: the one before it, if
// nothing else had been asked for by then that may have ended it.
func replacedBy(all []Op, login *Op) int64 {
	before := none
	if severalIn(all) {
		return none
	}
	for _, o := range all {
		if o.Kind == Login && o.Outcome == Done && o.Token < login.Token {
			before = max(before, o.Token)
		}
	}
	for _, o := range all {
		switch {
		case o.Call > login.Return:
		case o.Kind == Logout && o.Token == before, o.Kind == End, o.Kind == Disable, o.Kind == Login && o.unknown():
			return none
		}
	}
	return before
}

// skew is by how much the clock on the wall may have been set or slewed while the
// history was recorded.
const skew = 200 * time.Millisecond

// expiry holds each login to the time at which it ends: it is neither refused as
// expired before, nor accepted after. For this there is no bound either, for an
// instance knows it by itself.
func expiry(all []Op) (why string, ops []Op) {
	logins := map[int64]Op{}
	for _, o := range all {
		if o.Kind == Login && o.Outcome == Done {
			logins[o.Token] = o
		}
	}
	for _, o := range all {
		login, ok := logins[o.Token]
		switch {
		case o.Kind != Verify:
		case o.refusal() && o.Code == codeExpired:
			if !ok || login.Expires == 0 || o.Return+skew < login.Expires {
				return "refused as expired before its time", []Op{login, o}
			}
		case ok && login.Expires != 0 && o.accept() && o.Call > login.Expires+skew:
			return "accepted after it had expired", []Op{login, o}
		}
	}
	return "", nil
}
