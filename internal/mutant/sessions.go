package main

// sessions are protections of revocation: what keeps an instance from believing
// a login after its end, or refusing one before.
func sessions() []Mutant {
	const (
		simulation = "internal/session/simulation"
		worlds     = "^TestRevocationHolds$"
	)
	session := func(name, file, old, change, folder, test string) Mutant {
		return Mutant{Name: "session: " + name, File: "internal/" + file, Old: old, New: change, Package: folder, Test: test}
	}
	return []Mutant{
		session("an answer's age counts from its arrival", "session/memtier/memtier.go",
			"\te := &entry{Session: s}\n", "\ts.AsOf = time.Now()\n\te := &entry{Session: s}\n", "internal/session/memtier", "^TestAliveIsBelievedByItsAsOf"),
		session("no as-of", "session/memtier/memtier.go",
			"return s, age < t.life && !horizon", "return s, !horizon", "internal/session/memtier", "^TestStaleHorizon|^TestFreshHorizon"),
		session("no horizon", "session/memtier/memtier.go",
			"!horizon.IsZero() && session.Age(now, horizon) < t.bound", "true", simulation, worlds),
		session("no dead-set", "session/memtier/graves.go",
			"case !ok || d.floor < id:", "case !ok || d.floor < id || true:", simulation, worlds),
		session("ends are forgotten too soon", "session/memtier/memtier.go",
			"t.graves.keep = 2*t.life + 2*o.Load + 30*time.Second", "t.graves.keep = time.Second", "internal/session/memtier", "^TestGraveOutlives"),
		session("what a poll brought is not noted", "session/feed/feed.go",
			"\tf.Learn(news)\n", "", simulation, worlds),
		session("windows do not overlap", "session/feed/feed.go",
			"since = f.last.Add(-overlap)", "since = f.last", "internal/session/feed", "^TestLateCommitIsSeen"),
		session("the horizon is the end of the poll", "session/feed/feed.go",
			"\tf.horizon.Store(&start)\n", "\tend := f.Now()\n\tf.horizon.Store(&end)\n", "internal/session/feed", "^TestHorizonIsTheStart"),
		session("a clock that was set back is not noticed", "session/feed/feed.go",
			"err == nil && f.setBack(news.Now, start)", "err == nil && f.setBack(news.Now, start) && false", "internal/session/feed", "^TestDatabaseClockSetBack"),
		session("a boot asks for no more than a turn", "session/feed/feed.go",
			"keep: 2*session.Life(o.Bound) + overlap", "keep: time.Second", simulation, worlds),
		session("the policy is not covered by the horizon", "session/feed/feed.go",
			"if f.With != nil {", "if false {", "internal/session/feed", "^TestHorizonCovers"),
		session("values in Redis are believed while nothing is heard", "session/redistier/redistier.go",
			"(t.feed == nil || t.feed.Fresh())", "true", "internal/session/redistier", "^TestValueIsBelievedOnly"),
		session("a plain SET fills", "session/redistier/client.go",
			"ttl.Milliseconds(), \"nx\")", "ttl.Milliseconds())", "internal/session/redistier", "^TestTombstoneIsNotOverwritten"),
		session("an error of Redis is a refusal", "session/redistier/redistier.go",
			"\ts, missing := t.next.Get(ctx, id)\n", "\tif err != nil && !absent(err) {\n\t\treturn session.Session{}, session.ErrNotFound\n\t}\n\ts, missing := t.next.Get(ctx, id)\n",
			simulation, worlds),
		session("no MAC", "session/redistier/codec.go",
			"if !hmac.Equal(b[len(body):], c.mac(key, body)) {", "if false {", "internal/session/redistier", "^TestForeignValues|^TestNoBitMayFlip"),
		session("told before it is written", "session/service.go",
			"\tended, err := s.Book.End(ctx, Ending{ID: t.ID(), Hash: hash, Reason: LoggedOut})\n",
			"\t_ = s.Store.Hear(ctx, Session{ID: t.ID(), Hash: hash, Ended: LoggedOut})\n\tended, err := s.Book.End(ctx, Ending{ID: t.ID(), Hash: hash, Reason: LoggedOut})\n",
			"internal/session", "^TestCloseIsWrittenBefore"),
		session("an end that is acknowledged is not told", "session/service.go",
			"\t\terr = s.Store.Hear(ctx, ended)\n", "", simulation, worlds),
		session("a login that the row has forgotten is left to memory", "session/service.go",
			"return s.bury(ctx, t.ID(), &hash)", "return Session{}, nil", simulation, worlds),
		session("the secret is not compared", "session/service.go",
			"case !got.Hash.Equal(hash):", "case false:", "internal/session", "^TestWrongSecret"),
		session("rules and floors are those of the question", "session/service.go",
			"\tif err == nil {\n\t\terr = s.over(id, issued, now)\n\t}\n", "", "internal/session", "^TestRulesAreThose"),
		session("a slow end is not stamped anew", "gormstore/news.go",
			"if time.Since(start) < s.DB.late {", "if true {", "internal/gormstore", "^TestSlowEnd"),
		session("an end compares nothing", "gormstore/endings.go",
			"const unmoved = \"id = ? AND COALESCE(token_id, 0) = ?\"", "const unmoved = \"id = ? AND COALESCE(token_id, 0) + ? >= 0\"",
			"internal/gormstore", "Vs|^TestStorm|^TestNothingHappens"),
		session("a sweep compares nothing", "gormstore/sweep.go",
			"still := \" AND \" + column + \" + 0 <= ?\"", "still, _ := \" AND ? > 0 AND token_id IS NOT NULL\", column",
			"internal/gormstore", "Sweep"),
		session("a sweep believes a clock that is ahead", "sweep/pass.go",
			"mine.Before(now)", "mine.After(now)", "internal/sweep", "^TestOnceAsks"),
		session("a row that cannot be cleared stops the sweep", "sweep/pass.go",
			"case !errors.Is(err, ErrUnclearable):", "case true:", "internal/sweep", "^TestPoisoned"),
		session("the lease of the sweep is for everybody", "gormstore/sweepbook.go",
			"WHERE id = 1 AND (lease_until <= ", "WHERE id = 1 AND (lease_until < 9000000000000 OR lease_until <= ",
			"internal/gormstore", "^TestLeaseIsOnes"),
	}
}
