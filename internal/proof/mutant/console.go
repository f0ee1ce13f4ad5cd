package main

// console are protections of the pages for people: who gets in, which forms
// count, and what has to be confirmed.
func console() []Mutant {
	const ui = "internal/edge/adminui"
	page := func(name, file, old, change, test string) Mutant {
		return Mutant{Name: "console: " + name, File: ui + "/" + file, Old: old, New: change, Package: ui, Test: test}
	}
	return []Mutant{
		page("forms of other sites count", "door.go",
			"if err := u.origin.Check(v.r); err != nil {", "if err := u.origin.Check(v.r); err != nil && false {", "^TestOtherSites"),
		page("any role gets in", "door.go",
			"case account.Role(v.who.Role) != account.RoleAdmin:", "case account.Role(v.who.Role) == \"\":", "^TestDemoted"),
		page("an outage is no answer", "door.go",
			"\tcase err != nil:\n", "\tcase err != nil && false:\n", "^TestOutageIsNoLogout"),
		page("scripts can read the cookie", "cookie.go",
			"HttpOnly: true, ", "", "^TestCookieIsLocked"),
		page("other sites send the cookie along", "cookie.go",
			"http.SameSiteStrictMode", "http.SameSiteNoneMode", "^TestCookieIsLocked"),
		page("a login leads anywhere", "safepath.go",
			`to.Scheme != "" || to.Host != "" ||`, "", "^FuzzSafePath"),
		page("a logout keeps the login", "login.go",
			"ended, err = u.Sessions.Close(v.r.Context(), t)", "_ = t", "^TestLogoutEnds"),
		page("any password confirms", "login.go",
			"case errors.Is(err, account.ErrWrong), errors.Is(err, account.ErrDisabled):\n\t\treturn http.StatusForbidden, v.t.Text(\"confirm.wrong\")",
			"case errors.Is(err, account.ErrWrong), errors.Is(err, account.ErrDisabled):\n\t\treturn 0, \"\"", "^TestRoleNeeds"),
		page("a confirmation is of anything", "expiry.go",
			`if form.Get("confirm_for") != in.key() {`, "if false {", "^TestDrastic"),
		page("everybody is logged out by a click", "logins.go",
			`if !strings.EqualFold(`, `if false && !strings.EqualFold(`, "^TestEverybody"),
		page("guesses are not bounded", "gate.go",
			"return http.StatusTooManyRequests, v.limited(h)", "return 0, \"\"", "^TestGuesses"),
		page("half an export looks whole", "export.go",
			"panic(http.ErrAbortHandler)", "return", "^TestBrokenExport"),
		{
			Name: "console: another role's login is ended at the door", File: "internal/domain/login/login.go",
			Old: "if !may(user.Role) {", New: "if !may(user.Role) && false {", Package: "internal/domain/login", Test: "^TestLoginAsAnotherRole",
		},
	}
}
