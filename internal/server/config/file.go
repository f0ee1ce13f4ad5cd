package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFile is the most bytes that a file may have.
const maxFile = 64 << 10

// maxNesting is how deep lists and groups may be written into one another.
// Nothing needs more than two; the parser's time grows faster than the square
// of the depth.
const maxNesting = 4

// maxKeys is the most keys that a file may have. With repeated ones, the
// parser's time grows with the square of their number.
const maxKeys = 500

// A found value is what a file holds for a key.
type found struct {
	key   string
	line  int
	value string   // of a scalar
	items []string // of a list
	form  form
}

// form is what a value looks like in the file.
type form int

const (
	isText form = iota
	isNumber
	isList
	isEmpty   // nothing after the colon, or null
	isBoolean // true or false
	isOther   // a group of keys, a list in a list, a text over several lines
)

// parseFile reads a file of keys and values. It returns all keys in order,
// also unknown and repeated ones, or what keeps the file as a whole from being
// read. The file is YAML without what a configuration does not need: anchors,
// aliases, tags, directives, merge and complex keys, several documents.
func parseFile(data []byte) ([]found, []Problem) {
	if p := checkBytes(data); p != nil {
		return nil, []Problem{*p}
	}
	doc, p := parseDocument(string(bytes.TrimPrefix(data, []byte("\ufeff"))))
	if p != nil {
		return nil, []Problem{*p}
	}
	if doc == nil { // nothing but comments
		return nil, nil
	}
	group, ok := doc.(*ast.MappingNode)
	if !ok {
		return nil, []Problem{{Line: lineOf(doc), Text: "the file must hold keys and values, one a line, such as listen: 127.0.0.1:8080"}}
	}
	all := make([]found, 0, len(group.Values))
	for _, v := range group.Values {
		f := read(v.Value)
		f.key, f.line = v.Key.GetToken().Value, lineOf(v.Key)
		all = append(all, f)
	}
	return all, nil
}

func checkBytes(data []byte) *Problem {
	if len(data) > maxFile {
		return &Problem{Text: fmt.Sprintf("the file is longer than %d KiB, so it cannot be a configuration; name another", maxFile>>10)}
	}
	line := 1
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return &Problem{Line: line, Text: "the file is not UTF-8; save it as UTF-8"}
		case r == '\n':
			line++
		case unicode.IsControl(r) && r != '\t' && r != '\r':
			return &Problem{Line: line, Text: "there is a control character; remove it"}
		}
		rest = rest[size:]
	}
	return nil
}

// checkTokens refuses, before the parser sees them, the parts of YAML that are
// not for configurations, and nesting that would keep the parser busy.
func checkTokens(tokens token.Tokens) *Problem {
	depth, dashes, keys, line := 0, 0, 0, 0
	for _, t := range tokens {
		at := t.Position.Line
		if at != line {
			dashes, line = 0, at
		}
		what := ""
		switch t.Type {
		case token.AnchorType, token.AliasType:
			what = "anchors and aliases (& and *) are not allowed; write the value out, or in quotes if it begins with one of these characters"
		case token.TagType:
			what = "tags (!) are not allowed; remove the tag, or put the value in quotes if it begins with this character"
		case token.MergeKeyType, token.MappingKeyType:
			what = "complex keys (? and <<) are not allowed; write key: value"
		case token.DirectiveType:
			what = "directives (%) are not allowed; put the value in quotes if it begins with this character"
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType:
			dashes++
		case token.MappingValueType:
			keys++
		}
		if depth > maxNesting || dashes > maxNesting {
			what = "lists and groups are nested too deeply; write key: value, or key: [value, value]"
		}
		if keys > maxKeys {
			what = fmt.Sprintf("the file has more than %d keys, so it cannot be a configuration; name another", maxKeys)
		}
		if what != "" {
			return &Problem{Line: at, Text: what}
		}
	}
	return nil
}

// parseDocument returns the one document, or nil if there is none. A panic of
// the library is a problem with the file like any other.
func parseDocument(text string) (doc ast.Node, p *Problem) {
	defer func() {
		if recover() != nil {
			doc, p = nil, &Problem{Text: "the file is not valid YAML; write key: value, one a line"}
		}
	}()
	tokens := lexer.Tokenize(text)
	if p := checkTokens(tokens); p != nil {
		return nil, p
	}
	// Repeated keys are let through, to be reported together with the rest.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxProblem(err)
	}
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if _, comment := d.Body.(*ast.CommentGroupNode); comment {
			continue
		}
		if doc != nil {
			return nil, &Problem{Line: lineOf(d.Body), Text: "the file has a second document; remove the line --- before it"}
		}
		doc = d.Body
	}
	return doc, nil
}

// syntaxProblem keeps of the parser's error what is not the file's own text:
// its Error method prints the lines around the mistake, passwords included.
func syntaxProblem(err error) *Problem {
	const advice = "write key: value, one a line, without indentation, and put text with special characters in single quotes"
	p := &Problem{Text: "the file is not valid YAML; " + advice}
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return p
	}
	if t := e.GetToken(); t != nil && t.Position != nil {
		p.Line = t.Position.Line
	}
	m := e.GetMessage()
	switch {
	case strings.HasPrefix(m, "found unknown escape character"): // it names a character of the value
		p.Text = "in double quotes a backslash begins an escape, and this one is unknown; use single quotes, where it means itself"
	case m != "" && !strings.Contains(m, `"`): // what is in double quotes comes from the file
		p.Text = "the file is not valid YAML here (" + m + "); " + advice
	}
	return p
}

func read(n ast.Node) found {
	switch n := n.(type) {
	case *ast.StringNode:
		return found{form: isText, value: n.Value}
	case *ast.IntegerNode, *ast.FloatNode:
		return found{form: isNumber, value: n.GetToken().Value}
	case *ast.BoolNode:
		return found{form: isBoolean}
	case *ast.NullNode:
		return found{form: isEmpty}
	case *ast.SequenceNode:
		items := make([]string, 0, len(n.Values))
		for _, v := range n.Values {
			item := read(v)
			if item.form != isText {
				return found{form: isOther}
			}
			items = append(items, item.value)
		}
		return found{form: isList, items: items}
	default:
		return found{form: isOther}
	}
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}
