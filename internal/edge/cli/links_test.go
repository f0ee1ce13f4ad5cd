package cli

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	fenced   = regexp.MustCompile("(?s)```.*?```")
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	linked   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notAWord = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// TestLinksOfTheDocumentsLeadSomewhere: every relative link names a file of the
// repository, and its anchor a heading of that file.
func TestLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	repo, texts := os.DirFS("../../.."), map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := fs.Glob(repo, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := fs.ReadFile(repo, file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = fenced.ReplaceAllString(string(text), "")
		}
	}
	links := 0
	for file, text := range texts {
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			name, anchor, _ := strings.Cut(m[1], "#")
			target := file
			if name != "" {
				target = path.Join(path.Dir(file), name)
			}
			if _, err := fs.Stat(repo, target); err != nil {
				t.Errorf("%s: %s: %v", file, m[1], err)
			} else if anchor != "" && !anchors(texts[target])[anchor] {
				t.Errorf("%s: %s has no heading #%s", file, target, anchor)
			}
		}
	}
	if links < 60 {
		t.Errorf("%d links are found: the search is wrong", links)
	}
}

// anchors are the headings of a document, as a link names them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(notAWord.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}
