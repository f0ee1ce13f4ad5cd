package main

// starts is what protects a database from a start that cannot serve it, and a deployment from
// its copy.
func starts() []Mutant {
	return []Mutant{
		{
			Name: "a start migrates before it looks", File: "internal/server/run/serve.go",
			Old: "s.checkFirst, s.beginHashing, s.openStores,", New: "s.beginHashing, s.openStores, s.checkFirst,",
			Package: "internal/server/run", Test: "^TestAStartThatFailsLeavesTheDatabaseAsItWas$",
		},
		{
			Name: "the URL sets variables of sessions", File: "internal/server/config/database.go",
			Old: "\t\tunknown = true\n", New: "\t\tcontinue\n",
			Package: "internal/server/config", Test: "^TestBadValues$",
		}, {
			Name: "all databases of a Redis have one key", File: "internal/store/redisstore/codec.go",
			Old: "if number == 0 {", New: "if number >= 0 {",
			Package: "internal/store/redisstore", Test: "^TestListenBelieves",
		}, {
			Name: "a key of second factors is missing without a word", File: "internal/domain/secondfactor/rekey.go",
			Old: "k.find(id) == nil {", New: "k.find(id) == nil && k.None() {",
			Package: "internal/domain/secondfactor", Test: "^TestMissingKeysAreNamed$",
		}, {
			Name: "a longer bound of another instance is not noticed", File: "internal/domain/fleet/reporter.go",
			Old: "longest > bound && ", New: "longest > bound && bound == 0 && ",
			Package: "internal/domain/fleet", Test: "^TestLongerBound",
		},
	}
}
