// Package interop runs clients that others wrote against the server, in another
// language: an OAuth library (oauth4webapi), and a TypeScript client that a
// generator (@hey-api/openapi-ts) makes from api/openapi.yaml. There is only
// test code, and none of it is needed to build flakepass.
//
// What the scripts import is named in package.json and pinned, with checksums,
// in package-lock.json, which says nothing about where it comes from. It is
// installed outside the repository, and without running the packages' own
// install scripts.
package interop
