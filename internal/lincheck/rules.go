package lincheck

import "time"

// ownWord holds each instance to what it has said itself: once it has refused a
// token, or has acknowledged its end, it does not accept it. For this there is no
// bound.
func ownWord(all []Op) (why string, ops []Op) {
	type place struct {
		at    string
		token int64
	}
	refused := map[place]Op{} // the first time
	var logins []Op
	for _, o := range all {
		switch {
		case o.At == "" || o.unknown():
		case o.Kind == Login && o.Outcome == Done:
			logins = append(logins, o)
		case o.refusal(), o.Kind == Logout && o.Outcome == Done:
			key := place{o.At, o.Token}
			if first, ok := refused[key]; !ok || o.Return < first.Return {
				refused[key] = o
			}
		}
	}
	for _, o := range all {
		if o.At == "" || !o.accept() {
			continue
		}
		if first, ok := refused[place{o.At, o.Token}]; ok && first.Return < o.Call {
			return "an instance accepts what it has refused or ended itself", []Op{first, o}
		}
		for _, l := range logins {
			if l.At == o.At && l.Token > o.Token && l.Return < o.Call {
				return "an instance accepts what it has replaced itself", []Op{l, o}
			}
		}
	}
	return "", nil
}

// skew is by how much the clock on the wall may have been set or slewed while the
// history was recorded.
const skew = 200 * time.Millisecond

// expiry holds each login to the time at which it ends: it is neither refused as
// expired before, nor accepted after. For this there is no bound either, for an
// instance needs no word from anybody to know it.
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
