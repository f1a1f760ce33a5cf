package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"image/color"
	"image/jpeg"
	"io"
	"os"
	"path"
	"path/filepath"

	"caucus/dataset"
	"caucus/dataset/public"
)

// airplaneHorse is the set of CIFAR-10's airplanes and horses: JPEG files in a tar.gz, in CLASS
// folders under train and test.
const airplaneHorse = "cifar10-airplane-horse"

const (
	airplaneHorseFile   = "cifar10/CIFAR-10-images-jpg.tar.gz"
	airplaneHorseSource = `A. Krizhevsky, "Learning multiple layers of features from tiny images" (2009), https://www.cs.toronto.edu/~kriz/cifar.html`
	airplaneHorseSchema = `
name: cifar10-airplane-horse
label: {column: label, classes: ["0", "1"]} # airplane, horse
features:
  # Red row by row, then green, then blue.
  - {columns: [p0..p3071], kind: numeric, min: 0, max: 255}
`
)

// pictures describes a row of encoded pixels as a picture: channel after channel, each row by row.
type pictures struct{ Height, Width, Channels int }

func (p pictures) pixels() int { return p.Height * p.Width * p.Channels }

// sizes are the pictures of sets.
var sizes = map[string]pictures{airplaneHorse: {32, 32, 3}, "mnist-parity": {28, 28, 1}}

// readAirplaneHorse reads a part, "train" or "test", below a folder of data.
func readAirplaneHorse(dir, part string) (*dataset.Table, error) {
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(airplaneHorseFile)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	plain, _, err := dataset.Gunzip(file)
	if err != nil {
		return nil, err
	}
	classes := map[string]byte{part + "/airplane": 0, part + "/horse": 1}
	var pixels, labels []byte
	archive := tar.NewReader(plain)
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		class, ok := classes[path.Dir(path.Clean(entry.Name))]
		if !ok || path.Ext(entry.Name) != ".jpg" {
			continue
		}
		img, err := jpeg.Decode(archive)
		if err != nil {
			return nil, err
		}
		var planes [3][]byte
		for y := range 32 {
			for x := range 32 {
				c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
				for i, v := range []byte{c.R, c.G, c.B} {
					planes[i] = append(planes[i], v)
				}
			}
		}
		for _, plane := range planes {
			pixels = append(pixels, plane...)
		}
		labels = append(labels, class)
	}
	// ReadIDX takes one channel, so the three planes stand below each other.
	n := uint32(len(labels))
	return public.ReadIDX(idx(pixels, n, 96, 32), idx(labels, n))
}

// idx returns a file of bytes in the format of MNIST.
func idx(data []byte, dims ...uint32) io.Reader {
	head := binary.BigEndian.AppendUint32(nil, 0x0800|uint32(len(dims)))
	for _, d := range dims {
		head = binary.BigEndian.AppendUint32(head, d)
	}
	return io.MultiReader(bytes.NewReader(head), bytes.NewReader(data))
}

func (s *source) loadAirplaneHorse(l *lab) error {
	train, err := readAirplaneHorse(l.DataDir, "train")
	test, errTest := readAirplaneHorse(l.DataDir, "test")
	schema, errSchema := dataset.ParseSchema(bytes.NewReader([]byte(airplaneHorseSchema)))
	if err = cmp.Or(err, errTest, errSchema); err != nil {
		return err
	}
	s.Schema, s.Origin = schema, airplaneHorseSource
	if s.Train, _, err = schema.EncodeLabelled(train); err != nil {
		return err
	}
	if s.Test, _, err = schema.EncodeLabelled(test); err != nil {
		return err
	}
	s.Digests[airplaneHorseFile], err = fileDigest(os.DirFS(l.DataDir), airplaneHorseFile)
	return err
}
