package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/mat"
)

type corpus struct {
	Texts []string
	Y     []int
}

// features are the TF-IDF weights of the most frequent words (by documents), each row of norm 1,
// and the text's length in words, log(1+words)/8 (texts here have below 3,000 words). The
// vocabulary comes from these texts, without labels: a public corpus.
func (c corpus) features(words int) *mat.Dense {
	tokens, documents := make([][]string, len(c.Texts)), map[string]int{}
	for i, text := range c.Texts {
		tokens[i] = strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		for _, w := range slices.Compact(slices.Sorted(slices.Values(tokens[i]))) {
			documents[w]++
		}
	}
	var vocabulary []string
	for w := range documents {
		vocabulary = append(vocabulary, w)
	}
	slices.SortFunc(vocabulary, func(a, b string) int {
		return cmp.Or(cmp.Compare(documents[b], documents[a]), cmp.Compare(a, b))
	})
	vocabulary = vocabulary[:min(words, len(vocabulary))]
	column := map[string]int{}
	for j, w := range vocabulary {
		column[w] = j
	}
	x := mat.NewDense(len(c.Texts), len(vocabulary)+1, nil)
	for i, ws := range tokens {
		row, norm := x.RawRowView(i), 0.
		for _, w := range ws {
			if j, ok := column[w]; ok {
				row[j] += math.Log(float64(len(c.Texts)) / float64(documents[w]))
			}
		}
		for _, v := range row {
			norm += v * v
		}
		for j := range row {
			row[j] /= max(math.Sqrt(norm), 1e-12)
		}
		row[len(vocabulary)] = math.Log1p(float64(len(ws))) / 8
	}
	return x
}

// youtubeComments reads the five files of the YouTube Spam Collection; class 1 is spam.
func youtubeComments(dir string) (corpus, error) {
	var out corpus
	files, err := filepath.Glob(filepath.Join(dir, "youtube_spam", "*.csv"))
	if err != nil || len(files) == 0 {
		return out, fmt.Errorf("no YouTube comments in %s/youtube_spam: they come from UCI, \"YouTube Spam Collection\" (Alberto, Lochter & Almeida 2015)", dir)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return out, err
		}
		lines, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			return out, fmt.Errorf("read %s: %w", name, err)
		}
		for _, l := range lines[1:] {
			y := 0
			if strings.TrimSpace(l[len(l)-1]) == "1" {
				y = 1
			}
			out.Texts, out.Y = append(out.Texts, l[3]), append(out.Y, y)
		}
	}
	return out, nil
}

// tweets reads Dong et al. 2014: three lines a tweet, polarity −1, 0 or 1 last.
func tweets(dir, part string) (corpus, error) {
	var out corpus
	f, err := os.Open(filepath.Join(dir, "twitter_target", "target."+part+".raw.raw"))
	if err != nil {
		return out, fmt.Errorf("%w: the tweets come from Dong et al. 2014, \"Adaptive recursive neural network for target-dependent Twitter sentiment classification\"", err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return out, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := 0; i+2 < len(lines); i += 3 {
		y, ok := map[string]int{"-1": 0, "0": 1, "1": 2}[strings.TrimSpace(lines[i+2])]
		if !ok {
			return out, fmt.Errorf("tweet %d has polarity %q", i/3, lines[i+2])
		}
		out.Texts, out.Y = append(out.Texts,
			strings.ReplaceAll(lines[i], "$T$", lines[i+1])), append(out.Y, y)
	}
	return out, nil
}
