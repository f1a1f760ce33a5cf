package privacy

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestImports: the room imports no other room, and no clock, disk, network or database.
func TestImports(t *testing.T) {
	allowed := []string{
		"bytes", "cmp", "context", "crypto/rand", "crypto/sha256", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "io",
		"log/slog", "maps", "math", "math/big", "math/bits", "math/rand/v2", "slices", "strconv", "strings", "sync", "unicode/utf8",
	}
	files := must(filepath.Glob("*.go"))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if path := must(strconv.Unquote(i.Path.Value)); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", file, path)
			}
			if i.Path.Value == `"math/rand/v2"` && file != "literal.go" && file != "literalcounts.go" && file != "ledger.go" {
				t.Errorf("%s imports a generator that is not for releases", file)
			}
		}
	}
	if len(files) < 20 {
		t.Errorf("only %d files found", len(files))
	}
}
