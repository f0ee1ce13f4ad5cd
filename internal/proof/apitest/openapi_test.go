package apitest_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"

	"github.com/flakepass/flakepass/api"
	"github.com/flakepass/flakepass/internal/proof/apitest"
)

func TestSpecIsValidOpenAPI(t *testing.T) {
	doc := load(t)
	if err := doc.Validate(t.Context(), openapi3.EnableMultiError()); err != nil {
		t.Fatal(err)
	}
	if got, want := doc.OpenAPI, "3.1.0"; got != want {
		t.Errorf("openapi: got %q, want %q", got, want)
	}
}

func TestEveryOperationIsExplained(t *testing.T) {
	ids := make(map[string]string)
	for path, item := range load(t).Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if op.OperationID == "" || ids[op.OperationID] != "" {
				t.Errorf("%s: operationId %q is empty or that of %s", name, op.OperationID, ids[op.OperationID])
			}
			ids[op.OperationID] = name
			if op.Summary == "" || op.Description == "" || len(op.Tags) != 1 || op.Security == nil {
				t.Errorf("%s: want a summary, a description, one tag, and security (an empty list for none)", name)
			}
			if body := op.RequestBody; body != nil {
				checkContent(t, name+" request", body.Value.Content)
			}
			for status, response := range op.Responses.Map() {
				checkContent(t, name+" "+status, response.Value.Content)
				checkHeaders(t, name+" "+status, path, status, response.Value)
			}
			if op.Responses.Value("500") == nil {
				t.Errorf("%s: 500 is not declared", name)
			}
		}
	}
}

func checkContent(t *testing.T, name string, content openapi3.Content) {
	t.Helper()
	for media, m := range content {
		if len(m.Examples) == 0 {
			t.Errorf("%s: %s has no example", name, media)
		}
	}
}

// checkHeaders holds every answer to the headers that the document promises in
// its introduction.
func checkHeaders(t *testing.T, name, path, status string, r *openapi3.Response) {
	t.Helper()
	want := []string{"X-Request-Id"}
	if strings.HasPrefix(path, "/v1/") || status >= "400" {
		want = append(want, "Cache-Control")
	}
	switch status {
	case "401":
		want = append(want, "WWW-Authenticate")
	case "429", "503":
		want = append(want, "Retry-After")
	}
	for _, header := range want {
		if h := r.Headers[header]; h == nil || !h.Value.Required {
			t.Errorf("%s: header %s is not required", name, header)
		}
	}
	for header, h := range r.Headers {
		if h.Value.Description == "" || h.Value.Example == nil {
			t.Errorf("%s: header %s has no description or no example", name, header)
		}
	}
	media := "application/problem+json"
	if path == "/v1/introspect" || path == "/v1/revoke" { // OAuth clients read nothing else (RFC 6749 section 5.2)
		media = "application/json"
	}
	if status >= "400" && (r.Content[media] == nil || len(r.Content) != 1) || status < "400" && r.Content["application/problem+json"] != nil {
		t.Errorf("%s: want %s for errors, and problem+json only for them", name, media)
	}
}

// TestEveryProblemHasAnExample also finds an example under the wrong status.
func TestEveryProblemHasAnExample(t *testing.T) {
	codes := apitest.Codes(t)
	check := func(name, status string, r *openapi3.Response) {
		if status < "400" {
			return
		}
		media := apitest.ProblemMedia(r)
		var shown []string
		for key, example := range media.Examples {
			body, _ := example.Value.Value.(map[string]any)
			shown = append(shown, fmt.Sprint(body["code"]))
			if key != body["code"] || fmt.Sprint(body["status"]) != status {
				t.Errorf("%s %s: example %s has code %v and status %v", name, status, key, body["code"], body["status"])
			}
			if kind, _ := body["type"].(string); !strings.HasSuffix(kind, "#"+key) {
				t.Errorf("%s %s: example %s has type %q", name, status, key, kind)
			}
		}
		slices.Sort(shown)
		var want []string
		for _, p := range codes[name] {
			if fmt.Sprint(p.Status) == status {
				want = append(want, p.Code)
			}
		}
		if !slices.Equal(shown, want) {
			t.Errorf("%s %s: examples show %v, the schema lists %v", name, status, shown, want)
		}
	}
	doc := load(t)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				check(method+" "+path, status, response.Value)
			}
		}
	}
	check(apitest.AnyPath, "404", doc.Components.Responses["NotFound"].Value)
	check(apitest.AnyPath, "405", doc.Components.Responses["MethodNotAllowed"].Value)
}

// TestSchemasAreClosedAndDescribed reads the document as plain YAML, because
// a loader merges what is written beside a $ref.
func TestSchemasAreClosedAndDescribed(t *testing.T) {
	var raw map[string]any
	if err := yaml.Unmarshal(api.Spec(), &raw); err != nil {
		t.Fatal(err)
	}
	properties := 0
	walk("", raw, func(at string, node map[string]any) {
		if node["type"] == "object" && node["additionalProperties"] != false && !strings.HasSuffix(at, "/TokenForm") {
			t.Errorf("%s: want additionalProperties: false", at)
		}
		fields, _ := node["properties"].(map[string]any)
		// Generators of clients take a $ref and leave what is beside it, and with it
		// the codes of the operation.
		if node["$ref"] != nil && fields != nil {
			t.Errorf("%s: has properties beside a $ref; write allOf with both", at)
		}
		// The members of allOf only narrow those of the schema before them.
		if regexp.MustCompile(`/allOf/[1-9]$`).MatchString(at) {
			return
		}
		for name, field := range fields {
			properties++
			f, _ := field.(map[string]any)
			if f["description"] == nil {
				t.Errorf("%s/%s: has no description", at, name)
			}
			if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(name) {
				t.Errorf("%s/%s: is not snake_case", at, name)
			}
		}
	})
	if properties < 20 {
		t.Errorf("found %d properties: the walk misses the schemas", properties)
	}
	components, _ := raw["components"].(map[string]any)
	used := string(api.Spec())
	for kind, group := range components {
		names, _ := group.(map[string]any)
		for name := range names {
			ref := "#/components/" + kind + "/" + name
			unreferenced := kind == "securitySchemes" || name == "NotFound" || name == "MethodNotAllowed"
			if !unreferenced && !strings.Contains(used, `"`+ref+`"`) {
				t.Errorf("%s is used nowhere", ref)
			}
		}
	}
}

func walk(at string, node any, visit func(string, map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		visit(at, node)
		for _, key := range slices.Sorted(maps.Keys(node)) {
			walk(at+"/"+key, node[key], visit)
		}
	case []any:
		for i, item := range node {
			walk(fmt.Sprintf("%s/%d", at, i), item, visit)
		}
	}
}
