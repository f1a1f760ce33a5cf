package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinksLeadSomewhere: every link of a page to a file of the repository leads to one,
// and no page of docs/ is reached from nowhere.
func TestLinksLeadSomewhere(t *testing.T) {
	pages := pagesOfPeople(t)
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	reached := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := filepath.Join(filepath.Dir(page), m[1])
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
			reached[filepath.ToSlash(to)] = true
		}
	}
	for _, page := range pages {
		if strings.HasPrefix(page, "docs") && !reached[filepath.ToSlash(page)] {
			t.Errorf("no page links to %s", page)
		}
	}
}

// TestPagesThatCodeNames: every page of docs/ that code, a message or a deployed file
// names is there.
func TestPagesThatCodeNames(t *testing.T) {
	name := regexp.MustCompile(`docs/[a-z/-]+\.md`)
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path == ".git" || path == "docs" {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".yaml", ".yml", ".service", ".txtar", ".py":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, page := range name.FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.FromSlash(page)); err != nil {
				t.Errorf("%s names %s, which is not there", path, page)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTestsThatPagesName: every test that a page names between backticks is there.
func TestTestsThatPagesName(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	there := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			there[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(?:[a-z/]+/)?((?:Test|Fuzz)[A-Z]\\w+)`")
	for _, page := range pagesOfPeople(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if !there[m[1]] {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
}

// pagesOfPeople are README, docs/ and what lies below it.
func pagesOfPeople(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
		filepath.Join("python", "README.md")}
	for _, pattern := range []string{"docs/*.md", "docs/generated/*.md"} {
		more, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	if len(pages) < 15 {
		t.Fatalf("%d pages were found", len(pages))
	}
	return pages
}
