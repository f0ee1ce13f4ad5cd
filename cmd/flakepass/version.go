package main

import (
	_ "embed"
	"fmt"
	"runtime/debug"
)

// version is the version of a build that was not made from a tagged module and
// was not told one.
const version = "0.1.0-dev"

// stamped is the version that the linker was told: make build VERSION=1.2.3.
// Nothing else of the build goes into the program, so that the same sources
// give the same bytes.
var stamped string

// licences has the licence texts of all that is linked into the program; make
// licences writes it. Most of them ask to be passed on with the program, and the
// program is all that an image has.
//
//go:embed licences.txt
var licences string

type versionCommand struct {
	Short    bool `help:"Print the number alone." xor:"what"`
	Licences bool `help:"Print the licences of all that is linked into this program." xor:"what"`
}

func (c versionCommand) Run(a *app) error {
	var err error
	switch {
	case c.Licences:
		_, err = fmt.Fprint(a.out, licences)
	case c.Short:
		_, err = fmt.Fprintln(a.out, buildNumber())
	default:
		_, err = fmt.Fprintln(a.out, "flakepass", buildVersion())
	}
	return err
}

func buildVersion() string {
	v := buildNumber()
	if info, ok := debug.ReadBuildInfo(); ok {
		v += " " + info.GoVersion
	}
	return v
}

func buildNumber() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		if m := info.Main.Version; m != "" && m != "(devel)" {
			return m
		}
	}
	return version
}
