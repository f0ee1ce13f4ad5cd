package main

// promises are the rules of docs/model.md: each one taken out of the code.
func promises() []Mutant {
	rule := func(name, file, old, change, folder, test string) Mutant {
		return Mutant{Name: "rule: " + name, File: file, Old: old, New: change, Package: folder, Test: test}
	}
	const (
		domain  = "internal/domain/session"
		service = domain + "/service.go"
		cluster = "internal/proof/cluster"
		feed    = "internal/store/feed"
		memory  = "internal/store/memstore"
		store   = "internal/store/sqlstore"
	)
	return []Mutant{
		// StampAlways and PromptOrAgain.
		rule("a login that ends none stamps nothing", store+"/begin.go",
			`stamp := ", " + s.DB.d.stampNow()`, `stamp := ""`, store, "^TestActThatEndsNothing"),
		rule("a change of an account that ends no login stamps nothing", store+"/accounts.go",
			"\t} else {\n\t\tset += \", \" + d.stampNow()\n", "", store, "^TestActThatEndsNothing"),
		rule("the end of a user without a login stamps nothing", store+"/enduser.go",
			"start = time.Time{}", "start = time.Now()", store, "^TestActThatEndsNothing"),
		rule("that nothing lives is said without a stamp", store+"/enduser.go",
			"; failed != nil {", "; failed != nil && e.ID != 0 {", store, "^TestEndIsNotAcknowledged"),
		rule("an end of all looks at no end of before", store+"/settings.go",
			"max(highest, ended, ", "max(highest, 0*ended, ", store, "^TestEndOfAllCovers"),
		rule("an end of all goes by the clock of an instance that is ahead", store+"/settings.go",
			"there.Before(begun) {", "there.Before(begun) && highest < 0 {", store, "^TestClockThatIsAhead"),
		rule("an end of all is as of the clock of the database", "internal/domain/operator/sessions.go",
			"s.Floor.EndAll(ctx, s.Now(), e)", "s.Floor.EndAll(ctx, s.clock(), e)", "internal/domain/operator", "^TestEndOfAllGoesByTheRight"),
		rule("a slow login that ends none is not stamped anew", store+"/begin.go",
			"if err == nil {\n\t\terr = s.restamp(", "if err == nil && len(begun.Replaced) != 0 {\n\t\terr = s.restamp(", store, "^TestSlowActThatEndsNothing"),
		rule("a slow change that ends no login is not stamped anew", store+"/accounts.go",
			"if err == nil {\n\t\terr = s.restampAll(", "if err == nil && len(ended) != 0 {\n\t\terr = s.restampAll(", store, "^TestSlowActThatEndsNothing"),

		// RowLeads.
		rule("a use that is passed on counts at once", memory+"/changes.go",
			"at, ms := e.used.Load(), seen.UnixMilli()\n", "at, ms := e.used.Load(), seen.UnixMilli()\n\t\te.seen.Store(ms)\n", memory, "^TestUseIsPassedOn"),
		rule("what the row has is not remembered", memory+"/changes.go",
			"\tcase !ok:\n\tcase seen.IsZero():", "\tcase !ok || !seen.IsZero():\n\tcase seen.IsZero():", memory, "^TestWhatTheRowSays"),
		rule("a use that the row refuses is not forgotten", memory+"/changes.go",
			"\tcase seen.IsZero():\n\t\tt.drop(id, e)\n", "\tcase seen.IsZero():\n", memory, "^TestWhatTheRowSays"),
		rule("an end that was read is forgotten with its entry", memory+"/load.go",
			"if !s.Alive() {\n\t\tt.tombstones.add(", "if !s.Alive() && s.ID == 0 {\n\t\tt.tombstones.add(", memory, "^TestEndThatWasRead"),
		rule("no tier receives what the rows say", "internal/store/layer/writebehind.go",
			"if t.Written != nil {", "if t.Written != nil && seen.IsZero() && id == 0 {", "internal/store/layer", "^TestWhatTheRowsSay"),
		rule("memory does not receive what the rows say", "internal/server/run/tiers.go",
			"Policy: rule, Written: t.written, Log: log", "Policy: rule, Log: log", "internal/server/run", "^TestMemoryApplies"),
		rule("memory does not receive what the rows have decided", "internal/server/run/tiers.go",
			", Settled: t.settled", "", "internal/server/run", "^TestMemoryApplies"),
		rule("the server writes no use before it is answered", "internal/server/run/tiers.go",
			"Near: bound + nearEnd, ", "", "internal/server/run", "^TestMemoryApplies"),
		rule("what the rows have decided is passed on to no tier", service,
			"s.Settled != nil && got.ID != 0 &&", "s.Settled != nil && got.ID < 0 &&", domain, "^TestIdle|^TestTooOldByAPolicy"),
		rule("a use is written whatever the policy says", store+"/touch.go",
			`why != "" {`, `why != "" && got.ID == 0 {`, store, "^TestRowRefusesAUse"),
		rule("a row that refuses a use keeps those of others from theirs", store+"/touch.go",
			"case len(seen) > 1 && ofRow(err)", "case len(seen) < 1 && ofRow(err)", store, "^TestPoisonedRowKeepsNoUse"),
		rule("a batch with a row that refuses a use is the last one", "internal/store/layer/writebehind.go",
			"err != nil && len(rows) == 0 {", "err != nil {", store, "^TestPoisonedRowKeepsNoUse"),
		rule("a Remote reports a use that it has only passed on", "api/flakepass/remote_uses.go",
			"one.of.noted.Store(clock.earliest(one.mono))", "one.of.seen = clock.earliest(one.mono)", "internal/proof/remote", "^TestRemoteReportsWhatTheRowSays"),

		// WriteNear.
		rule("no use is written before it is answered", service,
			"near = min(s.Near, rule.Idle/2)", "near = 0", domain, "^TestUseJustBefore"),

		// LockedNo.
		rule("a refusal does not wait for a use", store+"/settle.go",
			`WHERE id = ?"+s.DB.d.forRead, found.RowID)`, `WHERE id = ?", found.RowID)`, store, "^TestRefusalWaitsForAUse"),

		// ProvenAge.
		rule("too old by the policy that is known here", service,
			"case !issued.After(s.Known.Watermark()):", "case s.Policy.Current().For(``, ``).Expired(issued, s.now()):", domain, "^TestTooOldByAPolicy"),
		rule("a Remote refuses by the policy that it knows", "api/flakepass/remote_known.go",
			"id.UnixMilli() <= rule.oldest", "id.UnixMilli() <= max(rule.oldest, time.Now().UnixMilli()-rule.absolute)", "internal/proof/remote", "^TestRemoteFollowsThePolicy"),
		rule("any poll proves a watermark", feed+"/feed.go",
			"news.Steady && proven.After(k.watermark)", "proven.After(k.watermark)", feed, "^TestWatermark"),
		rule("a watermark falls", feed+"/feed.go",
			"news.Steady && proven.After(k.watermark)", "news.Steady && !proven.IsZero()", feed, "^TestWatermark"),
		rule("the clock is that of this machine", feed+"/feed.go",
			"return c.at(at), true", "return at, true", feed, "^TestClockIs"),
		rule("a clock of this machine raises the bases", "internal/domain/policy/policy.go",
			"if known != nil && p.LimitsErr != nil {", "if known != nil {\n\t\t\tp.AbsoluteBase = later(p.AbsoluteBase, known.For(``, ``).OldestIssued(time.Now()))\n\t\t}\n\t\tif known != nil && p.LimitsErr != nil {",
			"internal/domain/policy", "^TestBasesStay"),

		// OneRead.
		rule("a row is answered by an older policy", "internal/store/layer/freshpolicy.go",
			"if basis.Version > r.Policy.Current().Version {\n\t\tif err", "if basis.Version < 0 {\n\t\tif err", "internal/store/layer", "^TestRowIsAnswered"),

		// Fence.
		rule("a refusal is certain whatever is being changed", store+"/settle.go",
			"case !certain:", "case !certain && why == \"\":", store, "^TestNothingIsDecided"),
		rule("a policy that is being changed is certain", store+"/rules.go",
			"return session.Expired, false", "return session.Expired, true", store, "^TestWhatACh"),
		rule("the policy that was read may be older than the row", "internal/store/layer/freshpolicy.go",
			"Current().Version { // it came", "Current().Version && false { // it came", "internal/store/layer", "^TestRow"),
		rule("the connections of a demoted server are kept", store+"/sqlstore.go",
			"\t\tdb.Leave()\n", "", store, "^TestConnectionsOfADemotedServer"),
		rule("a passive request near the end takes a lock", "internal/domain/session/service.go",
			"\tif use {\n\t\tnear =", "\tif use || now != (time.Time{}) {\n\t\tnear =", "internal/domain/session", "^TestPassiveNear"),
		rule("a poll proves a policy that is being changed", store+"/news.go",
			"Steady: now.steady", "Steady: true", store, "^TestNewsDuringAChange"),
		rule("bases are computed before the settings are locked", store+"/policies.go",
			"\t\tif err := s.DB.lockSettings(tx); err != nil {\n\t\t\treturn err\n\t\t}\n", "", store, "^TestBasesAreOfTheTime"),

		// SweepFence.
		rule("a sweep goes by the policy with which it began", store+"/sweep.go",
			"m, same := now.within(m)", "_, same := now.within(m)", store, "^TestSweepClearsNothing"),

		// Prove.
		rule("a server that takes no writes decides", store+"/sessions.go",
			"\tcase rows[0].ReadOnly:", "\tcase rows[0].ReadOnly && rows[0].UserID < 0:", store, "^TestReadOnlyServerDecidesNothing"),
		rule("a server that takes no writes refuses a change", store+"/authorize.go",
			"\tcase readOnly:", "\tcase readOnly && err == nil:", store, "^TestReadOnlyServerAnswersNothing/^SQLite$"),
		rule("a server that takes no writes has nothing to change", store+"/authorize.go",
			"\t\treturn db.decided(tx, nil)", "\t\treturn nil", store, "^TestReadOnlyServerAnswersNothing/^SQLite$"),
		rule("a server that takes no writes finds users", store+"/names.go",
			"case err == nil && row.ReadOnly:", "case err == nil && row.ReadOnly && row.Alias == \"-\":", store, "^TestReadOnlyServerAnswersNothing/^SQLite$"),
		rule("a server that takes no writes refuses a code", store+"/secondfactor.go",
			"\tcase r.ReadOnly:", "\tcase r.ReadOnly && r.ID < 0:", store, "^TestReadOnlyServerAnswersNothing/^SQLite$"),
		rule("a server that takes no writes refuses a link", store+"/resets.go",
			"u.DB.decided(conn, found(done, account.ErrReset))", "found(done, account.ErrReset)", store, "^TestReadOnlyServerAnswersNothing/^SQLite$"),
		rule("a server that was replaced refuses a change", store+"/authorize.go",
			"return db.certain(conn, once(conn))", "return once(conn)", store, "^TestReplacedServerRefuses/^SQLite$"),
		rule("a server that was replaced has nothing to change", store+"/authorize.go",
			"return db.shows(tx) //", "return nil //", store, "^TestReplacedServerRefuses/^SQLite$"),
		rule("a server that was replaced refuses a link", store+"/resets.go",
			"u.DB.certain(conn, u.DB.decided(conn, found(done, account.ErrReset)))", "u.DB.decided(conn, found(done, account.ErrReset))", store, "^TestReplacedServerRefuses/^SQLite$"),
		rule("another server goes on where the last one was", feed+"/feed.go",
			"err == nil && (last.setBack(news.Now, start) || moved)", "err == nil && last.setBack(news.Now, start)", feed, "^TestAnotherServer"),

		rule("a row decides without a poll where servers may be replaced", "internal/store/layer/freshpolicy.go",
			"r.Proven != nil && !r.Proven() {\n\t\treturn session.Session{}, ErrUnproven\n\t}\n\tif err", "r.Proven == nil {\n\t\treturn session.Session{}, ErrUnproven\n\t}\n\tif err",
			"internal/store/layer", "^TestRowOfAServer"),
		rule("memory repeats a row of a server that was replaced", memory+"/sessions.go",
			"(t.Replaceable == nil || !t.Replaceable.Load())", "(t.Replaceable == nil || age >= 0)", memory, "^TestStaleHorizon"),
		rule("memory does not know that a server may be replaced", "internal/server/run/tiers.go",
			"Replaceable: db.ReplaceableFlag(), ", "", "internal/server/run", "^TestTiersKnow"),
		rule("a server that was replaced says that there is no such session", "internal/store/layer/freshpolicy.go",
			"if err != nil && mayLack(polled, id) {", "if err != nil && id == 0 && mayLack(polled, id) {", "internal/server/run", "^TestReplacedServer"),
		rule("a server that was replaced settles that there is no such session", "internal/store/layer/freshpolicy.go",
			"case missing && mayLack(polled, id):", "case id == 0 && mayLack(polled, id):", "internal/server/run", "^TestReplacedServer"),
		rule("a server that was replaced says that there is no such key", "internal/store/layer/readslots.go",
			"if err != nil && mayLack(polled, id) {", "if id == 0 && mayLack(polled, id) {", "internal/store/layer", "^TestKeyIsAsOfTheLast"),
		rule("a logout of what a cache holds asks no row", domain+"/close.go",
			"s.Rows.Get(ctx, id, *hash); !errors", "s.Rows.Get(ctx, id, *hash); err == nil && !errors", domain, "^TestCloseOfALoginThatOnly"),
		rule("a lost commit is not noticed", store+"/polls.go",
			"polled_at >= ?\", instance", "0 <= ?\", instance", store, "^TestPollNotices"),
		rule("an older copy after a long outage is not noticed", store+"/polls.go",
			"(older || time.Since(p.at) < silent)", "(older && p.lost || time.Since(p.at) < silent)", store, "^TestPollNotices"),
		rule("a repair that fails half-way is not on record", store+"/repair.go",
			"if err == nil && i == 0 && !lost.All {", "if err == nil && i == len(missing)-1 && !lost.All {", store, "^TestRepairIsOnRecord"),
		rule("a late node of Galera decides", store+"/topology.go",
			"wsrep_sync_wait = 7", "wsrep_sync_wait = 0", cluster, "^TestGalera$/^a_store_on_a_late"),
		rule("each server stamps by its own clock", store+"/dialect.go",
			"\"GREATEST(\" + mysqlClock + \", (SELECT COALESCE(MAX(polled_at), 0) FROM polls))\"", "mysqlClock", cluster, "^TestGalera$/^stores_on_nodes"),
		rule("the last admin is guarded by a lock only", store+"/accounts.go",
			"SET lock_version = lock_version + 1 WHERE scope", "SET lock_version = lock_version WHERE scope", cluster, "^TestGalera$/^stores_and_the_last"),
		rule("an actor is guarded by a lock only", store+"/authorize.go",
			"return p, db.lockUser(tx, by.ID)", "return p, nil", cluster, "^TestGalera$/^a_store_and_an_actor"),
		rule("a poll changes nothing", store+"/news.go",
			"return s.poller.poll(conn, &s.DB.d, s.Instance)", "return s.poller.look(conn, s.Instance)", cluster, "^TestGroupWithOnePrimary$/^a_store_on_a_primary"),
		rule("the answer of a server that was replaced counts", store+"/mysqlconn.go",
			"err == nil && c.replaced(ctx)", "err == nil && c.replaced(ctx) && false", store, "^TestServerThatIsNotThatOfTheLastPoll"),
		rule("the answer of a prepared check counts, also of a server that was replaced", store+"/mysqlconn.go",
			"return s.on.answer(ctx, rows, err)", "return rows, err", store, "^TestServerThatIsNotThatOfTheLastPoll"),
		rule("a list is answered by a server that was replaced", store+"/polls.go",
			"if !db.Replaceable() {\n\t\treturn nil", "if true {\n\t\treturn nil", cluster, "^TestGroupWithOnePrimary$/^a_list_of"),
		rule("a login has the device of another one", store+"/rows.go",
			"id != 0 && r.DeviceTokenID.Int64 == id", "id != 0", store, "^TestDeviceIsThat"),
		rule("several primaries are taken for one", store+"/topology.go",
			"case s.member() && !on(", "case s.member() && on(\"\") && !on(", cluster, "^TestGroupWithOnePrimary$/^a_store_in"),
		rule("a poll reads the ends on another connection", store+"/news.go",
			"ends(conn, since); err", "ends(s.DB.gorm.WithContext(ctx), since); err", store, "^TestPollReadsAll"),
		rule("a poll waits for a writer of another process", store+"/rules.go",
			`"PRAGMA busy_timeout = 0"`, `"PRAGMA busy_timeout = 1000"`, store, "^TestPollOfSQLite"),

		// AskLogout.
		rule("a logout by age does not ask the database", "internal/domain/session/close.go",
			"\thash := HashOf(t)\n\tended, err := s.Writer.End(", "\tif s.over(IDOf(t), layout.Time(IDOf(t))) != nil {\n\t\treturn Session{}, nil\n\t}\n\thash := HashOf(t)\n\tended, err := s.Writer.End(", domain, "^TestLogoutAlwaysAsks"),
	}
}
