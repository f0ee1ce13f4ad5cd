package apitest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// notRead are the answers in JSON that no method of the Go client reads, and why.
var notRead = map[string]string{
	"GET /healthz":           "it is for what restarts processes; Ready says more",
	"POST /v1/verifications": "flakepass.Remote reads it",
}

// notKept are the members of answers that the Go client does not give to its caller, and why.
var notKept = map[string]string{
	"POST /v1/login token_type":      "it is always Bearer",
	"POST /v1/issue token_type":      "it is always Bearer",
	"POST /v1/introspect token_type": "it is always Bearer",
	"GET /readyz warnings":           "they are for operators; Ready says whether requests may come",
	"a problem type":                 "the code names its page",
	"a problem status":               "that of HTTP is given",
	"a problem error":                "it is the code, in the words of OAuth",
	"a problem error_description":    "it is title and detail, for OAuth libraries",
	"a problem retry_after":          "the header has it",
}

// TestGoClientReadsAllOfTheContract: of every answer the client gives each member to its caller.
// It is shown by an answer that has all of them, and by others that each lack one: what comes of
// these is an error, or differs.
func TestGoClientReadsAllOfTheContract(t *testing.T) {
	t.Parallel()
	checked, calls := 0, calls()
	for path, item := range load(t).Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			for status, response := range op.Responses.Map() {
				media := response.Value.Content["application/json"]
				if media == nil || status >= "300" {
					continue
				}
				checked++
				do := calls[name]
				if (do == nil) != (notRead[name] != "") {
					t.Errorf("%s: it is called here is %v, and the reason why not is %q", name, do != nil, notRead[name])
				}
				code := map[string]int{"200": 200, "201": 201, "202": 202}[status]
				compare(t, name, one{code, "application/json", whole("", media.Schema.Value)}, do...)
			}
		}
	}
	if checked < 45 {
		t.Errorf("only %d answers", checked)
	}
	refused := func(ctx context.Context, c *client.Client) (any, error) {
		_, err := c.Me(ctx)
		p, ok := errors.AsType[*client.Problem](err)
		if !ok {
			return nil, err
		}
		return *p, nil
	}
	compare(t, "a problem", one{409, "application/problem+json", whole("", load(t).Components.Schemas["Problem"].Value)}, refused)
}

// A called is a method of the client.
type called func(context.Context, *client.Client) (any, error)

// compare makes the calls for the whole answer, and for each that lacks a member.
func compare(t *testing.T, name string, full one, calls ...called) {
	t.Helper()
	results := func(a one) (all []any, failed bool) {
		c, err := client.New(client.Options{URL: "https://a", HTTP: &http.Client{Transport: a}})
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range calls {
			v, err := do(t.Context(), c.As(flakepass.NewToken(7)))
			all, failed = append(all, v), failed || err != nil
		}
		return all, failed
	}
	want, failed := results(full)
	if failed {
		t.Errorf("%s: %v is refused", name, full.doc)
	}
	if calls == nil {
		return
	}
	for _, path := range members(nil, full.doc) {
		got, failed := results(one{full.status, full.kind, without(full.doc, path)})
		at := name + " " + strings.Trim(fmt.Sprint(path), "[]")
		if kept := failed || !reflect.DeepEqual(got, want); kept == (notKept[at] != "") {
			t.Errorf("%s (%d): the client gives it to its caller is %v, and the reason why not is %q", at, full.status, kept, notKept[at])
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// one is a server with one answer.
type one struct {
	status int
	kind   string
	doc    any
}

// RoundTrip is called by the client.
func (a one) RoundTrip(r *http.Request) (*http.Response, error) {
	doc := a.doc
	if r.URL.Query().Has("cursor") {
		doc = without(doc, []any{"next_cursor"})
	}
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {a.kind}}, Request: r, Body: io.NopCloser(bytes.NewReader(must(json.Marshal(doc))))}, nil
}

// members are the paths of all members of the objects in v.
func members(at []any, v any) (all [][]any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			here := append(slices.Clone(at), name)
			all = append(append(all, here), members(here, inner)...)
		}
	case []any:
		for i, inner := range v {
			all = append(all, members(append(slices.Clone(at), i), inner)...)
		}
	}
	return all
}

// without is a copy of v that lacks one member.
func without(v any, path []any) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		for name, inner := range v {
			switch {
			case name != path[0]:
				c[name] = inner
			case len(path) > 1:
				c[name] = without(inner, path[1:])
			}
		}
		return c
	case []any:
		c := slices.Clone(v)
		c[path[0].(int)] = without(c[path[0].(int)], path[1:])
		return c
	}
	panic("no member")
}

const sampleID = 412873650192384001

var (
	sampleToken = flakepass.NewToken(sampleID).Reveal()
	sampleKey   = flakepass.NewServiceKey(sampleID).Reveal()
)

// whole is a document of a schema with every member that it may have.
func whole(name string, s *openapi3.Schema) any {
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.OneOf) > 0:
		return whole(name, s.OneOf[0].Value)
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == nil:
		return map[string]any{"any": 7}
	case s.Type.Is("object"):
		doc := map[string]any{}
		for name, p := range s.Properties {
			doc[name] = whole(name, p.Value)
		}
		return doc
	case s.Type.Is("array") && name == "overrides": // each is of a class or of a role
		doc := whole("", s.Items.Value)
		return []any{without(doc, []any{"role"}), without(doc, []any{"device_class"})}
	case s.Type.Is("array"):
		return []any{whole("", s.Items.Value)}
	case s.Type.Is("boolean"):
		return true
	case s.Type.Is("string"):
		return text(name, s)
	}
	return 7
}

func text(name string, s *openapi3.Schema) string {
	const reset = "fpr_ABCDEFGHIJKLMNOPQRSTUVWXYZ01234567"
	for begin, sample := range map[string]string{
		"^[1-9]": flakepass.ID(sampleID).String(), "^fp_": sampleToken, "^fpk_": sampleKey, "^fpr_": reset, "^otpauth": "otpauth://totp/x",
	} {
		if strings.HasPrefix(s.Pattern, begin) {
			return sample
		}
	}
	switch {
	case s.Format == "date-time":
		return "2026-11-21T09:12:33.123Z"
	case name == "url":
		return "https://a/reset#" + reset
	}
	if strings.HasPrefix(s.Pattern, "^[a-z]") {
		return "sample"
	}
	return "A text"
}

// got is the result of a call, as calls has it.
func got[T any](v T, err error) (any, error) { return v, err }

// listed is a list to its end.
func listed[T any](list iter.Seq2[T, error]) (any, error) {
	var all []T
	for v, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// exported is what ExportMe writes, as the type that it names.
func exported(ctx context.Context, c *client.Client) (any, error) {
	var b bytes.Buffer
	var d wire.MyData
	if err := c.ExportMe(ctx, &b); err != nil {
		return nil, err
	}
	err := json.Unmarshal(b.Bytes(), &d)
	return d, err
}
