package main

// lenders is what protects the stores of fences.
func lenders() []Mutant {
	file := func(name, file, old, change, test string) Mutant {
		return Mutant{Name: "file: " + name, File: "idworker/" + file, Old: old, New: change, Package: "idworker/fileworker", Test: test}
	}
	table := func(name, old, change string) Mutant {
		return Mutant{Name: "table: " + name, File: "idworker/sqlworker/sqlworker.go", Old: old, New: change, Package: "internal/proof/sqlworkertest", Test: "KeepsThePromise$/^SQLite$"}
	}
	const promise, disk = "^TestLenderKeepsThePromise$", "^TestNoDiskLowersTheFence$"
	return []Mutant{
		file("a range begins at now", "fileworker/fileworker.go", "from := max(lend.Now(l.Now), h.fence)", "from := lend.Now(l.Now)", "^TestNumberWhoseFenceIsAhead"),
		file("the fence is written behind", "fileworker/fileworker.go", "err = h.write(until)", "err = h.write(from)", promise),
		file("the token names the host", "fileworker/fileworker.go", "token := rand.Text()", "token := rand.Text()[:0] + l.Dir", promise),
		file("a file that was replaced is extended", "fileworker/fileworker.go", "if !same {", "if !same && false {", "^TestDeletedFile"),
		file("no process locks", "internal/durable/lock_flock.go", "case errors.Is(err, syscall.EWOULDBLOCK):\n\t\t\treturn ErrBusy", "case errors.Is(err, syscall.EWOULDBLOCK):\n\t\t\treturn nil", promise),
		file("a number is not held where it was before", "fileworker/file.go", "if err == nil && twice {", "if err == nil && twice && false {", "^TestNumberIsHeldInTheDirectoryBefore$"),
		file("a fence is not written where it was before", "fileworker/file.go", "if h.before != nil {", "if false {", "^TestNumberIsHeldInTheDirectoryBefore$"),
		file("the name of a file is not made durable where it was before", "fileworker/fileworker.go", "if err == nil && h.before != nil {", "if err == nil && h.before != nil && false {", "^TestNameOfANewFileIsMadeDurable$"),
		file("everything is handed back", "fileworker/fileworker.go", "fence := max(lend.CeilMilli(used), g.From.UnixMilli())", "fence := g.From.UnixMilli()", promise),
		file("one copy only", "internal/durable/file.go", "for _, f.torn = range []int{first, 1 - first} {", "for _, f.torn = range []int{first, first} {", "^TestNoDamageLowersTheFence$|"+disk),
		file("nothing waits for the disk", "internal/durable/file.go", "return err\n\t\t}\n\t\tif err := f.file.Datasync(); err != nil {", "return err\n\t\t}\n\t\tif err := error(nil); err != nil {", disk),
		file("both copies are under way at once", "internal/durable/file.go", "return err\n\t\t}\n\t\tif err := f.file.Datasync(); err != nil {", "return err\n\t\t}\n\t\tif f.torn == first {\n\t\t\tcontinue\n\t\t}\n\t\tif err := f.file.Datasync(); err != nil {", disk),
		file("a fence counts before it is written", "fileworker/file.go", "if err := h.file.Write(appendRecord(nil, fence)); err != nil {", "h.fence = fence\n\tif err := h.file.Write(appendRecord(nil, fence)); err != nil {", disk),
		file("a copy that may be whole is written first", "fileworker/file.go", "file.Damaged()", "_ = file", disk),
		file("what a killed process wrote is not waited for", "internal/durable/file.go", "if !f.clean {", "if false {", disk),
		file("a record is not checked", "fileworker/file.go", "fence < 0 || !bytes.Equal(b, appendRecord(nil, fence))", "fence < 0 || bytes.Equal(b, nil)", "^TestNoDamageLowersTheFence$|"+disk),

		{
			Name: "zookeeper: a write that fails is reported", File: "idworker/zkworker/dial.go",
			Old: "_ = p.Close()\n\t}\n\treturn len(b), nil", New: "return 0, err\n\t}\n\treturn len(b), nil",
			Package: "idworker/zkworker", Test: "^TestConnectionThatBreaks",
		},

		table("a range begins at now", "from := max(now, seat.fence)", "from := now"),
		table("the fence is written behind", "token, lend.Holder(l.Holder), until, s.number, s.owner, s.fence))", "token, lend.Holder(l.Holder), s.fence, s.number, s.owner, s.fence))"),
		table("the token names the host", "token := crand.Text()", "token := crand.Text()[:0] + l.Holder"),
		table("any process extends", "WHERE number = ? AND owner_token = ? AND fence_ms < ?`", "WHERE number = ? AND owner_token <> ? AND fence_ms < ?`"),
		table("any process takes a number that another took", "WHERE number = ? AND owner_token = ? AND fence_ms = ?`,", "WHERE number = ? AND '' <> ? AND 0 < ?`,"),
		table("any process hands back", "WHERE number = ? AND owner_token = ?`, fence, fence, g.Number, g.Token))", "WHERE number = ? AND '' <> ?`, fence, fence, g.Number, g.Token))"),
		table("handing back raises the fence", "CASE WHEN fence_ms > ? THEN ? ELSE fence_ms END", "CASE WHEN fence_ms > ? THEN ? ELSE fence_ms + 9999999 END"),
		table("everything is handed back", "fence := max(lend.CeilMilli(used), g.From.UnixMilli())", "fence := g.From.UnixMilli()"),
	}
}

// migrating is what lets one instance at a time migrate a database.
func migrating() []Mutant {
	lease := func(name, file, old, change, test string) Mutant {
		return Mutant{Name: "lease: " + name, File: "migrations/" + file, Old: old, New: change, Package: "migrations", Test: test}
	}
	return []Mutant{
		lease("whoever lost it goes on", "lease.go", "if err == nil && !mine {", "if err == nil && false && !mine {", "^TestWhoLostTheLeaseBeginsNoStep$"),
		lease("nobody waits", "lease.go", `now.owner == "" || unchanged`, "true || unchanged", "^TestALivingHolderIsWaitedFor$|^TestWaitingEndsWithTheContext$"),
		lease("a step that was cut off is not recorded", "steps.go", "isThere(err) && begun == to.of(m) {", "isThere(err) && begun*0 != 0 {", "^TestALostAnswerLeavesNothingToRepair$"),
		lease("a table of somebody else is adopted", "steps.go", "isThere(err) && begun == to.of(m) {", "isThere(err) && begun*0 == 0 {", "^TestHalfFailedMigration"),
		lease("what the same run has begun is somebody else's", "steps.go", "begun = r.lease.doing", "_ = begun", "^TestRecordThatWaitsIsMadeUpFor$"),
		lease("a step is undone below a newer one", "runner.go", "list[0].number != have.newest()", "false", "^TestWhoWaitedGoesByWhatThereIsNow$"),
		lease("a step of SQLite is undone below a newer one", "record.go", "AND number = (SELECT MAX", "AND number <= (SELECT MAX", "^TestWhoWaitedGoesByWhatThereIsNow$"),
	}
}

// harness is what looks for duplicates: it has to find them.
func harness() []Mutant {
	return []Mutant{
		{
			Name: "harness: a run of IDs is not compared", File: "internal/proof/dup/ledger/twice.go",
			Old: "if r.from < end {", New: "if r.from < end && r.end-r.from > 1 {",
			Package: "internal/proof/dup/ledger", Test: "^Test", Args: []string{"-rapid.nofailfile"},
		},
		{
			Name: "harness: two equal IDs make one run", File: "internal/proof/dup/ledger/ledger.go",
			Old: "runs[n-1].end == k {\n\t\t\truns[n-1].end++", New: "runs[n-1].end >= k {\n\t\t\truns[n-1].end = k + 1",
			Package: "internal/proof/dup/ledger", Test: "^Test", Args: []string{"-rapid.nofailfile"},
		},
		{
			Name: "harness: what is in files is not compared", File: "internal/proof/dup/ledger/twice.go",
			Old: "for _, name := range l.files {", New: "for _, name := range l.files[:0] {",
			Package: "internal/proof/dup/ledger", Test: "^Test", Args: []string{"-rapid.nofailfile"},
		},
		{
			Name: "harness: a lender without a fence is spared", File: "internal/proof/dup/kind.go",
			Old: "g := idworker.Grant{Token: \"configured\", From: u.now()}", New: "g := idworker.Grant{Token: \"configured\", From: u.now(), Number: int(u.now().UnixNano() / 1000 % 1024)}\n\tu.number = nil",
			Package: "internal/proof/dup", Test: "^TestLenderWithoutAFence",
		},
	}
}
