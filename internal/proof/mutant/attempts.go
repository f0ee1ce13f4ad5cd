package main

// attempts are protections of the counts of attempts: none loses what is given back, and none
// is more than was counted.
func attempts() []Mutant {
	const redis, memory, store, limiter = "internal/store/redisstore", "internal/store/memstore", "internal/store/sqlstore", "internal/domain/ratelimit"
	attempt := func(what, file, old, change, in, test string) Mutant {
		return Mutant{Name: "attempts: " + what, File: file, Old: old, New: change, Package: in, Test: test}
	}
	return []Mutant{
		attempt("Redis is not told of attempts whose client has left", redis+"/buckets.go", "context.WithTimeout(context.WithoutCancel(ctx), askTimeout)", "context.WithTimeout(ctx, askTimeout)", redis, "^TestStore$"),
		attempt("who leaves after a proof is not remembered", limiter+"/limiter.go", "context.WithTimeout(context.WithoutCancel(ctx), onwardTime)", "context.WithTimeout(ctx, onwardTime)", limiter, "^TestWhoLeavesAfterAProof|^TestReturnedAttempts"),
		attempt("right passwords count as wrong ones", limiter+"/limiter.go", "case t.counted && t.before.Full > t.record.Now:", "case t.counted && t.before.Full > t.record.Now+4*l.Limits().LoginAccount.Interval().Milliseconds():", limiter, "^TestRightPasswordsAreNoFailures"),
		attempt("whether an attempt was counted is not known once its client has left", store+"/guards.go", "context.WithTimeout(context.WithoutCancel(ctx), tau)", "context.WithTimeout(ctx, tau)", store, "^TestWhoLeavesWhileAnAttempt"),
		attempt("a sweep gives a network its guesses back", limiter+"/count.go", "if int64(binary.BigEndian.Uint32(rest[4:]))*1000 > now {\n\t\t\treturn false", "if int64(binary.BigEndian.Uint32(rest[4:]))*1000 > now {\n\t\t\tbreak", limiter, "^TestSweepLeavesTheShareOfANetwork$"),
		attempt("a clock that is set back keeps people out", memory+"/sketch.go", "int64(now.Sub(s.begun))", "int64(now.Round(0).Sub(s.begun.Round(0)))", memory, "^TestClockThatIsSetBackKeepsNobodyOut$"),
	}
}
