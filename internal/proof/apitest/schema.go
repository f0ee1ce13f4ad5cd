package apitest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
)

// decode reads one JSON value. A repeated name, invalid UTF-8 and anything
// after the value are errors, which never repeat the body.
func decode(body []byte) (any, error) {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return nil, errors.New("the body is not one JSON value with distinct names in valid UTF-8")
	}
	return value, nil
}

// Document fails t unless text is a document of that schema of the contract. It is for what
// [Transport] cannot see, such as the events of a stream.
func Document(t testing.TB, schema string, text []byte) {
	t.Helper()
	ref := document(t).doc.Components.Schemas[schema]
	if ref == nil {
		t.Fatalf("apitest: components/schemas has no %s", schema)
	}
	value, err := decode(text)
	if err != nil {
		t.Fatalf("apitest: %s: %v", schema, err)
	}
	for _, fault := range checkSchema(ref.Value, value) {
		t.Errorf("%s:%s", schema, fault)
	}
}

// checkSchema says where value breaks s and which keyword it breaks. The words
// of the validator repeat the value, so none of them are used.
func checkSchema(s *openapi3.Schema, value any) []string {
	err := s.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors(), openapi3.VisitAsResponse())
	if err == nil {
		return nil
	}
	faults := leaves(err)
	if len(faults) == 0 {
		return []string{" cannot be checked"}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// leaves walks to the innermost schema errors: those around them say no more
// than that something inside is wrong.
func leaves(err error) []string {
	switch err := err.(type) { //nolint:errorlint // the walk is over the exact tree
	case nil:
		return nil
	case openapi3.MultiError:
		var all []string
		for _, one := range err {
			all = append(all, leaves(one)...)
		}
		return all
	case *openapi3.SchemaError:
		if inner := leaves(err.Origin); len(inner) > 0 {
			return inner
		}
		return []string{fault(err)}
	default:
		return leaves(errors.Unwrap(err))
	}
}

func fault(err *openapi3.SchemaError) string {
	var at strings.Builder
	for _, token := range err.JSONPointer() {
		at.WriteString("/" + quotable(token))
	}
	keyword := err.SchemaField
	if keyword == "properties" { // one of the two validators inside kin-openapi names it so
		keyword = "additionalProperties"
	}
	if at.Len() > 0 {
		return fmt.Sprintf(" %s breaks %q", at.String(), keyword)
	}
	return fmt.Sprintf(" breaks %q", keyword)
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// quotable is name, unless it could be a value that stands where a name
// belongs: a token is longer than any name of the contract.
func quotable(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return "(not shown)"
}
