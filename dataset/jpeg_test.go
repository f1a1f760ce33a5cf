package dataset

import (
	"archive/tar"
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"strconv"
	"strings"
	"testing"
)

// picture returns a JPEG of one colour, which compression hardly changes.
func picture(t testing.TB, width, height int, c color.RGBA) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type archived struct {
	name string
	data []byte
}

func archive(t testing.TB, files ...archived) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: "train/", Typeflag: tar.TypeDir, Mode: 0o755})
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Typeflag: tar.TypeReg, Size: int64(len(f.data)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		w.Write(f.data)
	}
	w.Close()
	return b.Bytes()
}

func TestReadJPEGs(t *testing.T) {
	red, blue := picture(t, 4, 3, color.RGBA{R: 200, A: 255}), picture(t, 4, 3, color.RGBA{B: 100, A: 255})
	file := archive(t,
		archived{"README.md", []byte("not a picture")}, archived{"train/horse/1.jpg", red}, archived{"./train/plane/2.jpeg", blue},
		archived{"train/frog/3.jpg", []byte("never decoded")}, archived{"train/horse/notes.txt", nil}, archived{"test/horse/4.jpg", blue})
	for name, data := range map[string]string{"plain": string(file), "packed": packed(string(file))} {
		table, err := ReadJPEGs(strings.NewReader(data), "train", []string{"plane", "horse"})
		if err != nil {
			t.Fatal(name, err)
		}
		if table.Rows() != 2 || len(table.Columns()) != 3*12+1 {
			t.Fatalf("%s: %d rows, %d columns", name, table.Rows(), len(table.Columns()))
		}
		near := func(row int, column string, want int) {
			cell, _ := table.Cell(row, column)
			if v, err := strconv.Atoi(cell); err != nil || v < want-3 || v > want+3 {
				t.Errorf("%s: %s of picture %d is %q, want about %d", name, column, row, cell, want)
			}
		}
		near(0, "p0", 200)
		near(0, "p11", 200)
		near(0, "p12", 0) // green
		near(1, "p11", 0)
		near(1, "p24", 100) // blue
		near(1, "p35", 100)
		for row, want := range []string{"horse", "plane"} {
			if got, _ := table.Cell(row, "label"); got != want {
				t.Errorf("picture %d is of %q, want %q", row, got, want)
			}
		}
	}
}

func TestReadJPEGsErrors(t *testing.T) {
	small, large := picture(t, 4, 3, color.RGBA{}), picture(t, 5, 3, color.RGBA{})
	for want, file := range map[string][]byte{
		"holds no .jpg under train/CLASS of a, b": archive(t, archived{"test/a/1.jpg", small}),
		"the first picture 4×3":                   archive(t, archived{"train/a/1.jpg", small}, archived{"train/b/2.jpg", large}),
		"train/a/1.jpg":                           archive(t, archived{"train/a/1.jpg", small[:100]}),
		"damaged or none":                         []byte(strings.Repeat("no archive", 100)),
	} {
		if _, err := ReadJPEGs(bytes.NewReader(file), "train", []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func FuzzReadJPEGs(f *testing.F) {
	f.Add(archive(f, archived{"a/1.jpg", picture(f, 2, 2, color.RGBA{G: 9, A: 255})}))
	f.Add(archive(f, archived{"a/1.jpg", []byte{0xff, 0xd8, 0xff}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ReadJPEGs(bytes.NewReader(data), "", []string{"a"})
		if err == nil && table.Rows() == 0 {
			t.Error("no error and no pictures")
		}
	})
}
