package main

import "slices"

// asvs6Passwords is what a password may be.
func asvs6Passwords() []asvsBreak {
	const account = "internal/domain/account"
	return slices.Concat(
		breaks("6.1.2", "a word of this place is forgotten", account+"/common.go", `"flakepass", "flake", "pass", `, `"pass", `, account, "TestCommonPasswordsAreRefused"),
		breaks("6.2.1", "14 characters are enough", account+"/password.go", "minPassword      = 15", "minPassword      = 14", account, "TestPasswordLimits"),
		breaks("6.2.1", "a short password is enough alone", "internal/domain/login/login.go", "\t\tif !p.Alone() && !user.BroughtPassword() {\n\t\t\treturn account.ErrShort\n\t\t}\n", "", "internal/domain/login", "TestAShortPasswordNeedsASecondFactor"),
		breaks("6.2.2", "a new password is not kept", "internal/domain/login/password.go",
			"s.Users.ResetPassword(ctx, user.ID, user.PasswordVersion, hash, e)\n", "s.Users.ResetPassword(ctx, user.ID, user.PasswordVersion, user.PasswordHash, e)\n\t\t_ = hash\n",
			"internal/domain/login", "TestChangePasswordEndsTheLoginAndSaysSo"),
		breaks("6.2.3", "any password changes it", "internal/domain/login/password.go",
			"\t\tif err := s.Accounts.VerifyPassword(ctx, by, *user, given); err != nil {\n\t\t\treturn err\n\t\t}\n\t\t// From here", "\t\t// From here",
			"internal/domain/login", "TestChangePasswordChangesNothingWhenRefused"),
		breaks("6.2.4", "the list is read in part", account+"/common.go", `w != "" && w[0] != '#' {`, `len(w) > 8 && w[0] != '#' {`, account, "TestCommonPasswordsAreRefused", "TestEveryEntryOfTheListIsRefused"),
		breaks("6.2.5", "a password must have a digit", account+"/password.go", "if n >= least && tooCommon(folded) {", "if n >= least && (tooCommon(folded) || !strings.ContainsAny(s, \"0123456789\")) {",
			account, "TestRandomPasswordsAreAccepted"),
		breaks("6.2.6", "a field shows the password", asvsUI+"/pages/login.html", `name="password" type="password"`, `name="password" type="text"`, asvsUI, "TestPasswordFieldsAreMasked"),
		breaks("6.2.7", "password managers are kept out", asvsUI+"/pages/login.html", `autocomplete="current-password"`, `autocomplete="off"`, asvsUI, "TestPasswordManagersAndPasteWork"),
		breaks("6.2.8", "a password is cut", account+"/secret.go", "normal := norm.NFC.String(s)", "normal := norm.NFC.String(s[:min(len(s), 72)])", account, "TestWholePasswordIsVerified"),
		breaks("6.2.8", "more than spellings are made equal", account+"/secret.go", "normal := norm.NFC.String(s)", "normal := norm.NFKC.String(s)", account, "TestSpellingsOfOnePasswordAreEqual"),
		breaks("6.2.9", "63 characters are the most", account+"/password.go", "maxPassword      = 256 ", "maxPassword      = 63 ", account, "TestPasswordLimits"),
		breaks("6.2.11", "a word of this place is forgotten", account+"/common.go", `"administrator"}`, `"superuser"}`, account, "TestCommonPasswordsAreRefused"),
		breaks("6.2.11", "a username is a password", account+"/password.go", "if containsName(folded, username) ||", "if false ||", account, "TestUsernameIsNoPassword"),
		breaks("6.2.12", "the list of stolen passwords is not asked", account+"/service.go", "if f, bad := s.Breached.problem(ctx, p); bad {", "if f, bad := s.Breached.problem(ctx, p); bad && false {",
			account, "TestStolenPasswordIsRefused", "TestStolenShortPasswordIsRefused"),
		breaks("6.2.12", "the list of stolen passwords is not asked", account+"/service.go", "if f, bad := s.Breached.problem(ctx, p); bad {", "if f, bad := s.Breached.problem(ctx, p); bad && false {",
			"internal/proof/deploytest", "TestStolenPasswordsAreRefusedEverywhere"),
	)
}

// asvs6Guessing is who guesses, and what is learnt by it.
func asvs6Guessing() []asvsBreak {
	const account, limiter = "internal/domain/account", "internal/domain/ratelimit/limiter.go"
	return slices.Concat(
		breaks("6.1.1", "other limits hold than are written down", "internal/domain/limit/limit.go", "{{5, minute}, {20, hour}, {50, day}}", "{{6, minute}, {20, hour}, {50, day}}",
			"internal/domain/ratelimit", "TestDocumentedLimits", "TestDocumentedBackOff"),
		breaks("6.1.3", "there is one more way to log in", asvsAPI+"/httpapi.go", "\tmine := v1.Group(", "\tv1.POST(\"/login/by-mail\", s.do(s.login))\n\tmine := v1.Group(", asvsAPI, "TestRoutesAreTheContract"),
		breaks("6.1.1", "an owner waits for what others have used up", limiter, "t.subject = t.whose(shown)", "t.subject = strangers", "internal/domain/ratelimit", "TestOwnerIsNotLockedOutByAnAttacker"),
		breaks("6.3.1", "guesses from one place are not counted", "internal/domain/ratelimit/source.go", "for _, r := range rules {", "for _, r := range rules[:0] {",
			"internal/domain/ratelimit", "TestParallelGuessesAreCounted"),
		breaks("6.3.1", "an attacker locks the owner out", limiter, "t.subject = t.whose(shown)", "t.subject = strangers", "internal/domain/ratelimit", "TestOwnerIsNotLockedOutByAnAttacker"),
		breaks("6.3.1", "all guesses at an account are not counted", "internal/domain/ratelimit/count.go", `over("login-account", r, full, now); err != nil {`, `over("login-account", r, full, now); err != nil && network == 0 {`,
			"internal/domain/ratelimit", "TestFloodErasesNoGuard"),
		breaks("6.3.1", "the owner's login gives strangers new guesses", limiter, "\tcase !t.Known:\n\t\tl.Return(ctx, t)\n", "\tcase t.Known:\n\t\tl.change(ctx, &t, strangers, Count.cleared)\n",
			"internal/domain/ratelimit", "TestOwnersLoginGivesStrangersNothing"),
		breaks("6.3.1", "one network has what all have together", "internal/domain/ratelimit/count.go", "share := l.LoginNetwork()", "share := r", "internal/domain/ratelimit", "TestOneNetworkCannotSpendTheAccount"),
		breaks("6.3.1", "what cannot be counted is tried", limiter, "\t\treturn Taken{}, fmt.Errorf(\"ratelimit: login: %w\", err)\n\t}\n\tt.subject", "\t\treturn t, nil\n\t}\n\tt.subject",
			"internal/domain/ratelimit", "TestNothingIsTriedThatCannotBeCounted"),
		breaks("6.3.2", "there is an admin from the start", "migrations/sqlite/00001_users.sql", "CREATE UNIQUE INDEX users_username ON users (username);",
			"CREATE UNIQUE INDEX users_username ON users (username);\nINSERT INTO users (id, username, password_hash, role, created_at, updated_at) VALUES (1, 'admin', '$', 'admin', 0, 0);", asvsStore, "TestNewDatabaseHasNoAccount"),
		breaks("6.3.2", "the link to make the first admin works for ever", asvsUI+"/link.go", "case !now.Before(l.expires):", "case l.expires.IsZero():", asvsUI, "TestLinkLivesForOneHour"),
		breaks("6.3.2", "the link to make the first admin works again", asvsUI+"/link.go", "case l.used:", "case l.used && false:", asvsUI, "TestFirstAdminStory"),
		breaks("6.3.4", "there is a way in that is not written down", asvsAPI+"/httpapi.go", "\tmine := v1.Group(", "\tv1.POST(\"/login/as\", s.do(s.login))\n\tmine := v1.Group(", asvsAPI, "TestRoutesAreTheContract"),
		breaks("6.3.4", "a page takes the token from a header", asvsUI+"/cookie.go",
			"\t\treturn flakepass.Token{}, flakepass.ErrMissing\n", "\t\tif h := r.Header.Get(\"Authorization\"); len(h) > 7 {\n\t\t\treturn flakepass.ParseToken(h[7:])\n\t\t}\n\t\treturn flakepass.Token{}, flakepass.ErrMissing\n",
			asvsUI, "TestPagesTakeNoHeader"),
		breaks("6.3.8", "nothing is hashed for a name that no account has", account+"/service.go", "if err := s.Hasher.Decoy(ctx, by, name, p); err != nil {", "if err := ctx.Err(); err != nil {", account, "TestEveryFailureDoesTheSameWork"),
		breaks("6.3.8", "what is hashed then is cheap", account+"/hasher.go", "decoy: newDecoy(p),", "decoy: newDecoy(Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1}),", account, "TestDecoyIsAHashOfTodaysCost"),
	)
}

// asvs6Factors is one-time links and second factors.
func asvs6Factors() []asvsBreak {
	const factor = "internal/domain/secondfactor"
	return slices.Concat(
		breaks("6.4.1", "a link has a part that can be guessed", "internal/domain/account/reset.go", "text := resetPrefix + rand.Text()", "text := resetPrefix + rand.Text()[:2] + \"AAAAAAAAAAAAAAAAAAAAAAAA\"",
			"internal/domain/account", "TestResetTokensAreWellFormedAndDiffer"),
		breaks("6.4.1", "a link works for ever", asvsStore+"/resets.go", "(r.expires_at > ? AND", "(? > 0 AND", asvsStore, "TestResetIsOverWith"),
		breaks("6.4.1", "a link works for as long as an admin likes", "internal/domain/operator/resets.go", "case life > account.MaxResetLife:", "case life < 0:", "internal/domain/operator", "TestResetIsStartedForAsLongAsSaid"),
		breaks("6.4.1", "of many uses of one link all count", asvsStore+"/resets.go", linkOnce, linkOften, asvsStore, "TestResetIsUsedOnce"),
		breaks("6.4.3", "a reset removes the second factor", asvsStore+"/resets.go",
			`" + noPending, args`, `second_factor_at = NULL", args`, asvsStore, "TestResetLeavesTheSecondFactor"),
		breaks("6.4.6", "a link is given for a wrong password", asvsUI+"/proof.go", "if form.Get(\"confirm_password\") != \"\" {", "if false {", asvsUI, "TestOnlyAConfirmedAdminGivesLinks"),
		breaks("6.4.6", "a reset has no record of who began it", "internal/domain/operator/resets.go", "audit.ResetStarted", "audit.ResetWithdrawn", "internal/domain/operator", "TestResetsLeaveARecord"),
		breaks("6.5.1", "the step of a code counts again", asvsStore+"/secondfactor.go", "second_factor_step < ?\"", "second_factor_step <= ?\"", asvsStore, "TestOfManyUsesOfOneCodeTheDatabaseLetsOneWin"),
		breaks("6.5.1", "what the store says of a code is ignored", factor+"/service.go", "\t\tif ok {\n\t\t\treturn s.count(\"code\", nil)", "\t\tif ok || err == nil {\n\t\t\treturn s.count(\"code\", nil)", factor, "TestWhoComesSecondIsRefusedByTheStore"),
		breaks("6.5.1", "a recovery code is kept", factor+"/recovery.go", "\t\t\tok = true\n\t\t\tcontinue\n", "\t\t\tok = true\n", factor, "TestARecoveryCodeStandsForTheAppOnce"),
		breaks("6.5.2", "recovery codes are kept as they are", factor+"/recovery.go", "\tsum := sha256.Sum256(append(b, text...))\n\treturn sum[:]\n", "\tkept := make([]byte, sha256.Size)\n\tcopy(kept, append(b[:0], text...))\n\treturn kept\n",
			factor, "TestOnlyHashesOfRecoveryCodesAreKept"),
		breaks("6.5.2", "recovery codes have 80 bits", factor+"/recovery.go", "recoveryLetters = 24", "recoveryLetters = 16", factor, "TestOnlyHashesOfRecoveryCodesAreKept"),
		breaks("6.5.3, 6.5.4", "codes come from math/rand", factor+"/recovery.go", "\t\"crypto/rand\"\n", "\t\"math/rand\"\n", "internal/proof/arch", "TestSecretsAreNotPseudorandom"),
		breaks("6.5.3, 6.5.4", "a secret is drawn from nothing", factor+"/secret.go", "\t_, _ = rand.Read(b) // never fails\n", "\t_, _ = rand.Read(nil)\n", factor, "TestSecretsAndCodesDiffer"),
		breaks("6.5.6", "a factor is removed without a code", "internal/domain/login/factor.go", "\treturn s.code(ctx, c, user, code)\n", "\treturn nil\n",
			"internal/domain/login", "TestRemovalAsksForEverything"),
		breaks("6.5.6", "a factor cannot be revoked", asvsStore+"/secondfactor.go", "accountChange{set: noFactor, reason", "accountChange{set: \"password_version = password_version + 1\", reason", asvsStore, "TestRemovalByAnAdminEndsTheLogin"),
		breaks("6.5.8", "a code counts by another clock", factor+"/service.go", "code.step(secretOf(secret), s.Now().Unix()/stepSeconds, f.Step)", "code.step(secretOf(secret), time.Now().Unix()/stepSeconds, f.Step)",
			factor, "TestACodeIsGoodForOneStepToEitherSideAndOnce"),
	)
}
