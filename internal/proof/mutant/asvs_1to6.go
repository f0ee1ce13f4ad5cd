package main

import "slices"

// asvs1to6 is what the lines of V1 to V6 rest on.
func asvs1to6() asvsTable {
	return asvsTable{
		First: 1, Last: 6,
		Static: map[string]string{
			"4.2.1":  "net/http and nginx decide where a request ends; no code of ours reads the framing of a request",
			"4.2.3":  "golang.org/x/net/http2 refuses such headers; no code of ours reads frames of HTTP/2",
			"6.2.10": "there is no such feature, and no column says when a password was set",
			"6.4.2":  "there is no such feature, and no column for a hint or an answer",
		},
		Breaks: slices.Concat(asvs1(), asvs2(), asvs3(), asvs4to5(), asvs6Passwords(), asvs6Guessing(), asvs6Factors()),
	}
}

// breaks is one edit, and all the tests that are red for it.
func breaks(line, what, file, old, change, folder string, tests ...string) []asvsBreak {
	all := make([]asvsBreak, len(tests))
	for i, test := range tests {
		all[i] = asvsBreak{line, what, file, old, change, folder, test, ""}
	}
	return all
}
