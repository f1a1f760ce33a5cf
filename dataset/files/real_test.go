package files

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/dataset"
)

// realFile is what pyarrow, or pandas with openpyxl, read in a file: at most 200 cells of each
// column.
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
		t.Skip("CAUCUS_CASES is not set: it names the folder of other readers' files this test " +
			"reads")
	}
	return filepath.Join(dir, "real")
}

// explained lists every difference between what is read here and what pyarrow or pandas read, with
// its reason. A key is a file, or a file and a column. A difference that is not here fails the
// test, and so does a line here without a difference.
var explained = map[string]string{
	"binary_truncated_min_max.parquet binary_partial_truncation": "bytes that are no UTF-8: " +
		"Collect takes the cell for missing and counts it",
	"column_chunk_key_value_metadata.parquet": "the library refuses a key " +
		"without a value; the file has no rows",
	"crs-default.parquet geometry": "of a type that is no text or " +
		"number of one cell: left out, and named",
	"crs-projjson.parquet geometry": "of a type that is no text or " +
		"number of one cell: left out, and named",
	"geography-lines.parquet geometry": "of a type that is no text or " +
		"number of one cell: left out, and named",
	"geography-polygons.parquet geometry": "of a type that is no text or " +
		"number of one cell: left out, and named",
	"geospatial.parquet geometry": "of a type that is no text or " +
		"number of one cell: left out, and named",
	"datapage_v1-corrupt-checksum.parquet": "made with a wrong checksum, " +
		"which pyarrow does not look at: refused",
	"datapage_v2_empty_datapage.snappy.parquet": "the library unpacks a page of " +
		"no bytes: refused",
	"dates-leap-year-1900-xlsx.xlsx dttm": "29 February 1900, which Excel " +
		"alone has: openpyxl reads the day before",
	"empty-sheets.xlsx": "the first sheet is empty: " +
		"refused; pandas gives no columns",
	"int96_from_spark.parquet a": "a moment of the year 9999: " +
		"pyarrow's nanoseconds overflow",
	"list_columns.parquet": "only lists and maps: refused, " +
		"and they are named",
	"map_no_value.parquet": "only lists and maps: refused, " +
		"and they are named",
	"null_list.parquet": "only lists and maps: refused, " +
		"and they are named",
	"messy_glucose.xlsx glucose POST": "the 15 digits that Excel keeps " +
		"and shows; openpyxl gives the 17 of the file",
	"nation.dict-malformed.parquet": "made with a dictionary in the " +
		"wrong form: the library refuses it",
	"new_line_errors.xlsx column_name": "_x000D_ is a carriage return " +
		"(ECMA-376), which openpyxl leaves as it is",
	"non_hadoop_lz4_compressed.parquet": "LZ4 is refused",
	"whitespace-xlsx.xlsx": "a row of blanks alone is no " +
		"record here",
}

// titled are files with a title, and the row in which their columns have names.
var titled = map[string]int{"deaths.xlsx": 5, "messy_bp.xlsx": 4, "messy_glucose.xlsx": 4}

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
		paths, _ := filepath.Glob(filepath.Join(dir, kind,
			"*"+map[string]string{"parquet": ".parquet", "workbooks": ".xlsx"}[kind]))
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

// differences compares our reading of a file with another program's. Rows without any value are
// left out of both.
func (r realFile) differences(name string, b []byte) map[string]string {
	w := TextFormat{FirstRow: titled[name]}
	if w.FirstRow > 0 { // pandas took the title for the names
		r.Columns = nil
		for i, c := range r.Cells {
			name := c[w.FirstRow-2]
			if name == "" {
				name = fmt.Sprint("Unnamed: ", i)
			}
			r.Columns, r.Cells[i] = append(r.Columns, name), c[w.FirstRow-1:]
		}
		r.Columns = dataset.UniqueNames(r.Columns)
		r.Rows = 0
	}
	in := bytes.NewReader(b)
	if form, err := Detect(in, in.Size(), TextFormat{}); err == nil {
		got, _, err := ProposeTextFormat(in, in.Size(), form, TextFormat{}, nil)
		if err == nil && got.FirstRow != w.FirstRow {
			return map[string]string{name: fmt.Sprintf("the draft begins in row %d", got.FirstRow)}
		}
	}
	_, rows, _, err := readBy(OpenForPerson, b, w)
	if err != nil || r.Error != "" {
		if (err == nil) == (r.Error == "") {
			return nil
		}
		return map[string]string{name: fmt.Sprintf("error %v, theirs %q", err, r.Error)}
	}
	out := map[string]string{}
	columns, cells := rows[0], rows[1:]
	var want [][]string
	for i := range len(slices.MaxFunc(append(r.Cells, nil), func(a,
		b []string) int {
		return len(a) - len(b)
	})) {
		var row []string
		for _, c := range r.Cells {
			row = append(row, c[i])
		}
		if strings.HasSuffix(name, ".parquet") || strings.Join(row, "") != "" {
			want = append(want, row)
		}
	}
	if len(r.Columns) == 0 {
		want = make([][]string, r.Rows)
	}
	if w.FirstRow > 0 {
		r.Rows = len(want)
	}
	if len(cells) < len(want) || r.Rows <= 200 && len(cells) != len(want) || r.Rows > 200 &&
		len(cells) != r.Rows {
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

// sameValue compares texts, numbers and moments, whose midnight is the date alone. Floats of 32
// bits are the shortest text here, and theirs with 64 bits.
func sameValue(got, want string) bool {
	want = strings.TrimSuffix(strings.TrimSpace(want), " 00:00:00")
	if got == want || strings.EqualFold(got, want) && (want == "true" || want == "false") {
		return true
	}
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(want, 64)
	return errA == nil && errB == nil && (a == b || float64(float32(b)) == b &&
		float32(a) == float32(b))
}

// TestRealTables compares tables of text with what encoding/csv reads in them.
func TestRealTables(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(realCases(t), "tables", "*.csv.gz"))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		theirs := csv.NewReader(z)
		theirs.TrimLeadingSpace = true // as pandas with skipinitialspace: , "No" is No
		want, err := theirs.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range want {
			for j, cell := range row {
				if row[j] = strings.TrimSpace(cell); i == 0 && row[j] == "" {
					row[j] = fmt.Sprint("column", j+1)
				}
			}
		}
		_, got, malformed, err := readBy(OpenForPerson, b, TextFormat{})
		if err != nil || malformed > 0 || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: %d rows, %d malformed, %v, theirs %d", filepath.Base(path), len(got),
				malformed, err, len(want))
		}
	}
	if len(paths) < 4 {
		t.Errorf("%d tables", len(paths))
	}
}
