package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"caucus/analyst/simulate"
	"caucus/dataset"
)

//go:embed boosted.py
var boostedScript []byte

// boosted is the accuracy on the test records of scikit-learn's boosted trees trained on some
// private records, by the Python that CAUCUS_PYTHON names; 0 where it names none.
func boosted(ctx context.Context, d *simulate.DealtData, rows []int) (float64, error) {
	python := os.Getenv("CAUCUS_PYTHON")
	if python == "" {
		return 0, nil
	}
	folder, err := os.MkdirTemp("", "boosted")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	script, train, test := filepath.Join(folder, "boosted.py"), filepath.Join(folder,
		"train.csv"), filepath.Join(folder, "test.csv")
	if err := os.WriteFile(script, boostedScript, 0o600); err != nil {
		return 0, err
	}
	for name, records := range map[string]*dataset.Records{train: d.Private.Select(rows),
		test: d.Test.All()} {
		if err := writeEncoded(name, records); err != nil {
			return 0, err
		}
	}
	said, err := exec.CommandContext(ctx, python, script, train, test).Output()
	if err != nil {
		return 0, fmt.Errorf("boosted trees: %w", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
}

// writeEncoded writes labelled records: the class, then the encoded columns.
func writeEncoded(name string, r *dataset.Records) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i, y := range r.Y {
		if y < 0 {
			continue
		}
		fmt.Fprint(w, y)
		for _, v := range r.X.RawRowView(i) {
			fmt.Fprint(w, ",", strconv.FormatFloat(v, 'g', 7, 64))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
