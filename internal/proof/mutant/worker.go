package main

const (
	simulation = "^TestSimulationMintsNothingTwice$"

	// looks is where a mutant lets others run, as the scheduler of the simulation
	// does at each look at a clock: a gap of nanoseconds becomes one of any length.
	looks = "w.clock.milli()"

	// sleeps is the same where callers are real and many.
	order  = "^TestOrderHoldsForEveryCaller$"
	sleeps = "time.Sleep(20 * time.Microsecond)"
)

// worker is what protects a Worker.
func worker() []Mutant {
	seeds := []string{"-seeds", "6000"}
	mint, renew, work, batch := "idworker/mint.go", "idworker/renew.go", "idworker/worker.go", "idworker/mint.go"
	sim := func(name, file, old, change string) Mutant {
		return Mutant{Name: name, File: file, Old: old, New: change, Package: "idworker", Test: simulation, Args: seeds}
	}
	test := func(name, file, old, change, test string) Mutant {
		return Mutant{Name: name, File: file, Old: old, New: change, Package: "idworker", Test: test}
	}
	return []Mutant{
		sim("both ends of a range read apart", mint,
			"v := w.word.Add(1)\n\t// Always after the value is taken: see publish.\n\tif g := w.grant.Load(); g.holds(v) {",
			"lo := w.grant.Load().lo\n\tv := w.word.Add(1)\n\t"+looks+"\n\tif g := w.grant.Load(); v-lo < g.hi-lo {"),
		test("a range looked at before the value is taken", mint,
			"v := w.word.Add(1)\n\t// Always after the value is taken: see publish.\n\tif g := w.grant.Load(); g.holds(v) {",
			"g := w.grant.Load()\n\t"+sleeps+"\n\tv := w.word.Add(1)\n\tif g.holds(v) {", order),
		sim("a value looked at and not taken", mint,
			"v := w.word.Add(1)\n\t// Always",
			"v := w.word.Load() + 1\n\t"+looks+"\n\tw.word.Store(v)\n\t// Always"),
		sim("reserved values not looked at again", mint,
			"if g := w.grant.Load(); g.holds(v) && g.holds(v+n-1) {",
			looks+"\n\t\tif g := w.grant.Load(); true {"),
		test("only the end of a range is a bound", work,
			"return v-g.lo < g.hi-g.lo }", "return v < g.hi }", "^TestGrantHoldsItsRangeOnly$"),
		sim("a range begins in a tick that was used", work,
			"n.lo = max(n.lo, uint64(w.tickOf(last)+1)<<w.seqBits)",
			"n.lo = max(n.lo, uint64(w.tickOf(last))<<w.seqBits)"),
		{
			Name: "the old range stays while the word moves", File: work,
			Old: "w.grant.Store(&grant{lent: Grant{Number: w.Number()}})\n", New: "",
			Also:    [][2]string{{"n.hi = max(n.lo, n.hi)\n", "n.hi = max(n.lo, n.hi)\n\t" + sleeps + "\n"}},
			Package: "idworker", Test: order,
		},
		sim("the end of a range rounds up", work,
			"hi := max(0, lent.Until.UnixMilli()-epoch) / unit",
			"hi := (max(0, lent.Until.UnixMilli()-epoch) + unit - 1) / unit"),
		sim("closed by looking and not by a swap", work,
			"last := w.word.Swap(closedWord)",
			"last := w.word.Load()\n\t"+looks+"\n\tw.word.Store(closedWord)"),
		sim("the last tick is handed back", work,
			"used = w.instant(w.tickOf(last) + 1)", "used = w.instant(w.tickOf(last))"),
		test("a refused start keeps a unit", work,
			"w.lender.Release(ctx, g.lent, g.lent.From))\n\t}\n\treturn w, nil", "w.Close(ctx))\n\t}\n\treturn w, nil", "^TestRefusedOpenLeavesTheFence$"),
		test("refused calls take values", mint,
			"due > now && w.policy != ClockIgnore {", "due > now && w.policy != ClockIgnore && false {", "^TestRefusedCallsUseUpNoFuture$"),
		test("a call after a refused one does not look first", mint,
			"if w.wary.Load() {\n\t\treturn w.mint(ctx, w.word.Load()+1, 0)\n\t}\n\tv := w.word.Add(1)\n\t// Always", "v := w.word.Add(1)\n\t// Always", "^TestOutageUsesUpNoFuture$"),
		sim("a closed worker is opened by a renewal", work,
			"if last >= closedWord {\n\t\t\treturn ErrClosed\n\t\t}\n\t\tn.lo",
			"if last >= closedWord {\n\t\t\tlast = 0\n\t\t\tw.word.Store(0)\n\t\t}\n\t\tn.lo"),
		sim("closed is not reported while the clock is behind", "idworker/wait.go",
			"if w.word.Load() >= closedWord {\n\t\t\treturn 0, ErrClosed", "if false {\n\t\t\treturn 0, ErrClosed"),
		sim("the last range goes on after a takeover", renew,
			"case !errors.Is(err, ErrLost):",
			"case errors.Is(err, ErrLost):\n\t\t\tn := w.grantOf(Grant{Number: g.lent.Number, Token: g.lent.Token, From: g.lent.From, Until: until}, window)\n\t\t\tn.lo, n.node = g.lo, g.node\n\t\t\tw.grant.Store(n)\n\t\t\treturn nil\n\t\tcase true:"),
		sim("minted before the fence is written", renew,
			"lent, err := w.lender.Extend(ctx, g.lent, until)",
			"early := w.grantOf(Grant{Number: g.lent.Number, Token: g.lent.Token, From: g.lent.From, Until: until}, window)\n\t\tearly.lo, early.node = g.lo, g.node\n\t\tw.grant.Store(early)\n\t\tlent, err := w.lender.Extend(ctx, g.lent, until)"),
		sim("a failed extension counts as one", renew,
			"case !errors.Is(err, ErrLost):\n\t\t\treturn fmt.Errorf(\"%w: %w\", ErrNoGrant, err)",
			"case !errors.Is(err, ErrLost):\n\t\t\tn := w.grantOf(Grant{Number: g.lent.Number, Token: g.lent.Token, From: g.lent.From, Until: until}, window)\n\t\t\tn.lo, n.node = g.lo, g.node\n\t\t\tw.grant.Store(n)\n\t\t\treturn nil"),
		sim("NextN fills in one more than it took", batch,
			"dst[i] = ID(v>>bits<<shift | node | v&mask<<at)\n\t\tv++", "v++\n\t\tdst[i] = ID(v>>bits<<shift | node | v&mask<<at)"),
		sim("NextAfter stops at the floor", mint,
			"if err != nil || id > floor {", "if err != nil || id >= floor-1 {"),
		test("the sequence begins at 0 in each tick", mint,
			"return turn & (w.seqMask >> 1)", "return 0", "^TestSequenceKeepsTurning"),
		test("the sequence turns by 2", mint,
			"w.drop(v)\n\treturn w.mint(ctx, v, 0)\n}\n\n// follow", "w.drop(v)\n\treturn w.mint(ctx, 2*v, 0)\n}\n\n// follow",
			"^TestSequenceKeepsTurning"),
		sim("a range ends behind the layout", work,
			"hi: uint64(min(hi, w.end())) << w.seqBits", "hi: uint64(hi) << w.seqBits"),
		test("a worker whose lender stands still is healthy", "idworker/stats.go",
			"\tif w.stuck(now) {\n", "\tif false && w.stuck(now) {\n", "^TestWorkerThatMintsNothing"),
		test("a window may have a fraction of a millisecond", "idworker/options.go",
			"o.Window = o.Window.Truncate(time.Millisecond)", "_ = 0", "^TestWindowWithAFraction"),
		test("the steady clock follows the wall clock back", "idworker/clock.go",
			"if c.ahead = wall - after; c.ahead >= slack {", "if c.ahead = wall - after; c.ahead >= slack || c.ahead < 0 {",
			"^TestSteadyClockCatchesUpAndNeverGoesBack$"),
		test("a taker of the ring does not look again", "idworker/ring.go",
			"if r.head.CompareAndSwap(head, head+1) {", "r.head.Store(head + 1)\n\t\tif true {",
			"^TestRingTakesNothingTwice"),
		test("the ring's slot is read after the head has moved", "idworker/ring.go",
			"id := r.slots[head&r.mask].Load()\n\t\tif r.head.CompareAndSwap(head, head+1) {",
			"if r.head.CompareAndSwap(head, head+1) {\n\t\t\tid := r.slots[head&r.mask].Load()",
			"^TestRingTakesNothingTwice"),
		test("a part of an ID may be one too large", "idworker/layout.go",
			"v >= 0 && v < 1<<bits", "v >= 0 && v <= 1<<bits", "^TestComposeRefuses"),
		{
			Name: "the worker of a layout with WorkerLast is shifted", File: "idworker/layout.go",
			Old: "if l.WorkerLast {\n\t\treturn 0\n\t}\n\treturn l.SequenceBits", New: "return l.SequenceBits",
			Package: "idworker", Test: "^TestEveryLayout",
		},
	}
}
