package main

// addresses are protections against a client that chooses from where it comes.
func addresses() []Mutant {
	address := func(name, file, old, change string) Mutant {
		return Mutant{
			Name: "address: " + name, File: "internal/edge/clientaddr/" + file, Old: old, New: change,
			Package: "internal/edge/clientaddr", Test: "^TestAddress|^TestTwoHeaders|^FuzzAppended",
		}
	}
	return []Mutant{
		address("every peer is believed", "clientaddr.go", "if !within(trusted, peer) {", "if false {"),
		address("the first entry counts", "clientaddr.go", "if at = next; !within(trusted, at) {", "if at = next; false {"),
		address("what is no address is passed over", "clientaddr.go", "if !next.IsValid() {\n\t\t\tbreak", "if !next.IsValid() {\n\t\t\tcontinue"),
		address("two headers, and one counts", "clientaddr.go", "if a != b {", "if a == peer && a != b {"),
		address("a zone stays", "clientaddr.go", `a.WithZone("").Unmap()`, "a.Unmap()"),
		address("IPv4 in other clothes stays", "clientaddr.go", `a.WithZone("").Unmap()`, `a.WithZone("")`),
		address("quotation marks mean nothing", "header.go", "case s[i] == sep && !quoted:", "case s[i] == sep:"),
		address("the first for of two", "header.go", "if seen { //", "if seen = false; seen { //"),
	}
}
