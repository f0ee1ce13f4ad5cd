// Package api holds the HTTP contract of flakepass as an OpenAPI 3.1 document.
// The document is the truth: the server is tested against it, and serves it.
package api

import _ "embed"

//go:embed openapi.yaml
var spec string

// Spec returns the OpenAPI document, in YAML. The caller may change the copy.
func Spec() []byte { return []byte(spec) }
