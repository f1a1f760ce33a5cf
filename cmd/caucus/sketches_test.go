package main

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// sketches writes 200 pictures of 14×14 pixels, bars lying or standing, as
// sketches.tar of JPEG files and as the IDX files sketches.images and
// sketches.labels.
func sketches(dir string) error {
	rng := rand.New(rand.NewPCG(4, 4))
	const n, side = 200, 14
	images := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, n)
	images = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(images, side), side)
	labels := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, n)
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	for i := range n {
		class := rng.IntN(2)
		picture := image.NewGray(image.Rect(0, 0, side, side))
		for y := range side {
			for x := range side {
				along := []int{y, x}[class]
				v := uint8(rng.IntN(90) + 130*(along/3%2))
				picture.SetGray(x, y, color.Gray{Y: v})
				images = append(images, v)
			}
		}
		labels = append(labels, byte(class))
		var file bytes.Buffer
		if err := jpeg.Encode(&file, picture, nil); err != nil {
			return err
		}
		name := fmt.Sprintf("%s/%d.jpg", []string{"lying", "standing"}[class], i)
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(file.Len())}); err != nil {
			return err
		}
		if _, err := archive.Write(file.Bytes()); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	for name, b := range map[string][]byte{"sketches.tar": packed.Bytes(), "sketches.images": images, "sketches.labels": labels} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}
