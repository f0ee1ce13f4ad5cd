//go:build !linux

package fileworker

import "os"

func datasync(f *os.File) error { return f.Sync() }
