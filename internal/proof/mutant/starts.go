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
			Name: "what root starts stays root", File: "internal/server/run/owner_unix.go",
			Old: "return syscall.Setuid(of.uid)", New: "return nil",
			Package: "internal/proof/commandtest", Test: "^TestRootGoesOnAsTheOwner",
		}, {
			Name: "the owner of a link is not asked for", File: "internal/server/run/owner_unix.go",
			Old: "os.Lstat(next)", New: "os.Stat(next)",
			Package: "internal/server/run", Test: "^TestOwnerOnTheWay$",
		}, {
			Name: "connections are taken for which there are no files", File: "internal/server/run/files.go",
			Old: "if !known || room", New: "if known || room",
			Package: "internal/server/run", Test: "^TestOpenFilesEnd",
		}, {
			Name: "the URL sets variables of sessions", File: "internal/server/config/database.go",
			Old: "\t\tunknown = true\n", New: "\t\tcontinue\n",
			Package: "internal/server/config", Test: "^TestBadValues$",
		}, {
			Name: "an error repeats what NAME_FILE is", File: "internal/server/config/secret.go",
			Old:     "cannot read that file (%s); check the path and who may read it, or use the setting without _FILE for the value itself\", cause(err))",
			New:     "cannot read %s (%s)\", quoted(path), cause(err))",
			Package: "internal/server/config", Test: "^TestSecretInThePlaceOfItsFile",
		}, {
			Name: "a port is open while a start waits", File: "internal/server/run/serve.go",
			Old:     "\tlink, err := patiently(ctx, s.cfg.DatabaseWait, s.log, console.SetupPath)\n\tif err != nil {\n\t\treturn err\n\t}\n",
			New:     "",
			Also:    [][2]string{{"\tif link != ", "\tlink, err := patiently(ctx, s.cfg.DatabaseWait, s.log, console.SetupPath)\n\tif err != nil {\n\t\treturn err\n\t}\n\tif link != "}},
			Package: "internal/server/run", Test: "^TestNoPortIsOpenWhile",
		}, {
			Name: "a start does not wait for the key of the deployment", File: "internal/server/run/system.go",
			Old: "patiently(ctx, s.cfg.DatabaseWait, s.log, (&sqlstore.Settings{DB: s.db}).CacheKey)", New: "(&sqlstore.Settings{DB: s.db}).CacheKey(ctx)",
			Package: "internal/server/run", Test: "^TestADatabaseThatIsSlow",
		}, {
			Name: "a policy is set by a clock that is a year ahead", File: "internal/store/sqlstore/policies.go",
			Old: "ahead > s.DB.ahead {", New: "ahead < -s.DB.ahead {",
			Package: "internal/store/sqlstore", Test: "^TestPolicyIsNotSetBy.*/^SQLite$",
		}, {
			Name: "a clock that was ahead closes an account to a network", File: "internal/domain/ratelimit/count.go",
			Old: "if full-now > 2*per {", New: "if false {",
			Package: "internal/domain/ratelimit", Test: "^TestCountsGoByTheClock",
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
		}, {
			Name: "a change is made in a file that is gone", File: "internal/store/sqlstore/retry.go",
			Old: "\t\tif err == nil {\n\t\t\terr = db.file.check()\n\t\t}\n\t\tif err == nil {\n\t\t\terr = f()\n", New: "\t\tif err == nil {\n\t\t\terr = f()\n",
			Package: "internal/store/sqlstore", Test: "^TestChangeOfAFileThatIsGone$",
		}, {
			Name: "what was committed to a file that is gone is acknowledged", File: "internal/store/sqlstore/retry.go",
			Old: "if err == nil { // what was committed", New: "if false { // what was committed",
			Package: "internal/store/sqlstore", Test: "^TestChangeOfAFileThatIsGone$",
		}, {
			Name: "a file that came back decides", File: "internal/store/sqlstore/retry.go",
			Old: "\tif !f.gone.Load() {\n", New: "\t{\n",
			Package: "internal/store/sqlstore", Test: "^TestChangeOfAFileThatIsGone$",
		}, {
			Name: "statements go on in a file that is gone", File: "internal/store/sqlstore/retry.go",
			Old: "if f != nil && f.gone.Load() {", New: "if f != nil && f.gone.Load() && f.path == \"\" {",
			Package: "internal/store/sqlstore", Test: "^TestChangeOfAFileThatIsGone$",
		}, {
			Name: "the -wal of another file is not noticed", File: "internal/store/sqlstore/retry.go",
			Old: `[]string{path, path + "-wal", path + "-shm"}`, New: "[]string{path}",
			Package: "internal/store/sqlstore", Test: "^TestChangeOfAFileThatIsGone$",
		}, {
			Name: "the log of a file that is gone is written at the end", File: "internal/store/sqlstore/sqlstore.go",
			Old: "if db.file.check() != nil {\n\t\treturn nil\n\t}\n\treturn errors", New: "return errors",
			Package: "internal/proof/deploytest", Test: "^TestCloseWritesNothingIntoAFileThatWasReplaced$",
		}, {
			Name: "no connection keeps the -wal", File: "internal/store/sqlstore/retry.go",
			Old: "\treturn f, nil\n}\n\n// close", New: "\treturn f, keep.Close()\n}\n\n// close",
			Package: "internal/store/sqlstore", Test: "^TestFilesBesideADatabaseStayTheSame$",
		}, {
			Name: "a certificate that ends is not named", File: "internal/server/keypair/keypair.go",
			Old: "leaf.NotAfter.Sub(leaf.NotBefore)/10:", New: "leaf.NotAfter.Sub(leaf.NotBefore)/1000:",
			Package: "internal/server/keypair", Test: "^TestCertificateThatEndsIsNamed$",
		}, {
			Name: "a certificate of next week is shown", File: "internal/server/keypair/keypair.go",
			Old: "if leaf.NotBefore.After(now.Add(skew)) {", New: "if leaf.NotBefore.After(now.Add(1000 * skew)) && skew < 0 {",
			Package: "internal/server/keypair", Test: "^TestLoadSaysWhichFileIsWrong$",
		},
	}
}
