package main

// attempts are protections of the counts of attempts: none loses what is given back, and none
// is more than was counted.
func attempts() []Mutant {
	const redis = "internal/store/redisstore"
	attempt := func(what, file, old, change, in, test string) Mutant {
		return Mutant{Name: "attempts: " + what, File: file, Old: old, New: change, Package: in, Test: test}
	}
	return []Mutant{
		attempt("Redis is not told of attempts whose client has left", redis+"/buckets.go", "context.WithTimeout(context.WithoutCancel(ctx), askTimeout)", "context.WithTimeout(ctx, askTimeout)", redis, "^TestStore$"),
	}
}
