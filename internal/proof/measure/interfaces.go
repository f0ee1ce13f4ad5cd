package measure

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An Interface is an interface type that product code declares.
type Interface struct {
	Name    string // as "package.Name"; one without a name has that of what it stands in
	File    string
	Methods int // embedded ones counted
}

// Interfaces lists the interfaces of the product below root, the widest first.
// Constraints of type parameters are left out: nothing implements them by methods alone.
func Interfaces(root string, files []File) ([]Interface, error) {
	c := &checker{set: token.NewFileSet()}
	var err error
	if c.importer, err = Importer(root, c.set); err != nil {
		return nil, err
	}
	byFolder := map[string][]File{}
	for _, f := range Of(files, Product) {
		byFolder[f.Folder()] = append(byFolder[f.Folder()], f)
	}
	var all []Interface
	for folder, files := range byFolder {
		found, err := c.check(folder, files)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b Interface) int {
		if a.Methods != b.Methods {
			return b.Methods - a.Methods
		}
		return strings.Compare(a.Name+a.File, b.Name+b.File)
	})
	return all, nil
}

// Importer gives a checker of types what the packages below root import, from the export data
// of the build cache, as for the compiler.
func Importer(root string, set *token.FileSet) (types.Importer, error) {
	modules, err := Modules(root)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, m := range modules {
		out, err := goCommand(workspace, filepath.Join(root, m.Folder), "list", "-tags", "nomsgpack", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "./...")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			if path, export, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				exports[path] = export
			}
		}
	}
	return importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("measure: no export data of %s", path)
		}
		return os.Open(exports[path])
	}), nil
}

// A checker gives types to the files of a package.
type checker struct {
	set      *token.FileSet
	importer types.Importer
}

func (c *checker) check(folder string, files []File) ([]Interface, error) {
	var trees []*ast.File
	for _, f := range files {
		tree, err := parser.ParseFile(c.set, f.Name, f.Text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	// Files of other systems are declared twice here. An error in one place does
	// not keep the checker from the interfaces in another.
	conf := types.Config{Importer: c.importer, Error: func(error) {}}
	_, _ = conf.Check(folder, c.set, trees, info)
	var all []Interface
	for _, tree := range trees {
		all = append(all, c.interfaces(folder, tree, info)...)
	}
	return all, nil
}

func (c *checker) interfaces(folder string, tree *ast.File, info *types.Info) []Interface {
	var all []Interface
	name := ""
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			name = n.Name.Name
		case *ast.FuncDecl:
			name = receiver(n) + n.Name.Name
		case *ast.InterfaceType:
			of, ok := info.TypeOf(n).(*types.Interface)
			if ok && of.IsMethodSet() {
				all = append(all, Interface{
					Name:    folder[strings.LastIndex(folder, "/")+1:] + "." + name,
					File:    c.set.Position(n.Pos()).Filename,
					Methods: of.NumMethods(),
				})
			}
		}
		return true
	})
	return all
}
