package public

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"caucus/dataset"
)

// Limits of an IDX header, so that a damaged header cannot request more memory than an image set
// needs.
const (
	maxImagePixels = 1 << 20 // 1024×1024
	maxImages      = 1 << 28
)

// ReadIDX reads images and labels in the IDX format of the MNIST files (Y. LeCun, C. Cortes, C.
// Burges, "The MNIST database of handwritten digits"): big-endian header, unsigned bytes. Gzip is
// unpacked. The table has one column per pixel, "p0", "p1", ..., row by row, with values
// "0".."255", and a last column "label". A nil labels reader leaves that column out.
func ReadIDX(images, labels io.Reader) (*dataset.Table, error) {
	dims, pixels, err := readIDXBytes(images, 3)
	if err != nil {
		return nil, fmt.Errorf("read images: %w", err)
	}
	n, size := dims[0], dims[1]*dims[2]
	names, cells := pixelColumns(pixels, n, size)
	if labels != nil {
		dims, digits, err := readIDXBytes(labels, 1)
		if err != nil {
			return nil, fmt.Errorf("read labels: %w", err)
		}
		if dims[0] != n {
			return nil, fmt.Errorf("read labels: there are %d labels for %d images; the two files do not belong together", dims[0], n)
		}
		names, cells = append(names, "label"), append(cells, digits)
	}
	return dataset.NewByteTable(names, cells), nil
}

func readIDXBytes(r io.Reader, dimensions int) (dims []int, data []byte, err error) {
	plain, _, err := dataset.Gunzip(r)
	if err != nil {
		return nil, nil, err
	}
	magic, err := plain.Peek(4)
	if err == nil && (magic[0] != 0 || magic[1] != 0 || magic[2] != 0x08 ||
		magic[3] != byte(dimensions)) {
		return nil, nil, fmt.Errorf("the file starts with % x, not with 00 00 08 %02x: it is no IDX file of bytes in %d dimensions (are images and labels swapped?)",
			magic, dimensions, dimensions)
	}
	header := make([]byte, 4+4*dimensions)
	if _, err := io.ReadFull(plain, header); err != nil {
		return nil, nil, fmt.Errorf("the header of an IDX file is %d bytes: %w", len(header), err)
	}
	dims = make([]int, dimensions)
	total, item := int64(1), int64(1)
	for i := range dims {
		v := int64(binary.BigEndian.Uint32(header[4+4*i:]))
		if i == 0 && v > maxImages || i > 0 && (v < 1 || v*item > maxImagePixels) {
			return nil, nil, fmt.Errorf("the header claims %d in dimension %d; the file is damaged", v, i)
		}
		if i > 0 {
			item *= v
		}
		dims[i] = int(v)
		total *= v
	}
	// Memory grows with the data, not with the header's claim.
	data, err = io.ReadAll(io.LimitReader(plain, total+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(data)) != total {
		return nil, nil, fmt.Errorf("the header announces %d bytes, the file has %s; it is damaged or cut short",
			total, atLeast(int64(len(data)), total))
	}
	return dims, data, nil
}

func atLeast(n, most int64) string {
	if n > most {
		return "more"
	}
	return strconv.FormatInt(n, 10)
}

// pixelColumns turns images, one after the other, into a name and a column for each pixel.
func pixelColumns(pixels []byte, n, size int) ([]string, [][]uint8) {
	cells := make([]uint8, n*size) // column after column
	// how many images are transposed at a time, so that they stay in cache
	const block = 64
	for first := 0; first < n; first += block {
		last := min(first+block, n)
		for p := range size {
			for i := first; i < last; i++ {
				cells[p*n+i] = pixels[i*size+p]
			}
		}
	}
	var names []string
	var columns [][]uint8
	for p := range size {
		names = append(names, "p"+strconv.Itoa(p))
		columns = append(columns, cells[p*n:(p+1)*n:(p+1)*n])
	}
	return names, columns
}
