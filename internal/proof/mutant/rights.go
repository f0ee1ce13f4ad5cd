package main

// rights are protections of what is changed: its actor still may change it, and has
// shown password and code where that is needed.
func rights() []Mutant {
	const store = "internal/store/sqlstore"
	right := func(name, old, change, test string) Mutant {
		return Mutant{Name: "rights: " + name, File: store + "/authorize.go", Old: old, New: change, Package: store, Test: test}
	}
	link := func(name, old, change, test string) Mutant {
		return Mutant{Name: "rights: " + name, File: store + "/resets.go", Old: old, New: change, Package: store, Test: test}
	}
	factor := func(name, old, change, test string) Mutant {
		return Mutant{Name: "rights: " + name, File: store + "/secondfactor.go", Old: old, New: change, Package: store, Test: test}
	}
	own := func(name, old, change, test string) Mutant {
		return Mutant{Name: "rights: " + name, File: "internal/domain/session/own.go", Old: old, New: change, Package: "internal/domain/session", Test: test}
	}
	verb := func(what, of string) Mutant {
		return Mutant{
			Name: "rights: a token alone " + what, File: "internal/domain/operator/needs.go", Old: of + "audit.NeedsProof", New: of + "audit.NeedsAdmin",
			Package: "internal/domain/operator", Test: "^TestEachVerbAsksForItsRights$",
		}
	}
	return []Mutant{
		{
			Name: "rights: everyone with a link becomes the first admin", File: store + "/users.go", Old: "err != nil || has {", New: "err != nil || has && false {",
			Package: store, Test: "^TestOneOfAHundredIsTheFirstAdmin$/^SQLite$",
		},
		right("no actor is checked", "case need == audit.NeedsNothing || by.Inside():", "case need != 0 || by.Inside():", "^TestEndedLogins"),
		right("the global floor ends no right", "row.Row.GlobalFloor = floor", "row.Row.GlobalFloor = 0 * floor", "^TestEndedLogins"),
		right("a disabled account may act", "if s := r.Row.current(time.Time{}); !s.Alive() {", "if s := r.Row.current(time.Time{}); s.ID == 0 {", "^TestEndedLogins"),
		right("the role does not matter", "case need >= audit.NeedsAdmin && r.Row.Role != string(account.RoleAdmin),", "case false,", "^TestWhoMayWhat"),
		right("the proof of another login counts", "r.TokenProvedID == r.Row.TokenID && ", "", "^TestProofIs"),
		right("a proof is good for ever", "age <= audit.ProofLife && ", "", "^TestProofIs"),
		{
			Name: "rights: a ticket makes a proof new", File: store + "/rows.go", Old: "[]any{o.Place.ProofAge.Milliseconds()}", New: "[]any{o.Place.ProofAge.Milliseconds() * 0}",
			Package: store, Test: "^TestProofOfATicket.*/^SQLite$",
		},
		{
			Name: "rights: a ticket for a ticket makes a proof new", File: "internal/domain/login/login.go", Old: "c.ticketUntil = h.Until", New: "c.ticketUntil = h.Until.Add(h.Age(s.Now()))",
			Package: "internal/domain/login", Test: "^TestTicketsAreAsOld",
		},
		factor("a proof in the first slot outlives a new factor", "CASE WHEN token_id = ? THEN token_proved_id END", "CASE WHEN token_id = ? THEN token_proved_id ELSE token_proved_id END", "^TestProofOfBefore"),
		factor("a proof in a further slot outlives a new factor", "user_id = ? AND token_id <> ?", "user_id = ? AND token_id = ? AND 1 = 0", "^TestProofOfBefore"),
		factor("a new password leaves a pending secret", "CASE WHEN second_factor_at IS NULL THEN NULL ELSE", "CASE WHEN 1 = 0 THEN NULL ELSE", "^TestNewPasswordEnds"),
		right("an event needs no permit", "!p.need.Includes(e.Need) ||", "false ||", "^TestNoEventWithout"),
		right("an event is by another actor", "e.By.ID != p.by.ID || ", "", "^TestNoEventWithout"),
		right("an event is by another login", "e.By.Session != p.by.Session || ", "", "^TestNoEventWithout"),
		right("an event is by another key", " || e.By.Key != p.by.Key", "", "^TestNoEventWithout"),
		right("a login that was replaced may act", "\tdefault:\n\t\treturn session.RefusalOf(session.Replaced)", "\tcase 0:\n\t\treturn session.RefusalOf(session.Replaced)", "^TestEndedLogins"),
		link("a link outlives the right of its issuer", "COALESCE(i.role, '') = 'admin' AND i.disabled_at IS NULL AND COALESCE(i.updated_at, 0) = r.issuer_changed_at", "1 = 1", "^TestLinkEndsWith"),
		link("a link outlives a logout of all users", "r.all_ended_at = s.global_floor_at AND ", "", "^TestLinkEndsWith"),
		link("a link of an unknown issuer works", "AND r.issue_hash = r.token_hash \"", "\"", "^TestLinkOfThePrevious"),
		{
			Name: "rights: two changes of one millisecond are one", File: store + "/accounts.go",
			Old: `"updated_at = " + d.max + "(updated_at + 1, " + d.now + ")"`, New: `"updated_at = " + d.now`, Package: store, Test: "^TestLinkEndsThough",
		},
		{
			Name: "rights: a rename ends the links of the issuer", File: store + "/names.go",
			Old: "if err == nil && before.Role == account.RoleAdmin {", New: "if err == nil && before.Role == \"\" {", Package: store, Test: "^TestLinkOutlivesItsIssuersName$",
		},
		{
			Name: "rights: a rename revives the links of the issuer", File: store + "/names.go",
			Old: "WHERE issued_by = ? AND issuer_changed_at = ?", New: "WHERE issued_by = ? AND issuer_changed_at <= ?", Package: store, Test: "^TestLinkOutlivesItsIssuersName$",
		},
		right("users need no proof for their other logins", "case need.Includes(audit.NeedsOwnProof) &&", "case need >= audit.NeedsProof &&", "^TestAProofOfNoRole$"),
		own("a foreign login can be ended", "if held.UserID != by.ID {", "if held.UserID == 0 {", "^TestAForeignLogin"),
		own("a token alone logs out the other devices", "Need: audit.NeedsOwnProof, Reason: OtherDevices", "Need: audit.NeedsLogin, Reason: OtherDevices", "^TestEndOfTheOtherLogins"),
		own("a token alone ends the login of another device", "r.Need, r.Reason = audit.NeedsOwnProof, AnotherDevice", "r.Reason = AnotherDevice", "^TestEndOfAnOwnLogin"),
		own("what was over is answered to anybody", "err = cmp.Or(s.Rights.Authorize(ctx, e.Record.By, need), err)", "err = cmp.Or(err, err)\n\t\t_ = need", "^TestAnOwnLoginThatWasOver"),
		{
			Name: "rights: the end of several logins has no event", File: store + "/enduser.go", Old: "\t\treturn may.record(event)\n", New: "\t\t_, _ = may, event\n\t\treturn nil\n",
			Package: "internal/proof/lifecycletest", Test: "^TestPeopleEndTheirOther",
		},
		verb("gives out a link", "startReset:       "),
		verb("makes an admin", "createPrivileged: "),
		verb("invites a user", "inviteUser:       "),
		verb("gives a role", "changeRole:       "),
		verb("removes a second factor", "removeFactor:     "),
		verb("logs all users out", "endAllLogins:     "),
		verb("changes the policy", "setPolicy:        "),
	}
}
