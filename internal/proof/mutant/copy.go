package main

import (
	"io/fs"
	"os"
	"path/filepath"
)

// copyModule copies the module at from to the folder to. Some tests read files
// that the go command does not (the Makefile, documents, nginx.conf): only in a
// copy can such a file be changed for them.
func copyModule(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch below {
		case ".git": // a folder, or a file in a worktree of Git
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case "bin":
			return filepath.SkipDir
		}
		target := filepath.Join(to, below)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, info.Mode().Perm())
	})
}
