package measure

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
)

// A Function is a function or a method that has a body.
type Function struct {
	Name  string // as "package.Type.Method" or "package.Function"
	File  string
	Lines int  // from "func" to the last brace
	Table bool // whether two thirds of it are one list of entries
}

// Functions lists the functions of the files, the longest first.
func Functions(files []File) ([]Function, error) {
	var all []Function
	for _, f := range files {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, f.Name, f.Text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			all = append(all, Function{
				Name:  fmt.Sprintf("%s.%s%s", path.Base(f.Folder()), receiver(fn), fn.Name.Name),
				File:  f.Name,
				Lines: length(set, fn),
				Table: isTable(set, fn),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b Function) int { return b.Lines - a.Lines })
	return all, nil
}

func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	t := fn.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name + "."
		default:
			return ""
		}
	}
}

func length(set *token.FileSet, n ast.Node) int {
	return set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1
}

// isTable reports whether two thirds of the function are one composite literal, such
// as a list of settings. A reader looks something up in it and does not follow it.
func isTable(set *token.FileSet, fn *ast.FuncDecl) bool {
	whole := length(set, fn)
	table := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if literal, ok := n.(*ast.CompositeLit); ok && length(set, literal)*3 > whole*2 {
			table = true
		}
		return !table
	})
	return table
}
