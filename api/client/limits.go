package client

import (
	"fmt"
	"time"
)

// A Limit allows Count attempts at once, and Count more in each Period, evenly.
// A Period is whole seconds.
type Limit struct {
	Count  int
	Period time.Duration
}

// Limits are how much strangers may try.
type Limits struct {
	LoginPlace   []Limit // for one account from one place: rules that hold together, the shortest period first
	LoginAccount Limit   // for one account from where nobody has logged in to it
	LoginAddress Limit   // for one address, whatever the account
	Register     Limit   // for new accounts from one address
	Introspect   Limit   // for one caller of introspection and revocation
}

type wireLimits struct {
	LoginPlace   []wireLimit `json:"login_place"`
	LoginAccount wireLimit   `json:"login_account"`
	LoginAddress wireLimit   `json:"login_address"`
	Register     wireLimit   `json:"register"`
	Introspect   wireLimit   `json:"introspect"`
}

type wireLimit struct {
	Count  int   `json:"count"`
	Period int64 `json:"period_seconds"`
}

func (w wireLimit) limit() Limit { return Limit{w.Count, time.Duration(w.Period) * time.Second} }

func (w wireLimit) sane() bool { return w.Count > 0 && w.Period > 0 && w.Period <= longest/1000 }

// limits is w, or zero if a server has sent none: one that knows of no limits in
// the policy yet.
func (w *wireLimits) limits() (l Limits) {
	if w == nil {
		return l
	}
	for _, r := range w.LoginPlace {
		l.LoginPlace = append(l.LoginPlace, r.limit())
	}
	l.LoginAccount, l.LoginAddress = w.LoginAccount.limit(), w.LoginAddress.limit()
	l.Register, l.Introspect = w.Register.limit(), w.Introspect.limit()
	return l
}

func (w *wireLimits) complete() bool {
	if w == nil {
		return true
	}
	for _, r := range append([]wireLimit{w.LoginAccount, w.LoginAddress, w.Register, w.Introspect}, w.LoginPlace...) {
		if !r.sane() {
			return false
		}
	}
	return len(w.LoginPlace) > 0
}

// wire is l as the server takes it.
func (l *Limits) wire() (*wireLimits, error) {
	if l == nil {
		return nil, nil //nolint:nilnil // left out
	}
	var err error
	to := func(name string, r Limit) wireLimit {
		if r.Period%time.Second != 0 && err == nil {
			err = fmt.Errorf("client: the period of Limits.%s must be whole seconds; it is %v", name, r.Period)
		}
		return wireLimit{r.Count, int64(r.Period / time.Second)}
	}
	w := &wireLimits{
		LoginPlace: []wireLimit{}, LoginAccount: to("LoginAccount", l.LoginAccount), LoginAddress: to("LoginAddress", l.LoginAddress),
		Register: to("Register", l.Register), Introspect: to("Introspect", l.Introspect),
	}
	for _, r := range l.LoginPlace {
		w.LoginPlace = append(w.LoginPlace, to("LoginPlace", r))
	}
	return w, err
}
