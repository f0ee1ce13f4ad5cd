package main

// console are protections of the pages for people: who gets in, which forms
// count, and what has to be confirmed.
func console() []Mutant {
	const ui = "internal/edge/console"
	page := func(name, file, old, change, test string) Mutant {
		return Mutant{Name: "console: " + name, File: ui + "/" + file, Old: old, New: change, Package: ui, Test: test}
	}
	return []Mutant{
		page("forms of other sites count", "access.go",
			"if err := u.origin.Check(q.r); err != nil {", "if err := u.origin.Check(q.r); err != nil && false {", "^TestOtherSites"),
		page("any role gets in", "access.go",
			"case account.Role(q.who.Role) != account.RoleAdmin:", "case account.Role(q.who.Role) == \"\":", "^TestDemoted"),
		page("an outage is no answer", "access.go",
			"\tcase err != nil:\n", "\tcase err != nil && false:\n", "^TestOutageIsNoLogout"),
		page("scripts can read the cookie", "cookie.go",
			"HttpOnly: true, ", "", "^TestCookieIsLocked"),
		page("other sites send the cookie along", "cookie.go",
			"http.SameSiteStrictMode", "http.SameSiteNoneMode", "^TestCookieIsLocked"),
		page("a login leads anywhere", "cookie.go",
			`to.Scheme != "" || to.Host != "" ||`, "", "^FuzzSafePath"),
		page("a logout keeps the login", "login.go",
			"err = u.Own.Logout(q.r.Context(), q.client(), t)", "_ = t", "^TestLogoutEnds"),
		page("any password confirms", "proof.go",
			`status, problem = q.refusal("confirm", err)`, `status, problem = 0, ""`, "^TestRoleNeeds"),
		page("a confirmation is of anything", "expiry.go",
			`if form.Get("confirm_for") != in.key() {`, "if false {", "^TestDrastic"),
		page("all users are logged out by a click", "logins.go",
			`if !strings.EqualFold(`, `if false && !strings.EqualFold(`, "^TestEverybody"),
		{
			Name: "console: guesses are not bounded", File: "internal/domain/login/act.go",
			Old: "taken, err := s.Attempts.Login(ctx, a)\n\tif err == nil {", New: "taken, err := s.Attempts.Login(ctx, a)\n\tif err = nil; err == nil {", Package: ui, Test: "^TestGuesses",
		},
		page("half an export looks whole", "export.go",
			"panic(http.ErrAbortHandler)", "return", "^TestBrokenExport"),
		{
			Name: "console: another role's login is ended by a refused login", File: "internal/domain/login/login.go",
			Old: "if only != \"\" && user.Role != only {", New: "if only != \"\" && user.Role != only && false {", Package: "internal/domain/login", Test: "^TestLoginAsAnotherRole",
		},
	}
}
