package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
	"caucus/aggregation/ratio"
)

// newSamples exchanges samples with other quantification tools.
func newSamples(stdout io.Writer) *cobra.Command {
	l, read, out, protocol, draws := &lab{}, "", "", "upp", 20
	cmd := &cobra.Command{
		Use: "samples SET", Short: "Write or read test samples in QuaPy's index form, and estimate them",
		Long: `Draw four sets of a data set (two classes: shares (.9,.1), (.9,.1), (.1,.9),
(.1,.9); more: a main class each) and estimate the class shares of test samples,
drawn here or read from --read, so that another tool can be run on the very same.

Below --out: sets.csv (the training records: set, label, features), test.csv
(label, features; a sample's indices count its lines from 0), samples.csv (shares
and indices, as QuaPy's LabelledCollection.sampling_from_index takes them) and
estimates.csv (a line a sample and method). The table has means over samples.`,
		Example: "  lab samples adult --protocol upp --out exchange\n  lab samples adult --read exchange/samples.csv --out again",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || out == "" ||
				!slices.Contains([]string{"app", "upp", "npp"}, protocol) || draws < 1 {
				return fmt.Errorf("%w: samples needs one SET, --out DIR, a --protocol of app, upp or npp and --samples of at least 1", errUsage)
			}
			e, err := newExchange(l, args[0])
			if err != nil {
				return err
			}
			if read == "" {
				e.samples, err = e.data.targets(protocol, draws, l.rng("exchange "+protocol))
			} else {
				e.samples, err = readSamplesFile(read, e.data)
			}
			if err != nil {
				return err
			}
			if err := e.write(out); err != nil {
				return err
			}
			return e.estimate(out, stdout)
		},
	}
	f := cmd.Flags()
	f.StringVar(&l.DataDir, "data-dir", os.Getenv("CAUCUS_DATA"), "folder of the known data sets (default $CAUCUS_DATA)")
	f.Uint64Var(&l.Seed, "seed", 1, "seed of sets and samples")
	f.StringVar(&protocol, "protocol", protocol, "how samples are drawn: app, upp or npp")
	f.IntVar(&draws, "samples", draws, "how many samples to draw")
	f.StringVar(&read, "read", "", "samples of this file instead")
	f.StringVar(&out, "out", "", "folder to write to")
	return cmd
}

// exchange is a data set with its training sets and test samples.
type exchange struct {
	lab     *lab
	data    *ratioData
	rows    [][]int // of the training sets
	samples []ratio.Sample
}

func newExchange(l *lab, name string) (*exchange, error) {
	d, err := l.ratioSet(name)
	if err != nil {
		return nil, err
	}
	shares := iyerFig2Shares
	if d.Classes > 2 {
		shares = make([][]float64, 2*d.Classes)
		for i := range shares {
			shares[i] = slices.Repeat([]float64{iyerFig3Minor}, d.Classes)
			shares[i][i%d.Classes] = 1 - iyerFig3Minor*float64(d.Classes-1)
		}
	}
	rows, err := d.drawSets(shares, l.rng("exchange sets"))
	return &exchange{lab: l, data: d, rows: rows}, err
}

func readSamplesFile(path string, d *ratioData) ([]ratio.Sample, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSamples(f, d.TestY, d.Classes)
}

func (e *exchange) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := writeFile(filepath.Join(dir, "samples.csv"), func(w io.Writer) error {
		return writeSamples(w, e.samples)
	})
	if err != nil {
		return err
	}
	var order, set []int
	for k, rows := range e.rows {
		order, set = append(order, rows...), append(set, slices.Repeat([]int{k}, len(rows))...)
	}
	err = writeFile(filepath.Join(dir, "sets.csv"), func(w io.Writer) error {
		y := make([]int, len(order))
		for i, r := range order {
			y[i] = e.data.Y[r]
		}
		return writeRecords(w, rowsOf(e.data.X, order), y, set)
	})
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "test.csv"), func(w io.Writer) error {
		return writeRecords(w, e.data.TestX, e.data.TestY, nil)
	})
}

// writeRecords writes set (where given), label and features, a record a line.
func writeRecords(w io.Writer, x *mat.Dense, y, set []int) error {
	c := csv.NewWriter(w)
	n, d := x.Dims()
	header := []string{"label"}
	if set != nil {
		header = []string{"set", "label"}
	}
	for j := range d {
		header = append(header, fmt.Sprintf("x%d", j))
	}
	c.Write(header)
	for i := range n {
		var line []string
		if set != nil {
			line = append(line, strconv.Itoa(set[i]))
		}
		line = append(line, strconv.Itoa(y[i]))
		for _, v := range x.RawRowView(i) {
			line = append(line, strconv.FormatFloat(v, 'g', 9, 64))
		}
		c.Write(line)
	}
	c.Flush()
	return c.Error()
}

// estimate runs the estimators that need set shares only, and the references that
// were trained with every record's label (*).
func (e *exchange) estimate(dir string, stdout io.Writer) error {
	rng := e.lab.rng("exchange methods")
	sets, labels := e.data.gather(e.rows)
	scale, err := embedding.MedianSquaredDistance(sets[0].Rows, rng)
	if err != nil {
		return err
	}
	gamma, _, err := ratio.SelectWidth(sets, ratio.WidthOptions{SquaredDistance: scale}, rng)
	if err != nil {
		return err
	}
	var methods []ratioMethod
	for _, estimator := range embedding.Estimators() {
		m, err := ratio.Fit(sets, ratio.Options{Estimator: estimator, Kernel: ratio.RBF(gamma)})
		if err != nil {
			return err
		}
		methods = append(methods, ratioMethod{"MMD " + estimator, byModel(m)})
	}
	methods = append(methods, ratioMethod{"MMD constrained",
		byShares(newConstrained(sets, ratio.RBF(gamma)).estimate)})
	y := slices.Concat(labels...)
	counter, err := newLabelCounter(rowsOf(e.data.X, slices.Concat(e.rows...)), y, e.data.Classes,
		rng)
	if err != nil {
		return err
	}
	training := ratio.SharesOfLabels(y, nil, e.data.Classes)
	methods = append(methods,
		ratioMethod{"training ratio", byShares(func(*mat.Dense) []float64 { return training })},
		ratioMethod{"classify-and-count *", byShares(counter.count)},
		ratioMethod{"adjusted count *", byShares(counter.adjusted)},
		ratioMethod{"emq *", byShares(counter.emq)},
	)
	measured := make([][]ratio.Error, len(methods))
	err = writeFile(filepath.Join(dir, "estimates.csv"), func(w io.Writer) error {
		c := csv.NewWriter(w)
		header := []string{"sample", "method"}
		for k := range e.data.Classes {
			header = append(header, fmt.Sprintf("estimate_%d", k))
		}
		c.Write(append(header, "ae", "rae", "nkld"))
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }
		for i, s := range e.samples {
			x := rowsOf(e.data.TestX, s.Rows)
			for m, method := range methods {
				a, err := method.answer(x)
				if err != nil {
					return fmt.Errorf("%s: %w", method.name, err)
				}
				off := ratio.Measure(s.Shares, a.shares, len(s.Rows))
				measured[m] = append(measured[m], off)
				line := []string{strconv.Itoa(i), method.name}
				for _, v := range a.shares {
					line = append(line, number(v))
				}
				c.Write(append(line, number(off.AE), number(off.RAE), number(off.NKLD)))
			}
		}
		c.Flush()
		return c.Error()
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d samples of %s; methods with * were trained with every record's label\n%-22s %8s %8s %8s\n", len(e.samples), e.data.Name, "method", "AE", "RAE", "NKLD")
	for m, method := range methods {
		var mean [3]float64
		for _, e := range measured[m] {
			for k, v := range []float64{e.AE, e.RAE, e.NKLD} {
				mean[k] += v / float64(len(measured[m]))
			}
		}
		fmt.Fprintf(stdout, "%-22s %8.4f %8.4f %8.4f\n", method.name, mean[0], mean[1], mean[2])
	}
	return nil
}
