package main

import (
	"fmt"
	"runtime/debug"
)

// version is the version of a build that was not made from a tagged module.
const version = "0.1.0-dev"

type versionCommand struct{}

func (versionCommand) Run(a *app) error {
	_, err := fmt.Fprintln(a.out, "flakepass", buildVersion())
	return err
}

func buildVersion() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok {
		if m := info.Main.Version; m != "" && m != "(devel)" {
			v = m
		}
		v += " " + info.GoVersion
	}
	return v
}
