package main

// starts is what protects a database from a start that cannot serve it.
func starts() []Mutant {
	return []Mutant{
		{
			Name: "a start migrates before it looks", File: "internal/server/run/serve.go",
			Old: "s.checkFirst, s.beginHashing, s.openStores,", New: "s.beginHashing, s.openStores, s.checkFirst,",
			Package: "internal/server/run", Test: "^TestAStartThatFailsLeavesTheDatabaseAsItWas$",
		},
		{
			Name: "the URL sets variables of sessions", File: "internal/server/config/databaseparams.go",
			Old: "\t\tunknown = true\n", New: "\t\tcontinue\n",
			Package: "internal/server/config", Test: "^TestBadValues$",
		},
	}
}
