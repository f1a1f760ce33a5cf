package files

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// hostile is a file that was made to hurt. Its parts are written piece by piece, so that the test
// itself takes no memory.
type hostile struct {
	name  string
	bytes []byte
	// says is what the error says, "" for a file that is read.
	says string
}

// tried is the budget of the hostile files here. mostHeap is what a reader may take with it: a tag
// or a line of 4 MiB, its cells and the copies made while they grow. Without bounds, each file
// takes several times as much, or some seconds.
const (
	tried    = 5 << 20
	mostHeap = 128 << 20
)

// times repeats a text.
type times struct {
	text string
	n    int
}

func (t times) writeTo(w io.Writer) error {
	block := strings.Repeat(t.text, min(t.n, max(1, 1<<16/max(len(t.text), 1))))
	per := len(block) / max(len(t.text), 1)
	for left := t.n; left > 0; left -= per {
		if left < per {
			block = strings.Repeat(t.text, left)
		}
		if _, err := io.WriteString(w, block); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes texts and repeated texts.
func writeAll(t testing.TB, w io.Writer, pieces ...any) {
	t.Helper()
	for _, piece := range pieces {
		x, repeated := piece.(times)
		if !repeated {
			x = times{fmt.Sprint(piece), 1}
		}
		if err := x.writeTo(w); err != nil {
			t.Fatal(err)
		}
	}
}

// bookWith writes a workbook: parts given by name, and those that it lacks.
func bookWith(t testing.TB, parts map[string][]any) []byte {
	t.Helper()
	all := map[string][]any{
		"xl/workbook.xml": {`<workbook xmlns:r="r"><sheets><sheet name="A" r:id="i"/>` +
			`</sheets></workbook>`},
		"xl/_rels/workbook.xml.rels": {`<Relationships><Relationship Id="i" Target="/xl/s.xml"/>` +
			`</Relationships>`},
		"xl/s.xml": {names, end},
	}
	for name, pieces := range parts {
		all[name] = pieces
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, pieces := range all {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		writeAll(t, w, pieces...)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Of a sheet: its beginning with names of two columns, and its end.
const (
	names = `<worksheet><sheetData><row><c t="str"><v>a</v></c><c t="str"><v>b</v></c></row>`
	end   = `</sheetData></worksheet>`
)

func gzippedPieces(t testing.TB, pieces ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	writeAll(t, z, pieces...)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstdedPieces(t testing.TB, pieces ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, z, pieces...)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func joined(t testing.TB, pieces ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	writeAll(t, &out, pieces...)
	return out.Bytes()
}

func hostileBooks(t testing.TB) []hostile {
	const much, deep = "becomes more than 5 MiB", "lie within each other"
	const long = "tags or cells has more than 4 MiB"
	sheet := func(pieces ...any) []byte {
		return bookWith(t, map[string][]any{"xl/s.xml": append([]any{names}, pieces...)})
	}
	part := func(name string, pieces ...any) []byte {
		return bookWith(t, map[string][]any{name: pieces})
	}
	const shared = "xl/sharedStrings.xml"
	attributes := times{` a="b"`, 800_000}
	return []hostile{
		{"shared texts, all empty", part(shared, "<sst>", times{"<si/>", 1 << 20}, "</sst>"), much},
		{"one shared text of many", part(shared, "<sst><si>",
			times{"<t>" + strings.Repeat("x", 1000) + "</t>", 6000}, "</si></sst>"), long},
		{"shared texts of 1 MB", part(shared, "<sst>",
			times{"<si><t>" + strings.Repeat("x", 1<<20) + "</t></si>", 8}, "</sst>"), much},
		{"elements in elements", sheet(times{"<a>", 1 << 20}), deep},
		{"extensions in extensions", sheet(`<x:a xmlns:x="x">`, times{"<x:b>", 1 << 20}), deep},
		{"name spaces", sheet(times{`<x:a xmlns:x="x">`, 1 << 19}), deep},
		{"a tag of attributes", sheet("<row", attributes, "/>"), long},
		{"a tag of name spaces", sheet("<row", times{` xmlns:a="b"`, 400_000}, "/>"), long},
		{"a long attribute", sheet(`<row r="`, times{"1", 8 << 20}, `"/>`), long},
		{"text without end", sheet("<row><c><v>", times{"x", 16 << 20}), long},
		{"CDATA of signs", sheet("<row><c><v><![CDATA[", times{"< ", 8 << 20}, "]]></v></c>"), long},
		{"a comment of signs", sheet("<!--", times{"< ", 8 << 20}, "-->"), long},
		{"an instruction of signs", sheet("<?x ", times{"< ", 8 << 20}, "?>"), long},
		{"a directive of signs", part("xl/s.xml", "<!DOCTYPE x ", times{"<>", 8 << 20}, ">"), long},
		{"entities", part("xl/s.xml", `<!DOCTYPE x [<!ENTITY a "xxxxxxxxxx">]>`,
			names, "<row><c><v>", times{"&a;", 1 << 18}, "</v></c></row>", end), "damaged"},
		{"a cell of many texts", sheet(`<row><c t="inlineStr"><is>`,
			times{"<t>" + strings.Repeat("x", 1000) + "</t>", 6000}, "</is></c></row>", end), long},
		{"a row of long texts", sheet("<row>", times{`<c t="str"><v>` +
			strings.Repeat("x", 100_000) + "</v></c>", 200}, "</row>", end), much},
		{"rows of one shared text", bookWith(t, map[string][]any{
			shared: {"<sst><si><t>", times{"x", 1 << 20}, "</t></si></sst>"},
			"xl/s.xml": {names, times{`<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>`,
				100}, end},
		}), much},
		{"many sheets", part("xl/workbook.xml", `<workbook><sheets><sheet name="A" r:id="i"/>`,
			times{`<sheet name="B" state="hidden"/><sheet name="C"/>`, 100_000},
			"</sheets></workbook>"), "more than 4096 sheets"},
		{"spaces", sheet(times{" ", 3 << 20}, "<row/>",
			times{strings.Repeat(" ", 1<<20) + "<row/>", 8}),
			much},
		{"empty rows", sheet(times{"<row/>", 3 << 19}), much},
		{"rows far below", sheet(times{`<row r="999999999"><c t="str"><v>x</v></c></row>`, 200}, end), ""},
		{"cells far right", sheet(times{`<row><c r="XFD1" t="str"><v>x</v></c></row>`, 200}, end), ""},
		{"cells in one place", sheet("<row>", times{`<c r="A1" t="str"><v>x</v></c>`, 100_000}, "</row>",
			end), ""},
		{"styles", part("xl/styles.xml", "<styleSheet><cellXfs>", times{"<xf/>", 2 << 20},
			"</cellXfs></styleSheet>"), much},
		{"formats", part("xl/styles.xml", "<styleSheet>",
			times{`<numFmt numFmtId="164" formatCode="` + strings.Repeat("[", 1<<16) + `"/>`, 500}), much},
		{"a part that ends", sheet("<row><c><v>x"), "damaged"},
		{"no XML", part("xl/s.xml", times{"\x00\xff", 1 << 20}), "damaged"},
	}
}

func hostileTexts(t testing.TB) []hostile {
	const much = "becomes more than 5 MiB"
	quotes := times{"a,\"\"\",x\",\"z\n", 20_000}
	return []hostile{
		{"gzip of NULs", gzippedPieces(t, "a,b\n", times{"\x00", 16 << 20}), much},
		{"gzip of line ends", gzippedPieces(t, "a,b\n", times{"\n", 16 << 20}), much},
		{"gzip of records", gzippedPieces(t, "a,b\n", times{"1,2\n", 4 << 20}), much},
		{"gzip of comments", gzippedPieces(t, "a,b\n", times{",\n", 4 << 20}), much},
		{"zstd of records", zstdedPieces(t, "a,b\n", times{"1,2\n", 4 << 20}), much},
		{"zstd of one line", zstdedPieces(t, "a,b\n", times{"x", 16 << 20}), much},
		{"gzip of many members", bytes.Repeat(gzipped(t, nil), 100_000), "empty"},
		{"gzip in gzip", gzipped(t, gzippedPieces(t, times{"x", 16 << 20})), "encoding"},
		{"a header of delimiters", joined(t, times{",", 4 << 20}), "no line of cells"},
		{"a header without end", joined(t, times{"x", 16 << 20}), "no line of cells"},
		{"short rows of a wide table", joined(t, times{"a,", 50_000}, "b\n", times{"1\n", 10_000}),
			much},
		{"a line of delimiters", joined(t, "a,b\n", times{",", 5 << 20}), ""},
		{"a line of quotes", joined(t, "a,b\n", times{`"`, 5 << 20}), ""},
		{"quotes that open each line", joined(t, "a,b,c,d\n", quotes), ""},
		{"a quote without end", joined(t, "a,b\n", times{"\"x\n", 200_000}), ""},
		{"lone carriage returns", joined(t, "a,b\r", times{"1,2\r", 1 << 20}), ""},
		{"short rows that go on", joined(t, "a,b,c,d\n", times{"x,y\n", 100_000}), ""},
		{"UTF-16", joined(t, "\xff\xfea\x00,\x00b\x00\n\x00", times{"1\x00,\x00\n\x00", 1 << 20}), ""},
	}
}

// TestHostileFiles: a file can only cause bounded memory use, even if a few bytes stand for many. A
// file that exceeds its budget is refused, and the error says so.
func TestHostileFiles(t *testing.T) {
	all := slices.Concat(hostileBooks(t), hostileTexts(t), hostileParquets(t))
	t.Logf("%d files, each with a budget of %d MiB", len(all), tried>>20)
	for _, h := range all {
		var err error
		heap, took := peak(func() { err = readWithin(h.bytes, tried) })
		t.Logf("%-34s %9d bytes: %4d MiB, %5d ms: %v", h.name, len(h.bytes), heap>>20,
			took.Milliseconds(), err)
		if heap > mostHeap {
			t.Errorf("%s takes %d MiB", h.name, heap>>20)
		}
		if h.says == "" && err != nil || h.says != "" && (err == nil ||
			!strings.Contains(err.Error(), h.says)) {
			t.Errorf("%s: %v, want %q", h.name, err, h.says)
		}
	}
}

// FuzzHostile: no file takes more than its budget allows.
func FuzzHostile(f *testing.F) {
	f.Add(bookWith(f,
		map[string][]any{"xl/sharedStrings.xml": {"<sst>", times{"<si/>", 9}, "</sst>"}}))
	f.Add(gzipped(f, []byte("a,b\n1,2\n")))
	f.Add(zstded(f, []byte("a,b\n\"1\n,2\n")))
	f.Add(rawParquet(f, format.Int64, format.Required, format.Uncompressed, 100,
		page1(format.Plain, 100, 0, make([]byte, 800))))
	f.Add(rawParquet(f, format.ByteArray, format.Required, format.Uncompressed, 100,
		dictionaryOf("x"),
		page1(format.RLEDictionary, 100, 0, []byte{1, 200, 1, 0})))
	f.Fuzz(func(t *testing.T, b []byte) {
		if heap, _ := peak(func() { _ = readWithin(b, tried) }); heap > mostHeap {
			t.Errorf("%d bytes take %d MiB", len(b), heap>>20)
		}
	})
}

// readWithin reads a file for a person, and drafts how.
func readWithin(b []byte, most int64) error {
	in := bytes.NewReader(b)
	w := TextFormat{}
	if bytes.HasPrefix(b, []byte("\xff\xfe")) {
		w.Encoding = "utf-16"
	}
	form, err := Detect(in, in.Size(), w)
	if err != nil {
		return err
	}
	if _, _, err := proposeWithin(in, in.Size(), form, w, []string{"a"},
		budget{most, most}); err != nil {
		return err
	}
	rows, err := open(in, in.Size(), form, w, true, budget{most, most})
	for err == nil {
		_, _, err = rows.Next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// peak returns the largest heap while do runs, above the heap before, and the time of do. It may
// miss a short peak, and adds little garbage.
func peak(do func()) (heap uint64, took time.Duration) {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	held := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before, done, ended := held(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if now := held(); now > before {
					heap = max(heap, now-before)
				}
			}
		}
	}()
	start := time.Now()
	do()
	took = time.Since(start)
	close(done)
	<-ended
	return heap, took
}
