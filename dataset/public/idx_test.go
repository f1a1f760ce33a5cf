package public

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

func idxFile(data []byte, dims ...byte) []byte {
	file := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		file = append(file, 0, 0, 0, d)
	}
	return append(file, data...)
}

func TestReadIDX(t *testing.T) {
	const n, size = 150, 6 // more images than one block
	pixels, digits := make([]byte, n*size), make([]byte, n)
	for i := range pixels {
		pixels[i] = byte(i * 37)
	}
	for i := range digits {
		digits[i] = byte(i % 10)
	}
	images, labels := idxFile(pixels, n, 2, 3), idxFile(digits, n)
	table, err := ReadIDX(strings.NewReader(packed(string(images))), bytes.NewReader(labels))
	if err != nil {
		t.Fatal(err)
	}
	if table.Rows() != n || len(table.Columns()) != size+1 {
		t.Fatalf("%d rows, columns %v", table.Rows(), table.Columns())
	}
	value := func(row int, column string) string { v, _ := table.Cell(row, column); return v }
	if got := value(149, "p5"); got != "239" { // byte(899·37)
		t.Errorf("last pixel %q, want 239", got)
	}
	if got := value(1, "p2"); got != "40" { // byte(8·37)
		t.Errorf("pixel p2 of image 1 %q, want 40", got)
	}
	if got := value(27, "label"); got != "7" {
		t.Errorf("label %q, want 7", got)
	}
	table, err = ReadIDX(bytes.NewReader(images), nil)
	if err != nil || table.Has("label") {
		t.Errorf("without labels: %v, %v", table.Columns(), err)
	}
}

func TestReadIDXErrors(t *testing.T) {
	images, labels := idxFile([]byte{1, 2, 3, 4}, 2, 1, 2), idxFile([]byte{0, 1}, 2)
	for want, files := range map[string][2][]byte{
		"are images and labels swapped":       {labels, images},
		"the header of an IDX file is 16":     {images[:10], labels},
		"announces 4 bytes, the file has 3":   {images[:19], labels},
		"announces 4 bytes, the file has mor": {append(images[:20:20], 0), labels},
		"there are 1 labels for 2 images":     {images, idxFile([]byte{0}, 1)},
		"the header claims":                   {append([]byte{0, 0, 8, 3}, bytes.Repeat([]byte{255}, 12)...), labels},
	} {
		if _, err := ReadIDX(bytes.NewReader(files[0]), bytes.NewReader(files[1])); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// FuzzReadIDX: the reader must not allocate what a header alone claims.
func FuzzReadIDX(f *testing.F) {
	f.Add(idxFile([]byte{1, 2, 3, 4}, 2, 1, 2), idxFile([]byte{0, 1}, 2))
	f.Add([]byte{0, 0, 8, 3, 255, 255, 255, 255, 0, 0, 0, 28, 0, 0, 0, 28},
		[]byte{0, 0, 8, 1, 0, 0, 0, 0})
	f.Add([]byte(packed(string(idxFile(nil, 0, 2, 2)))), idxFile(nil, 0))
	f.Fuzz(func(t *testing.T, images, labels []byte) {
		if len(images)+len(labels) > 1<<16 {
			return
		}
		table, err := ReadIDX(bytes.NewReader(images), bytes.NewReader(labels))
		if err != nil {
			return
		}
		for i := range table.Rows() {
			if _, ok := table.Cell(i, "label"); !ok {
				t.Fatal("a row without a label")
			}
		}
	})
}

func packed(text string) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(text)) // a bytes.Buffer does not fail
	_ = z.Close()
	return out.String()
}
