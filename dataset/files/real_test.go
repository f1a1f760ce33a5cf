package files

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// realFile is what pyarrow, or pandas with openpyxl, read in a file: at most 200 cells of each column.
type realFile struct {
	Rows    int
	Columns []string
	Cells   [][]string
	Error   string
}

func realCases(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CAUCUS_CASES")
	if dir == "" {
		t.Skip("CAUCUS_CASES is not set: it names the folder of other readers' files this test reads")
	}
	return filepath.Join(dir, "real")
}

// explained lists every difference between what is read here and what pyarrow or pandas read, with its
// reason. A key is a file, or a file and a column. A difference that is not here fails the test, and so
// does a line here without a difference.
var explained = map[string]string{}

// TestRealFiles reads files of other readers' test suites cell by cell.
func TestRealFiles(t *testing.T) {
	dir := realCases(t)
	found := map[string]string{}
	files := 0
	for _, kind := range []string{"parquet", "workbooks"} {
		var all map[string]realFile
		packed, err := os.Open(filepath.Join(dir, kind, "expected.json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(packed)
		if err == nil {
			err = json.NewDecoder(z).Decode(&all)
		}
		if err != nil {
			t.Fatal(err)
		}
		packed.Close()
		paths, _ := filepath.Glob(filepath.Join(dir, kind, "*"+map[string]string{"parquet": ".parquet", "workbooks": ".xlsx"}[kind]))
		for _, path := range paths {
			name := filepath.Base(path)
			want, known := all[name]
			if !known {
				found[name] = "has no expected cells"
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files++
			for at, what := range want.differences(name, b) {
				found[at] = what
			}
		}
	}
	for at, what := range found {
		if explained[at] == "" {
			t.Errorf("%s: %s", at, what)
		}
	}
	for at := range explained {
		if found[at] == "" {
			t.Errorf("%s: there is no difference", at)
		}
	}
	if files < 60 {
		t.Errorf("%d files", files)
	}
}

// differences compares a file with what others read in it. Rows without any value are left out of both.
func (r realFile) differences(name string, b []byte) map[string]string {
	_, rows, _, err := readBy(OpenForPerson, b, Written{})
	if err != nil || r.Error != "" {
		if (err == nil) == (r.Error == "") {
			return nil
		}
		return map[string]string{name: fmt.Sprintf("error %v, theirs %q", err, r.Error)}
	}
	out := map[string]string{}
	columns, cells := rows[0], rows[1:]
	var want [][]string
	for i := range len(slices.MaxFunc(append(r.Cells, nil), func(a, b []string) int { return len(a) - len(b) })) {
		var row []string
		for _, c := range r.Cells {
			row = append(row, c[i])
		}
		if strings.HasSuffix(name, ".parquet") || strings.Join(row, "") != "" {
			want = append(want, row)
		}
	}
	if len(cells) < len(want) || r.Rows <= 200 && len(cells) != len(want) || r.Rows > 200 && len(cells) != r.Rows {
		out[name] = fmt.Sprintf("%d rows, theirs %d", len(cells), max(r.Rows, len(want)))
		return out
	}
	for j, column := range r.Columns {
		at := slices.Index(columns, strings.TrimSpace(column))
		if _, number, ok := strings.Cut(column, "Unnamed: "); ok {
			n, _ := strconv.Atoi(number)
			at = slices.Index(columns, fmt.Sprint("column", n+1))
		}
		if at < 0 {
			out[name+" "+column] = fmt.Sprintf("no column; here are %q", columns)
			continue
		}
		for i := range want {
			if got := cells[i][at]; !sameValue(got, want[i][j]) {
				out[name+" "+column] = fmt.Sprintf("row %d is %q, theirs %q", i+1, got, want[i][j])
				break
			}
		}
	}
	return out
}

// sameValue compares texts, numbers and moments, whose midnight is the date alone. Floats of 32 bits are
// the shortest text here, and theirs with 64 bits.
func sameValue(got, want string) bool {
	want = strings.TrimSuffix(strings.TrimSpace(want), " 00:00:00")
	if got == want || strings.EqualFold(got, want) && (want == "true" || want == "false") {
		return true
	}
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(want, 64)
	return errA == nil && errB == nil && (a == b || float32(a) == float32(b) && len(got) < 12)
}

var _ = bytes.Equal
