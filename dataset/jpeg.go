package dataset

import (
	"archive/tar"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"path"
	"slices"
	"strings"
)

// maxJPEGBytes bounds one picture's file, at a megapixel without compression.
const maxJPEGBytes = 4 * maxImagePixels

// ReadJPEGs reads pictures from a tar archive (gzip is unpacked) whose entries are part/class/name.jpg,
// or class/name.jpg if part is "". It decodes only the named classes and skips all other entries.
//
// The table has one column per pixel and colour, "p0", "p1", ...: all of red row by row, then green,
// then blue, with values "0".."255", and a last column "label" with the class. All pictures must have
// the size of the first.
func ReadJPEGs(r io.Reader, part string, classes []string) (*Table, error) {
	if len(classes) > 256 { // a label is a byte
		return nil, fmt.Errorf("read pictures: %d classes; at most 256 are read", len(classes))
	}
	plain, _, err := Unpack(r)
	if err != nil {
		return nil, fmt.Errorf("read pictures: %w", err)
	}
	var p pictures
	archive := tar.NewReader(plain)
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read pictures: the archive is damaged or none: %w", err)
		}
		folder, file := path.Split(path.Clean(entry.Name))
		top, class := path.Split(strings.TrimSuffix(folder, "/"))
		k := slices.Index(classes, class)
		if k < 0 || strings.Trim(top, "/.") != part || !isJPEG(file) || entry.Typeflag != tar.TypeReg {
			continue
		}
		if entry.Size > maxJPEGBytes {
			return nil, fmt.Errorf("read pictures: %s has %d bytes; at most %d are read", entry.Name, entry.Size, maxJPEGBytes)
		}
		if err := p.add(archive, k); err != nil {
			return nil, fmt.Errorf("read pictures: %s: %w", entry.Name, err)
		}
	}
	if len(p.labels) == 0 {
		return nil, fmt.Errorf("read pictures: the archive holds no .jpg under %s of %s", path.Join(part, "CLASS"), listNames(classes))
	}
	return p.table(classes), nil
}

func isJPEG(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".jpg" || ext == ".jpeg"
}

type pictures struct {
	size   image.Point
	pixels []byte // picture after picture, planes red, green, blue
	labels []byte
}

func (p *pictures) add(r io.Reader, class int) error {
	// Check the header first, because the decoder allocates the size that it claims.
	var head strings.Builder
	config, err := jpeg.DecodeConfig(io.TeeReader(r, &head))
	if err != nil {
		return err
	}
	size := image.Pt(config.Width, config.Height)
	if size.X*size.Y > maxImagePixels {
		return fmt.Errorf("it claims %d×%d pixels; at most %d are read", size.X, size.Y, maxImagePixels)
	}
	if len(p.labels) == 0 {
		p.size = size
	} else if size != p.size {
		return fmt.Errorf("it has %d×%d pixels, the first picture %d×%d; bring all to one size", size.X, size.Y, p.size.X, p.size.Y)
	}
	img, err := jpeg.Decode(io.MultiReader(strings.NewReader(head.String()), r))
	if err != nil {
		return err
	}
	area := size.X * size.Y
	at := len(p.pixels)
	p.pixels = append(p.pixels, make([]byte, 3*area)...)
	planes := p.pixels[at:]
	bounds := img.Bounds()
	i := 0
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			planes[i], planes[area+i], planes[2*area+i] = c.R, c.G, c.B
			i++
		}
	}
	p.labels = append(p.labels, byte(class))
	return nil
}

func (p *pictures) table(classes []string) *Table {
	n, size := len(p.labels), len(p.pixels)/len(p.labels)
	columns := byteColumns(p.pixels, n, size)
	columns = append(columns, column{name: "label", values: slices.Clone(classes), codes: codes{narrow: p.labels}})
	return newTable(n, columns)
}
