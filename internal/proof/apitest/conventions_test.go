package apitest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestConventionsSayWhereQueriesAreUsed: under /v1/admin, and wherever the text names; and who
// has parameters refuses others.
func TestConventionsSayWhereQueriesAreUsed(t *testing.T) {
	doc, seen := load(t), 0
	_, text, _ := strings.Cut(doc.Info.Description, "- Query parameters")
	text, _, _ = strings.Cut(text, "\n- ")
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			listed := false
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				listed = listed || p.Value.In == openapi3.ParameterInQuery
			}
			if !listed {
				continue
			}
			seen++
			if name := "`" + method + " " + path + "`"; !strings.HasPrefix(path, "/v1/admin/") && !strings.Contains(text, name) {
				t.Errorf("the Conventions do not say that %s uses query parameters", name)
			}
			if op.Responses.Status(422) == nil {
				t.Errorf("%s %s refuses no parameter", method, path)
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d operations with query parameters", seen)
	}
}

// TestCursorsSayTheirBound, which the pattern of 19 digits cannot.
func TestCursorsSayTheirBound(t *testing.T) {
	doc := load(t)
	for name, text := range map[string]string{"Cursor": doc.Components.Parameters["Cursor"].Value.Description, "NextCursor": doc.Components.Schemas["NextCursor"].Value.Description} {
		if !strings.Contains(text, "below 2^63") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
