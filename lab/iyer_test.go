package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
	"caucus/aggregation/ratio"
	"caucus/internal/testlevel"
)

// TestIyerQuick: the figures run end to end on generated data, in a short run one of
// them; MMD beats proportion-SVM, and counts at ε = .5 cost it little.
func TestIyerQuick(t *testing.T) {
	out := t.TempDir()
	r := &runner{lab: &lab{Quick: true, Seed: 1}, out: out, now: time.Now, note: t.Logf,
		command: "test"}
	r.lab.Workers = 2
	all := []experiment{iyerFig2Experiment(), iyerFig3Experiment(), iyerFig1Experiment(),
		iyerCoverageExperiment()}
	if err := r.run(context.Background(), all[:testlevel.N(t, 1, len(all))]); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(out, "iyer-fig2", "results.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read, err := readResults(f)
	if err != nil {
		t.Fatal(err)
	}
	l1 := func(method string) float64 {
		return read.where("protocol", "grid", "method", method).over("l1").Mean
	}
	mmd, private, svm, training := l1("MMD class-means"), l1("MMD private counts, ε = 0.5"),
		l1("alter-pSVM"), l1("training ratio")
	t.Logf("MMD %.3f, with private counts %.3f, alter-pSVM %.3f, training ratio %.3f", mmd, private, svm, training)
	if mmd > svm/2 || mmd > training/2 || private > mmd+.05 {
		t.Error("the order of the figure is not reached")
	}
	samples, err := os.ReadFile(filepath.Join(out, "iyer-fig2", "hospitals-upp-samples.csv"))
	if err != nil || !strings.HasPrefix(string(samples), "prevalence_0,prevalence_1,index\n") {
		t.Errorf("samples: %v %.60s", err, samples)
	}
}

func TestSamplesRoundTrip(t *testing.T) {
	y := []int{0, 1, 1, 0, 2, 2, 2, 1}
	samples, err := ratio.SampleSets(y, ratio.SampleOptions{Classes: 3, Size: 6, Sets: 4},
		rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := writeSamples(&file, samples); err != nil {
		t.Fatal(err)
	}
	back, err := readSamples(&file, y, 3)
	if err != nil || !reflect.DeepEqual(samples, back) {
		t.Errorf("%v becomes %v, %v", samples, back, err)
	}
	for _, bad := range []string{"", "index\n", "a,b\n1,2\n", "index\n9\n", "index\nx\n"} {
		if _, err := readSamples(strings.NewReader(bad), y, 3); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	if writeSamples(&file, nil) == nil {
		t.Error("no samples are written")
	}
}

// TestSamplesVerb: another tool's samples are read by their indices, and every
// file has a line a record, sample or estimate.
func TestSamplesVerb(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(dir, "theirs.csv")
	if err := os.WriteFile(theirs,
		[]byte("index\n"+strings.Repeat("7 8 9 10 11 ", 20)+"\n0 1 2 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := Main(context.Background(),
		[]string{"samples", "hospitals", "--read", theirs, "--out", dir}, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	if !strings.Contains(out.String(), "2 samples of hospitals") ||
		!strings.Contains(out.String(), "MMD class-means") {
		t.Errorf("it says %s", &out)
	}
	for name, want := range map[string]int{"samples.csv": 3, "sets.csv": 2401,
		"estimates.csv": 1 + 2*7} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if lines := strings.Count(string(text), "\n"); err != nil || lines != want {
			t.Errorf("%s: %d lines, want %d, %v", name, lines, want, err)
		}
	}
	for _, args := range [][]string{{"samples", "hospitals"}, {"samples", "--out", dir},
		{"samples", "hospitals", "--out", dir, "--protocol", "x"}} {
		if code := Main(context.Background(), args, &out, &errs); code != 2 {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}

// TestLabelCounter: where the classifier's rates are right, adjusted count and
// EMQ undo what a shift does to classify-and-count.
func TestLabelCounter(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, share float64) (*mat.Dense, []int) {
		x, y := mat.NewDense(n, 2, nil), make([]int, n)
		for i := range n {
			if float64(i) < share*float64(n) {
				y[i] = 1
			}
			for j := range 2 {
				x.Set(i, j, .35*float64(y[i])+.25*rng.NormFloat64())
			}
		}
		return x, y
	}
	x, y := draw(3000, .5)
	c, err := newLabelCounter(x, y, 2, rng)
	if err != nil {
		t.Fatal(err)
	}
	target, _ := draw(3000, .1)
	cc, acc, emq := c.count(target)[1], c.adjusted(target)[1], c.emq(target)[1]
	if math.Abs(cc-.1) < .04 || math.Abs(acc-.1) > .04 || math.Abs(emq-.1) > .04 {
		t.Errorf("share .1: classify-and-count %.3f, adjusted %.3f, EMQ %.3f", cc, acc, emq)
	}
}

func TestTextFeatures(t *testing.T) {
	c := corpus{Texts: []string{"the cat sat", "The DOG sat down", "", "the the"},
		Y: []int{0, 1, 0, 1}}
	x := c.features(4)
	n, d := x.Dims()
	if n != 4 || d != 5 {
		t.Fatalf("%d×%d", n, d)
	}
	for i := range n {
		norm := 0.
		for j := range d - 1 {
			norm += x.At(i, j) * x.At(i, j)
		}
		if norm > 1+1e-12 || math.IsNaN(norm) {
			t.Errorf("row %d has norm² %g", i, norm)
		}
	}
	if x.At(2, 4) != 0 || !(x.At(1, 4) > x.At(0, 4)) {
		t.Errorf("lengths %g, %g, %g", x.At(0, 4), x.At(1, 4), x.At(2, 4))
	}
}

// TestRealTexts: both corpora are read whole.
func TestRealTexts(t *testing.T) {
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: no real data")
	}
	comments, err := youtubeComments(dir)
	if err != nil || len(comments.Y) != 1956 {
		t.Errorf("%d comments, %v", len(comments.Y), err)
	}
	for part, want := range map[string]int{"train": 6248, "test": 692} {
		c, err := tweets(dir, part)
		if err != nil || len(c.Y) != want {
			t.Errorf("%d tweets in %s, want %d, %v", len(c.Y), part, want, err)
		}
	}
}

// TestIyerAdult: sets of 600 at shares (.1,.1,.9,.9), mean of 10 seeds: at test
// shares .1 and .9 the L1 distance is at most half of proportion-SVM's and of
// classify-and-count's, which moreover needs every label. A short run has one seed and sets
// of 300, of which it can only say that the distance is the least of the three.
func TestIyerAdult(t *testing.T) {
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: no real data")
	}
	l := &lab{Seed: 1, DataDir: dir}
	d, err := l.ratioSet("adult")
	if err != nil {
		t.Fatal(err)
	}
	d.SetSize = testlevel.N(t, 300, 600)
	part := 1.
	if testlevel.Long() {
		part = .5
	}
	seeds := testlevel.N(t, 1, 10)
	l1 := map[string][2]float64{}
	for seed := range seeds {
		rng := l.rng(fmt.Sprintf("adult-draw%d", seed))
		rows, err := d.drawSets(iyerFig2Shares, rng)
		if err != nil {
			t.Fatal(err)
		}
		sets, labels := d.gather(rows)
		scale, err := embedding.MedianSquaredDistance(sets[0].Rows, rng)
		if err != nil {
			t.Fatal(err)
		}
		gamma, _, err := ratio.SelectWidth(sets, ratio.WidthOptions{SquaredDistance: scale}, rng)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ratio.Fit(sets, ratio.Options{Kernel: ratio.RBF(gamma)})
		if err != nil {
			t.Fatal(err)
		}
		var bags []bag
		for _, s := range sets {
			bags = append(bags, bag{s.Rows, s.Shares[1]})
		}
		svm, err := alterPSVM(bags, defaultAlterPSVM(), rng)
		if err != nil {
			t.Fatal(err)
		}
		counter, err := newLabelCounter(rowsOf(d.X, slices.Concat(rows...)),
			slices.Concat(labels...), 2, rng)
		if err != nil {
			t.Fatal(err)
		}
		for k, share := range []float64{.1, .9} {
			s, err := ratio.SampleAtShares(d.TestY, []float64{1 - share, share}, 600, rng)
			if err != nil {
				t.Fatal(err)
			}
			x := rowsOf(d.TestX, s.Rows)
			e, err := m.Estimate(ratio.Set{Rows: x})
			if err != nil {
				t.Fatal(err)
			}
			p := svm.positives(x)
			for name, shares := range map[string][]float64{"MMD": e.Shares,
				"proportion-SVM": {1 - p, p}, "classify-and-count": counter.count(x)} {
				sum := l1[name]
				sum[k] += ratio.Measure(s.Shares, shares, 600).L1 / float64(seeds)
				l1[name] = sum
			}
		}
		t.Logf("seed %d: sums so far %v", seed, l1)
	}
	for k, share := range []float64{.1, .9} {
		t.Logf("share %g: MMD %.4f, proportion-SVM %.4f, classify-and-count %.4f", share, l1["MMD"][k], l1["proportion-SVM"][k], l1["classify-and-count"][k])
		if most := part * min(l1["proportion-SVM"][k],
			l1["classify-and-count"][k]); l1["MMD"][k] > most {
			t.Errorf("share %g: L1 %.4f, want at most %.4f", share, l1["MMD"][k], most)
		}
	}
}
