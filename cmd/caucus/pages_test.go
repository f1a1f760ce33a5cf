package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"caucus/internal/testpages"
)

// samplePages returns pages of a forecast, and of a simulated classifier, table one and scores. It
// makes them once.
var samplePages = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "pages")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	pages := map[string][]byte{}
	for name, args := range map[string][]string{
		"describe": {"simulate", "describe", "--set", "generate=1500", "--set", "by=sex", "--epsilon", "4", "--report"},
		"evaluate": {"simulate", "evaluate", "--set", "generate=1500", "--set", "by=sex", "--epsilon", "4", "--report"},
		"classify": {"simulate", "classify", "--set", "generate=1500", "--set", "project=5", "--parties", "3", "--epsilon", "4", "--repeats", "2", "--report"},
		"forecast": {"forecast", "--parties", "5", "--records", "100", "--draws", "4", "--sweep", "epsilon", "--out"},
	} {
		file := filepath.Join(dir, name+".html")
		var out, log bytes.Buffer
		if code := Main(context.Background(), append(args, file), &out, &log); code != 0 {
			return nil, fmt.Errorf("%v exits with %d: %s", args, code, log.Bytes())
		}
		page, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pages[name] = page
	}
	return pages, nil
})

func TestPagesStandAlone(t *testing.T) {
	pages, err := samplePages()
	if err != nil {
		t.Fatal(err)
	}
	testpages.CheckSelfContained(t, pages)
	for _, want := range []string{"shares are assumed, 0.75 and 0.25", "largest class, assumed",
		"what nine of ten of 4 draws lie between"} {
		if !strings.Contains(string(pages["forecast"]), want) {
			t.Errorf("the forecast does not say %q", want)
		}
	}
}

func TestPagesFit(t *testing.T) {
	t.Parallel()
	pages, err := samplePages()
	if err != nil {
		t.Fatal(err)
	}
	testpages.CheckLayouts(t, pages)
}
