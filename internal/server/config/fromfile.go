package config

import (
	"fmt"
	"slices"
	"strings"
)

// readConfigFile fills l.file, and notes what is wrong with the file or with
// its keys.
func (l *loader) readConfigFile() {
	path := l.opts.File
	if path == "" {
		return
	}
	data, err := l.opts.ReadFile(path)
	if err != nil {
		l.problems = append(l.problems, Problem{File: path,
			Text: fmt.Sprintf("the file cannot be read (%s); check the path and who may read it", cause(err))})
		return
	}
	all, problems := parseFile(data)
	for _, p := range problems {
		p.File = path
		l.problems = append(l.problems, p)
	}
	keys := l.keys()
	for _, f := range all {
		at := Problem{File: path, Key: f.key, Line: f.line}
		first, again := l.file[f.key]
		switch known := slices.Contains(keys, f.key); {
		case !known:
			at.Key, at.Text = shownKey(f.key), l.unknownKey(f.key, keys)
			l.problems = append(l.problems, at)
		case again:
			at.Variable = prefix + strings.ToUpper(f.key)
			at.Text = fmt.Sprintf("this key stands on line %d too; remove one of the two", first.line)
			l.problems = append(l.problems, at)
		default:
			l.file[f.key] = f
		}
	}
}

func (l *loader) unknownKey(key string, keys []string) string {
	if base, ok := strings.CutSuffix(key, "_file"); ok && slices.Contains(keys, base) {
		return "only secrets are read from files; give " + base + " the value itself"
	}
	return "there is no such key; remove it." + suggest(key, keys, func(k string) string { return k })
}

// shownKey is an unknown key in a form that is safe on a terminal, unless it
// looks as if a secret ended up in it.
func shownKey(key string) string {
	switch q := quoted(key); q {
	case "the value":
		return "a key"
	case `"` + key + `"`:
		return key
	default:
		return q
	}
}

// textFor is the value as an environment variable would hold it, or what is
// wrong with its form.
func (f found) textFor(s setting) (value, problem string) {
	wanted, noun := s.value.form, s.value.noun
	if f.key == s.fileKey() {
		wanted, noun = isText, aText
	}
	switch {
	case f.form == isText:
		return f.value, ""
	case f.form == isList && wanted == isList:
		return strings.Join(f.items, ","), ""
	case f.form == isNumber && wanted == isNumber:
		return f.value, ""
	case f.form == isEmpty && s.empty:
		return "", `the key has no value; give one, or write "" for none`
	case f.form == isEmpty:
		return "", "the key has no value; give one, or remove the key"
	}
	is := map[form]string{
		isNumber:  "a number; put it in quotes if it is meant so",
		isBoolean: "true or false; put it in quotes if it is meant so",
		isList:    "a list; write one value after the colon",
	}
	if kind, ok := is[f.form]; ok {
		return "", "the value must be " + noun + ", and this is " + kind
	}
	return "", "the value must be " + noun + ", and this has several lines or parts; write it on the line of its key"
}
