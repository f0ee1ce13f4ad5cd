package limit

// Names are the limits as the API names them, in the order in which they are
// shown.
func Names() []string {
	return []string{"login_place", "login_account", "login_address", "register", "introspect"}
}

// Of returns the rules of the limit of that name, to be read or set: all
// [MaxPlace] of login_place, where the last ones may be none, and one of any
// other. It is nil if there is no such limit.
func (l *Limits) Of(name string) []*Rule {
	switch name {
	case "login_place":
		all := make([]*Rule, len(l.LoginPlace))
		for i := range all {
			all[i] = &l.LoginPlace[i]
		}
		return all
	case "login_account":
		return []*Rule{&l.LoginAccount}
	case "login_address":
		return []*Rule{&l.LoginAddress}
	case "register":
		return []*Rule{&l.Register}
	case "introspect":
		return []*Rule{&l.Introspect}
	}
	return nil
}
