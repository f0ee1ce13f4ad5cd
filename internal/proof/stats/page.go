package main

import (
	"errors"
	"fmt"
	"strings"
)

// page is the document that shows the output, in the one block that begins with
// the first row.
const (
	page  = "ARCHITECTURE.md"
	begin = "```text\nproduct lines "
	end   = "```\n"
)

func format(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-21s %s\n", r.name, r.value)
	}
	return b.String()
}

// block cuts the page at its block.
func block(text string) (before, shown, after string, err error) {
	at := strings.Index(text, begin)
	if at < 0 {
		return "", "", "", errors.New(page + " has no block of what stats prints")
	}
	at += len("```text\n")
	length := strings.Index(text[at:], end)
	if length < 0 {
		return "", "", "", errors.New(page + ": the block has no end")
	}
	return text[:at], text[at : at+length], text[at+length:], nil
}
