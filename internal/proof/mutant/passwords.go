package main

// passwords are protections of how a password comes to be: the list of stolen
// ones, and one-time links.
func passwords() []Mutant {
	const store, account, breached, hashproc = "internal/store/sqlstore", "internal/domain/account", "internal/store/breached", "internal/server/hashproc"
	return []Mutant{
		{
			Name: "passwords: a link works after a change of the password", File: store + "/resets.go",
			Old: "AND r.password_version = u.password_version ", New: "", Package: store, Test: "^TestResetIsOverWith$",
		}, {
			Name: "passwords: a link works after the first login with a password of another system", File: store + "/users.go",
			Old: "password_version = password_version + 1, updated_at = ? ", New: "updated_at = ? ", Package: store, Test: "^TestLinkEndsWithTheFirstHash$",
		}, {
			Name: "passwords: a withdrawn link sets a password", File: store + "/resets.go",
			Old: "if err != nil {\n\t\treturn err\n\t}\n\treturn tx.Exec(\"DELETE FROM password_resets", New: "if err != nil && !errors.Is(err, account.ErrReset) {\n\t\treturn err\n\t}\n\treturn tx.Exec(\"DELETE FROM password_resets", Package: store, Test: "^TestResetIsOverWith$",
		}, {
			Name: "passwords: a link opens a disabled account", File: store + "/resets.go",
			Old: "case row.DisabledAt.Valid:", New: "case false:", Package: store, Test: "^TestResetDoesNotEnable$",
		}, {
			Name: "passwords: an invited admin is the last one", File: store + "/accounts.go",
			Old: "AND password_hash <> '' ", New: "", Package: store, Test: "^TestInvitedAdminIsNotTheLast$",
		}, {
			Name: "passwords: a part of the name is one", File: account + "/password.go",
			Old: " || n >= least && strings.Contains(string(fold(username)), string(folded))", New: "", Package: account, Test: "^TestUsernameIsNoPassword$",
		}, {
			Name: "passwords: a stolen one is looked up in one spelling", File: account + "/secret.go",
			Old: "return []string{p.reveal(), p.typed.Reveal()}", New: "return []string{p.reveal()}", Package: account, Test: "^TestStolenPassword",
		}, {
			Name: "passwords: a stolen one is taken beside a second factor", File: account + "/password.go",
			Old: "s.stolen(ctx, passwordProblems(username, p.reveal(), minBeside), p)", New: "passwordProblems(username, p.reveal(), minBeside)",
			Package: account, Test: "^TestStolenShortPassword",
		}, {
			Name: "passwords: a ticket outlives its password", File: "internal/domain/login/login.go",
			Old: "case user.PasswordVersion != h.PasswordVersion, h.Last", New: "case h.Last", Package: "internal/domain/login", Test: "^TestATicketFinishes",
		}, {
			Name: "passwords: what rests on an account of before opens a login", File: "internal/domain/login/act.go",
			Old: "if f, err = find(ctx); err != nil {\n\t\t\treturn user, err\n\t\t}", New: "", Package: "internal/domain/login", Test: "^TestLoginLooksAgain",
		}, {
			Name: "passwords: the code of a factor counts for the next one", File: "internal/domain/login/factor.go",
			Old: "user.SecondFactorAt.Equal(c.accepted)", New: "!c.accepted.IsZero()", Package: "internal/domain/login", Test: "^TestLoginThatLooksAgain",
		}, {
			Name: "passwords: a code counts for the next attempt", File: "internal/domain/login/act.go",
			Old: "c.knownDevice, c.accepted = taken.Device, time.Time{}", New: "c.knownDevice, _ = taken.Device, time.Time{}", Package: "internal/domain/login", Test: "^TestCodeCountsForOneAttempt$",
		}, {
			Name: "passwords: a login that was begun before cancels a deletion", File: "internal/domain/login/login.go",
			Old: "if !user.DeletionAskedAt.Equal(*asked) {", New: "if false {", Package: "internal/store/sqlstore", Test: "^TestLoginBegunBeforeADeletion",
		}, {
			Name: "passwords: a code that was not checked is a guess", File: "internal/domain/login/factor.go",
			Old: "return account.Undecided(err)\n}", New: "return err\n}", Package: "internal/domain/login", Test: "^TestUndecidedCodeIsNoGuess$",
		}, {
			Name: "passwords: a stolen credential locks its owner out", File: "internal/domain/ratelimit/limiter.go",
			Old: "if t.subject == device && t.usedUp(limits) {", New: "if false {", Package: "internal/domain/ratelimit", Test: "^TestStolenCredentialLocksNobodyOut$",
		}, {
			Name: "passwords: a list that cannot be read refuses all passwords", File: account + "/password.go",
			Old: "if found && err == nil {", New: "if found || err != nil {", Package: account, Test: "^TestUnreadableList",
		}, {
			Name: "passwords: a line of a list is passed over", File: breached + "/file.go",
			Old: "lo = end", New: "lo = end + 1", Package: breached, Test: "^TestListIsASet$",
		}, {
			Name: "passwords: a new list is not looked for", File: breached + "/breached.go",
			Old: "l.renew()", New: "_ = l.path", Package: breached, Test: "^TestBadReplacementIsNotUsed$",
		}, {
			Name: "passwords: a process that stands still is waited for", File: hashproc + "/engine.go",
			Old: "silent >= silence || ", New: "", Package: hashproc, Test: "^TestStillProcessIsReplaced$",
		}, {
			Name: "passwords: a slow hash is given up", File: hashproc + "/engine.go",
			Old: "silent = 0", New: "silent++", Package: hashproc, Test: "^TestSlowHashIsAwaited$",
		}, {
			Name: "passwords: a link is given for a wrong password", File: "internal/edge/console/proof.go",
			Old: "if form.Get(\"confirm_password\") != \"\" {", New: "if false {",
			Package: "internal/edge/console", Test: "^TestOnlyAConfirmedAdmin",
		}, {
			Name: "passwords: uses of links are not bounded", File: "internal/domain/login/register.go",
			Old: "taken, err := take(ctx, c.Address)\n\tif err != nil {", New: "taken, err := take(ctx, c.Address)\n\tif err != nil && false {",
			Package: "internal/edge/httpapi", Test: "^TestUseOfAReset$",
		},
	}
}
