package httpapi

// Told is what the server can tell of itself: the code of each problem in its
// table, with the status.
func Told() map[string]int {
	all := map[string]int{internal.Code: internal.Status}
	for _, t := range told {
		all[t.p.Code] = t.p.Status
	}
	return all
}

// ToldErrors are the errors in the table.
func ToldErrors() map[error]string {
	all := map[error]string{}
	for _, t := range told {
		all[t.err] = t.p.Code
	}
	return all
}
