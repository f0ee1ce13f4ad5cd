package main

// serviceKeys are protections of service keys: what a key opens, and when it ends.
func serviceKeys() []Mutant {
	const (
		domain = "internal/domain/servicekey"
		store  = "internal/store/sqlstore"
		api    = "internal/edge/httpapi"
	)
	key := func(name, file, old, change, in, test string) Mutant {
		return Mutant{Name: "service keys: " + name, File: file, Old: old, New: change, Package: in, Test: test}
	}
	return []Mutant{
		key("the scope does not matter", domain+"/servicekey.go", "case !h.Scopes.Has(needs):", "case len(h.Scopes) == 0:", api, "^TestKeyOpensOnly"),
		key("an unknown scope is taken", domain+"/servicekey.go", "if !Known().Has(Scope(name)) {", "if !Known().Has(Scope(name)) && name == \"\" {", domain, "^TestScopesAre"),
		key("one that has expired is good", domain+"/servicekey.go", "case h.Over(now):", "case h.Over(time.Time{}):", domain, "^TestKeyExpires"),
		key("one that was revoked is good", domain+"/servicekey.go", "case !h.RevokedAt.IsZero():", "case !h.RevokedAt.IsZero() && h.ID == 0:", api, "^TestKeyIsRefusedBecause"),
		key("one of a disabled account is good", domain+"/servicekey.go", "case h.Disabled:", "case h.Disabled && h.ID == 0:", api, "^TestKeyIsRefusedBecause"),
		key("one of a former service is good", domain+"/servicekey.go", "case h.Role != Role:", `case h.Role == "":`, api, "^TestKeyIsRefusedBecause"),
		key("the secret does not matter", domain+"/service.go", "if !got.Hash.Equal(hash) {", "if hash == nil {", domain, "^TestWhatCanBeUndone"),
		key("an answer is repeated beyond the bound", domain+"/service.go", "e == nil || session.Age(time.Now(), e.AsOf) >= s.Life", "e == nil || session.Age(time.Now(), e.AsOf) >= 2*s.Life", domain, "^TestKeyThatIsNotInUse"),
		key("an answer that took too long is believed", domain+"/service.go", "err == nil && session.Age(time.Now(), e.AsOf) >= s.Life {", "err == nil && e == nil {", domain, "^TestAnswerThatTook"),
		key("a stream outlives its key by a beat", domain+"/service.go", "return bound - every - every/2", "return bound", domain, "^TestLifeLeaves"),
		key("a stream does not look at its key", api+"/revocations.go", "if err := e.still(ctx); err != nil {", "if err := e.still(ctx); err != nil && e.buf == nil {", api, "^TestStreamEndsWithItsKey"),
		key("what can be undone is refused from memory", domain+"/service.go", "err == nil || final(err) {", "err == nil || final(err) || e != nil {", domain, "^TestWhatCanBeUndone"),
		key("a flood of unknown keys takes every read", domain+"/service.go", "mostCold = 4", "mostCold = 400", domain, "^TestAFlood"),
		key("an answer is as of now on a server that was replaced", "internal/store/layer/readslots.go", "if asOf.Before(got.AsOf) {", "if asOf.IsZero() {", "internal/store/layer", "^TestKeyIsAsOf"),
		key("an unproven server says that there is no such key", "internal/store/layer/readslots.go", "!before || !after {", "(!before || !after) && err == nil {", "internal/store/layer", "^TestKeyIsAsOf"),
		key("keys take no slot", "internal/store/layer/readslots.go", "release, err := acquire(ctx, k.Slots.reads)", "release, err := acquire(ctx, make(chan struct{}, 1))", "internal/store/layer", "^TestKeysTake"),
		key("a key has the rights of an admin", store+"/authorize.go", "byKey[need]", "byKey[audit.NeedsService]", store, "^TestKeyHasNoOtherRight/^SQLite$"),
		key("a key changes what its row does not allow", store+"/servicekeys.go", "held.May(fromMillis(row.Now), scope); err != nil {", "held.May(fromMillis(row.Now), scope); err != nil && by.ID == 0 {", store, "^TestKeyEndsWithItsRow/^SQLite$"),
		key("a key acts for another account", store+"/servicekeys.go", " AND k.user_id = ?\"", " AND k.user_id <> -?\"", store, "^TestKeyHasNoOtherRight/^SQLite$"),
		key("a user has keys", store+"/servicekeys.go", "case role != servicekey.Role:", `case role == "":`, store, "^TestKeysAreForServices/^SQLite$"),
		key("a key is taken for a token", "api/flakepass/token.go", "if wellFormed(keyPrefix, s) {", "if wellFormed(keyPrefix, s) && s == \"\" {", api, "^TestKeyOpensOnly"),
		key("questions of all keys of a service count together", api+"/ratelimit.go", "if key := keyID(c); key != 0 {", "if key := keyID(c); key < 0 {", api, "^TestKeyIsTheActor"),
		key("a token alone makes a key", "internal/domain/operator/needs.go", "createKey:        audit.NeedsProof", "createKey:        audit.NeedsAdmin", "internal/domain/operator", "^TestKeyIsShown"),
		key("every service logs in with a password", "internal/domain/login/login.go", "s.ByPassword != nil && !s.ByPassword(user) {", "s.ByPassword != nil && !s.ByPassword(user) && user == nil {", "internal/domain/login", "^TestAServiceLogsIn"),
		key("a key opens logins without the scope", store+"/servicekeys.go", "audit.NeedsIssuer: servicekey.Issue}", "audit.NeedsIssuer: servicekey.Verify}", store, "^TestOnlyAnIssuerOpens/^SQLite$"),
		key("a login by the token of an admin is issued", store+"/authorize.go", "need == audit.NeedsIssuer || ", "", store, "^TestOnlyAnIssuerOpens/^SQLite$"),
		key("the right to issue is not looked at when a login begins", "internal/domain/session/open.go", "need = audit.NeedsIssuer", "_ = audit.NeedsIssuer", "internal/store/sqlstore", "^TestManyIssuesMakeOneUser/^SQLite$"),
		key("a login of an admin is issued", "internal/domain/login/issue.go", "case user.Role != account.RoleUser && !in.AnyRole:", "case user.Role == \"\":", "internal/domain/login", "^TestIssueIsForUsers"),
		key("a login of a disabled account is issued", "internal/domain/login/issue.go", "case user.Disabled():", "case user.Disabled() && user.ID == 0:", "internal/domain/login", "^TestIssueIsForUsers"),
		key("an issued login needs no second factor", "internal/domain/login/issue.go", "err = s.code(ctx, c, &user, in.Code)", "err = nil", "internal/domain/login", "^TestIssueNeedsTheSecondFactor"),
		key("a code may be guessed through an issuer", "internal/domain/login/issue.go", "guess = s.byID(user.ID, \"issue\")", "guess = nil", "internal/domain/login", "^TestIssueNeedsTheSecondFactor"),
		key("a repeated request needs another code", "internal/domain/login/issue.go", "first, c.accepted = false, place.Issued.Factor", "first = false", "internal/domain/login", "^TestRepeatedIssue"),
		key("a code that was accepted opens past another factor", "internal/domain/login/factor.go", "user.SecondFactorAt.Equal(c.accepted)", "!c.accepted.IsZero()", "internal/domain/login", "^TestIssueTakesACodeOnce"),
		key("a request is known for longer each time", store+"/issue.go", "SET token_id = ? WHERE key_id", "SET token_id = ?, created_at = \"+s.DB.d.now+\" WHERE key_id", store, "^TestRequestIsKnownWith/^SQLite$"),
		key("a request is known of any factor", store+"/issue.go", "if kept.FactorAt != 0 {", "if kept.FactorAt < 0 {", store, "^TestRequestIsKnownWith/^SQLite$"),
		key("an issuer gets a ticket", "internal/domain/login/room.go", "if !ticketed {", "if !ticketed && user == nil {", "internal/domain/login", "^TestIssueAboveTheLimit"),
		key("a request that gets too old leaves two logins", store+"/issue.go", "Issued.Again && (kept == nil", "Issued.Again && false && (kept == nil", store, "^TestRequestThatGetsTooOld.*/^SQLite$"),
		key("a request that was known is not said to be", "internal/domain/login/issue.go", "known.Again = true\n", "", "internal/domain/login", "^TestRepeatedIssue"),
		key("a repeated request leaves two logins", store+"/begin.go", "cmp.Or(repeats, o.Place.Instead)", "cmp.Or(o.Place.Instead, repeats*0)", store, "^TestRepeatedRequestLeavesOneSession/^SQLite$"),
		key("a repeated request undoes an end", store+"/issue.go", "if !slices.ContainsFunc(has, func", "if kept.UserID == 0 && !slices.ContainsFunc(has, func", store, "^TestRepeatedRequestBringsBackNoEnd/^SQLite$"),
		key("a repeated request undoes an end by the policy", store+"/issue.go", "== kept.TokenID && !over(&one)", "== kept.TokenID && one.Alive() && (true || over(&one))", store, "^TestRepeatedRequestBringsBackNoEnd/^SQLite$"),
		key("another body is taken for a repeated request", store+"/issue.go", "case !rows[0].old() && !bytes.Equal(rows[0].Body, r.Body[:]):", "case bytes.Equal(rows[0].Body, nil):", store, "^TestRepeatedRequestLeavesOneSession/^SQLite$"),
		key("requests are deleted a thousand together", store+"/issue.go", "slices.Chunk(old, forgetTogether)", "slices.Chunk(old, requestsPage)", store, "^TestRequestsAreClearedFew/^SQLite$"),
		key("requests are found by one clock and deleted by another", store+"/issue.go", "now, err := s.DB.Clock(ctx)", "now, err := time.Now(), error(nil)", store, "^TestRequestsAreClearedWhile/^MySQL$"),
		key("requests of one name make a user each", store+"/issue.go", "err = u.DB.keep(tx, by, r, 0, user.ID, 0)", "err = nil", store, "^TestRequestThatHasMade/^SQLite$"),
		key("a request is known for ever", store+"/issue.go", "return k.Age >= session.RequestLife.Milliseconds()", "return k.Age < 0", store, "^TestRepeatedRequestLeavesOneSession/^SQLite$"),
		key("an old proof of an issuer is one of now", store+"/rows.go", "return \"?\", []any{how.At.UnixMilli()}", "return d.now, nil", store, "^TestIssuedProofIsThatOfTheIssuer/^SQLite$"),
		key("an issuer proves the password of an admin", store+"/rows.go", "case role != string(account.RoleUser):", "case role == \"\":", store, "^TestIssuedProofIsThatOfTheIssuer/^SQLite$"),
		key("a login with a password has the method of the one before", store+"/rows.go", "if id != 0 && r.AuthTokenID.Int64 == id {", "if id != 0 && r.AuthTokenID.Valid {", store, "^TestIssuedSessionKeepsHow/^SQLite$"),
		key("an issuer shows no device", api+"/issue.go", "by.Credential, _ =", "_, _ =", api, "^TestIssueKnowsTheDevice"),
		key("a token issues", api+"/caller.go", "err == nil && key.IsZero() {", "err == nil && key.IsZero() && needs == \"\" {", api, "^TestOnlyAKeyIssues"),
	}
}
