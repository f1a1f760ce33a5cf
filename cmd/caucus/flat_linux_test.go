package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/dataset/public"
	"caucus/internal/testlevel"
)

// peak runs a command on one processor, and returns its largest memory in megabytes and its
// processor seconds.
func peak(t *testing.T, dir string, args ...string) (megabytes, seconds float64) {
	t.Helper()
	cmd := caucus(t.Context(), dir, args...)
	cmd.Env = append(cmd.Env, "GOMAXPROCS=1", "GOGC=100")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for at := time.Tick(2 * time.Millisecond); ; <-at {
		// Rusage would count this process, which started the command.
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if _, mark, ok := strings.Cut(string(status), "VmHWM:"); ok {
			var kilobytes float64
			fmt.Sscan(mark, &kilobytes)
			megabytes = max(megabytes, kilobytes/1000)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v: %v: %s", args, err, said.String())
			}
			return megabytes, (cmd.ProcessState.UserTime() +
				cmd.ProcessState.SystemTime()).Seconds()
		default:
		}
	}
}

// records writes a file of made-up hospital records.
func records(t *testing.T, file string, n int, seed uint64) {
	t.Helper()
	c := public.DefaultHospitalConfig()
	c.Records, c.Seed = 10_000, seed
	table, _ := public.Hospitals(c)
	rng, rows := rand.New(rand.NewPCG(seed, 1)), make([]int, n)
	for i := range rows {
		rows[i] = rng.IntN(table.Rows())
	}
	var text bytes.Buffer
	if err := table.Select(rows).WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// made makes a classifier in release.json.
func made(t *testing.T, dir string) {
	t.Helper()
	var said bytes.Buffer
	if code := Main(context.Background(),
		[]string{"simulate", "classify", "--parties", "10", "--set", "simulate.generate=2000",
			"--out", filepath.Join(dir, "release.json")}, io.Discard, &said); code != 0 {
		t.Fatal(said.String())
	}
}

// TestPredictIsFlat: release predict holds below 100 MB for any number of rows, and the rows on
// stdout are those in a file.
func TestPredictIsFlat(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	n := testlevel.N(t, 60_000, 2_000_000)
	records(t, filepath.Join(dir, "records.csv"), n, 1)
	for _, args := range [][]string{{"--id", "patient"}, {"--keep"}, {"--out", "answer.csv"},
		{"--out", "answer.parquet"}} {
		megabytes, seconds := peak(t, dir,
			append([]string{"release", "predict", "release.json", "--data", "records.csv"},
				args...)...)
		t.Logf("%v: %.0f MB, %.0f rows a second of one processor", args, megabytes, float64(n)/seconds)
		if megabytes > 100 {
			t.Errorf("%v: %.0f MB", args, megabytes)
		}
	}
	var out, said bytes.Buffer
	if code := Main(context.Background(),
		[]string{"release", "predict", filepath.Join(dir, "release.json"), "--data",
			filepath.Join(dir, "records.csv")}, &out, &said); code != 0 {
		t.Fatal(said.String())
	}
	if file, err := os.ReadFile(filepath.Join(dir, "answer.csv")); err != nil ||
		!bytes.Equal(file, out.Bytes()) || bytes.Count(file, []byte("\n")) != n+1 {
		t.Errorf("the file has %d bytes, stdout %d, %v", len(file), out.Len(), err)
	}
}

// TestPredictBroken: if a line near the end of a large file is broken, there is no answer: nothing
// on stdout and no new file, and an old file stays unchanged.
func TestPredictBroken(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	data, old := filepath.Join(dir, "records.csv"), filepath.Join(dir, "old.csv")
	records(t, data, 30_000, 1)
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, append(text, strings.Repeat("cell,", 13)+"too many\n"...),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s: read records: line 30002 is no row of 13 cells", data)
	for _, out := range []string{"-", "new.csv", "new.parquet", "old.csv", "/dev/stdout"} {
		if out != "-" && out[0] != '/' {
			out = filepath.Join(dir, out)
		}
		var printed, said bytes.Buffer
		code := Main(context.Background(),
			[]string{"release", "predict", filepath.Join(dir, "release.json"), "--data", data,
				"--out", out}, &printed, &said)
		if code != 1 || printed.Len() > 0 || !strings.Contains(said.String(), want) ||
			strings.Contains(said.String(), "write") {
			t.Errorf("%s: %d, %d bytes, %q, want %q", out, code, printed.Len(), said.String(), want)
		}
	}
	if text, err := os.ReadFile(old); string(text) != "old" {
		t.Errorf("the old file has %q, %v", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}

// TestPredictStopped: a prediction that is stopped in the midst of writing leaves no file.
func TestPredictStopped(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	records(t, filepath.Join(dir, "records.csv"), 400_000, 1)
	cmd := caucus(t.Context(), dir, "release", "predict", "release.json", "--data", "records.csv",
		"--out", "answer.csv")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun := func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, ".answer.csv*"))
		return len(files) > 0
	}
	for end := time.Now().Add(20 * time.Second); !begun() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	stopped := begun()
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err == nil {
		t.Error("it was not stopped")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 || !stopped {
		t.Errorf("begun %v; the folder has %v, %v", stopped, left, err)
	}
}
