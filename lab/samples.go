package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"caucus/aggregation/ratio"
)

// Samples travel as indices into a collection, the form in which QuaPy identifies them:
// LabelledCollection.sampling_from_index(index). A line is a sample: its class shares, then its
// rows' indices from 0, separated by spaces. In Python:
//
//	for line in csv.DictReader(open("samples.csv")):
//	    index = np.array(line["index"].split(), dtype=int)
//	    sample = collection.sampling_from_index(index)

func writeSamples(w io.Writer, samples []ratio.Sample) error {
	if len(samples) == 0 {
		return fmt.Errorf("write samples: there are none")
	}
	c := csv.NewWriter(w)
	header := []string{}
	for k := range samples[0].Shares {
		header = append(header, fmt.Sprintf("prevalence_%d", k))
	}
	if err := c.Write(append(header, "index")); err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	for _, s := range samples {
		line := []string{}
		for _, v := range s.Shares {
			line = append(line, strconv.FormatFloat(v, 'g', -1, 64))
		}
		var index strings.Builder
		for i, r := range s.Rows {
			if i > 0 {
				index.WriteByte(' ')
			}
			index.WriteString(strconv.Itoa(r))
		}
		if err := c.Write(append(line, index.String())); err != nil {
			return fmt.Errorf("write samples: %w", err)
		}
	}
	c.Flush()
	return c.Error()
}

// readSamples reads what writeSamples or a QuaPy script wrote, and recomputes
// each sample's shares from the labels.
func readSamples(r io.Reader, y []int, classes int) ([]ratio.Sample, error) {
	lines, err := csv.NewReader(bufio.NewReader(r)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	if len(lines) < 2 || lines[0][len(lines[0])-1] != "index" {
		return nil, fmt.Errorf("read samples: want a header that ends in a column index, and at least one sample")
	}
	var out []ratio.Sample
	for i, line := range lines[1:] {
		var s ratio.Sample
		for _, text := range strings.Fields(line[len(line)-1]) {
			row, err := strconv.Atoi(text)
			if err != nil || row < 0 || row >= len(y) {
				return nil, fmt.Errorf("read samples: sample %d: %q is no row of %d", i, text,
					len(y))
			}
			s.Rows = append(s.Rows, row)
		}
		s.Shares = ratio.SharesOfLabels(y, s.Rows, classes)
		out = append(out, s)
	}
	return out, nil
}
