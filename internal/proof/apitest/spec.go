// Package apitest holds a running server to the HTTP contract: it lists what
// api/openapi.yaml promises, and checks answers against it.
package apitest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/flakepass/flakepass/api"
)

// An Operation is one method of one path of the contract. The path is a
// template as the document spells it, such as /v1/me.
type Operation struct{ Method, Path string }

// String is the method and the path, such as "GET /v1/me".
func (o Operation) String() string { return o.Method + " " + o.Path }

// A Problem is one way in which an operation can fail.
type Problem struct {
	Status int    // HTTP status
	Code   string // stable name, such as token_expired
}

// AnyPath is the key of [Codes] for the problems that belong to no operation:
// an unknown path, or a method that its path does not have.
const AnyPath = "*"

// Operations lists the operations of the contract, ordered by path and method.
func Operations(t testing.TB) []Operation {
	t.Helper()
	var all []Operation
	for path, item := range document(t).doc.Paths.Map() {
		for method := range item.Operations() {
			all = append(all, Operation{method, path})
		}
	}
	slices.SortFunc(all, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return all
}

// Parameters are the names of the query parameters of each operation that has some. The key
// is the operation as [Operation.String] writes it.
func Parameters(t testing.TB) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for path, item := range document(t).doc.Paths.Map() {
		for method, op := range item.Operations() {
			for _, p := range op.Parameters {
				if p.Value.In == openapi3.ParameterInQuery {
					name := Operation{method, path}.String()
					all[name] = append(all[name], p.Value.Name)
				}
			}
		}
	}
	return all
}

// Codes lists the problems of each operation, ordered by status and code. The
// key is the operation as [Operation.String] writes it, or [AnyPath].
func Codes(t testing.TB) map[string][]Problem {
	t.Helper()
	c := document(t)
	all := make(map[string][]Problem)
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			var list []Problem
			for status, response := range op.Responses.Map() {
				code, err := strconv.Atoi(status)
				if err != nil {
					t.Fatalf("apitest: %s %s: status %q is not a number", method, path, status)
				}
				list = append(list, problems(code, response.Value)...)
			}
			slices.SortFunc(list, func(a, b Problem) int {
				return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
			})
			all[Operation{method, path}.String()] = list
		}
	}
	all[AnyPath] = append(problems(404, c.notFound), problems(405, c.methodNotAllowed)...)
	return all
}

// problems are the codes that a response allows: the narrowest list of the
// property code in the schema of its problem document.
func problems(status int, r *openapi3.Response) []Problem {
	if status < 400 {
		return nil
	}
	media := ProblemMedia(r)
	if media == nil {
		return nil
	}
	var list []Problem
	for _, code := range codesOf(media.Schema.Value) {
		list = append(list, Problem{status, code})
	}
	return list
}

// ProblemMedia is the problem document of a response whose status is 400 or
// more: as problem+json, or as the JSON that OAuth clients read.
func ProblemMedia(r *openapi3.Response) *openapi3.MediaType {
	if media := r.Content["application/problem+json"]; media != nil {
		return media
	}
	return r.Content["application/json"]
}

// codesOf reads the enum of code. The document writes it in one more member of
// allOf.
func codesOf(s *openapi3.Schema) []string {
	var codes []string
	if code := s.Properties["code"]; code != nil {
		for _, v := range code.Value.Enum {
			codes = append(codes, fmt.Sprint(v))
		}
	}
	for _, part := range s.AllOf {
		codes = append(codes, codesOf(part.Value)...)
	}
	return codes
}

// A contract is the loaded document. It is only read once it is loaded.
type contract struct {
	doc                        *openapi3.T
	router                     routers.Router
	notFound, methodNotAllowed *openapi3.Response
}

var load = sync.OnceValues(func() (*contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.Spec())
	if err != nil {
		return nil, fmt.Errorf("apitest: load: %w", err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("apitest: route: %w", err)
	}
	c := &contract{doc: doc, router: router}
	for name, to := range map[string]**openapi3.Response{"NotFound": &c.notFound, "MethodNotAllowed": &c.methodNotAllowed} {
		ref := doc.Components.Responses[name]
		if ref == nil {
			return nil, fmt.Errorf("apitest: load: components/responses has no %s", name)
		}
		*to = ref.Value
	}
	return c, nil
})

func document(t testing.TB) *contract {
	t.Helper()
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
