package main

// impersonations are protections of sessions in which an admin acts for a user.
func impersonations() []Mutant {
	const (
		domain = "internal/domain/session"
		store  = "internal/store/sqlstore"
		api    = "internal/edge/httpapi"
	)
	act := func(name, file, old, change, in, test string) Mutant {
		return Mutant{Name: "impersonation: " + name, File: file, Old: old, New: change, Package: in, Test: test}
	}
	return []Mutant{
		act("it lasts as long as a login", domain+"/session.go", "if s.Act != 0 {", "if s.Act < 0 {", domain, "^TestAnImpersonationIsOver"),
		act("a use of it counts here", domain+"/service.go", "if got.Act != 0 || flakepass.IsPassive(ctx) {", "if flakepass.IsPassive(ctx) {", domain, "^TestAnImpersonationIsOver"),
		act("a use of it counts in its row", store+"/touch.go", "got.Act == 0 && at >=", "at >=", store, "^TestAnImpersonationIsNone.*/^SQLite$"),
		act("it takes a place of its user", store+"/slots.go", "rows[i].TokenID.Valid && rows[i].act() == 0 {", "rows[i].TokenID.Valid {", store, "^TestAnImpersonation.*/^SQLite$"),
		act("it invalidates a ticket", store+"/begin.go", "if rows[i].act() == 0 {", "if true {", store, "^TestAnImpersonationTakes.*/^SQLite$"),
		act("it counts as used", store+"/impersonate.go", "const neverUsed = 0", "const neverUsed = 1 << 41", store, "^TestAnImpersonationIsNone.*/^SQLite$"),
		act("it has the rights of its user", store+"/authorize.go", "case r.Row.act() != 0:", "case false:", store, "^TestAnImpersonationChanges.*/^SQLite$"),
		act("routes of the account take it", api+"/middleware.go", "; who.Act != 0 {", "; who.Act == 0 {", api, "^TestImpersonationWrites"),
		act("it is for admins and services, too", store+"/begin.go", "if row.Role != string(account.RoleUser) {", "if row.Role == \"\" {", store, "^TestWhoMayNotAct.*/^SQLite$"),
		act("anybody acts", store+"/begin.go", "may, err = s.DB.authorize(tx, o.Record.By, o.Record.Need)", "may = permit{tx, o.Record.By, o.Record.Need}", store, "^TestWhoMayNotAct.*/^SQLite$"),
		act("an admin acts for any number", store+"/impersonate.go", "n >= session.MostActs {", "n >= 99 {", store, "^TestAnAdminActsForEight.*/^SQLite$"),
		act("begins at the same moment do not count each other", store+"/begin.go", "err = s.holdActor(tx, o.Act)", "err = nil", store, "^TestAnAdminActsForEightAtTheSameTime/^MySQL$"),
		act("its end is too long for the record", domain+"/record.go", "more := len(list) - mostListed; more > 0 {", "more := len(list) - mostListed; more < 0 {", domain, "^TestNoEndFailsForItsRecord"),
		act("a token alone opens one", "internal/domain/operator/needs.go", "impersonate:      audit.NeedsProof", "impersonate:      audit.NeedsAdmin", "internal/domain/operator", "^TestActing"),
		act("it needs no reason", "internal/domain/operator/impersonate.go", "invalid.Blank(reason)", `reason == "x"`, "internal/domain/operator", "^TestActing"),
		act("it outlives the right of its admin", store+"/impersonate.go", "act_id = ? AND (token_seen_at = 0 OR ", "act_id = ? AND (", store, "^TestImpersonationsEndWith/./^SQLite$"),
		act("a repeated end does not stamp it", store+"/impersonate.go", "return ended, revokedActs(rows, asOf), s.stamp(tx, rows)", "return ended, revokedActs(rows, asOf), nil", store, "^TestARepeatedEnd/./^SQLite$"),
		act("a repeated end does not return it", store+"/impersonate.go", "!rows[i].TokenID.Valid && was.Ended == session.Revoked {", "was.Ended == \"\" {", store, "^TestARepeatedEnd/./^SQLite$"),
		act("a login in its row is taken for one", store+"/rows.go", "if r.TokenID.Valid && r.TokenSeenAt.Int64 != neverUsed {", "if false {", store, "^TestALoginOfAnEarlierRelease.*/^SQLite$"),
		act("an instance that does not know it runs beside", store+"/impersonate.go", "older(ctx, knowsActs)", "older(ctx, knowsSlots)", store, "^TestNobodyActsBeside.*/^SQLite$"),
		act("what it tries is the user's", "internal/domain/operator/needs.go", "if who.Act != 0 {", "if who.Act < 0 {", api, "^TestAnAttemptToChange"),
		act("a policy with 32 blocks the next", store+"/settings.go", "min(r.MaxSessions, policy.MostSessions)", "r.MaxSessions", store, "^TestAPolicyOfAnEarlier.*/^SQLite$"),
		act("the end of a class takes it", domain+"/device.go", "s.Act == 0 && s.Device", "s.Device", store, "^TestAnImpersonationIsNone.*/^SQLite$"),
		act("it is swept while it lives", store+"/sweep.go", "if table == slotsTable && stage == sweep.Idle {", "if table == slotsTable && stage < sweep.Idle {", store, "^TestImpersonationIsSwept.*/^SQLite$"),
		act("a sweep looks for it by another clock than its own", store+"/stale.go", "oldestAct(m.Now)", "oldestAct(m.Seen)", store, "^TestImpersonationIsSweptWhenItIsOver$/^SQLite$"),
		act("a sweep is said to clear it while it lives", store+"/stale.go", "\t\tif table == slotsTable {\n\t\t\tin, of", "\t\tif table == \"\" {\n\t\t\tin, of", store, "^TestCountOfASweep.*/^SQLite$"),
		act("a Remote is told to repeat it", api+"/verifications.go", "if who.Act != 0 {", "if who.Act < 0 {", "internal/proof/remote", "^TestRemoteAsksAboutAnImpersonation"),
		act("a Remote takes it for a login", "api/flakepass/remote_call.go", "if act != 0 {", "if act < 0 {", "internal/proof/remote", "^TestRemoteAsksAboutAnImpersonation"),
		act("the signature does not cover it", "api/flakepass/forwardkey.go", `if i != actClaim || c.value(i) != "" {`, "if i != actClaim {", "api/flakepass", "^TestForwardedSaysWhoActs"),
		act("its mark may be lost on the way", "api/flakepass/forwardkey.go", "delete(h, sessionIDHeader)", "", "api/flakepass", "^TestNoImpersonationArrives"),
		act("Redis forgets who acts", "internal/store/redisstore/codec.go", "case s.Act != 0 && s.Alive() && s.Slot != 0:", "case s.Act < 0:", "internal/store/redisstore", "^TestCodecKeepsWhoActs"),
	}
}
