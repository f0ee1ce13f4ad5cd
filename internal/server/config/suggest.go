package config

import "strings"

// suggest is " Did you mean X?" with the candidate nearest to name, or
// nothing if none is near.
func suggest(name string, candidates []string, shown func(string) string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	name = strings.TrimPrefix(name, strings.ToLower(prefix))
	if len(name) > 40 { // no setting's name is near, and distance takes the product of the lengths
		return ""
	}
	best, least := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if d := distance(name, c); d < least {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return " Did you mean " + shown(best) + "?"
}

// distance is the number of bytes to insert, delete or replace to make b of a
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
