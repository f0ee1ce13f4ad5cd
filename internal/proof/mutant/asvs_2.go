package main

import "slices"

// linkOnce are the two comparisons of a use of a one-time link; each is enough.
const (
	linkOnce  = "\t\tcase row.PasswordVersion != version:\n\t\t\treturn accountChange{}, account.ErrReset\n" + linkThen + "return u.spendReset("
	linkOften = linkThen + "return nil\n\t\t\t\treturn u.spendReset("
	linkThen  = "\t\tcase row.DisabledAt.Valid:\n\t\t\treturn accountChange{}, account.ErrDisabled\n\t\t}\n\t\treturn accountChange{\n" +
		"\t\t\tset: \"password_hash = ?, password_version = password_version + 1, \" + noPending, args: []any{hash.Reveal()},\n" +
		"\t\t\treason: session.PasswordChanged, events: []audit.Event{e},\n" +
		"\t\t\t// Before the change, which may be one of the issuer's own account.\n" +
		"\t\t\tfirst: func(tx *gorm.DB) error {\n\t\t\t\t"
)

// asvs2 is validation and business logic.
func asvs2() []asvsBreak {
	return slices.Concat(
		breaks("2.1.1", "an object may have other members", "api/openapi.yaml",
			"      description: Who logs in.\n      additionalProperties: false\n", "      description: Who logs in.\n", "internal/proof/apitest", "TestSchemasAreClosedAndDescribed"),
		breaks("2.1.2", "another range holds than is written down", "internal/domain/limit/limit.go",
			"Range{1, 10_000, second", "Range{1, 20_000, second", "internal/domain/limit", "TestDocumentedRanges"),
		breaks("2.1.2", "a schedule may be a fraction of a second", "internal/domain/sweep/report.go", "err == nil && d < time.Second {", "err == nil && d < 0 {",
			"internal/domain/sweep", "TestScheduleThatCannotBeMeantIsRefused"),
		breaks("2.1.3", "another limit holds than is written down", "internal/domain/limit/limit.go", "Rule{30, hour}", "Rule{300, hour}",
			"internal/domain/ratelimit", "TestDocumentedLimits"),
		breaks("2.1.3", "another range holds than is written down", "internal/domain/limit/limit.go",
			"Range{10, 10_000, second", "Range{10, 100_000, second", "internal/domain/limit", "TestDocumentedRanges"),
		breaks("2.2.1", "a token may have the ID 0", "api/flakepass/token.go", "if !ok || id == 0 || id > 1<<63-1 {", "if !ok || id > 1<<63-1 {", "api/flakepass", "FuzzParseToken"),
		breaks("2.2.1", "a parameter that is not known is passed over", asvsAPI+"/page.go", `case name != "cursor" && name != "limit" && !slices.Contains(known, name):`, "case false:",
			asvsAPI, "FuzzQuery"),
		breaks("2.2.2", "a password is checked by the client alone", "internal/domain/account/service.go", "all.Fields = append(all.Fields, password(name)...)", "",
			"internal/domain/account", "TestRegisterNamesEveryProblem"),
		breaks("2.2.2", "a password is checked by the client alone", "internal/domain/account/password.go", "\treturn problems\n}\n\n// overlong", "\treturn nil\n}\n\n// overlong",
			"internal/proof/lifecycletest", "TestBadInput"),
		breaks("2.2.3", "a certificate may come without its key", "internal/server/config/load.go", "cert != key && !l.wrong", "cert != key && key && !l.wrong", "internal/server/config", "TestCertificateNeedsItsKey"),
		breaks("2.2.3", "machines may lock a file each", "internal/server/config/load.go", "case c.Worker.Kind == WorkerFile && c.Database.Kind == MySQL:", "case false:",
			"internal/server/config", "TestWorkerFileIsForSQLiteAlone"),
		breaks("2.2.3", "uses may be written less often than logins idle out", "internal/domain/policy/change.go", "case p.Touch > p.Idle/2:", "case p.Touch > p.Absolute:",
			"internal/domain/policy", "TestTimesThatContradictEachOtherAreRefused"),
		breaks("2.3.1", "a change that ends many logins needs no confirmation", "internal/domain/operator/policies.go", "case effect.Drastic() && !c.Confirmed:", "case false:",
			"internal/domain/operator", "TestDrasticChangeHasToBeConfirmed"),
		breaks("2.3.1", "the password alone begins a login", "internal/domain/login/login.go",
			"if errors.Is(err, secondfactor.ErrRequired) {\n\t\tticket", "if errors.Is(err, secondfactor.ErrRequired) {\n\t\treturn nil\n\t}\n\tif err != nil && user.ID == 0 {\n\t\tticket",
			"internal/domain/login", "TestLoginAsksForTheCodeBehindThePassword"),
		breaks("2.3.2", "another limit holds than is written down", "internal/domain/limit/limit.go", "Rule{120, minute}", "Rule{1200, minute}",
			"internal/domain/ratelimit", "TestDocumentedLimits"),
		breaks("2.3.2", "an operator may set any limit", "internal/domain/limit/check.go", "r.Count >= b.Fewest && r.Count <= b.Most", "r.Count >= b.Fewest", "internal/domain/limit", "TestLimitsHaveLimits"),
		breaks("2.3.2", "limits are those of the start", asvsRun+"/ratelimit.go",
			"Limits: func() *limit.Limits { return &rule.Current().Limits }", "Limits: func() func() *limit.Limits { l := rule.Current().Limits; return func() *limit.Limits { return &l } }()",
			"internal/proof/lifecycletest", "TestLimitsActAtOnceOnEveryProcess"),
		breaks("2.3.3", "a change goes on without its event", asvsStore+"/authorize.go", "\treturn may.record(events...)\n", "\t_ = may.record(events...)\n\treturn nil\n",
			asvsStore, "TestNoChangeWithoutItsEvent"),
		breaks("2.3.3", "a revocation has no record", asvsStore+"/authorize.go", "\treturn may.record(events...)\n", "\t_ = may\n\treturn nil\n", asvsStore, "TestRecordedEndIsThereWithItsEventOrNotAtAll"),
		breaks("2.3.4", "many make the first admin at once", asvsUI+"/console.go", "make(chan struct{}, 1)", "make(chan struct{}, 20)", asvsUI, "TestOneOfTwentyWins"),
		breaks("2.3.4", "a name is not unique", "migrations/sqlite/00001_users.sql", "CREATE UNIQUE INDEX users_username", "CREATE INDEX users_username", asvsStore, "TestOneOfManyGetsTheName"),
		breaks("2.3.4", "a login does not end the one before", asvsStore+"/begin.go",
			"if err := s.end(tx, *inSlot(rows, old.Slot), old.Ended); err != nil {", "if err := tx.Exec(\"UPDATE users SET token_id = NULL, token_hash = NULL, token_seen_at = NULL WHERE id = ?\", inSlot(rows, old.Slot).UserID).Error; err != nil {", asvsStore, "TestLoginVsLogin"),
		breaks("2.3.4", "the step of a code counts again", asvsStore+"/secondfactor.go", "second_factor_step < ?\"", "second_factor_step <= ?\"",
			asvsStore, "TestOfManyUsesOfOneCodeTheDatabaseLetsOneWin"),
		breaks("2.3.4", "of many uses of one link all count", asvsStore+"/resets.go", linkOnce, linkOften, asvsStore, "TestResetIsUsedOnce"),
		breaks("2.4.1", "one address tries as many names as it likes", "internal/domain/ratelimit/source.go",
			`"login-address", "a:", a.Address,`, `"login-address", fmt.Sprint("a:", time.Now().UnixNano()), a.Address,`,
			asvsAttack, "TestFloodOfLoginsIsHeldBack"),
		breaks("2.4.1", "uses of links are not limited", "internal/domain/ratelimit/source.go", `return l.bySource(ctx, "reset", "s:", from)`, `return Taken{}, nil`,
			"internal/domain/ratelimit", "TestResetsAreLimitedByAddress"),
		breaks("2.4.1", "each of the places of a network has all attempts", "internal/domain/ratelimit/source.go", "[]int{48, 56}", "[]int{}",
			"internal/domain/ratelimit", "TestPlacesOfOneNetworkAreCountedTogether"),
		breaks("2.4.1", "a question about many tokens counts once", "internal/edge/httpapi/verifications.go", "s.quota(c, len(tokens))", "s.quota(c, 1)", asvsAPI, "TestQuotaCountsTokens"),
		breaks("2.4.1", "what services ask is not limited", "internal/domain/ratelimit/source.go", `Rule: rule, N: tokens}`, `N: tokens}`, asvsAPI, "TestQuotaIsForEachCaller"),
		breaks("2.4.1", "any number of logins waits for a hash", "internal/domain/account/queue.go", "if waiting >= q.room && !q.makeRoom(by) {", "if false {",
			"internal/domain/account", "TestFullQueueIsBusyAtOnce"),
	)
}
