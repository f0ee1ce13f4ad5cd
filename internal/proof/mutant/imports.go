package main

// imports are protections of what comes from other systems: their hashes, and who adds
// their users.
func imports() []Mutant {
	const foreign, account, operator, hook = "internal/domain/account/foreignhash", "internal/domain/account", "internal/domain/operator", "internal/server/importhook"
	return []Mutant{
		{
			Name: "imports: a cost bomb is computed", File: foreign + "/foreignhash.go",
			Old: "case n < least || n > most:", New: "case n < least:", Package: foreign, Test: "^TestCostBombsAreRefused$",
		}, {
			Name: "imports: the memory of scrypt has no bound", File: foreign + "/scrypt.go",
			Old: "work*p > maxWork || ", New: "", Package: foreign, Test: "^TestCostBombsAreRefused$",
		}, {
			Name: "imports: a hash has several texts", File: foreign + "/foreignhash.go",
			Old: "if err != nil || e.EncodeToString(b) != text {", New: "if err != nil {", Package: foreign, Test: "^TestOneTextForEachHash$",
		}, {
			Name: "imports: the empty password opens an account", File: foreign + "/foreignhash.go",
			Old: "h.matches(password) && password != \"\"", New: "h.matches(password)", Package: foreign, Test: "^TestTheEmptyPasswordOpensNothing$",
		}, {
			Name: "imports: a zero byte begins a password again", File: foreign + "/foreignhash.go",
			Old: "&& !strings.Contains(password, \"\\x00\")", New: "&& !strings.Contains(password, \"none\")", Package: foreign, Test: "^TestBcryptIsThatOf",
		}, {
			Name: "imports: a foreign hash stays after the login", File: account + "/hasher.go",
			Old: "foreign: true, weaker: true}", New: "foreign: true}", Package: account, Test: "^TestFirstLoginMakesTheHashOurs$",
		}, {
			Name: "imports: a digest is kept bare", File: foreign + "/imported.go",
			Old: "return Imported{Digest: &Digest{name: name, after: after, salt: salt, sum: sum}}, nil", New: "return Imported{Kept: name + string(salt) + string(sum)}, nil",
			Package: foreign, Test: "^FuzzReadImported$",
		}, {
			Name: "imports: an unknown name takes as long as an account of ours", File: account + "/decoys.go",
			Old: "return c.decoy\n", New: "return h.decoy\n", Package: account, Test: "^TestUnknownNamesCost",
		}, {
			Name: "imports: an unknown name stays foreign", File: account + "/decoys.go",
			Old: "if still < c.left {", New: "if still < 1 {", Package: account, Test: "^TestUnknownNamesCost",
		}, {
			Name: "imports: an unknown name changes its format with each look", File: account + "/decoys.go",
			Old: "hmac.New(sha256.New, m.key)", New: "hmac.New(sha256.New, append(m.key, []byte(newDecoy(h.params).Reveal())...))", Package: account, Test: "^TestUnknownNamesCost",
		}, {
			Name: "imports: a short password stays good after a change", File: account + "/user.go",
			Old: "return u.ImportedVersion != 0 && u.ImportedVersion == u.PasswordVersion", New: "return u.ImportedVersion != 0", Package: account, Test: "^TestAChangeDuringTheFirstLogin",
		}, {
			Name: "imports: an import asks for no rights", File: "internal/store/sqlstore/imports.go",
			Old: "may, err := u.DB.authorize(tx, by, need)", New: "may, err := permit{tx, by, need}, error(nil)", Package: "internal/store/sqlstore", Test: "^TestImportNeedsRights$/^SQLite$",
		}, {
			Name: "imports: admins are imported without a proof", File: operator + "/importbatch.go",
			Old: "need = max(need, needs[create(fresh[i].user.Role)])", New: "need = needs[createUser]", Package: operator, Test: "^TestImportOfARole",
		}, {
			Name: "imports: aliases are set without a proof", File: operator + "/importbatch.go",
			Old: "need = max(need, needs[changeNames])", New: "_ = changeNames", Package: operator, Test: "^TestImportOfAliases$",
		}, {
			Name: "imports: an alias of somebody else is taken over", File: operator + "/here.go",
			Old: "case k == nil && owner != nil:", New: "case false:", Package: operator, Test: "^TestImportOfAliases$",
		}, {
			Name: "imports: an alias that is a username of an earlier release is taken", File: "internal/store/sqlstore/imports.go",
			Old: "if err == nil && len(aliases) > 0 {", New: "if false {", Package: "internal/store/sqlstore", Test: "^TestImportedAliases$/^SQLite$",
		}, {
			Name: "imports: another person's hash passes for the same user's", File: operator + "/here.go",
			Old: "case same && k.PasswordHash.Ours():", New: "case k.PasswordHash.Ours():", Package: operator, Test: "^TestAnotherPersonOfTheSameName$",
		}, {
			Name: "imports: hashes leave without a record", File: operator + "/exports.go",
			Old: "err = x.Store.Record(ctx, e)", New: "_ = e", Package: operator, Test: "^TestExportOfHashes",
		},
		{
			Name: "hook: it opens an account that an operator made", File: account + "/elsewhere.go",
			Old: `u.ExternalID != "" && u.PasswordVersion == 1`, New: "u.PasswordVersion == 1", Package: account, Test: "^TestOnlyStrangersAndImported",
		}, {
			Name: "hook: it sees what admins type", File: "internal/domain/login/login.go",
			Old: `by.HereOnly = in.Only != "" && in.Only != account.RoleUser`, New: "by.HereOnly = false", Package: "internal/domain/login", Test: "^TestNoOtherSystemSees",
		}, {
			Name: "hook: it opens an account that had a password here", File: account + "/elsewhere.go",
			Old: ` && u.PasswordVersion == 1`, New: "", Package: account, Test: "^TestOnlyStrangersAndImported",
		}, {
			Name: "hook: it opens a disabled account", File: account + "/elsewhere.go",
			Old: "u.Role == RoleUser && !u.Disabled()", New: "u.Role == RoleUser", Package: account, Test: "^TestOnlyStrangersAndImported",
		}, {
			Name: "hook: it vouches for another person", File: account + "/elsewhere.go",
			Old: "case u.ID != 0 && a.ExternalID != u.ExternalID:", New: "case false:", Package: account, Test: "^TestWhatAnotherSystemDecides$",
		}, {
			Name: "hook: no answer is a wrong password", File: account + "/elsewhere.go",
			Old: "case err != nil:\n\t\treturn u, err\n\tcase !known", New: "case err != nil:\n\t\treturn u, ErrWrong\n\tcase !known", Package: account, Test: "^TestWhatAnotherSystemDecides$",
		}, {
			Name: "hook: a refusal waits for nothing", File: account + "/elsewhere.go",
			Old: "q = madeUp(name, p)", New: "return u, ErrWrong", Package: account, Test: "^TestRefusalTakesTheTime",
		}, {
			Name: "hook: it sees wrong passwords of accounts", File: account + "/elsewhere.go",
			Old: "if unicode.IsControl(r) {", New: "if unicode.IsControl(r) || true {", Package: account, Test: "^TestOnlyStrangersAndImported",
		}, {
			Name: "hook: what is busy has been asked about", File: account + "/service.go",
			Old: "!by.HereOnly && errors.Is(err, ErrWrong) {", New: "!by.HereOnly && err != nil {", Package: account, Test: "^TestWhatHasNoHashAsksNobody$",
		}, {
			Name: "hook: what it has no answer to is no guess", File: account + "/elsewhere.go",
			Old: "return u, err\n\tcase !known", New: "return u, Undecided(err)\n\tcase !known", Package: "internal/domain/login", Test: "^TestNoAnswerIsAGuess$",
		}, {
			Name: "hook: a dead connection is used again", File: hook + "/hook.go",
			Old: "HTTP2: &http.HTTP2Config{SendPingTimeout: patience, PingTimeout: patience},\n", New: "", Package: hook, Test: "^TestDeadConnectionIsReplaced$",
		}, {
			Name: "hook: its answer makes an admin", File: hook + "/answer.go",
			Old: `if a.Role != "" && a.Role != string(account.RoleUser) {`, New: "if false {", Package: hook, Test: "^TestAnswers$",
		}, {
			Name: "hook: redirects are followed", File: hook + "/hook.go",
			Old: "return http.ErrUseLastResponse", New: "return nil", Package: hook, Test: "^TestOnlyAnAnswerIsOne$",
		}, {
			Name: "hook: an error page is an answer", File: hook + "/hook.go",
			Old: "case answer.StatusCode != http.StatusOK:", New: "case false:", Package: hook, Test: "^TestOnlyAnAnswerIsOne$",
		}, {
			Name: "hook: one network takes all places", File: hook + "/places.go",
			Old: " || p.taken[network] >= mostOfNetwork", New: "", Package: hook, Test: "^TestFloodReachesTheSystem",
		}, {
			Name: "hook: a flood takes more than all places", File: hook + "/places.go",
			Old: "if p.all >= most ||", New: "if p.all > 1<<20 ||", Package: hook, Test: "^TestFloodReachesTheSystem",
		}, {
			Name: "hook: a dead system is asked on", File: hook + "/hook.go",
			Old: "return inRow >= trips ||", New: "return c.ConsecutiveFailures >= 1000*trips ||", Package: hook, Test: "^TestDeadSystemIsLeftAlone$",
		}, {
			Name: "hook: the time is not signed", File: hook + "/hook.go",
			Old: `id + "." + seconds + "."`, New: `id + ".."`, Package: hook, Test: "^TestSignatureIsThat",
		}, {
			Name: "hook: a slow answer is waited for", File: hook + "/hook.go",
			Old: "patience = 2 * time.Second", New: "patience = 200 * time.Second", Package: hook, Test: "^TestSlowAnswerIsNone$",
		}, {
			Name: "hook: connections that never begin stay", File: hook + "/hook.go",
			Old: "TLSHandshakeTimeout: patience, MaxConnsPerHost: most,", New: "", Package: hook, Test: "^TestConnectionsThatNeverBegin",
		}, {
			Name: "hook: what a stranger types has it left alone", File: hook + "/hook.go",
			Old: "if broken(err) {", New: "if err != nil {", Package: hook, Test: "^TestOnlyASystemThatDoesNotWork",
		}, {
			Name: "hook: errors repeat what it sends", File: hook + "/answer.go",
			Old: "return f.what }", New: "return f.cause.Error() }", Package: hook, Test: "^TestNoErrorRepeats",
		}, {
			Name: "hook: a double external ID is a fault of the database", File: "internal/store/sqlstore/users.go",
			Old: `user.ExternalID != "" && db.Where`, New: "false && db.Where", Package: "internal/store/sqlstore", Test: "^TestAnExternalIDOfAnother",
		}, {
			Name: "imports: bad first lines lose the file", File: "internal/edge/cli/importlines.go",
			Old: "for len(lines) < mostSpoilt {", New: "for len(lines) < 1 {", Package: "internal/edge/cli", Test: "^TestLinesOfAFile$",
		}, {
			Name: "hook: failures in a row are those of one window", File: hook + "/hook.go",
			Old: "return inRow >= trips ||", New: "return c.ConsecutiveFailures >= trips ||", Package: hook, Test: "^TestFiveFailuresInARow",
		}, {
			Name: "hook: null opens an account", File: hook + "/answer.go",
			Old: "|| hasNull(members)", New: "", Package: hook, Test: "^TestAnswers$",
		}, {
			Name: "hook: a first hash replaces one", File: "internal/store/sqlstore/users.go",
			Old: "WHERE id = ? AND password_hash = '' AND", New: "WHERE id = ? AND", Package: "internal/store/sqlstore", Test: "^TestFirstHashIsOf",
		}, {
			Name: "keys: an answer is as of a poll after the question", File: "internal/store/layer/readslots.go",
			Old: "if _, after := k.Decided(); ", New: "var after bool\n\tif asOf, after = k.Decided(); ", Package: "internal/store/layer", Test: "^TestKeyIsAsOfAPoll",
		}, {
			Name: "imports: names of JSON match in any case", File: "internal/edge/cli/importlines.go",
			Old: "strictjson.RejectUnknownMembers(true)", New: "strictjson.RejectUnknownMembers(true), strictjson.MatchCaseInsensitiveNames(true)", Package: "internal/edge/cli", Test: "^TestLinesOfAFile$",
		},
	}
}
