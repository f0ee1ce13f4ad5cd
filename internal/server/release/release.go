// Package release says which version the program is, and under which licences its
// parts are.
package release

import (
	_ "embed"
	"runtime/debug"
	"strings"
)

// version is the version of a build that was not made from a tagged module and
// was not given one.
const version = "0.1.0-dev"

// stamped is the version that the linker was given: make build VERSION=1.2.3.
// Nothing else of the build goes into the program, so that the same sources
// give the same bytes.
var stamped string

// Licences has the licence texts of all that is linked into the program; make
// licences writes it. Most of them ask to be passed on with the program, and the
// program is all that an image has.
//
//go:embed licences.txt
var Licences string

// Version is the number of this build and the Go release that made it.
func Version() string {
	v := Number()
	if info, ok := debug.ReadBuildInfo(); ok {
		v += " " + info.GoVersion
	}
	return v
}

// Number is what was stamped into this build, or the version of its module without its
// "v", or what says that it is neither.
func Number() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if m := info.Main.Version; m != "" && m != "(devel)" {
			return strings.TrimPrefix(m, "v")
		}
	}
	return version
}
