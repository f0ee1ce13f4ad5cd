package model

// Worlds are the situations that are searched, small enough for every test run.
func Worlds() []World {
	return []World{
		{Name: "ends", End: 5, Acts: 2, Late: 1, Slow: 1},
		{Name: "uses", Kind: byIdle, End: 7, Long: 5, Short: 5, Uses: 2, Late: 1, Faults: 1},
		{Name: "changes, idle", Kind: byIdle, End: 7, Long: 5, Short: 3, Uses: 1, Sets: 1, Late: 1, Sweep: true},
		{Name: "changes, age", Kind: byAge, End: 7, Long: 4, Short: 2, Sets: 1, Late: 1, Sweep: true},
		{Name: "logout by age", Kind: byAge, End: 7, Long: 3, Short: 9, Acts: 1, Sets: 1},
		{Name: "sweep", Kind: byAge, End: 8, Long: 3, Short: 9, Sets: 1, Late: 1, Sweep: true},
		{Name: "servers", Kind: byIdle, End: 6, Long: 5, Short: 5, Acts: 1, Uses: 1, Faults: 1, Stale: true},
		{Name: "remote", Kind: byAge, End: 6, Long: 4, Short: 2, Acts: 1, Sets: 1, Remote: true},
		{Name: "limit", Kind: byLimit, End: 6, Long: 2, Short: 1, Sets: 2, Late: 1, Slow: 1, Sweep: true},
	}
}

// Whole are larger ones: minutes, and up to 8 GiB of memory.
func Whole() []World {
	return []World{
		{Name: "ends", End: 6, Acts: 3, Late: 1, Faults: 1, Slow: 1},
		{Name: "uses", Kind: byIdle, End: 9, Long: 5, Short: 5, Uses: 3, Late: 2, Faults: 1, Sweep: true},
		{Name: "changes, idle", Kind: byIdle, End: 8, Long: 5, Short: 3, Uses: 2, Sets: 2, Late: 1, Sweep: true},
		{Name: "changes, age", Kind: byAge, End: 7, Long: 4, Short: 2, Sets: 2, Acts: 1, Late: 1, Slow: 1, Sweep: true},
		{Name: "acts and changes", Kind: byIdle, End: 7, Long: 5, Short: 3, Acts: 1, Uses: 1, Sets: 1, Late: 1, Sweep: true},
		{Name: "sweep", Kind: byIdle, End: 9, Long: 3, Short: 9, Uses: 1, Sets: 1, Acts: 1, Late: 1, Sweep: true},
		{Name: "servers", Kind: byIdle, End: 7, Long: 5, Short: 5, Acts: 1, Uses: 1, Faults: 2, Stale: true},
		{Name: "remote", Kind: byIdle, End: 7, Long: 5, Short: 3, Acts: 1, Uses: 1, Sets: 1, Remote: true},
		{Name: "limit", Kind: byLimit, End: 7, Long: 2, Short: 1, Sets: 2, Late: 2, Slow: 1, Sweep: true},
		{Name: "limit and acts", Kind: byLimit, End: 6, Long: 2, Short: 1, Acts: 1, Sets: 2, Late: 1, Faults: 1, Slow: 1, Sweep: true},
		{Name: "limit, remote", Kind: byLimit, End: 6, Long: 2, Short: 1, Sets: 2, Slow: 1, Remote: true},
	}
}
